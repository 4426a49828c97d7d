import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '@tidegauge/readings';
import { generate, type IConnectPacket } from 'mqtt-packet';
import { type Latency, latencyOfSamples } from './latency.ts';

/** What to publish. Readings are `{"t","v","boot","seq"}` in JSON, stamped with the time of publishing. */
export interface PublishOptions {
  readonly port: number;
  readonly count: number;
  readonly devices: number;
  /** Messages per second; without one, as fast as acknowledgements come. */
  readonly rate?: number;
  /** Number of the first message, for a run that continues an earlier one. */
  readonly first?: number;
  readonly boot?: string;
  readonly prefix?: string;
  /** After an abort nothing more is published; what was published is still acknowledged. */
  readonly signal?: AbortSignal;
}

export interface PublishResult {
  readonly published: number;
  readonly acknowledged: number;
  readonly seconds: number;
  /** From the write of a message to its acknowledgement. */
  readonly latency: Latency | null;
  /** From the moment it was due; null without a rate. */
  readonly intended: Latency | null;
}

/** Unacknowledged messages at most; below the 65,535 packet identifiers that MQTT has. */
const WINDOW = 16_384;
const PACKET_IDS = 65_535;
const TICK_MS = 5;
const BATCH = 256;
const STALL_MS = 30_000;

/**
 * Publishes QoS 1 messages over one MQTT 3.1.1 connection at rates that client libraries do not reach, so that
 * a benchmark measures the consumer. Message n goes to device n modulo `devices` with that device's next `seq`.
 * Resolves when all are acknowledged; rejects when acknowledgements stop for 30 s or the connection ends.
 */
export async function publish(options: PublishOptions): Promise<PublishResult> {
  const socket = await open(options.port);
  const { count, rate, first = 0, signal } = options;
  const frames = new FrameBuilder(options);
  const times = new PublishTimes(options);
  const acknowledgements = readAcknowledgements(socket, (packetId) => times.acknowledged(packetId));
  const begun = performance.now();
  times.begin(begun);
  let sent = 0;
  while (sent < count && !signal?.aborted) {
    const due =
      rate === undefined ? count : Math.min(count, Math.ceil(((performance.now() - begun) / 1000) * rate));
    const room = Math.min(due - sent, WINDOW - (sent - acknowledgements.count), BATCH);
    if (room <= 0) {
      if (rate === undefined || due > sent) await acknowledgements.more();
      else await sleep(TICK_MS);
      continue;
    }
    const frame = frames.build(first + sent, room);
    times.sent(sent, room);
    const writable = socket.write(frame);
    sent += room;
    if (!writable) await once(socket, 'drain', { signal: AbortSignal.timeout(STALL_MS) });
  }
  while (acknowledgements.count < sent) await acknowledgements.more();
  const seconds = (performance.now() - begun) / 1000;
  socket.end(generate({ cmd: 'disconnect' }));
  return { published: sent, acknowledged: acknowledgements.count, seconds, ...times.latencies() };
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  await once(socket, 'connect');
  const hello: IConnectPacket = {
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 4,
    clean: true,
    clientId: `publisher-${process.pid}-${Date.now()}`,
    keepalive: 0,
  };
  socket.write(generate(hello));
  const closed = once(socket, 'close').then(() => {
    throw new Error('the broker closed the connection before it answered');
  });
  const [connack] = (await Promise.race([once(socket, 'data'), closed])) as [Buffer];
  if (connack[0] !== 0x20 || connack[3] !== 0)
    throw new Error(`the broker refused the publisher: ${connack.toString('hex')}`);
  return socket;
}

