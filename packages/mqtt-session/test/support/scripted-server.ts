import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import mqttPacket, { type IConnectPacket, type Packet } from 'mqtt-packet';

/** One client at a scripted server. */
export interface Peer {
  readonly socket: Socket;
  readonly connect: IConnectPacket;
  /** All packets after CONNECT, in order. */
  readonly packets: Packet[];
  send(packet: object): void;
}

export interface ScriptedServer {
  readonly url: string;
  readonly peers: Peer[];
}

/** Responses to a packet. Default: the response of a normal broker. `silent`: no response. */
export interface Script {
  connack?: (connect: IConnectPacket, connection: number) => object | 'silent';
  suback?: (filters: readonly string[]) => readonly number[] | 'silent';
  pingresp?: boolean;
}

/** Starts a TCP server that speaks MQTT as the script defines, for cases that no real broker can be made to produce. */
export async function startScriptedServer(t: TestContext, script: Script = {}): Promise<ScriptedServer> {
  const peers: Peer[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    const parser = mqttPacket.parser();
    let version: number | undefined = 5;
    const send = (packet: object): void => {
      socket.write(mqttPacket.generate(packet as Packet, { protocolVersion: version }));
    };
    let peer: Peer | null = null;
    parser.on('error', () => socket.destroy());
    parser.on('packet', (packet) => {
      if (packet.cmd === 'connect') {
        version = packet.protocolVersion;
        peer = { socket, connect: packet, packets: [], send };
        peers.push(peer);
        const answer = script.connack?.(packet, peers.length) ?? {};
        const ok = version === 5 ? { reasonCode: 0 } : { returnCode: 0 };
        if (answer !== 'silent') send({ cmd: 'connack', sessionPresent: false, ...ok, ...answer });
        return;
      }
      peer?.packets.push(packet);
      if (packet.cmd === 'subscribe') {
        const filters = packet.subscriptions.map((subscription) => subscription.topic);
        const granted = script.suback?.(filters) ?? packet.subscriptions.map(({ qos }) => qos);
        if (granted !== 'silent') send({ cmd: 'suback', messageId: packet.messageId, granted });
      } else if (packet.cmd === 'unsubscribe') {
        send({ cmd: 'unsuback', messageId: packet.messageId, granted: packet.unsubscriptions.map(() => 0) });
      } else if (packet.cmd === 'pingreq' && script.pingresp !== false) {
        send({ cmd: 'pingresp' });
      }
    });
    socket.on('data', (data) => parser.parse(data));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return { url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`, peers };
}
