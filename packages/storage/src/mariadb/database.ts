import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, createConnection, type UpsertResult } from 'mariadb';
import { StoreError } from '../errors.ts';
import { readAuthority } from '../tls.ts';
import type { MariadbConfig } from './config.ts';
import { errorNumber, gaveWay, toStoreError } from './errors.ts';
import { Pool } from './pool.ts';

// The server ends a deadlock by a rollback of one transaction. Sorted batches rarely cause one.
const MAX_TRIES = 10;
// Prepared statements that the driver keeps per connection.
const MAX_STATEMENTS = 128;
const MAX_PACKET = 64 * 2 ** 20;
const LOCK_WAIT_S = 5;
const LOCK_S = 60;

export type Row = Record<string, unknown>;
type Work<T> = (connection: Connection) => Promise<T>;

/**
 * Two pools. Writers run transactions and count the rows that they changed. All other calls commit automatically
 * and count the rows that they matched. No call takes longer than the timeout option.
 */
export class Database {
  /** Called when the server was lost: it can have lost data that is cached here. */
  onLoss: () => void = () => {};
  readonly #config: MariadbConfig;
  #tls: { readonly host: string; readonly ca?: string } | null = null;
  readonly #writers: Pool;
  readonly #others: Pool;

  constructor(config: MariadbConfig) {
    this.#config = config;
    this.#writers = new Pool(() => this.#connect(true), config.writers, config.connect);
    this.#others = new Pool(() => this.#connect(false), config.readers, config.connect);
  }

  async open(): Promise<void> {
    const { host, tls, tlsCAFile } = this.#config;
    // For addresses too, which the driver does not pass to TLS.
    if (tls === 'true') this.#tls = { host };
    if (tls === 'true' && tlsCAFile !== null) {
      this.#tls = { host, ca: await readAuthority(tlsCAFile, 'tlsCAFile') };
    }
    await this.run(async () => {});
  }

  async close(): Promise<void> {
    await Promise.all([this.#writers.end(), this.#others.end()]);
  }

  /** Rows of a prepared statement. `sql` must be one of a few texts. Pass large whole numbers as bigint. */
  rows(sql: string, values: readonly unknown[]): Promise<Row[]> {
    return this.run((connection) => connection.execute<Row[]>(sql, [...values]));
  }

  /** Rows of an unprepared statement. An array among the values becomes a list. */
  query(sql: string, values: readonly unknown[]): Promise<Row[]> {
    return this.run((connection) => connection.query<Row[]>(sql, [...values]));
  }

  /** The number of rows that a change matched. For `insert`, see the documentation of the server. */
  async change(sql: string, values: readonly unknown[]): Promise<number> {
    const result = await this.run((connection) => connection.execute<UpsertResult>(sql, [...values]));
    return result.affectedRows;
  }

  /** Runs `work` with a connection that commits automatically. */
  run<T>(work: Work<T>, timeout = this.#config.timeout): Promise<T> {
    return this.#lend(this.#others, work, timeout);
  }

  /** Runs `work` as one transaction. Repeats it after a deadlock, until the timeout. */
  async transaction<T>(work: Work<T>): Promise<T> {
    const deadline = performance.now() + this.#config.timeout;
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#lend(this.#writers, (connection) => inTransaction(connection, work));
      } catch (error) {
        const isDone = tries === MAX_TRIES || performance.now() >= deadline;
        if (isDone || !(error instanceof StoreError) || !gaveWay(error.cause)) throw error;
      }
      await sleep(Math.random() * 2 ** Math.min(tries, 6));
    }
  }

