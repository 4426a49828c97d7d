import { Client } from 'pg';
import type { Action, Worker } from './decide.ts';
import { clientConfig, endClient, type Login } from './probe.ts';
import * as SQL from './sql.ts';

// On a small board the metadata of many tables takes a while.
const STATEMENT_MS = 120_000;
const GRACE_MS = 5000;
/** object_not_in_prerequisite_state: the first worker of the metadata can only be disabled synchronously. */
const NOT_NOW = '55000';

/** A table that lacks copies of some of its shards. */
export interface Lacking {
  readonly relation: string;
  readonly copies: number;
  readonly missing: number;
}

/** The last rebalance, as Citus reports it. */
export interface Job {
  readonly job: string;
  readonly state: string;
  readonly tasks: Readonly<Record<string, number>>;
  readonly started: Date | null;
  readonly finished: Date | null;
}

export interface State {
  readonly workers: readonly Omit<Worker, 'absentSeconds'>[];
  readonly lacking: readonly Lacking[];
  readonly job: Job | null;
}

/** One session with the coordinator. After an error of the session, open another one. */
export class Coordinator {
  readonly identity: string;
  readonly version: string;
  readonly #client: Client;
  readonly #port: number;

  private constructor(client: Client, port: number, identity: string, version: string) {
    this.#client = client;
    this.#port = port;
    this.identity = identity;
    this.version = version;
  }

  /**
   * Logs in, takes the lock and creates the tables of this service.
   *
   * @param workerPort the port of all workers
   * @throws when the coordinator cannot be reached, has no Citus extension, or another membership service has the
   * lock
   */
  static async open(login: Login, host: string, port: number, workerPort: number): Promise<Coordinator> {
    const client = new Client({
      ...clientConfig(login, host, port),
      statement_timeout: STATEMENT_MS,
      query_timeout: STATEMENT_MS + GRACE_MS,
      keepAlive: true,
    });
    // The next statement reports an error of the session.
    client.on('error', () => {});
    try {
      await client.connect();
      const who = await client.query<{ identity: string; citus: string | null }>(SQL.WHO);
      const { identity, citus } = who.rows[0]!;
      if (citus === null) throw new Error(`database ${login.database} has no citus extension: create it`);
      const turn = await client.query<{ mine: boolean }>(SQL.TAKE_TURN);
      if (!turn.rows[0]!.mine) throw new Error('another citus-membership is connected: run only one');
      for (const statement of SQL.PREPARE) await client.query(statement);
      return new Coordinator(client, workerPort, identity, citus);
    } catch (error) {
      await endClient(client);
      throw error;
    }
  }

  /** Sets the host and port by which workers reach the coordinator. Returns whether they changed. */
  async setHost(host: string, port: number): Promise<boolean> {
    const { rows } = await this.#client.query<{ host: string; port: number }>(SQL.COORDINATOR_HOST);
    if (rows[0]?.host === host && rows[0].port === port) return false;
    await this.#client.query(SQL.SET_COORDINATOR_HOST, [host, port]);
    return true;
  }

  async read(): Promise<State> {
    const workers = await this.#client.query<Omit<Worker, 'absentSeconds'>>(SQL.WORKERS);
    const lacking = await this.#client.query<Lacking>(SQL.MISSING_COPIES);
    const job = await this.#client.query<Job>(SQL.REBALANCE_STATUS);
    return { workers: workers.rows, lacking: lacking.rows, job: job.rows[0] ?? null };
  }

  /** Ends the transactions that failed nodes left prepared. Resolves to their number. */
  async recover(): Promise<number> {
    const { rows } = await this.#client.query<{ transactions: number }>(SQL.RECOVER);
    return rows[0]!.transactions;
  }

  /** Carries out an action in one transaction. */
  async carryOut(action: Action): Promise<void> {
    switch (action.do) {
      case 'identify':
        return void (await this.#client.query(SQL.IDENTIFY, [action.id, action.identity]));
      case 'move':
        return this.#transaction(async () => {
          for (const { id, to } of action.steps) await this.#client.query(SQL.MOVE, [id, to, this.#port]);
        });
      case 'disable':
        return this.#transaction(async () => {
          await this.#client.query('savepoint before');
          try {
            await this.#client.query(SQL.DISABLE, [action.address, this.#port, false]);
          } catch (error) {
            if ((error as { code?: unknown }).code !== NOT_NOW) throw error;
            await this.#client.query('rollback to savepoint before');
            await this.#client.query(SQL.DISABLE, [action.address, this.#port, true]);
          }
          await this.#client.query(SQL.DISABLED, [action.id]);
        });
      case 'activate':
        return this.#transaction(async () => {
          await this.#client.query(SQL.REMEMBER_COPIES);
          await this.#client.query(SQL.ACTIVATE, [action.address, this.#port]);
          await this.#client.query(SQL.ACTIVATED, [action.id]);
        });
      case 'add':
        return this.#transaction(async () => {
          for (const { address, identity } of action.newcomers) {
            const { rows } = await this.#client.query<{ id: number }>(SQL.ADD, [address, this.#port]);
            await this.#client.query(SQL.IDENTIFY, [rows[0]!.id, identity]);
          }
        });
    }
  }

  /** Ends the session at once. The server rolls back its transaction. */
  cut(): void {
    this.#client.connection.stream.destroy();
  }

  close(): Promise<void> {
    return endClient(this.#client);
  }

  async #transaction(work: () => Promise<void>): Promise<void> {
    await this.#client.query('begin');
    try {
      await work();
      await this.#client.query('commit');
    } catch (error) {
      await this.#client.query('rollback').catch(() => {});
      throw error;
    }
  }
}
