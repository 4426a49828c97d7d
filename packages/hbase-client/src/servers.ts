import type { Method } from './codec.ts';
import { type Answer, type CallOptions, Connection } from './connection.ts';
import { HBaseError } from './errors.ts';

/** The address on which a server listens. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

export interface ServersOptions {
  readonly user: string;
  readonly connectTimeoutMs: number;
  readonly maxInFlight: number;
  readonly maxWaiting: number;
}

/** The connections, one per server and service. They are opened when they are needed. */
export class Servers {
  readonly #options: ServersOptions;
  readonly #connections = new Map<string, Connection>();
  #closed = false;

  constructor(options: ServersOptions) {
    this.#options = options;
  }

  /**
   * Calls a method of any service on any server once, without a retry.
   * @throws {HBaseError} with the `remedy` that may help.
   */
  async call<Request, Response>(
    server: ServerAddress,
    method: Method<Request, Response>,
    request: Request,
    options: CallOptions,
  ): Promise<Answer<Response>> {
    if (this.#closed) throw new HBaseError('CLOSED', 'the client is closed');
    return this.#connection(server, method.service).call(method, request, options);
  }

  /** Ends all connections. Calls in progress fail. */
  close(): void {
    this.#closed = true;
    const error = new HBaseError('CLOSED', 'the client was closed during the call', { maybeApplied: true });
    for (const connection of this.#connections.values()) connection.close(error);
  }

  #connection({ host, port }: ServerAddress, service: string): Connection {
    const key = keyOf(host, port, service);
    const known = this.#connections.get(key);
    if (known !== undefined) return known;
    const connection = new Connection({
      ...this.#options,
      host,
      port,
      service,
      onClose: () => void this.#connections.delete(key),
    });
    this.#connections.set(key, connection);
    return connection;
  }
}

function keyOf(host: string, port: number, service: string): string {
  return `${service} ${host} ${port}`;
}
