import type { Logger } from '@tidegauge/service';
import { Client } from 'pg';
import type { Job, Lacking } from './coordinator.ts';
import { clientConfig, endClient, type Login } from './probe.ts';
import { REBALANCE, REPLICATE } from './sql.ts';

/** What a person asked for, from the first copy to Citus's own background job. */
export type Progress =
  | { readonly phase: 'idle' | 'started' }
  | { readonly phase: 'copying'; readonly table: string; readonly tablesLeft: number }
  | { readonly phase: 'failed'; readonly why: string };

/**
 * Makes the copies that shards lack, then has Citus spread shards evenly. Both move data and one of them holds up
 * writes to the shard that is copied, so nothing of it happens unasked.
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

  /** Begins, unless it is under way; resolves at once to whether it began. */
  start(lacking: readonly Lacking[], job: Job | null): boolean {
    if (this.#client !== null || job?.state === 'running' || job?.state === 'scheduled') return false;
    // Copies take as long as they take: no time limits here.
    const client = new Client({ ...clientConfig(this.#login, this.#host, this.#port), keepAlive: true });
    client.on('error', () => {});
    this.#client = client;
    this.#progress = { phase: 'started' };
    this.#running = this.#run(client, lacking).finally(() => {
      this.#client = null;
    });
    return true;
  }

  /** Leaves copies under way to be undone; moves in the background go on. */
  async stop(): Promise<void> {
    // `end` waits for the statement; a closed socket has the server undo it.
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
      this.#logger.error({ err: error }, 'rebalance failed: mend what it says and ask again');
    } finally {
      await endClient(client);
    }
  }
}
