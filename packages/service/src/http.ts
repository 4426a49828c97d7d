import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, isIPv4, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { answerClientErrors } from './client-error.ts';
import { type ConnectionLimits, Connections, responseOf } from './connections.ts';
import { paced } from './pace.ts';
import { ConfigError } from './program/config-error.ts';
import { HttpRequest, HttpResponse } from './requests.ts';
import { readPair, TLS_OPTIONS, type Tls, watchPair } from './tls.ts';

/** A listening HTTP server and how to stop it. */
export interface HttpServer {
  readonly port: number;
  /** `http://host:port` or `https://host:port`, with the port that was really taken. */
  readonly url: string;
  /** Stops accepting, gives requests under way `graceMs`, then cuts what is left (streams never end alone). */
  close(graceMs?: number): Promise<void>;
}

/** What the clients of a server may hold, and how long they may keep it waiting. */
export interface HttpLimits extends ConnectionLimits {
  /** How long a client may take to send a request's headers, and the whole request, milliseconds. */
  readonly headersMs: number;
  readonly requestMs: number;
  /** How long a body that is not sent, or an answer that is not read, may stand still, milliseconds. */
  readonly stallMs: number;
}

/** For a board with 1 GB of memory. */
export const HTTP_LIMITS: HttpLimits = {
  connections: 1024,
  perClient: 256,
  pipelined: 2048,
  pipelinedPerClient: 1024,
  headersMs: 10_000,
  requestMs: 60_000,
  stallMs: 20_000,
};

/** How far Node's own timeouts may be late: it looks at all connections this often. */
const CHECK_MS = 1000;

const WARN_EVERY_MS = 10_000;

/**
 * Listens; the limits of clients are set here so that no service forgets them.
 *
 * @param setting names the port in the error: the flag or variable to change when it is taken
 * @param tls HTTPS only, with the certificate of these files; a renewed one is used without a restart
 * @throws {ConfigError} when the port is taken or not permitted, or the certificate cannot be used
 */
export async function listen(
  app: RequestListener,
  host: string,
  port: number,
  setting: string,
  tls: Tls | null = null,
  limits: Partial<HttpLimits> = {},
): Promise<HttpServer> {
  const all = { ...HTTP_LIMITS, ...limits };
  const { headersMs, requestMs, stallMs } = all;
  const connections = new Connections(all);
  const turns = connections.inTurn(paced(app));
  const options = {
    IncomingMessage: HttpRequest,
    ServerResponse: HttpResponse,
    headersTimeout: Math.min(headersMs, requestMs),
    requestTimeout: requestMs,
    keepAliveTimeout: 65_000,
    connectionsCheckingInterval: Math.min(CHECK_MS, headersMs),
  };
  const pair = tls === null ? null : await readPair(tls.files);
  const server =
    pair === null
      ? createServer(options, turns)
      : createTlsServer({ ...options, ...TLS_OPTIONS, ...pair, handshakeTimeout: headersMs }, turns);
  server.timeout = stallMs;
  server.on('timeout', (socket: Socket) => endStalled(socket, stallMs));
  // Before Node's own listener, which makes a parser for the connection.
  server.prependListener('connection', (socket: Socket) => connections.add(socket));
  server.on('secureConnection', (socket: TLSSocket) => connections.secured(socket));
  answerClientErrors(server);
  await new Promise<void>((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => reject(explain(error, host, port, setting));
    server.once('error', onError).listen(port, host, () => {
      server.off('error', onError);
      resolve();
    });
  });
  server.on('error', warn());
  const taken = (server.address() as AddressInfo).port;
  if (tls !== null && 'setSecureContext' in server) server.once('close', watchPair(server, pair!, tls));
  return {
    port: taken,
    url: `${tls === null ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    close: (graceMs = 2000) => close(server, graceMs),
  };
}

/** A connection that cannot be accepted must not end the process. Reported at most once in `WARN_EVERY_MS`. */
function warn(): (error: Error) => void {
  let warned = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - warned < WARN_EVERY_MS) return;
    warned = performance.now();
    process.emitWarning(`the HTTP server could not accept a connection: ${error.message}`);
  };
}

/** Nothing moved on the connection for `stallMs`: ends it, unless only this side keeps the client waiting. */
function endStalled(socket: Socket, stallMs: number): void {
  const response = responseOf(socket);
  if (response === null || socket.writableLength > 0) {
    // Idle for longer than connections are kept, or its client does not read.
    socket.destroy();
  } else if (response.req.complete) {
    socket.setTimeout(stallMs);
  } else if (response.headersSent) {
    socket.destroy();
  } else {
    const detail = `The body of the request stood still for ${stallMs / 1000} s.`;
    const body = JSON.stringify({ type: 'about:blank', status: 408, title: 'Request timeout', detail });
    response.shouldKeepAlive = false;
    response.writeHead(408, { 'Content-Type': 'application/problem+json' }).end(body);
    socket.destroySoon();
  }
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
