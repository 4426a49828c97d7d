import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer, isIPv4, type Server as NetServer, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { openAcceptors } from '@tidegauge/acceptors';
import { answerClientErrors, HEADER_OVERFLOW, refuse } from './client-error.ts';
import { type ConnectionLimits, Connections, responseOf, type SharedConnections } from './connections.ts';
import { http } from './node-http.ts';
import { paced } from './pace.ts';
import { ConfigError } from './program/config-error.ts';
import { HttpRequest, HttpResponse } from './requests.ts';
import { readPair, TLS_OPTIONS, type Tls, watchPair } from './tls.ts';

/** A listening HTTP server and how to stop it. */
export interface HttpServer {
  readonly port: number;
  /** `http://host:port` or `https://host:port` with the actual port. */
  readonly url: string;
  /**
   * Stops accepting connections, waits `graceMs` for active requests, then closes the remaining connections (streams
   * do not end by themselves).
   */
  close(graceMs?: number): Promise<void>;
}

/** Limits of a server's clients: connections, and waiting times. */
export interface HttpLimits extends ConnectionLimits {
  /** How long a client may take to send a request's headers, and the whole request, milliseconds. */
  readonly headersMs: number;
  readonly requestMs: number;
  /** How long a request body or a response may make no progress, milliseconds. */
  readonly stallMs: number;
}

/** For a board with 1 GB of memory. */
export const HTTP_LIMITS: HttpLimits = {
  connections: 512,
  perClient: 128,
  pipelinedBytes: 4 * 2 ** 20,
  pipelinedPerClient: 2.5 * 2 ** 20,
  headersMs: 10_000,
  requestMs: 60_000,
  stallMs: 20_000,
};

/** Headers of a request. Each takes far more memory than its characters. */
const MOST_HEADERS = 100;

/** Node checks its timeouts at this interval, so they can be late by as much. */
const CHECK_MS = 1000;

const WARN_EVERY_MS = 10_000;

/**
 * Starts an HTTP or HTTPS server with limits for its clients.
 *
 * @param setting names the port in the error: the flag or variable to change when it is in use
 * @param tls HTTPS only, with the certificate of these files; a renewed certificate is used without a restart
 * @param shared counts the connections of all worker processes; null when this process is the only one
 * @throws {ConfigError} when the port is in use or not permitted, or the certificate cannot be used
 */
export async function listen(
  app: RequestListener,
  host: string,
  port: number,
  setting: string,
  tls: Tls | null = null,
  limits: Partial<HttpLimits> = {},
  shared: SharedConnections | null = null,
): Promise<HttpServer> {
  const all = { ...HTTP_LIMITS, ...limits };
  const { headersMs, requestMs, stallMs } = all;
  const connections = new Connections(all, shared);
  const turns = connections.inTurn(paced(withFewHeaders(app)));
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
      ? http.createServer(options, turns)
      : createTlsServer({ ...options, ...TLS_OPTIONS, ...pair, handshakeTimeout: headersMs }, turns);
  server.maxHeadersCount = MOST_HEADERS;
  server.timeout = stallMs;
  server.on('timeout', (socket: Socket) => endStalled(socket, stallMs));
  // Added before Node's own listener, which creates a parser for the connection.
  server.prependListener('connection', (socket: Socket) => connections.add(socket));
  server.on('secureConnection', (socket: TLSSocket) => connections.secured(socket));
  answerClientErrors(server);
  const acceptor = () =>
    createServer({ allowHalfOpen: tls === null, noDelay: true }, (socket) => {
      server.emit('connection', socket);
    });
  // In a worker, the parent accepts the connections of all workers.
  const { port: taken, servers } = await (shared === null
    ? openAcceptors({ host, port }, () => (server.listening ? acceptor() : server))
    : openOne(server, host, port)
  ).catch((error: NodeJS.ErrnoException) => {
    throw explain(error, host, port, setting);
  });
  const warning = warn();
  for (const each of servers) each.on('error', warning);
  if (tls !== null && 'setSecureContext' in server) server.once('close', watchPair(server, pair!, tls));
  return {
    port: taken,
    url: `${tls === null ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    close: (graceMs = 2000) => close(server, servers, graceMs),
  };
}

/** Refuses a request with too many headers. The parser does so, or in older versions of Node leaves some of them out. */
function withFewHeaders(app: RequestListener): RequestListener {
  return (request, response) => {
    if (request.rawHeaders.length <= 2 * MOST_HEADERS) app(request, response);
    else refuse(request.socket, HEADER_OVERFLOW);
  };
}

/** Reports a connection that cannot be accepted, at most once in `WARN_EVERY_MS`. It must not end the process. */
function warn(): (error: Error) => void {
  let warned = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - warned < WARN_EVERY_MS) return;
    warned = performance.now();
    process.emitWarning(`the HTTP server could not accept a connection: ${error.message}`);
  };
}

/** Closes a connection without progress for `stallMs`, unless only the server keeps the client waiting. */
function endStalled(socket: Socket, stallMs: number): void {
  const response = responseOf(socket);
  if (response === null || socket.writableLength > 0) {
    // The connection was idle for too long, or its client does not read.
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

async function openOne(
  server: Server,
  host: string,
  port: number,
): Promise<{ readonly port: number; readonly servers: readonly NetServer[] }> {
  await once(server.listen(port, host), 'listening');
  return { port: (server.address() as AddressInfo).port, servers: [server] };
}

async function close(server: Server, acceptors: readonly NetServer[], graceMs: number): Promise<void> {
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  const closed = acceptors.map(
    (acceptor) => new Promise<void>((resolve) => void acceptor.close(() => resolve())),
  );
  server.closeIdleConnections();
  await Promise.all(closed);
  clearTimeout(cut);
}

/** Whether a name or address is only reachable from this machine. 127.0.0.1.example.org is not. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}
