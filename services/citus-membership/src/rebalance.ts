import type { Logger } from '@tidegauge/service';
import { Client } from 'pg';
import type { Job, Lacking } from './coordinator.ts';
import { clientConfig, endClient, type Login } from './probe.ts';
import { REBALANCE, REPLICATE } from './sql.ts';

/** A requested rebalance, from the first copy to Citus's background job. */
export type Progress =
  | { readonly phase: 'idle' | 'started' }
  | { readonly phase: 'copying'; readonly table: string; readonly tablesLeft: number }
  | { readonly phase: 'failed'; readonly why: string };

/**
 * Creates missing copies of shards, then starts Citus's rebalancer. Both move data, and copying a shard blocks writes
 * to it, so it only runs on request.
 */
export class Rebalance {
  readonly #login: Login;
  readonly #host: string;
  readonly #port: number;
  readonly #logger: Logger;
  #progress: Progress = { phase: 'idle' };
  #client: Client | null = null;
  #running: Promise<void> = Promise.resolve();

  constructor(login: Login, host: string, port: number, logger: Logger) {
    this.#login = login;
    this.#host = host;
    this.#port = port;
    this.#logger = logger;
  }

  get progress(): Progress {
    return this.#progress;
  }

  /** Starts, unless it is running. Resolves at once with whether it started. */
  start(lacking: readonly Lacking[], job: Job | null): boolean {
    if (this.#client !== null || job?.state === 'running' || job?.state === 'scheduled') return false;
    // Copies can take long, so there are no time limits here.
    const client = new Client({ ...clientConfig(this.#login, this.#host, this.#port), keepAlive: true });
    client.on('error', () => {});
    this.#client = client;
    this.#progress = { phase: 'started' };
    this.#running = this.#run(client, lacking).finally(() => {
      this.#client = null;
    });
    return true;
  }

  /** Cancels copies, which are rolled back; background moves continue. */
  async stop(): Promise<void> {
    // `end` would wait for the statement; after the socket is closed the server rolls it back.
    this.#client?.connection.stream.destroy();
    await this.#running;
  }

  async #run(client: Client, lacking: readonly Lacking[]): Promise<void> {
    try {
      await client.connect();
      for (const [index, { relation, copies, missing }] of lacking.entries()) {
        this.#progress = { phase: 'copying', table: relation, tablesLeft: lacking.length - index };
        this.#logger.info({ relation, missing }, 'copying shards');
        await client.query(REPLICATE, [relation, copies]);
      }
      const { rows } = await client.query<{ job: string | null }>(REBALANCE);
      const job = rows[0]?.job ?? null;
      this.#progress = { phase: 'idle' };
      this.#logger.info({ job }, job === null ? 'shards are spread evenly' : 'shards move in the background');
    } catch (error) {
      this.#progress = { phase: 'failed', why: (error as Error).message };
      this.#logger.error({ err: error }, 'rebalance failed: fix the cause and start it again');
    } finally {
      await endClient(client);
    }
  }
}
