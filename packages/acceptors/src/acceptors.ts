import { once } from 'node:events';
import { type AddressInfo, createServer, type ListenOptions, type Server } from 'node:net';

/** Servers of an address. Each accepts one connection in a turn of the event loop. */
const ACCEPTORS = 32;
/**
 * Connections of a server that the kernel accepts before this process does. Beyond it the kernel drops them, and a client
 * tries again only after one second, then three, then seven.
 */
const BACKLOG = 256;

/** Where to listen. Port 0: a free one. */
export interface Place {
  readonly host: string;
  readonly port: number;
}

/**
 * Listens on an address with several servers, where the system can do that (SO_REUSEPORT). Node takes one connection of a
 * server in a turn of its event loop, and the kernel gives it the oldest. With one server, a new client would wait for all
 * connections of a flood, or the kernel would drop its connection.
 *
 * @param make a server that does not listen yet. Called again for each server.
 * @returns the port, and the servers that listen on it
 * @throws the system's error, such as `code` EADDRINUSE
 */
export async function openAcceptors(
  { host, port }: Place,
  make: () => Server,
): Promise<{ readonly port: number; readonly servers: readonly Server[] }> {
  // It fails when the port is taken. Servers with `reusePort` would not.
  const probe = await open(createServer(), { port, host });
  const { port: chosen } = probe.address() as AddressInfo;
  await close(probe);
  const place = { host, port: chosen };
  const servers: Server[] = [];
  try {
    while (servers.length < ACCEPTORS) servers.push(await open(make(), { ...place, reusePort: true }));
  } catch (error) {
    await Promise.all(servers.map(close));
    if ((error as NodeJS.ErrnoException).code !== 'ENOTSUP') throw error;
    return { port: chosen, servers: [await open(make(), place)] };
  }
  return { port: chosen, servers };
}

async function open(server: Server, options: ListenOptions): Promise<Server> {
  await once(server.listen({ backlog: BACKLOG, exclusive: true, ...options }), 'listening');
  return server;
}

async function close(server: Server): Promise<void> {
  await once(server.close(), 'close');
}
