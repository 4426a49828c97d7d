import type { RecordFields, YcsbRecord } from '../contract.ts';
import { StoreError } from '../errors.ts';
import { partsOf } from '../record-batch.ts';
import { type BackendRecords, demandOwn, MissingTable, type TableKind } from '../tables.ts';
import { translated } from './errors.ts';
import { KeyedLog } from './keyed-log.ts';
import { isTexts, pickFields } from './mapping.ts';
import type { Layout } from './schema.ts';
import type { SkippedLines } from './skipped-lines.ts';
import { SortedKeys } from './sorted-keys.ts';

// The wrapper checks table names too, but here they become file names.
const TABLE = /^\w{1,64}$/;
/** The most characters of a record, so that its line stays below the longest line that is read. */
const MAX_RECORD = 8 * 1024 * 1024;
const MAX_TABLES = 64;
// Most records and characters that a load appends to the file at once.
const LOAD_RECORDS = 1000;
const LOAD_LENGTH = 4_194_304;

export class JsonRecords implements BackendRecords {
  readonly #layout: Layout;
  readonly #skipped: SkippedLines;
  readonly #tables = new Map<string, Table>();

  constructor(layout: Layout, skipped: SkippedLines) {
    this.#layout = layout;
    this.#skipped = skipped;
  }

  inspect(table: string): Promise<TableKind> {
    return this.#translated(() => {
      const { log } = this.#table(table);
      return log.read(() => log.kind);
    });
  }

  createTable(table: string): Promise<void> {
    return this.#translated(() => this.#table(table).log.create());
  }

  dropTable(table: string): Promise<void> {
    return this.#translated(() => this.#table(table).log.drop((kind) => demandOwn(table, kind)));
  }

  read(table: string, key: string, fields: readonly string[] | null): Promise<RecordFields | null> {
    return this.#translated(async () => {
      const { log } = this.#table(table);
      const found = await log.documents(() => this.#existing(table, [key]));
      const all = found.get(key);
      return all === undefined ? null : pickFields(all, fields);
    });
  }

  async insert(table: string, key: string, fields: RecordFields): Promise<boolean> {
    return this.#change(table, key, (current) => current ?? bounded(key, { ...fields }), true);
  }

  async insertMany(table: string, records: readonly YcsbRecord[]): Promise<void> {
    await this.#translated(async () => {
      const { log } = this.#table(table);
      await log.read(() => this.#existing(table, []));
      for (const part of partsOf(records, LOAD_RECORDS, LOAD_LENGTH)) {
        const fieldsOf = new Map(part.map(({ key, fields }) => [key, fields]));
        await log.change({
          keys: () => fieldsOf.keys(),
          apply: (key, current) => current ?? bounded(key, { ...fieldsOf.get(key) }),
        });
      }
    });
  }

  async update(table: string, key: string, fields: RecordFields): Promise<boolean> {
    return this.#change(table, key, (current) => current && bounded(key, { ...current, ...fields }), false);
  }

  async delete(table: string, key: string): Promise<boolean> {
    return this.#change(table, key, () => null, false);
  }

  scan(table: string, start: string, count: number, fields: readonly string[] | null): Promise<YcsbRecord[]> {
    return this.#translated(async () => {
      const { log, keys } = this.#table(table);
      const found = await log.documents(() => this.#existing(table, keys.take(start, count)));
      return [...found].map(([key, all]) => ({ key, fields: pickFields(all, fields) }));
    });
  }

  async close(): Promise<void> {
    for (const { log } of this.#tables.values()) await log.close();
    this.#tables.clear();
  }

  /** Resolves to whether the key was absent before (`absent` true) or existed (`absent` false). */
  #change(
    table: string,
    key: string,
    apply: (current: RecordFields | null) => RecordFields | null,
    absent: boolean,
  ): Promise<boolean> {
    return this.#translated(async () => {
      const { log } = this.#table(table);
      await log.read(() => this.#existing(table, []));
      const outcomes = await log.change({ keys: () => [key], apply: (_key, current) => apply(current) });
      return (outcomes.get(key)!.before === null) === absent;
    });
  }

  #existing<T>(table: string, value: T): T {
    if (this.#table(table).log.exists) return value;
    throw new MissingTable(`table ${table} does not exist`, { hint: 'create the table first' });
  }

  #table(name: string): Table {
    let table = this.#tables.get(name);
    if (table === undefined) {
      if (!TABLE.test(name)) throw new TypeError('a table name is letters, digits and _');
      if (this.#tables.size >= MAX_TABLES) this.#forgetAbsent();
      if (this.#tables.size >= MAX_TABLES) {
        throw new StoreError('OVERLOADED', `more than ${MAX_TABLES} record tables are in use`);
      }
      table = new Table(this.#layout.records, name, this.#skipped);
      this.#tables.set(name, table);
    }
    return table;
  }

  /** Removes tables that were dropped or never existed. */
  #forgetAbsent(): void {
    for (const [name, { log }] of this.#tables) {
      if (!log.exists && !log.busy) this.#tables.delete(name);
    }
  }

  #translated<T>(call: () => Promise<T>): Promise<T> {
    return translated(this.#layout.records, call);
  }
}

/** The keys of a table are in memory, its fields in the file. */
class Table {
  readonly keys = new SortedKeys();
  readonly log: KeyedLog<RecordFields>;

  constructor(folder: string, name: string, skipped: SkippedLines) {
    const { keys } = this;
    const documents = {
      is: isTexts,
      held: () => undefined,
      reset: () => keys.clear(),
      changed: (key: string, fields: RecordFields | null) => {
        if (fields === null) keys.delete(key);
        else keys.add(key);
      },
    };
    this.log = new KeyedLog(folder, name, documents, skipped);
  }
}

function bounded(key: string, fields: RecordFields): RecordFields {
  let length = 0;
  for (const field of Object.values(fields)) length += field.length;
  if (length <= MAX_RECORD) return fields;
  throw new StoreError('REJECTED', `record ${key} has ${length} characters, the limit is ${MAX_RECORD}`);
}
