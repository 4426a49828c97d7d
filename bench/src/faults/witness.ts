import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { NumberSet } from './number-set.ts';
import { numberIn, type StreamKind } from './streams.ts';

const PUBLISH = 3;
const PUBACK = 4;

/**
 * A proxy between the broker and ingest that records which messages ingest has acknowledged. What the broker acknowledged
 * to a sensor and ingest did not acknowledge to the broker, was lost by the broker. Reads MQTT 5 with QoS 1 and without
 * topic aliases (Receive Maximum and sizes are not changed).
 */
export class Witness {
  readonly #handed = new Map<string, NumberSet>();
  readonly #server;
  readonly #sockets = new Set<Socket>();

  private constructor(upstream: number) {
    this.#server = createServer((ingest) => this.#connect(ingest, upstream));
  }

  /** @param upstream the port of the broker on loopback, or of a proxy before it */
  static async start(upstream: number): Promise<Witness> {
    const witness = new Witness(upstream);
    witness.#server.listen(0, '127.0.0.1');
    await once(witness.#server, 'listening');
    return witness;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Whether ingest has acknowledged a message. */
  has(kind: StreamKind, number: number): boolean {
    return this.#handed.get(kind)?.has(number) ?? false;
  }

  async stop(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #connect(ingest: Socket, upstream: number): void {
    const broker = connect({ host: '127.0.0.1', port: upstream, noDelay: true });
    ingest.setNoDelay(true);
    /** The message of each packet id that the broker has sent. */
    const open = new Map<number, readonly [kind: string, number: number]>();
    const fromBroker = new Packets((type, body) => {
      if (type !== PUBLISH) return;
      const topicEnd = 2 + body.readUInt16BE(0);
      const kind = body.toString('latin1', 2, topicEnd).split('/')[2]!;
      open.set(body.readUInt16BE(topicEnd), [kind, numberIn(body.subarray(topicEnd + 2))]);
    });
    const fromIngest = new Packets((type, body) => {
      if (type !== PUBACK) return;
      const id = body.readUInt16BE(0);
      const message = open.get(id);
      if (message === undefined) return;
      open.delete(id);
      const [kind, number] = message;
      const numbers = this.#handed.get(kind) ?? new NumberSet();
      this.#handed.set(kind, numbers);
      numbers.add(number);
    });
    this.#pipe(broker, ingest, fromBroker);
    this.#pipe(ingest, broker, fromIngest);
  }

  #pipe(from: Socket, to: Socket, packets: Packets): void {
    this.#sockets.add(from);
    from.on('data', (data: Buffer) => {
      packets.read(data);
      if (!to.write(data)) {
        from.pause();
        to.once('drain', () => from.resume());
      }
    });
    from.on('error', () => from.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}

/** Divides a stream into packets of MQTT. */
class Packets {
  readonly #onPacket: (type: number, body: Buffer) => void;
  #partial: Buffer = Buffer.alloc(0);

  constructor(onPacket: (type: number, body: Buffer) => void) {
    this.#onPacket = onPacket;
  }

  read(data: Buffer): void {
    const bytes = this.#partial.length === 0 ? data : Buffer.concat([this.#partial, data]);
    let start = 0;
    for (;;) {
      let [length, at, shift] = [0, start + 1, 0];
      while (at < bytes.length && bytes[at]! >= 128) {
        length += (bytes[at++]! & 127) << shift;
        shift += 7;
      }
      if (at >= bytes.length) break;
      length += bytes[at++]! << shift;
      if (at + length > bytes.length) break;
      this.#onPacket(bytes[start]! >> 4, bytes.subarray(at, at + length));
      start = at + length;
    }
    this.#partial = bytes.subarray(start);
  }
}
