import type { ConnectionOptions } from 'node:tls';
import pg from 'pg';
import type { BackendLogger } from '../context.ts';
import { StoreError } from '../errors.ts';
import { readAuthority } from '../tls.ts';
import { type PostgresConfig, WRITERS } from './config.ts';
import { copyIn } from './copy-in.ts';
import { isStalePlan, keepsSession, toStoreError } from './errors.ts';
import { Pipelines } from './pipelines.ts';

// Prepared statements per connection. Updates of many different sets of fields exceed this, and further ones stay
// unnamed.
const MAX_STATEMENTS = 256;
// Extra time for the server's own timeout to answer. Then the connection is closed.
const GRACE_MS = 2000;
const IDLE_MS = 60_000;
// Connections of `connections` that are pipelines. More of them gain nothing: each uses one core of the server.
const PIPELINES = 2;
// Limits of a statement in a pipeline, because the statements behind it wait for it. It is repeated on another connection.
const PIPELINE_SETTINGS = { lock_timeout: '100', statement_timeout: '1000' };

export type Value =
  | string
  | number
  | boolean
  | null
  | Buffer
  | readonly string[]
  | readonly number[]
  | readonly Buffer[];
export type Row = readonly unknown[];

/** Adds values to a statement. Each gets the next number as its placeholder. */
export function binder(values: Value[]): (value: Value) => string {
  return (value) => `$${values.push(value)}`;
}

export interface Result {
  readonly rows: readonly Row[];
  /** Names of the columns. */
  readonly columns: readonly string[];
  /** The number of rows that were returned or changed. */
  readonly count: number;
}

/** One connection from the pool, during a call. */
export interface Connection {
  /** Host, port and database, for messages. */
  readonly place: string;
  query(sql: string, values?: readonly Value[]): Promise<Result>;
  /** Runs `COPY … FROM STDIN` with the data of `rows` rows. Rejects unless the server stored all of them. */
  copy(sql: string, data: Buffer, rows: number): Promise<void>;
}

/** What sessions of a dialect need. */
export interface Sessions {
  /** The scheme of its URLs. */
  readonly name: string;
  /** Settings of each session. */
  readonly settings: Readonly<Record<string, string>>;
  /** Further settings of sessions that write readings. */
  readonly ingestSettings: Readonly<Record<string, string>>;
}

/** The pool to use. Writers of readings have their own connections, which slow reads cannot occupy. */
export type Lane = 'ingest' | 'calls';

const INT8 = 20;

// All whole numbers in the contract are below 2^53.
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format as 'text'),
};

/** Fields that are missing in the driver's types. */
interface Connecting {
  readonly connection: { readonly stream: { destroy(): void } };
}

/**
 * The driver keeps the socket of a failed login. Without this, the socket and this process would stay for a
 * minute.
 */
class Client extends pg.Client {
  override connect(): Promise<never>;
  override connect(done: (error: Error) => void): void;
  // biome-ignore lint/suspicious/noConfusingVoidType: the driver's own signature
  override connect(done?: (error: Error) => void): void | Promise<never> {
    if (done === undefined) return super.connect() as Promise<never>;
    super.connect((error: Error) => {
      if (error) (this as unknown as Connecting).connection.stream.destroy();
      done(error);
    });
  }
}

/** Bounded pools of connections to one database. Statements are prepared once per connection. */
export class Database {
  readonly place: string;
  /** Called when a connection was lost: the server can have lost data that is cached here. */
  onLost: () => void = () => {};
  readonly #config: PostgresConfig;
  /** The options object of the pools. `open` completes it before the first connection. */
  readonly #tls: ConnectionOptions | false;
  readonly #pools: Readonly<Record<Lane, pg.Pool>>;
  readonly #pipelines: Pipelines;
  readonly #names = new Map<string, string>();
  readonly #lanes: Readonly<Record<Lane, number>>;

  constructor(
    config: PostgresConfig,
    { name: scheme, settings, ingestSettings }: Sessions,
    logger: BackendLogger,
  ) {
    const { host, port, database } = config;
    this.#config = config;
    this.#tls = tlsOptions(config);
    this.place = `${scheme} ${host.includes(':') ? `[${host}]` : host}:${port}/${database}`;
    const pipelines = Math.min(PIPELINES, config.connections - 1);
    this.#lanes = { ingest: WRITERS, calls: config.connections - pipelines };
    const pool = (lane: Lane): pg.Pool => {
      const all = lane === 'ingest' ? { ...settings, ...ingestSettings } : settings;
      const made = new pg.Pool(poolConfig(config, this.#tls, all, this.#lanes[lane]));
      made.on('error', (err) => logger.debug({ err, place: this.place }, 'idle connection lost'));
      // A connection can also be lost while a call uses it and no statement runs. The next statement then fails.
      made.on('connect', (client) => client.on('error', () => this.onLost()));
      return made;
    };
    this.#pools = { ingest: pool('ingest'), calls: pool('calls') };
    this.#pipelines = new Pipelines({
      count: pipelines,
      idleMs: IDLE_MS,
      client: () => {
        const { statement_timeout: _, ...options } = poolConfig(
          config,
          this.#tls,
          { ...settings, ...PIPELINE_SETTINGS },
          1,
        );
        return new Client({ ...options, pipeline: true });
      },
      onLost: () => this.onLost(),
    });
  }

