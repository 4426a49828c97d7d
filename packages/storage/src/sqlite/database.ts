import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { StoreError } from '../errors.ts';
import type { SqliteConfig } from './config.ts';
import { isBusy, toStoreError } from './errors.ts';

// Of a new file. A commit writes whole pages, of 4 KB in files of earlier versions.
const PAGE_BYTES = 2048;
// A commit copies the write-ahead log into the file when the log is this large. Such a checkpoint takes about 10 ms, and a
// page that many commits wrote is copied once.
const CHECKPOINT_BYTES = 8_000_000;
const MAX_STATEMENTS = 256;
// Short, without back-off: a process that writes continuously leaves only short gaps, and an attempt costs 10 us.
const RETRY_MS = 1;
// Consecutive statements give way to the event loop after this time.
const TURN_MS = 5;

const OWN_TABLES = `
  select count(*) as tables, sum(name = 'recent' or sql like '%YCSB_KEY%') as own
  from sqlite_schema where type = 'table'`;

/** The number of commits in this thread, through all connections. */
let commits = 0;

/**
 * One connection in this thread. Transactions contain no await, so calls of this process never share one. Timers
 * wait for other processes, because SQLite's own busy handler would block the event loop.
 */
export class Database {
  /** Called after a rollback: cached data of the transaction is wrong. */
  onRollback: () => void = () => {};
  readonly #config: SqliteConfig;
  readonly #statements = new Map<string, StatementSync>();
  readonly #arrays = new Map<string, StatementSync>();
  /** The version of the schema in the transaction of this turn's reads. Null if there is none. */
  #schema: number | null = null;
  /** The value of `commits` when that transaction began. */
  #begun = 0;
  #db: DatabaseSync | null = null;
  /** When `pause` last ran the event loop. */
  #turn = 0;
  #nextTurn: Promise<void> | null = null;

  constructor(config: SqliteConfig) {
    this.#config = config;
  }

  async open(): Promise<void> {
    const { path, synchronous, cache } = this.#config;
    makeFolder(path);
    demandFile(path);
    await this.run(() => {
      // An earlier attempt left this open, because another process was creating the file.
      this.#db?.close();
      createPrivate(path);
      const db = new DatabaseSync(path, { timeout: 0, enableForeignKeyConstraints: false });
      this.#db = db;
      demandOwn(db, path);
      makePrivate(path);
      // Sorts, and journals of statements that write many rows, stay in memory.
      db.exec(`
        pragma page_size = ${PAGE_BYTES};
        pragma temp_store = memory;
        pragma cache_size = -${cache};
        pragma journal_mode = wal;
        pragma synchronous = ${synchronous};
        pragma journal_size_limit = 67108864;
      `);
      const pageBytes = Number(db.prepare('pragma page_size').get()!.page_size);
      db.exec(`pragma wal_autocheckpoint = ${Math.floor(CHECKPOINT_BYTES / pageBytes)}`);
      // SQLite opens a write-protected file read-only, and reports it at the first write.
      db.exec('begin immediate; rollback');
    });
  }

  close(): void {
    this.#endReads();
    this.#statements.clear();
    this.#arrays.clear();
    this.#db?.close();
    this.#db = null;
  }

  get connection(): DatabaseSync {
    if (this.#db === null) throw new StoreError('CLOSED', `sqlite ${this.#config.path}: not open`);
    return this.#db;
  }

  /** A cached prepared statement. Rows are objects. */
  statement(sql: string): StatementSync {
    return this.#statements.get(sql) ?? this.#prepare(this.#statements, sql);
  }

  /** A cached prepared statement. Rows are arrays, which take a third of the time of objects. */
  arrays(sql: string): StatementSync {
    const known = this.#arrays.get(sql);
    if (known !== undefined) return known;
    const statement = this.#prepare(this.#arrays, sql);
    statement.setReturnArrays(true);
    return statement;
  }

  #prepare(statements: Map<string, StatementSync>, sql: string): StatementSync {
    if (statements.size >= MAX_STATEMENTS) statements.clear();
    const statement = this.connection.prepare(sql);
    statements.set(sql, statement);
    return statement;
  }

  /** Runs `work`, which must not await, as one write transaction. */
  transaction<T>(work: () => T): Promise<T> {
    return this.run(() => {
      this.statement('begin immediate').run();
      try {
        const result = work();
        this.statement('commit').run();
        commits += 1;
        return result;
      } catch (error) {
        // Some errors, such as a full disk, have already rolled back.
        if (this.connection.isTransaction) this.statement('rollback').run();
        this.onRollback();
        throw error;
      }
    });
  }

