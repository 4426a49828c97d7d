import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '@tidegauge/readings';
import { generate, type IConnectPacket } from 'mqtt-packet';

/** What to publish. Readings are `{"t","v","boot","seq"}` in JSON, stamped with the time of publishing. */
export interface PublishOptions {
  readonly port: number;
  readonly count: number;
  readonly devices: number;
  /** Messages per second; without one, as fast as acknowledgements come. */
  readonly rate?: number;
  /** Number of the first message: a later run that goes on where one stopped. */
  readonly first?: number;
  readonly boot?: string;
  readonly prefix?: string;
}

export interface PublishResult {
  readonly published: number;
  readonly acknowledged: number;
  readonly seconds: number;
}

/** Unacknowledged messages at most; below the 65,535 packet identifiers that MQTT has. */
const WINDOW = 16_384;
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
  const acknowledgements = countAcknowledgements(socket);
  const { count, rate, first = 0 } = options;
  const frames = new FrameBuilder(options);
  const begun = performance.now();
  let sent = 0;
  while (sent < count) {
    const due =
      rate === undefined ? count : Math.min(count, Math.ceil(((performance.now() - begun) / 1000) * rate));
    const room = Math.min(due - sent, WINDOW - (sent - acknowledgements.count), BATCH);
    if (room <= 0) {
      if (rate === undefined || due > sent) await acknowledgements.more();
      else await sleep(TICK_MS);
      continue;
    }
    const writable = socket.write(frames.build(first + sent, room));
    sent += room;
    if (!writable) await once(socket, 'drain', { signal: AbortSignal.timeout(STALL_MS) });
  }
  while (acknowledgements.count < count) await acknowledgements.more();
  const seconds = (performance.now() - begun) / 1000;
  socket.end(generate({ cmd: 'disconnect' }));
  return { published: sent, acknowledged: acknowledgements.count, seconds };
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
  const [connack] = (await once(socket, 'data')) as [Buffer];
  if (connack[0] !== 0x20 || connack[3] !== 0)
    throw new Error(`the broker refused the publisher: ${connack.toString('hex')}`);
  return socket;
}

/** PUBACK of MQTT 3.1.1 is four bytes, and nothing else comes: counting bytes counts acknowledgements. */
function countAcknowledgements(socket: Socket) {
  const state = { count: 0, bytes: 0, failed: null as Error | null };
  let wake: (() => void) | null = null;
  const notify = () => {
    wake?.();
    wake = null;
  };
  socket.on('data', (chunk: Buffer) => {
    state.bytes += chunk.length;
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
    // Every reading has a time of its own, or two of one device could be one.
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
      at = buffer.writeUInt16BE(1 + (number % 65_535), at);
      at += buffer.write(payload, at, 'latin1');
    }
    return buffer.subarray(0, at);
  }
}
