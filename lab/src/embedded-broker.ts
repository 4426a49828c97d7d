import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Aedes, type AuthenticateError } from 'aedes';

export interface EmbeddedBrokerOptions {
  /** Default 1883; 0 takes a free one. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** With both, every client must give them; with neither, anybody may connect. */
  readonly username?: string;
  readonly password?: string;
}

export interface EmbeddedBroker {
  readonly url: string;
  readonly port: number;
  /** Ends all connections; what was queued is gone, for it lives in memory. */
  close(): Promise<void>;
}

/**
 * Starts an MQTT 3.1.1 broker in this process (aedes, sessions in memory). Rejects with the system's error,
 * `code` EADDRINUSE when the port is taken.
 */
export async function startEmbeddedBroker(options: EmbeddedBrokerOptions = {}): Promise<EmbeddedBroker> {
  const { port = 1883, host = '127.0.0.1', username, password } = options;
  if ((username === undefined) !== (password === undefined)) {
    throw new TypeError('the embedded broker takes both username and password, or neither');
  }
  const broker = await Aedes.createBroker();
  if (username !== undefined && password !== undefined) {
    broker.authenticate = (_client, givenUser, givenPassword, done) => {
      // Both are compared, always, so that time tells nothing about either.
      const user = isEqual(givenUser ?? '', username);
      const pass = isEqual(givenPassword ?? '', password);
      if (user && pass) done(null, true);
      else
        done(
          Object.assign(new Error('bad user name or password'), { returnCode: 4 }) as AuthenticateError,
          null,
        );
    };
  }

  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    broker.handle(socket);
  });
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    await new Promise<void>((resolve) => broker.close(resolve));
    throw error;
  }
  const bound = (server.address() as AddressInfo).port;

  return {
    url: `mqtt://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await new Promise<void>((resolve) => broker.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function isEqual(given: string | Buffer, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

function digest(value: string | Buffer): Buffer {
  return createHash('sha256').update(value).digest();
}
