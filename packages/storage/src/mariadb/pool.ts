import type { Connection } from 'mariadb';
import { StoreError } from '../errors.ts';

interface Waiter {
  readonly resolve: (connection: Connection) => void;
  readonly reject: (error: unknown) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * At most `limit` connections, which are opened when needed. The driver's own pool identifies connections by
 * thread ids of the server, which restart with the server. It also reports why it cannot connect only after its
 * whole timeout.
 */
export class Pool {
  readonly #connect: () => Promise<Connection>;
  readonly #limit: number;
  readonly #waitMs: number;
  readonly #idle: Connection[] = [];
  readonly #waiters: Waiter[] = [];
  #size = 0;
  #ended = false;

  constructor(connect: () => Promise<Connection>, limit: number, waitMs: number) {
    this.#connect = connect;
    this.#limit = limit;
    this.#waitMs = waitMs;
  }

  /** A connection, to be returned with `release`. Rejects with OVERLOADED if none becomes free in time. */
  acquire(): Promise<Connection> {
    if (this.#ended) throw new StoreError('CLOSED', 'the mariadb store is not open');
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (connection.isValid()) return Promise.resolve(connection);
      void this.#drop(connection);
    }
    if (this.#size < this.#limit) return this.#add();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        const message = `mariadb: none of ${this.#limit} connections became free within ${this.#waitMs} ms`;
        reject(new StoreError('OVERLOADED', message, { hint: 'raise the writers or the readers option' }));
      }, this.#waitMs);
      const waiter = { resolve, reject, timer };
      this.#waiters.push(waiter);
    });
  }

  release(connection: Connection): void {
    if (this.#ended || !connection.isValid()) {
      void this.#drop(connection);
      if (!this.#ended) this.#refill();
      return;
    }
    const waiter = this.#next();
    if (waiter === null) this.#idle.push(connection);
    else waiter.resolve(connection);
  }

  /** Closes idle connections now, and others when they are released. */
  async end(): Promise<void> {
    this.#ended = true;
    await Promise.all(this.#idle.splice(0).map((connection) => this.#drop(connection)));
  }

  async #add(): Promise<Connection> {
    this.#size += 1;
    try {
      return await this.#connect();
    } catch (error) {
      this.#size -= 1;
      this.#refill();
      throw error;
    }
  }

  /** A connection was closed: the first waiting call gets a new connection, or the error. */
  #refill(): void {
    const waiter = this.#next();
    if (waiter !== null) this.#add().then(waiter.resolve, waiter.reject);
  }

  #next(): Waiter | null {
    const waiter = this.#waiters.shift();
    if (waiter === undefined) return null;
    clearTimeout(waiter.timer);
    return waiter;
  }

  async #drop(connection: Connection): Promise<void> {
    this.#size -= 1;
    // The driver sends the end of the session and closes the socket without waiting for an answer.
    await connection.end().catch(() => connection.destroy());
  }
}
