import { performance } from 'node:perf_hooks';
import type { RecordStore, YcsbRecord } from './contract.ts';
import { StoreError, type StoreErrorOptions } from './errors.ts';

// Tables of records share a database with readings, and often with tables of other programs. The database itself
// contains everything that decides what Tidegauge may do with a table, so every process decides in the same way.

/**
 * The kind of a table. `own`: it has the mark that Tidegauge sets when it creates a table. `ycsb`: it has the
 * layout of YCSB's binding and no mark. `other`: any other table of that name.
 */
export type TableKind = 'absent' | 'own' | 'ycsb' | 'other';

/** The mark, for engines that keep a text with a table, such as a comment. It is deleted with the table. */
export const TABLE_MARK = 'tidegauge:records';

/** The records of a complete backend. The wrapper inspects a table before it passes a call on. */
export interface CompleteRecords extends RecordStore {
  /** Reads the kind of a table from the database. */
  inspect(table: string): Promise<TableKind>;
  /** Called for a table that is absent. If another process creates it first, that table stays as it is. */
  createTable(table: string, fieldCount: number): Promise<void>;
  /** Called with one record or more, ordered by key. No key occurs twice. */
  insertMany(table: string, records: readonly YcsbRecord[]): Promise<void>;
  /** Drops the table if it is `own` at that moment. @throws {StoreError} FORBIDDEN when it is `ycsb` or `other`. */
  dropTable(table: string): Promise<void>;
}

/** The records of an engine. `insert` and `update` can be absent if they are upserts. */
export type BackendRecords = Omit<CompleteRecords, 'insert' | 'update'> &
  Partial<Pick<CompleteRecords, 'insert' | 'update'>>;

const COLUMN = /^field(?:0|[1-9]\d{0,2})$/;

/**
 * Whether the columns besides the key are those of YCSB's layout. Case does not matter, because engines change the
 * case of names.
 */
export function areFields(columns: readonly string[]): boolean {
  return columns.length > 0 && columns.every((column) => COLUMN.test(column.toLowerCase()));
}

/** The kind of a table that exists. */
export function kindOf(isMarked: boolean, isLayout: boolean): TableKind {
  if (isMarked) return 'own';
  return isLayout ? 'ycsb' : 'other';
}

const DROP_HINT = `drop it with the database's own tools, or set the mark: see docs/record-tables.md`;

/** The table does not exist. */
export class MissingTable extends StoreError {
  constructor(message: string, options: StoreErrorOptions) {
    super('REJECTED', message, options);
  }
}

/** A missing table or field, for engines that need the columns when they create a table. */
export function missingField(table: string, cause: unknown): StoreError {
  return new StoreError('REJECTED', `table ${table} or one of its fields does not exist`, {
    hint: 'create the table with enough fields first',
    cause,
  });
}

/** Throws unless a table may be read and written as records. @throws {StoreError} */
export function demandRecords(table: string, kind: TableKind): void {
  if (kind === 'absent') {
    throw new MissingTable(`table ${table} does not exist`, { hint: 'create the table first' });
  }
  if (kind === 'other') {
    const message = `table ${table} is not a table of records: Tidegauge did not create it, and its layout is not YCSB's`;
    throw new StoreError('FORBIDDEN', message, { hint: 'use another name' });
  }
}

/** Throws unless Tidegauge made the table. @throws {StoreError} FORBIDDEN */
export function demandOwn(table: string, kind: TableKind): void {
  if (kind === 'other') demandRecords(table, kind);
  if (kind !== 'ycsb') return;
  const message = `table ${table} has no mark that Tidegauge created it`;
  throw new StoreError('FORBIDDEN', message, { hint: DROP_HINT });
}

/** The kind of a table is cached for this time. */
const KNOWN_MS = 5000;
const MAX_KNOWN = 1000;

/** Checks the kind of a table before a call on it. Caches the result for a short time. */
export class TableGuard {
  readonly #inspect: (table: string) => Promise<TableKind>;
  /** Tables that may be used, and the time at which they must be checked again. */
  readonly #known = new Map<string, number>();
  readonly #pending = new Map<string, Promise<void>>();

  constructor(inspect: (table: string) => Promise<TableKind>) {
    this.#inspect = inspect;
  }

  async on<T>(table: string, call: () => Promise<T>): Promise<T> {
    const until = this.#known.get(table);
    if (until === undefined || until < performance.now()) await this.#admit(table);
    try {
      return await call();
    } catch (error) {
      // Another program may have dropped or changed the table.
      this.#known.delete(table);
      throw error;
    }
  }

  forget(table: string): void {
    this.#known.delete(table);
  }

  /** Concurrent calls share one check. */
  #admit(table: string): Promise<void> {
    let pending = this.#pending.get(table);
    if (pending === undefined) {
      pending = this.#look(table).finally(() => this.#pending.delete(table));
      this.#pending.set(table, pending);
    }
    return pending;
  }

  async #look(table: string): Promise<void> {
    this.#known.delete(table);
    demandRecords(table, await this.#inspect(table));
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(table, performance.now() + KNOWN_MS);
  }
}
