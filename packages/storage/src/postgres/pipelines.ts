import type pg from 'pg';
import { isStalePlan, keepsSession } from './errors.ts';

/** Most statements of one connection that wait for their result. */
const DEPTH = 32;
/** An attempt to connect that failed is repeated after this time. */
const RETRY_MS = 1000;

/** Fields that are missing in the driver's types. */
interface Stream {
  readonly connection: { readonly stream: { cork(): void; uncork(): void } };
}

export interface PipelineOptions {
  /** The most connections. */
  readonly count: number;
  /** A connection without statements is closed after this time, milliseconds. */
  readonly idleMs: number;
  /** A new client in pipeline mode, not connected. */
  readonly client: () => pg.Client;
  /** Called when a connection was lost. */
  readonly onLost: () => void;
}

/**
 * A few connections on which statements do not wait for the results of earlier ones, so that client and server handle
 * several of them per wake-up. The server runs the statements of a connection one after the other, so they must be short.
 * Statements of the same turn of the event loop are sent in one write.
 */
export class Pipelines {
  readonly #options: PipelineOptions;
  readonly #open = new Set<Pipeline>();
  #connecting = false;
  #retryAt = Number.NEGATIVE_INFINITY;
  #idleCheck: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: PipelineOptions) {
    this.#options = options;
  }

  /** Sends a statement, or returns null when no connection can take it now. */
  query(config: pg.QueryArrayConfig): Promise<pg.QueryArrayResult<unknown[]>> | null {
    let best: Pipeline | null = null;
    for (const each of this.#open) if (best === null || each.depth < best.depth) best = each;
    if ((best === null || best.depth > 0) && this.#open.size < this.#options.count) void this.#connect();
    return best === null || best.depth >= DEPTH ? null : best.query(config);
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#idleCheck !== null) clearInterval(this.#idleCheck);
    await Promise.all([...this.#open].map((each) => this.#end(each)));
  }

  /** A failure is not reported: the statement is sent on another connection, which reports it. */
  async #connect(): Promise<void> {
    if (this.#connecting || this.#closed || performance.now() < this.#retryAt) return;
    this.#connecting = true;
    const client = this.#options.client();
    const pipeline = new Pipeline(client, () => void this.#end(pipeline));
    client.on('error', () => {
      this.#options.onLost();
      this.#open.delete(pipeline);
    });
    try {
      await new Promise<void>((resolve, reject) => {
        client.connect((error: Error | null) => (error ? reject(error) : resolve()));
      });
      this.#open.add(pipeline);
      if (this.#closed) await this.#end(pipeline);
      else this.#idleCheck ??= setInterval(() => this.#endIdle(), this.#options.idleMs).unref();
    } catch {
      this.#retryAt = performance.now() + RETRY_MS;
    } finally {
      this.#connecting = false;
    }
  }

  #endIdle(): void {
    for (const each of this.#open) {
      if (!each.wasUsed && each.depth === 0) void this.#end(each);
      each.wasUsed = false;
    }
    if (this.#open.size > 0 || this.#idleCheck === null) return;
    clearInterval(this.#idleCheck);
    this.#idleCheck = null;
  }

  /** Closes a connection after the statements that it has. */
  async #end(pipeline: Pipeline): Promise<void> {
    this.#open.delete(pipeline);
    await pipeline.end();
  }
}

class Pipeline {
  /** Statements that wait for their result. */
  depth = 0;
  /** Whether it had a statement since the last check. */
  wasUsed = true;
  readonly #client: pg.Client;
  readonly #retire: () => void;
  #isCorked = false;

  /** @param retire called when the connection must not be used any more */
  constructor(client: pg.Client, retire: () => void) {
    this.#client = client;
    this.#retire = retire;
  }

  query(config: pg.QueryArrayConfig): Promise<pg.QueryArrayResult<unknown[]>> {
    this.depth += 1;
    this.wasUsed = true;
    this.#cork();
    return new Promise((resolve, reject) => {
      this.#client.query<unknown[]>(config, (error: Error | null, result) => {
        this.depth -= 1;
        if (!error) {
          resolve(result);
          return;
        }
        if (isStalePlan(error) || !keepsSession(error)) this.#retire();
        reject(error);
      });
    });
  }

  async end(): Promise<void> {
    await this.#client.end().catch(() => {});
  }

  /** Keeps what is written until the end of this turn of the event loop. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    const { stream } = (this.#client as unknown as Stream).connection;
    stream.cork();
    setImmediate(() => {
      this.#isCorked = false;
      stream.uncork();
    });
  }
}
