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
  /** Requests that wait behind another one on their connection (pipelining): in total, and of one client. */
  readonly pipelined: number;
  readonly pipelinedPerClient: number;
}

interface Client {
  /** By the address and port of the other end, oldest first. */
  readonly sockets: Map<string, Socket>;
  pipelined: number;
}

/**
 * Bounds what the connections of a server hold, so that no client keeps another one out. At a bound, the client
 * with the most connections gives up its oldest one without a request under way; a new connection is refused
 * only when that client itself has nothing but requests under way.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #clients = new Map<string, Client>();
  #sockets = 0;
  #pipelined = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#sockets;
  }

  /** Takes a new connection in, or destroys it. */
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
    socket.once('close', () => {
      client.sockets.delete(key);
      this.#sockets -= 1;
      if (client.sockets.size === 0 && this.#clients.get(name) === client) this.#clients.delete(name);
    });
  }

  /** From now on the connection is known by the socket that has its requests. */
  secured(socket: TLSSocket): void {
    const sockets = this.#clients.get(clientOf(socket.remoteAddress))?.sockets;
    const key = keyOf(socket);
    if (sockets?.has(key)) sockets.set(key, socket);
  }

  /**
   * Hands requests of one connection to `app` one after the other: Node itself would start all pipelined requests
   * at once. Too many of them end their connection.
   */
  inTurn(app: RequestListener): RequestListener {
    return (request, response) => {
      if (isLost(request)) return;
      // Node gives a response its socket when all earlier ones of the connection are done.
      if (response.socket === null) this.#wait(request, response, app);
      else app(request, response);
    };
  }

  #wait(request: IncomingMessage, response: ServerResponse, app: RequestListener): void {
    const { socket } = request;
    const client = this.#clients.get(clientOf(socket.remoteAddress));
    const { pipelined, pipelinedPerClient } = this.#limits;
    if (client === undefined || client.pipelined >= pipelinedPerClient || this.#pipelined >= pipelined) {
      socket.destroy();
      return;
    }
    client.pipelined += 1;
    this.#pipelined += 1;
    let waits = true;
    const leave = () => {
      if (!waits) return;
      waits = false;
      client.pipelined -= 1;
      this.#pipelined -= 1;
    };
    request.once('close', leave);
    response.once('socket', () => {
      leave();
      if (!socket.destroyed) app(request, response);
    });
  }

  #makeRoom(own: Client): boolean {
    if (own.sockets.size >= this.#limits.perClient) return dropIdle(own);
    if (this.#sockets < this.#limits.connections) return true;
    let largest = own;
    for (const client of this.#clients.values()) {
      if (client.sockets.size > largest.sockets.size) largest = client;
    }
    if (dropIdle(largest)) return true;
    const [oldest] = largest.sockets;
    if (largest.sockets.size <= own.sockets.size + 1 || oldest === undefined) return false;
    drop(largest, ...oldest);
    return true;
  }
}

/** Ends the client's oldest connection that has no request under way. */
function dropIdle(client: Client): boolean {
  for (const [key, socket] of client.sockets) {
    // A request is under way.
    if (responseOf(socket) !== null) continue;
    drop(client, key, socket);
    return true;
  }
  return false;
}

/** The place is free at once, before the socket's `close`. */
function drop(client: Client, key: string, socket: Socket): void {
  client.sockets.delete(key);
  socket.destroy();
}

function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** The answer under way on a connection. Node keeps it there; nothing documented says it without a cost per request. */
export function responseOf(socket: Socket): ServerResponse | null {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? null;
}