/** PUBACK of MQTT 3.1.1 is four bytes, the last two the packet identifier, and nothing else comes. */
function readAcknowledgements(socket: Socket, onPacketId: (packetId: number) => void) {
  const state = { count: 0, bytes: 0, failed: null as Error | null };
  let high = 0;
  let wake: (() => void) | null = null;
  const notify = () => {
    wake?.();
    wake = null;
  };
  socket.on('data', (chunk: Buffer) => {
    for (const byte of chunk) {
      const place = state.bytes++ & 3;
      if (place === 2) high = byte;
      else if (place === 3) onPacketId(high * 256 + byte);
    }
    state.count = Math.floor(state.bytes / 4);
    notify();
  });
  const fail = (error: Error) => {
    state.failed ??= error;
    notify();
  };
  socket.on('error', fail);
  socket.on('close', () => fail(new Error('the broker closed the publisher’s connection')));
  return {
    get count() {
      return state.count;
    },
    async more(): Promise<void> {
      if (state.failed !== null) throw state.failed;
      const stalled = setTimeout(() => fail(new Error(`no acknowledgement for ${STALL_MS} ms`)), STALL_MS);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      clearTimeout(stalled);
      if (state.failed !== null) throw state.failed;
    },
  };
}

/** When each message was written, was due and was acknowledged, milliseconds. */
class PublishTimes {
  readonly #first: number;
  readonly #intervalMs: number | null;
  readonly #numbers = new Float64Array(PACKET_IDS + 1);
  readonly #written = new Float64Array(PACKET_IDS + 1);
  readonly #actual: Float32Array;
  readonly #intended: Float32Array;
  #begun = 0;
  #count = 0;

  constructor({ count, rate, first = 0 }: PublishOptions) {
    this.#first = first;
    this.#intervalMs = rate === undefined ? null : 1000 / rate;
    this.#actual = new Float32Array(count);
    this.#intended = new Float32Array(rate === undefined ? 0 : count);
  }

  begin(time: number): void {
    this.#begun = time;
  }

  sent(number: number, count: number): void {
    const time = performance.now();
    for (let each = number; each < number + count; each++) {
      const packetId = 1 + ((this.#first + each) % PACKET_IDS);
      this.#numbers[packetId] = each;
      this.#written[packetId] = time;
    }
  }

  acknowledged(packetId: number): void {
    const time = performance.now();
    const index = this.#count++;
    this.#actual[index] = time - this.#written[packetId]!;
    if (this.#intervalMs === null) return;
    this.#intended[index] = time - this.#begun - this.#numbers[packetId]! * this.#intervalMs;
  }

  latencies(): { readonly latency: Latency | null; readonly intended: Latency | null } {
    const measured = (times: Float32Array) => latencyOfSamples(times.subarray(0, this.#count));
    return { latency: measured(this.#actual), intended: measured(this.#intended) };
  }
}

class FrameBuilder {
  readonly #topics: readonly string[];
  readonly #boot: string;
  #time = 0;

  constructor({ devices, prefix = 'bench', boot = 'boot-1' }: PublishOptions) {
    this.#topics = Array.from(
      { length: devices },
      (_, device) => `sensors/${prefix}/probe-${device}/temperature`,
    );
    this.#boot = boot;
  }

  build(first: number, count: number): Buffer {
    const devices = this.#topics.length;
    const buffer = Buffer.allocUnsafe(count * 200);
    // Every reading has a different time. Otherwise two readings of one device could be the same reading.
    this.#time = Math.max(now(), this.#time);
    let at = 0;
    for (let number = first; number < first + count; number++) {
      const topic = this.#topics[number % devices]!;
      const seq = Math.floor(number / devices);
      const payload = `{"t":${this.#time++},"v":${(number % 1000) / 10},"boot":"${this.#boot}","seq":${seq}}`;
      const remaining = 2 + topic.length + 2 + payload.length;
      buffer[at++] = 0x32;
      if (remaining >= 128) buffer[at++] = (remaining % 128) | 0x80;
      buffer[at++] = remaining >= 128 ? remaining >> 7 : remaining;
      at = buffer.writeUInt16BE(topic.length, at);
      at += buffer.write(topic, at, 'latin1');
      at = buffer.writeUInt16BE(1 + (number % PACKET_IDS), at);
      at += buffer.write(payload, at, 'latin1');
    }
    return buffer.subarray(0, at);
  }
}
