import { connect, createServer, type Socket } from 'node:net';
import { freePort } from '@tidegauge/process';

/** Forwards a port to another one on this machine, and can be cut like a network. */
export interface Relay {
  readonly port: number;
  /** Ends all connections, and accepts no more. */
  cut(): Promise<void>;
  /** Accepts connections again. */
  restore(): Promise<void>;
}

/** Starts a relay to a port of 127.0.0.1. */
export async function startRelay(target: number): Promise<Relay> {
  const port = await freePort();
  const sockets = new Set<Socket>();
  const server = createServer((from) => {
    const to = connect(target, '127.0.0.1');
    for (const [socket, other] of [[from, to] as const, [to, from] as const]) {
      sockets.add(socket);
      socket.pipe(other);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  const restore = () => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  await restore();
  return {
    port,
    restore,
    cut: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
