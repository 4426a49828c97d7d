import type { RecordFields, RecordStore, YcsbRecord } from '../contract.ts';
import { StoreError } from '../errors.ts';
import { type Database, isNumber } from './database.ts';
import { fromField, toFields } from './mapping.ts';

const DUPLICATE_KEY = 1062;
const NO_SUCH_TABLE = 1146;
const NO_SUCH_FIELD = 1054;

/** Records in the table layout of YCSB's JDBC binding. Table and field names come checked. */
export class MariadbRecords implements RecordStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async createTable(table: string, fieldCount: number): Promise<void> {
    const columns = Array.from({ length: fieldCount }, (_, index) => `, FIELD${index} mediumtext`).join('');
    await this.#db.query(
      `create table if not exists \`${table}\` (YCSB_KEY varchar(255) not null primary key${columns})
      engine = innodb character set utf8mb4 collate utf8mb4_nopad_bin`,
      [],
    );
  }

  async dropTable(table: string): Promise<void> {
    await this.#db.query(`drop table if exists \`${table}\``, []);
  }

  async read(table: string, key: string, fields: readonly string[] | null): Promise<RecordFields | null> {
    const sql = `select ${columns(fields)} from \`${table}\` where YCSB_KEY = ?`;
    const [row] = await onTable(table, this.#db.rows(sql, [key]));
    return row === undefined ? null : toFields(row);
  }

  async insert(table: string, key: string, fields: RecordFields): Promise<boolean> {
    const names = Object.keys(fields).map(fromField);
    const sql = `insert into \`${table}\` (YCSB_KEY, ${names.join(', ')}) values (?${', ?'.repeat(names.length)})`;
    try {
      return await this.#change(table, sql, [key, ...Object.values(fields)]);
    } catch (error) {
      if (isNumber(error, DUPLICATE_KEY)) return false;
      throw error;
    }
  }

  update(table: string, key: string, fields: RecordFields): Promise<boolean> {
    const set = Object.keys(fields).map((field) => `${fromField(field)} = ?`);
    const sql = `update \`${table}\` set ${set.join(', ')} where YCSB_KEY = ?`;
    return this.#change(table, sql, [...Object.values(fields), key]);
  }

  delete(table: string, key: string): Promise<boolean> {
    return this.#change(table, `delete from \`${table}\` where YCSB_KEY = ?`, [key]);
  }

  async scan(
    table: string,
    start: string,
    count: number,
    fields: readonly string[] | null,
  ): Promise<YcsbRecord[]> {
    const sql = `select ${columns(fields)} from \`${table}\` where YCSB_KEY >= ? order by YCSB_KEY limit ?`;
    const rows = await onTable(table, this.#db.rows(sql, [start, count]));
    return rows.map((row) => ({ key: row.YCSB_KEY as string, fields: toFields(row) }));
  }

  async #change(table: string, sql: string, values: readonly string[]): Promise<boolean> {
    return (await onTable(table, this.#db.change(sql, values))) === 1;
  }
}

/** A missing table or field is the caller's, not a damaged schema. */
async function onTable<T>(table: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!isNumber(error, NO_SUCH_TABLE, NO_SUCH_FIELD)) throw error;
    throw new StoreError('REJECTED', `table ${table} or one of its fields does not exist`, {
      hint: 'create the table with enough fields first',
      cause: error,
    });
  }
}

function columns(fields: readonly string[] | null): string {
  return fields === null ? '*' : ['YCSB_KEY', ...fields.map(fromField)].join(', ');
}
