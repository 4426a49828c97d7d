import { connect, type Socket } from 'node:net';

/** What a connection sends, and where. */
export interface SensorOptions {
  readonly host: string;
  readonly port: number;
  readonly clientId: string;
  /** Unacknowledged messages at most. */
  readonly window: number;
  /** A connection on which nothing arrives for this time, although messages are not acknowledged, is replaced. */
  readonly stallMs: number;
  readonly topic: (number: number) => string;
  readonly payload: (number: number) => string;
  readonly onAcknowledged: (number: number) => void;
  /** A number in [0, 1), for the time before a new attempt to connect. */
  readonly random: () => number;
}

const PACKET_IDS = 65_535;
const CONNECT_MS = 5000;
const RETRY_MS = 200;
/** Bytes that may wait in the socket. */
const MOST_UNSENT = 256 * 1024;
/** The protocol MQTT, level 4, a clean session, no keep-alive (MQTT 3.1.1, section 3.1.2). */
const CONNECT = [0, 4, ...Buffer.from('MQTT'), 4, 2, 0, 0];
const PUBLISH_QOS_1 = 0x32;
/** CONNACK and PUBACK of MQTT 3.1.1 have four bytes, and nothing else is received. */
const ANSWER_BYTES = 4;

/**
 * A sensor that keeps each message until it is acknowledged, and sends it again on a new connection. MQTT 3.1.1 with
 * QoS 1 and a clean session. It writes packets itself, because client libraries do not reach the rates of the tests.
 */
export class Sensor {
  readonly #options: SensorOptions;
  /** The numbers of unacknowledged messages by packet id, in the order of sending. */
  #open = new Map<number, number>();
  #nextId = 1;
  #socket: Socket | null = null;
  #connected = false;
  #stopped = false;
  #partial: Buffer = Buffer.alloc(0);
  /** `performance.now()` of the last answer, or of the message that has been waiting for one since then. */
  #heard = 0;
  #retry: NodeJS.Timeout | undefined;
  connects = 0;

  constructor(options: SensorOptions) {
    this.#options = options;
    this.#connect();
  }

  /** Messages that are not acknowledged. */
  get open(): number {
    return this.#open.size;
  }

  /** How many messages can be sent now. */
  get room(): number {
    if (!this.#connected || this.#socket!.writableLength > MOST_UNSENT) return 0;
    return this.#options.window - this.#open.size;
  }

  send(numbers: readonly number[]): void {
    if (this.#open.size === 0) this.#heard = performance.now();
    this.#socket!.write(Buffer.concat(numbers.map((number) => this.#packet(this.#remember(number), number))));
  }

  /** Replaces a connection that has stalled. Call it regularly. */
  check(): void {
    if (this.#connected && this.#open.size > 0 && performance.now() - this.#heard > this.#options.stallMs)
      this.drop();
  }

  /** Ends the connection without a DISCONNECT. It is made again. */
  drop(): void {
    this.#socket?.destroy();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#retry);
    this.drop();
  }

  #connect(): void {
    const { host, port, clientId } = this.#options;
    const socket = connect({ host, port, noDelay: true, timeout: CONNECT_MS });
    this.#socket = socket;
    this.#partial = Buffer.alloc(0);
    socket.on('error', () => socket.destroy());
    // Until CONNACK, a silent server counts as a failure too.
    socket.on('timeout', () => {
      if (!this.#connected) socket.destroy();
    });
    socket.on('data', (data: Buffer) => this.#read(data));
    socket.on('close', () => {
      this.#connected = false;
      if (this.#stopped) return;
      this.#retry = setTimeout(() => this.#connect(), RETRY_MS * (0.5 + this.#options.random()));
    });
    socket.write(
      Buffer.from([0x10, 12 + clientId.length, ...CONNECT, 0, clientId.length, ...Buffer.from(clientId)]),
    );
  }

  #read(data: Buffer): void {
    this.#heard = performance.now();
    const bytes = this.#partial.length === 0 ? data : Buffer.concat([this.#partial, data]);
    const whole = bytes.length - (bytes.length % ANSWER_BYTES);
    for (let at = 0; at < whole; at += ANSWER_BYTES) {
      const type = bytes[at]! >> 4;
      if (type === 2) {
        if (bytes[at + 3] === 0) this.#resume();
        else this.drop();
      } else this.#acknowledge(bytes.readUInt16BE(at + 2));
    }
    this.#partial = bytes.subarray(whole);
  }

  /** Sends all unacknowledged messages again, in their order, so that the last correction stays the last one. */
  #resume(): void {
    this.#connected = true;
    this.connects++;
    const numbers = [...this.#open.values()];
    this.#open = new Map();
    if (numbers.length > 0) this.send(numbers);
  }

  #acknowledge(id: number): void {
    const number = this.#open.get(id);
    if (number === undefined) return;
    this.#open.delete(id);
    this.#options.onAcknowledged(number);
  }

  #remember(number: number): number {
    do this.#nextId = (this.#nextId % PACKET_IDS) + 1;
    while (this.#open.has(this.#nextId));
    this.#open.set(this.#nextId, number);
    return this.#nextId;
  }

  #packet(id: number, number: number): Buffer {
    const topic = this.#options.topic(number);
    const payload = this.#options.payload(number);
    const remaining = 4 + topic.length + payload.length;
    const packet = Buffer.allocUnsafe(remaining + 4);
    let at = 0;
    packet[at++] = PUBLISH_QOS_1;
    let left = remaining;
    do {
      packet[at++] = left >= 128 ? (left % 128) | 0x80 : left;
      left = Math.floor(left / 128);
    } while (left > 0);
    at = packet.writeUInt16BE(topic.length, at);
    at += packet.write(topic, at, 'latin1');
    at = packet.writeUInt16BE(id, at);
    at += packet.write(payload, at, 'latin1');
    return packet.subarray(0, at);
  }
}
