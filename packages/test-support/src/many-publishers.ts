import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { generate } from 'mqtt-packet';

// Publishes QoS 1 messages over many connections of MQTT 3.1.1, in its own process. Each connection is a device, and
// keeps a number of messages unacknowledged. Prints the figures as JSON when all messages are acknowledged. Fails when
// acknowledgements of a connection are not in the order of its messages.

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    connections: { type: 'string' },
    count: { type: 'string' },
    window: { type: 'string' },
  },
});
const port = Number(values.port);
const connections = Number(values.connections);
const window = Number(values.window);
const each = Math.floor(Number(values.count) / connections);

const PACKET_IDS = 65_535;
const MESSAGE_BYTES = 160;
const ACK_BYTES = 4;
const FIRST_TIME = Date.now() * 1000;

class Publisher {
  readonly #socket: Socket;
  readonly #topic: string;
  readonly #onAcknowledged: () => void;
  #sent = 0;
  #acknowledged = 0;
  #partial: Buffer = Buffer.alloc(0);

  private constructor(socket: Socket, device: number, onAcknowledged: () => void) {
    this.#socket = socket;
    this.#topic = `sensors/bench/probe-${device}/temperature`;
    this.#onAcknowledged = onAcknowledged;
    socket.on('error', (error) => fail(error.message));
    socket.on('close', () => {
      if (this.#acknowledged < each) fail('a connection was closed');
    });
  }

  static async open(device: number, onAcknowledged: () => void): Promise<Publisher> {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    await once(socket, 'connect');
    const hello = { protocolId: 'MQTT', protocolVersion: 4, clean: true, keepalive: 0 } as const;
    socket.write(generate({ cmd: 'connect', clientId: `probe-${device}`, ...hello }));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    if (answer[0] !== 0x20 || answer[3] !== 0) fail(`CONNACK ${answer.toString('hex')}`);
    const publisher = new Publisher(socket, device, onAcknowledged);
    socket.on('data', (data: Buffer) => publisher.#read(data));
    return publisher;
  }

  /** Fills the window. */
  send(): void {
    const room = Math.min(each - this.#sent, window - (this.#sent - this.#acknowledged));
    if (room <= 0) return;
    const frame = Buffer.allocUnsafe(room * MESSAGE_BYTES);
    let at = 0;
    for (const end = this.#sent + room; this.#sent < end; this.#sent++) at = this.#encode(frame, at);
    this.#socket.write(frame.subarray(0, at));
  }

  #encode(frame: Buffer, start: number): number {
    const seq = this.#sent;
    const payload = `{"t":${FIRST_TIME + seq},"v":${(seq % 1000) / 10},"boot":"b","seq":${seq}}`;
    const remaining = 4 + this.#topic.length + payload.length;
    let at = start;
    frame[at++] = 0x32;
    if (remaining >= 128) frame[at++] = (remaining % 128) | 0x80;
    frame[at++] = remaining >= 128 ? remaining >> 7 : remaining;
    at = frame.writeUInt16BE(this.#topic.length, at);
    at += frame.write(this.#topic, at, 'latin1');
    at = frame.writeUInt16BE(1 + (seq % PACKET_IDS), at);
    return at + frame.write(payload, at, 'latin1');
  }

  #read(data: Buffer): void {
    const bytes = this.#partial.length === 0 ? data : Buffer.concat([this.#partial, data]);
    const whole = bytes.length - (bytes.length % ACK_BYTES);
    for (let at = 0; at < whole; at += ACK_BYTES) {
      const expected = 1 + (this.#acknowledged % PACKET_IDS);
      if (bytes[at] !== 0x40 || bytes.readUInt16BE(at + 2) !== expected) fail('PUBACKs are not in order');
      this.#acknowledged += 1;
      this.#onAcknowledged();
    }
    this.#partial = bytes.subarray(whole);
    this.send();
  }
}

function fail(problem: string): never {
  process.stderr.write(`the publishers: ${problem}\n`);
  process.exit(1);
}

let acknowledged = 0;
const all = Promise.withResolvers<void>();
const publishers: Publisher[] = [];
for (let device = 0; device < connections; device++) {
  const onAcknowledged = () => {
    if (++acknowledged === each * connections) all.resolve();
  };
  publishers.push(await Publisher.open(device, onAcknowledged));
}
const begun = performance.now();
for (const publisher of publishers) publisher.send();
await all.promise;
const seconds = (performance.now() - begun) / 1000;
process.stdout.write(`${JSON.stringify({ acknowledged, seconds })}\n`);
process.exit(0);
