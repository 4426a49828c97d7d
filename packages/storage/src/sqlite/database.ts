import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { StoreError } from '../errors.ts';
import type { SqliteConfig } from './config.ts';
import { isBusy, toStoreError } from './errors.ts';

// Pages of write-ahead log that make a commit copy them into the file: 8 MB, so that a checkpoint takes about
// 10 ms of a commit now and then, and a page written by many commits is copied once.
const CHECKPOINT_PAGES = 2000;
const MAX_STATEMENTS = 256;
// Short and never longer: the gaps of a process that writes all the time are short, and a try costs 10 us.
const RETRY_MS = 1;
// Statements that follow each other let others go on after so long.
const TURN_MS = 5;

/**
 * One connection in this thread. Transactions run without an await inside, so calls of this process never
 * meet in one; other processes are waited for with timers, since SQLite's own busy handler would hold the
 * event loop.
 */
export class Database {
  /** Called after a transaction was undone: what was remembered of it is wrong. */
  onRollback: () => void = () => {};
  readonly #config: SqliteConfig;
  readonly #statements = new Map<string, StatementSync>();
  #db: DatabaseSync | null = null;
  /** When `pause` last let others go on. */
  #turn = 0;
  #nextTurn: Promise<void> | null = null;

  constructor(config: SqliteConfig) {
    this.#config = config;
  }

  async open(): Promise<void> {
    const { path, synchronous, cache } = this.#config;
    makeFolder(path);
    await this.run(() => {
      // Left open by an attempt that met another process in the middle of creating the file.
      this.#db?.close();
      makePrivate(path);
      const db = new DatabaseSync(path, { timeout: 0, enableForeignKeyConstraints: false });
      this.#db = db;
      // Journals of statements that write many rows, and sorts, stay in memory.
      db.exec(`
        pragma temp_store = memory;
        pragma cache_size = -${cache};
        pragma journal_mode = wal;
        pragma synchronous = ${synchronous};
        pragma wal_autocheckpoint = ${CHECKPOINT_PAGES};
        pragma journal_size_limit = 67108864;
      `);
      // SQLite opens what it may not write for reading only, and says so at the first write.
      db.exec('begin immediate; rollback');
    });
  }

  close(): void {
    this.#statements.clear();
    this.#db?.close();
    this.#db = null;
  }

  get connection(): DatabaseSync {
    if (this.#db === null) throw new StoreError('CLOSED', `sqlite ${this.#config.path}: not open`);
    return this.#db;
  }

  /** A prepared statement, kept; rows come as objects. */
  statement(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
    const statement = this.connection.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  /** Runs `work`, which must not await, as one write transaction. */
  transaction<T>(work: () => T): Promise<T> {
    return this.run(() => {
      this.statement('begin immediate').run();
      try {
        const result = work();
        this.statement('commit').run();
        return result;
      } catch (error) {
        // Some errors (a full disk) have rolled back by themselves.
        if (this.connection.isTransaction) this.statement('rollback').run();
        this.onRollback();
        throw error;
      }
    });
  }

  /** To be awaited between statements of one call: lets others go on when statements have held this thread for long. */
  async pause(): Promise<void> {
    while (performance.now() - this.#turn >= TURN_MS) {
      // One for all calls that wait, so that they share the next turn.
      this.#nextTurn ??= nextTurn().then(() => {
        this.#turn = performance.now();
        this.#nextTurn = null;
      });
      await this.#nextTurn;
    }
  }

  /** Runs `work`, which must not await, again while another process is in the way, up to the busy option. */
  async run<T>(work: () => T): Promise<T> {
    const deadline = performance.now() + this.#config.busy;
    for (;;) {
      try {
        return work();
      } catch (error) {
        if (!isBusy(error) || performance.now() >= deadline) throw toStoreError(error, this.#config.path);
      }
      await sleep(RETRY_MS + Math.random());
    }
  }
}

/**
 * Readings are for this user only; SQLite gives its journals the rights of the file. A file that its group may write
 * is shared on purpose: only others lose it.
 */
function makePrivate(path: string): void {
  if (path.startsWith(':')) return;
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    try {
      if (file === path) closeSync(openSync(file, 'a', 0o600));
      const { mode } = statSync(file);
      const kept = (mode & 0o020) === 0 ? 0o700 : 0o770;
      if ((mode & 0o777 & ~kept) !== 0) chmodSync(file, mode & kept);
    } catch {
      // Another user's, read-only or not there: what matters SQLite says itself.
    }
  }
}

function makeFolder(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new StoreError(
      'MISCONFIGURED',
      `sqlite ${path}: cannot make its folder: ${(cause as Error).message}`,
      {
        hint: 'name a path in a folder that this user may write',
        cause,
      },
    );
  }
}
