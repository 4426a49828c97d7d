import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { clientOf } from './clients.ts';
import { isLost } from './requests.ts';

export interface ConnectionLimits {
  /** Connections in total. */
  readonly connections: number;
  /** Connections of one client. */
  readonly perClient: number;
  /** Memory of requests that wait for an earlier one on their connection (pipelining), bytes: in total, and of one client. */
  readonly pipelinedBytes: number;
  readonly pipelinedPerClient: number;
}

/** Approximate memory of a request that waits, without its headers, bytes. */
const REQUEST_BYTES = 2048;
/** Approximate memory of a name or value of a header, without its characters, bytes. */
const HEADER_BYTES = 64;

/** Counts the connections of all worker processes of a service. */
export interface SharedConnections {
  /** Resolves to whether a new connection of a client may stay. `closed` reports its end in any case. */
  opened(client: string): Promise<boolean>;
  closed(client: string): void;
  /** Receives the function that closes a connection of a client, and returns whether it did. */
  onDrop(drop: (client: string, which: 'idle' | 'oldest') => boolean): void;
}

interface Client {
  /** By remote address and port, oldest first. */
  readonly sockets: Map<string, Socket>;
  /** Bytes. */
  pipelined: number;
}

/**
 * Bounds the connections of a server, so that no client excludes another one. At a bound, the oldest idle connection
 * of the client with the most connections is closed. A new connection is refused only when that client itself has
 * active requests on all its connections.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #shared: SharedConnections | null;
  /** New connections that another process has not counted yet. They are not closed for others. */
  readonly #uncounted = new Set<Socket>();
  readonly #clients = new Map<string, Client>();
  #sockets = 0;
  #pipelined = 0;

  /** @param shared null: this process has all connections of the service */
  constructor(limits: ConnectionLimits, shared: SharedConnections | null = null) {
    this.#limits = limits;
    this.#shared = shared;
    shared?.onDrop((name, which) => {
      const client = this.#clients.get(name);
      if (client === undefined) return false;
      return which === 'idle' ? this.#dropIdle(client) : dropOldest(client);
    });
  }

  get size(): number {
    return this.#sockets;
  }

  /** Adds a new connection, or destroys it. */
  add(socket: Socket): void {
    const name = clientOf(socket.remoteAddress);
    const client = this.#clients.get(name) ?? { sockets: new Map<string, Socket>(), pipelined: 0 };
    if (!this.#makeRoom(client)) {
      socket.destroy();
      return;
    }
    this.#clients.set(name, client);
    const key = keyOf(socket);
    client.sockets.set(key, socket);
    this.#sockets += 1;
    // It is used meanwhile. Connections can therefore exceed a limit for the time of the question.
    if (this.#shared !== null) this.#ask(this.#shared, name, socket);
    socket.once('close', () => {
      client.sockets.delete(key);
      this.#sockets -= 1;
      if (client.sockets.size === 0 && this.#clients.get(name) === client) this.#clients.delete(name);
    });
  }

  /** Replaces the TCP socket of a connection by its TLS socket, which has the requests. */
  secured(socket: TLSSocket): void {
    const sockets = this.#clients.get(clientOf(socket.remoteAddress))?.sockets;
    const key = keyOf(socket);
    if (sockets?.has(key)) sockets.set(key, socket);
  }

  /**
   * Passes the requests of one connection to `app` one after the other; Node itself would start all pipelined
   * requests at once. Too many of them close their connection.
   */
  inTurn(app: RequestListener): RequestListener {
    return (request, response) => {
      if (isLost(request)) return;
      // Node assigns the socket to a response when all earlier responses of the connection are complete.
      if (response.socket === null) this.#wait(request, response, app);
      else app(request, response);
    };
  }

  #wait(request: IncomingMessage, response: ServerResponse, app: RequestListener): void {
    const { socket } = request;
    const client = this.#clients.get(clientOf(socket.remoteAddress));
    const { pipelinedBytes, pipelinedPerClient } = this.#limits;
    const bytes = REQUEST_BYTES + sizeOf(request);
    if (
      client === undefined ||
      client.pipelined + bytes > pipelinedPerClient ||
      this.#pipelined + bytes > pipelinedBytes
    ) {
      socket.destroy();
      return;
    }
    client.pipelined += bytes;
    this.#pipelined += bytes;
    let waits = true;
    const leave = () => {
      if (!waits) return;
      waits = false;
      client.pipelined -= bytes;
      this.#pipelined -= bytes;
    };
    request.once('close', leave);
    response.once('socket', () => {
      leave();
      if (!socket.destroyed) app(request, response);
    });
  }

  /** Has the connection counted. It is used meanwhile, so connections can exceed a limit for the time of the question. */
  #ask(shared: SharedConnections, name: string, socket: Socket): void {
    this.#uncounted.add(socket);
    void shared.opened(name).then((mayStay) => {
      this.#uncounted.delete(socket);
      if (!mayStay) socket.destroy();
    });
    socket.once('close', () => shared.closed(name));
  }

  #makeRoom(own: Client): boolean {
    if (own.sockets.size >= this.#limits.perClient) return this.#dropIdle(own);
    if (this.#sockets < this.#limits.connections) return true;
    let largest = own;
    for (const client of this.#clients.values()) {
      if (client.sockets.size > largest.sockets.size) largest = client;
    }
    if (this.#dropIdle(largest)) return true;
    return largest.sockets.size > own.sockets.size + 1 && dropOldest(largest);
  }

  /** Closes the client's oldest connection without an active request. */
  #dropIdle(client: Client): boolean {
    for (const [key, socket] of client.sockets) {
      // A request is active.
      if (responseOf(socket) !== null || this.#uncounted.has(socket)) continue;
      drop(client, key, socket);
      return true;
    }
    return false;
  }
}

function dropOldest(client: Client): boolean {
  const [oldest] = client.sockets;
  if (oldest !== undefined) drop(client, ...oldest);
  return oldest !== undefined;
}

/** Frees the place at once, before the socket's `close` event. */
function drop(client: Client, key: string, socket: Socket): void {
  client.sockets.delete(key);
  socket.destroy();
}

function sizeOf({ url = '', rawHeaders }: IncomingMessage): number {
  let size = url.length;
  for (const text of rawHeaders) size += HEADER_BYTES + text.length;
  return size;
}

function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/**
 * The active response of a connection. Node stores it in an internal field; the documented ways cost time for each
 * request.
 */
export function responseOf(socket: Socket): ServerResponse | null {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? null;
}
