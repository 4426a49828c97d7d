import type { RecordFields, YcsbRecord } from '../contract.ts';
import { StoreError } from '../errors.ts';
import { namesIn, partsOf } from '../record-batch.ts';
import {
  areFields,
  type BackendRecords,
  demandOwn,
  kindOf,
  missingField,
  TABLE_MARK,
  type TableKind,
} from '../tables.ts';
import type { Database } from './database.ts';
import { fromField } from './mapping.ts';
import { RecordRows } from './record-rows.ts';

/** SQLite stores the text of `create table`, comments included. */
const MARK = `/* ${TABLE_MARK} */`;

// Most records and characters in one transaction of a load, about 10 ms.
const LOAD_RECORDS = 1000;
const LOAD_LENGTH = 1_048_576;

/** Records in the table layout of YCSB's JDBC binding. Table and field names are checked already. */
export class SqliteRecords implements BackendRecords {
  readonly #db: Database;
  readonly #rows: RecordRows;

  constructor(db: Database) {
    this.#db = db;
    this.#rows = new RecordRows(db);
  }

  inspect(table: string): Promise<TableKind> {
    return this.#db.run(() => this.#inspect(table));
  }

  async createTable(table: string, fieldCount: number): Promise<void> {
    const columns = Array.from({ length: fieldCount }, (_, index) => `, FIELD${index} text`).join('');
    const sql = `create table "${table}" (${MARK} YCSB_KEY varchar(255) primary key${columns})`;
    await this.#db.transaction(() => {
      if (this.#inspect(table) === 'absent') this.#db.connection.exec(sql);
    });
  }

  async dropTable(table: string): Promise<void> {
    await this.#db.transaction(() => {
      const kind = this.#inspect(table);
      demandOwn(table, kind);
      if (kind === 'own') this.#db.connection.exec(`drop table "${table}"`);
    });
  }

  read(table: string, key: string, fields: readonly string[] | null): Promise<RecordFields | null> {
    const sql = `select ${columns(fields)} from "${table}" where YCSB_KEY = ?`;
    return this.#on(table, () => this.#db.read((schema) => this.#rows.get(schema, sql, key)));
  }

  insert(table: string, key: string, fields: RecordFields): Promise<boolean> {
    return this.#change(table, insertOf(table, Object.keys(fields)), [key, ...Object.values(fields)]);
  }

  /** Each transaction is bounded, because it blocks this thread. */
  async insertMany(table: string, records: readonly YcsbRecord[]): Promise<void> {
    for (const part of partsOf(records, LOAD_RECORDS, LOAD_LENGTH)) {
      await this.#db.pause();
      const names = namesIn(part);
      const sql = insertOf(table, names);
      await this.#on(table, () =>
        this.#db.transaction(() => {
          const insert = this.#db.statement(sql);
          for (const { key, fields } of part) insert.run(key, ...names.map((name) => fields[name] ?? null));
        }),
      );
    }
  }

  update(table: string, key: string, fields: RecordFields): Promise<boolean> {
    const set = Object.keys(fields).map((field) => `${fromField(field)} = ?`);
    const sql = `update "${table}" set ${set.join(', ')} where YCSB_KEY = ?`;
    return this.#change(table, sql, [...Object.values(fields), key]);
  }

  delete(table: string, key: string): Promise<boolean> {
    return this.#change(table, `delete from "${table}" where YCSB_KEY = ?`, [key]);
  }

  async scan(
    table: string,
    start: string,
    count: number,
    fields: readonly string[] | null,
  ): Promise<YcsbRecord[]> {
    const sql = `
      select ${columns(fields)} from "${table}" where YCSB_KEY >= ? order by YCSB_KEY limit ?`;
    await this.#db.pause();
    return this.#on(table, () => this.#db.read((schema) => this.#rows.all(schema, sql, start, count)));
  }

  #inspect(table: string): TableKind {
    // SQLite ignores the case of names.
    const found = this.#db
      .statement('select name, type, sql from sqlite_schema where name = ? collate nocase')
      .get(table);
    if (found === undefined) return 'absent';
    if (found.type !== 'table' || /^create virtual/i.test(String(found.sql))) return 'other';
    const columns = this.#db
      .statement('select upper(name) as name, type, hidden from pragma_table_xinfo(?)')
      .all(String(found.name));
    const names = columns.map(({ name }) => String(name));
    const isLayout =
      names.includes('YCSB_KEY') &&
      areFields(names.filter((name) => name !== 'YCSB_KEY')) &&
      columns.every(({ type, hidden }) => hidden === 0 && /char|text|clob/i.test(String(type)));
    return kindOf(String(found.sql).includes(MARK), isLayout);
  }

  #change(table: string, sql: string, values: readonly string[]): Promise<boolean> {
    return this.#on(table, async () => {
      // A commit blocks this thread until the disk has it.
      await this.#db.pause();
      return this.#db.transaction(() => this.#db.statement(sql).run(...values).changes === 1);
    });
  }

  /** A missing table or field is an error of the caller, not a damaged file. */
  #on<T>(table: string, work: () => Promise<T>): Promise<T> {
    return work().catch((error: unknown) => {
      const absent =
        error instanceof StoreError && /no such (?:table|column)|has no column/.test(error.message);
      if (!absent) throw error;
      throw missingField(table, error);
    });
  }
}

function insertOf(table: string, fields: readonly string[]): string {
  return `
    insert into "${table}" (YCSB_KEY, ${fields.map(fromField).join(', ')}) values (?${', ?'.repeat(fields.length)})
    on conflict do nothing`;
}

function columns(fields: readonly string[] | null): string {
  return fields === null ? '*' : ['YCSB_KEY', ...fields.map(fromField)].join(', ');
}
