import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import mqttPacket, { type Packet } from 'mqtt-packet';

/** A client that sends exact bytes and collects what the server answers. */
export class RawClient {
  readonly socket: Socket;
  readonly packets: Packet[] = [];
  closed = false;
  readonly #version: 4 | 5;
  #wake: () => void = () => {};

  private constructor(socket: Socket, version: 4 | 5) {
    this.socket = socket;
    this.#version = version;
    const parser = mqttPacket.parser({ protocolVersion: version });
    parser.on('packet', (packet) => this.packets.push(packet));
    socket.on('data', (data) => {
      parser.parse(data as Buffer);
      this.#wake();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      this.closed = true;
      this.#wake();
    });
  }

  static async open(port: number, version: 4 | 5 = 4, localAddress = '127.0.0.1'): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true });
    await once(socket, 'connect');
    return new RawClient(socket, version);
  }

  /** Opens a connection and logs in. The CONNACK is the first packet. */
  static async login(
    port: number,
    version: 4 | 5 = 4,
    options: object = {},
    localAddress = '127.0.0.1',
  ): Promise<RawClient> {
    const client = await RawClient.open(port, version, localAddress);
    client.send({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: version,
      clean: true,
      clientId: 'c1',
      keepalive: 0,
      ...options,
    } as Packet);
    await client.until(1);
    return client;
  }

  send(...packets: readonly Packet[]): void {
    const bytes = packets.map((packet) => mqttPacket.generate(packet, { protocolVersion: this.#version }));
    this.socket.write(Buffer.concat(bytes));
  }

  publish(messageId: number, options: object = {}): void {
    const payload = `${messageId}`;
    const packet = {
      cmd: 'publish',
      topic: 'sensors/a/t',
      payload,
      qos: 1,
      messageId,
      dup: false,
      retain: false,
    };
    this.send({ ...packet, ...options } as Packet);
  }

  /** Waits until the server sent `count` packets, or closed the connection. */
  async until(count: number): Promise<readonly Packet[]> {
    const late = AbortSignal.timeout(10_000);
    while (this.packets.length < count && !this.closed) {
      late.throwIfAborted();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, 1000);
      });
    }
    return this.packets;
  }

  async untilClosed(): Promise<void> {
    if (!this.closed) await once(this.socket, 'close', { signal: AbortSignal.timeout(10_000) });
  }
}
