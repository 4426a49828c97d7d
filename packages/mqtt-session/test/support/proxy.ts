import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

export interface Proxy {
  readonly url: string;
  /** Number of connections so far. */
  readonly connections: number;
  /** Stops forwarding in both directions without closing connections, as when a cable is disconnected. */
  freeze(): void;
  /** Forwards new connections again. Frozen connections stay frozen. */
  thaw(): void;
}

/** A TCP proxy on loopback whose connections can be made half-open. */
export async function startProxy(t: TestContext, port: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let frozen = false;
  let connections = 0;
  const server = createServer((client) => {
    connections += 1;
    const broker = connect(port, '127.0.0.1');
    client.pipe(broker);
    broker.pipe(client);
    for (const socket of [client, broker]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => {
        sockets.delete(socket);
        if (frozen) return;
        client.destroy();
        broker.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return {
    url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return connections;
    },
    freeze() {
      frozen = true;
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
    thaw() {
      frozen = false;
    },
  };
}
