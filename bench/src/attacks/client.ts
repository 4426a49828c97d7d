import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { generate, type Packet, parser } from 'mqtt-packet';

/** Where a client connects. */
export interface Listeners {
  readonly mqtt: number;
  readonly mqtts: number;
  /** PEM of the authority of the certificate of `mqtts`. */
  readonly ca: string;
}

export interface ClientOptions {
  /** Source address in 127.0.0.0/8. */
  readonly from: string;
  readonly tls: boolean;
  readonly clientId: string;
  readonly user: string;
  readonly password: string;
  /** Keep the session after the end of the connection. */
  readonly lasting?: boolean;
  readonly will?: { readonly topic: string; readonly payload: string };
}

/** What a server refused, or why it did not answer. */
export class NoAnswer extends Error {}

const ANSWER_MS = 60_000;

/**
 * A client of MQTT 3.1.1 that sends packets as they are given, for sensors whose waits are measured and for attackers.
 * Its server runs on this machine.
 */
export class Client {
  readonly socket: Socket;
  closed = false;
  #waits = new Map<string, (packet: Packet | null) => void>();
  #lastId = 0;

  private constructor(socket: Socket) {
    this.socket = socket;
    const packets = parser({ protocolVersion: 4 });
    packets.on('packet', (packet) => this.#answer(packet.cmd, packet.messageId ?? 0, packet));
    packets.on('error', () => socket.destroy());
    socket.on('data', (data: Buffer) => packets.parse(data));
    socket.on('error', () => {});
    socket.on('close', () => {
      this.closed = true;
      for (const wait of this.#waits.values()) wait(null);
      this.#waits.clear();
    });
  }

  /**
   * Opens a connection and logs in.
   *
   * @throws {NoAnswer} when the server refuses the login or does not answer
   */
  static async login(listeners: Listeners, options: ClientOptions): Promise<Client> {
    const client = new Client(openSocket(listeners, options));
    const { clientId, user, password, lasting = false, will } = options;
    const answer = client.#expect('connack', 0);
    client.send({
      ...({ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, keepalive: 0 } as const),
      ...{ clean: !lasting, clientId, username: user, password: Buffer.from(password) },
      ...(will === undefined
        ? {}
        : { will: { ...will, payload: Buffer.from(will.payload), qos: 1, retain: false } }),
    });
    const packet = await answer;
    if (packet?.cmd === 'connack' && packet.returnCode === 0) return client;
    client.socket.destroy();
    const reason = packet?.cmd === 'connack' ? `refused with ${packet.returnCode}` : 'no CONNACK';
    throw new NoAnswer(`${user} from ${options.from}: ${reason}`);
  }

  send(packet: Packet): void {
    if (!this.closed) this.socket.write(generate(packet, { protocolVersion: 4 }));
  }

  /**
   * Publishes a message and waits until the server has stored it. A QoS 2 message is released, unless `id` is given.
   *
   * @throws {NoAnswer} when the server does not acknowledge it
   */
  async publish(
    topic: string,
    payload: string | Buffer,
    qos: 1 | 2,
    id?: number,
    dup = false,
  ): Promise<void> {
    const messageId = id ?? this.#nextId();
    const answer = this.#expect(qos === 1 ? 'puback' : 'pubrec', messageId);
    this.send({ cmd: 'publish', topic, payload, qos, messageId, dup, retain: false });
    if ((await answer) === null) throw new NoAnswer(`no acknowledgement of a message on ${topic}`);
    if (qos === 1 || id !== undefined) return;
    const completed = this.#expect('pubcomp', messageId);
    this.send({ cmd: 'pubrel', messageId });
    if ((await completed) === null) throw new NoAnswer(`no PUBCOMP of a message on ${topic}`);
  }

  async end(): Promise<void> {
    if (this.closed) return;
    this.send({ cmd: 'disconnect' });
    this.socket.end();
    await once(this.socket, 'close', { signal: AbortSignal.timeout(ANSWER_MS) });
  }

  #nextId(): number {
    this.#lastId = (this.#lastId % 30_000) + 1;
    return this.#lastId;
  }

  /** The next packet of this kind and identifier; null when the connection ends, or after a minute. */
  #expect(cmd: string, id: number): Promise<Packet | null> {
    const name = `${cmd} ${id}`;
    return new Promise((resolve) => {
      const late = setTimeout(() => this.#waits.get(name)?.(null), ANSWER_MS);
      this.#waits.set(name, (packet) => {
        clearTimeout(late);
        this.#waits.delete(name);
        resolve(packet);
      });
      if (this.closed) this.#answer(cmd, id, null);
    });
  }

  #answer(cmd: string, id: number, packet: Packet | null): void {
    this.#waits.get(`${cmd} ${id}`)?.(packet);
  }
}

/** Opens a connection to a listener. */
export function openSocket(
  { mqtt, mqtts, ca }: Listeners,
  { from, tls }: Pick<ClientOptions, 'from' | 'tls'>,
): Socket {
  const place = { host: '127.0.0.1', localAddress: from, noDelay: true } as const;
  return tls
    ? connectTls({ ca, host: place.host, socket: connectTcp({ ...place, port: mqtts }) })
    : connectTcp({ ...place, port: mqtt });
}