  /** Runs `work`, which changes the schema, while no other process of this database does so. */
  exclusively<T>(timeout: number, work: Work<T>): Promise<T> {
    const { host, timeout: usual } = this.#config;
    const name = `concat('tidegauge.', md5(database()))`;
    const locked = async (connection: Connection): Promise<T> => {
      const [row] = await connection.query<Row[]>(`select get_lock(${name}, ${LOCK_S}) as granted`);
      if (row?.granted !== 1) {
        const message = `mariadb ${host}: another process has been changing the schema for ${LOCK_S} s`;
        throw new StoreError('UNAVAILABLE', message, { hint: 'wait until it is done' });
      }
      return work(connection).finally(() => connection.query(`do release_lock(${name})`));
    };
    return this.run(async (connection) => {
      await connection.query('set session max_statement_time = 0');
      return locked(connection).finally(() =>
        connection.query(`set session max_statement_time = ${usual / 1000}`),
      );
    }, timeout);
  }

  async #lend<T>(pool: Pool, work: Work<T>, timeout = this.#config.timeout): Promise<T> {
    try {
      const connection = await pool.acquire();
      try {
        return await this.#within(timeout, work(connection), () => connection.destroy());
      } finally {
        pool.release(connection);
      }
    } catch (error) {
      const known = toStoreError(error, this.#config);
      if (known instanceof StoreError && known.code === 'UNAVAILABLE') this.onLoss();
      throw known;
    }
  }

  async #within<T>(timeout: number, call: Promise<T>, giveUp: () => void): Promise<T> {
    const { host, port } = this.#config;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      // No caller waits for the result.
      call.catch(() => {});
      giveUp();
      const message = `mariadb ${host}:${port}: no answer within ${timeout} ms`;
      late.reject(
        new StoreError('TIMEOUT', message, { hint: 'raise the timeout option, or check the server' }),
      );
    }, timeout);
    try {
      return await Promise.race([call, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #connect(transactional: boolean): Promise<Connection> {
    const { host, port, user, password, database, connect, timeout } = this.#config;
    let given = false;
    const attempt = createConnection({
      ...{ host, port, user, password, database, connectTimeout: connect },
      ...(this.#tls === null ? {} : { ssl: this.#tls }),
      foundRows: !transactional,
      bigIntAsNumber: true,
      insertIdAsNumber: true,
      prepareCacheLength: MAX_STATEMENTS,
      maxAllowedPacket: MAX_PACKET,
      keepAliveDelay: 30_000,
    }).then(async (connection) => {
      // Without a listener, an error of an idle connection would end the process. The next call gets the error.
      connection.on('error', () => {});
      if (given) connection.destroy();
      else await setUp(connection, transactional, timeout);
      return connection;
    });
    return this.#within(connect, attempt, () => {
      given = true;
      attempt.then((connection) => connection.destroy()).catch(() => {});
    }).catch((error: unknown) => {
      if (!(error instanceof StoreError) || error.code !== 'TIMEOUT') throw error;
      throw new StoreError('UNAVAILABLE', `${error.message} to connect`, {
        hint: 'check that the server runs',
      });
    });
  }
}

/** Sets up the session as the statements here need it, whatever the defaults of the server are. */
async function setUp(connection: Connection, transactional: boolean, timeout: number): Promise<void> {
  await connection.query(`
    set session sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',
      autocommit = ${transactional ? 0 : 1},
      innodb_lock_wait_timeout = ${LOCK_WAIT_S},
      lock_wait_timeout = ${Math.ceil(timeout / 1000)},
      max_statement_time = ${timeout / 1000}`);
  // Gaps between keys stay unlocked, so that writers of different series do not wait for each other.
  await connection.query('set session transaction isolation level read committed');
}

async function inTransaction<T>(connection: Connection, work: Work<T>): Promise<T> {
  try {
    const result = await work(connection);
    await connection.query('commit');
    return result;
  } catch (error) {
    // This includes statements that were sent after the failed one. The driver answers in order.
    if (connection.isValid()) await connection.query('rollback').catch(() => connection.destroy());
    throw error;
  }
}

/** Whether the error comes from the server or the driver, with one of these numbers. */
export function isNumber(error: unknown, ...numbers: readonly number[]): boolean {
  const cause = error instanceof StoreError ? error.cause : error;
  return numbers.includes(errorNumber(cause) ?? 0);
}
