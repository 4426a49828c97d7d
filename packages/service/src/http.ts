import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, isIPv4 } from 'node:net';
import { ConfigError } from './config.ts';

/** A listening HTTP server and how to stop it. */
export interface HttpServer {
  readonly port: number;
  /** `http://host:port`, with the port that was really taken. */
  readonly url: string;
  /** Stops accepting, gives requests under way `graceMs`, then cuts what is left (streams never end alone). */
  close(graceMs?: number): Promise<void>;
}

/**
 * Listens; the slow-client limits are set here so that no service forgets them.
 *
 * @param setting names the port in the error: the flag or variable to change when it is taken
 * @throws {ConfigError} when the port is taken or not permitted
 */
export async function listen(
  app: RequestListener,
  host: string,
  port: number,
  setting: string,
): Promise<HttpServer> {
  const server = createServer(
    { requestTimeout: 60_000, headersTimeout: 10_000, keepAliveTimeout: 65_000 },
    app,
  );
  server.maxConnections = 1024;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(explain(error, host, port, setting)));
    server.listen(port, host, resolve);
  });
  const taken = (server.address() as AddressInfo).port;
  return {
    port: taken,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    close: (graceMs = 2000) => close(server, graceMs),
  };
}

function explain(error: NodeJS.ErrnoException, host: string, port: number, setting: string): Error {
  if (error.code === 'EADDRINUSE') {
    return new ConfigError([`port ${port} on ${host} is taken: choose another with ${setting}`]);
  }
  if (error.code === 'EACCES') {
    return new ConfigError([
      `port ${port} on ${host} may not be used by this user: choose one above 1023 with ${setting}`,
    ]);
  }
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
    return new ConfigError([`${host} is not an address of this machine: nothing can listen there`]);
  }
  return error;
}

function close(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}

/** True for names and addresses that only this machine reaches; 127.0.0.1.example.org is a name like any other. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}