  /**
   * Await this between the statements of one call. It runs the event loop when statements have blocked this thread
   * for too long.
   */
  async pause(): Promise<void> {
    while (performance.now() - this.#turn >= TURN_MS) {
      // All waiting calls share the next turn of the event loop.
      this.#nextTurn ??= nextTurn().then(() => {
        this.#turn = performance.now();
        this.#nextTurn = null;
      });
      await this.#nextTurn;
    }
  }

  /**
   * Runs `work`, which must not await. Repeats it while another process holds the lock, up to the time of the busy
   * option.
   */
  run<T>(work: () => T): Promise<T> {
    return this.#attempt(() => {
      this.#endReads();
      return work();
    });
  }

  /**
   * As `run`, for work that only reads. The reads of one turn of the event loop are one transaction, because SQLite locks
   * the file for each transaction. A write in this thread, also through another connection, ends it. What another process
   * commits is read from the next turn on, and before that turn nobody can have told this process of it. `work` receives
   * the version of the schema, which only grows.
   */
  read<T>(work: (schema: number) => T): Promise<T> {
    return this.#attempt(() => {
      if (this.#begun !== commits) this.#endReads();
      return work(this.#schema ?? this.#beginReads());
    });
  }

  #beginReads(): number {
    this.#begun = commits;
    this.statement('begin').run();
    try {
      this.#schema = (this.arrays('pragma schema_version').get() as unknown as [number])[0];
    } catch (error) {
      this.statement('rollback').run();
      throw error;
    }
    setImmediate(() => this.#endReads());
    return this.#schema;
  }

  /** A transaction that only read always ends. */
  #endReads(): void {
    if (this.#schema === null) return;
    this.#schema = null;
    if (this.connection.isTransaction) this.statement('commit').run();
  }

  #attempt<T>(work: () => T): Promise<T> {
    try {
      return Promise.resolve(work());
    } catch (error) {
      return this.#repeat(work, error);
    }
  }

  async #repeat<T>(work: () => T, first: unknown): Promise<T> {
    const deadline = performance.now() + this.#config.busy;
    for (let error = first; ; ) {
      if (!isBusy(error) || performance.now() >= deadline) throw toStoreError(error, this.#config.path);
      await sleep(RETRY_MS + Math.random());
      try {
        return work();
      } catch (again) {
        error = again;
      }
    }
  }
}

/** Creates a missing file for its owner only. SQLite gives journals the permissions of the file. */
function createPrivate(path: string): void {
  if (path.startsWith(':')) return;
  try {
    closeSync(openSync(path, 'a', 0o600));
  } catch {
    // SQLite reports the error.
  }
}

/** Refuses the file of another program before anything is written to it. All versions have `recent`, and YCSB can make its tables first. */
function demandOwn(db: DatabaseSync, path: string): void {
  const { tables, own } = db.prepare(OWN_TABLES).get()!;
  if (tables === 0 || Number(own) > 0) return;
  throw new StoreError('MISCONFIGURED', `${path} is a SQLite database of another program`, {
    hint: 'choose another file',
  });
}

/**
 * Makes the file and its journals accessible to its owner only. A file that its group can write keeps the permissions of
 * the group, because it is shared on purpose.
 */
function makePrivate(path: string): void {
  if (path.startsWith(':')) return;
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    try {
      const { mode } = statSync(file);
      const kept = (mode & 0o020) === 0 ? 0o700 : 0o770;
      if ((mode & 0o777 & ~kept) !== 0) chmodSync(file, mode & kept);
    } catch {
      // The file belongs to another user, is read-only or does not exist. SQLite reports the error if it matters.
    }
  }
}

/** A pipe would block this thread until another process opens it. */
function demandFile(path: string): void {
  if (path.startsWith(':') || statSync(path, { throwIfNoEntry: false })?.isFile() !== false) return;
  throw new StoreError('MISCONFIGURED', `sqlite ${path}: not a regular file`, {
    hint: 'use the path of a file, or of none yet',
  });
}

function makeFolder(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new StoreError(
      'MISCONFIGURED',
      `sqlite ${path}: cannot create its folder: ${(cause as Error).message}`,
      {
        hint: 'use a path in a folder that this user can write',
        cause,
      },
    );
  }
}