  async open(): Promise<void> {
    const { sslrootcert } = this.#config;
    if (sslrootcert !== null && this.#tls !== false) {
      this.#tls.ca = await readAuthority(sslrootcert, 'sslrootcert');
    }
    const { rows } = await this.run('calls', `select current_setting('server_encoding')`);
    const encoding = rows[0]?.[0];
    if (encoding === 'UTF8') return;
    throw new StoreError('MISCONFIGURED', `${this.place}: the database is encoded in ${encoding}`, {
      hint: `create it with encoding 'UTF8', which alone keeps every text`,
    });
  }

  async close(): Promise<void> {
    await Promise.all([this.#pipelines.close(), ...Object.values(this.#pools).map((pool) => pool.end())]);
  }

  /** One statement, committed when it resolves. */
  async run(lane: Lane, sql: string, values: readonly Value[] = []): Promise<Result> {
    // Each connection can hold an outdated plan of a table that was created again.
    for (let stale = 0; ; stale += 1) {
      try {
        return await this.#lend(lane, (connection) => connection.query(sql, values));
      } catch (error) {
        if (!isStalePlan((error as Error).cause) || stale > this.#lanes[lane]) throw error;
      }
    }
  }

  /** One `COPY … FROM STDIN`, committed when it resolves. See `Connection`. */
  copy(lane: Lane, sql: string, data: Buffer, rows: number): Promise<void> {
    return this.#lend(lane, (connection) => connection.copy(sql, data, rows));
  }

  /**
   * Reads a few rows with one short statement, in a pipeline if possible. When the server refuses it or takes too long,
   * it runs again as every other statement, because that costs little and reports the error.
   */
  async read(sql: string, values: readonly Value[]): Promise<Result> {
    const name = this.#name(sql);
    const sent = name === null ? null : this.#pipelines.query(preparedQuery(sql, values, name));
    if (sent === null) return this.run('calls', sql, values);
    try {
      return toResult(await sent);
    } catch (error) {
      if (keepsSession(error)) return this.run('calls', sql, values);
      throw toStoreError(error, this.place);
    }
  }

  /** Runs `work` on a connection, outside of any transaction. */
  session<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#lend('calls', work);
  }

  /** Runs `work` as one transaction. */
  transaction<T>(lane: Lane, work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#lend(lane, async (connection) => {
      await connection.query('begin');
      try {
        const result = await work(connection);
        await connection.query('commit');
        return result;
      } catch (error) {
        await connection.query('rollback').catch(() => {});
        throw error;
      }
    });
  }

  async #lend<T>(lane: Lane, work: (connection: Connection) => Promise<T>): Promise<T> {
    let client: pg.PoolClient | null = null;
    let broken = false;
    try {
      const lent = await this.#pools[lane].connect();
      client = lent;
      const statement = async <R>(result: Promise<R>): Promise<R> => {
        try {
          return await result;
        } catch (error) {
          broken ||= !keepsSession(error) || isStalePlan(error);
          throw toStoreError(error, this.place);
        }
      };
      const query = async (sql: string, values: readonly Value[] = []): Promise<Result> => {
        const name = values.length === 0 ? null : this.#name(sql);
        return toResult(await statement(lent.query<unknown[]>(preparedQuery(sql, values, name))));
      };
      const copy = (sql: string, data: Buffer, rows: number): Promise<void> =>
        statement(copyIn(lent, sql, data, rows));
      return await work({ place: this.place, query, copy });
    } catch (error) {
      if (broken || client === null) this.onLost();
      throw toStoreError(error, this.place);
    } finally {
      client?.release(broken);
    }
  }

  /** The name of a prepared statement. Statements without values are not prepared. */
  #name(sql: string): string | null {
    let name = this.#names.get(sql);
    if (name === undefined && this.#names.size < MAX_STATEMENTS) {
      name = `tidegauge_${this.#names.size}`;
      this.#names.set(sql, name);
    }
    return name ?? null;
  }
}

/** @param name of the prepared statement, or null */
function preparedQuery(sql: string, values: readonly Value[], name: string | null): pg.QueryArrayConfig {
  const query = { text: sql, values: [...values], rowMode: 'array' as const };
  return name === null ? query : { ...query, name };
}

function toResult({ rows, fields, rowCount }: pg.QueryArrayResult<unknown[]>): Result {
  return { rows, columns: fields.map((field) => field.name), count: rowCount ?? 0 };
}

function tlsOptions({ host, sslmode }: PostgresConfig): ConnectionOptions | false {
  if (sslmode === 'disable') return false;
  return {
    // For addresses, which the driver does not pass to TLS.
    host,
    rejectUnauthorized: sslmode !== 'require',
    ...(sslmode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
  };
}

function poolConfig(
  config: PostgresConfig,
  ssl: ConnectionOptions | false,
  settings: Readonly<Record<string, string>>,
  max: number,
): pg.PoolConfig {
  const { host, port, user, password, database, connect, timeout } = config;
  return {
    ...{ host, port, user, database, max, types, Client },
    ...(password === null ? {} : { password }),
    ssl,
    application_name: 'tidegauge',
    // A write resolves when it is on the disk, whatever the default of the server is.
    options: Object.entries({ synchronous_commit: 'on', ...settings })
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
    keepAlive: true,
    connectionTimeoutMillis: connect,
    idleTimeoutMillis: IDLE_MS,
    statement_timeout: timeout,
    query_timeout: timeout + GRACE_MS,
  };
}
