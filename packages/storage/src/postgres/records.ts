import type { RecordFields, RecordStore, YcsbRecord } from '../contract.ts';
import { StoreError } from '../errors.ts';
import type { Database, Result, Value } from './database.ts';
import type { Dialect } from './dialect.ts';
import { sqlState } from './errors.ts';
import { toFields } from './mapping.ts';
import { changeTables } from './schema.ts';

// undefined_table, undefined_column
const ABSENT = ['42P01', '42703'];

/** Records in the table layout of YCSB's JDBC binding. Table and field names come checked. */
export class PostgresRecords implements RecordStore {
  readonly #db: Database;
  readonly #dialect: Dialect;

  constructor(db: Database, dialect: Dialect) {
    this.#db = db;
    this.#dialect = dialect;
  }

  async createTable(table: string, fieldCount: number): Promise<void> {
    const columns = Array.from({ length: fieldCount }, (_, index) => `, field${index} text`).join('');
    const key = 'ycsb_key varchar(255) collate "C" primary key';
    await changeTables(this.#db, this.#dialect, async (connection) => {
      await connection.query(`create table if not exists ${quoted(table)} (${key}${columns})`);
      await this.#dialect.distribute(connection, table.toLowerCase(), 'ycsb_key');
    });
  }

  async dropTable(table: string): Promise<void> {
    await changeTables(this.#db, this.#dialect, async (connection) => {
      await connection.query(`drop table if exists ${quoted(table)}`);
    });
  }

  async read(table: string, key: string, fields: readonly string[] | null): Promise<RecordFields | null> {
    const sql = `select ${columns(fields)} from ${quoted(table)} where ycsb_key = $1`;
    const result = await this.#run(table, sql, [key]);
    const [row] = result.rows;
    return row === undefined ? null : toFields(result, row);
  }

  async insert(table: string, key: string, fields: RecordFields): Promise<boolean> {
    const names = Object.keys(fields);
    const marks = names.map((_, index) => `, $${index + 2}`).join('');
    const sql = `
      insert into ${quoted(table)} (ycsb_key, ${names.join(', ')}) values ($1${marks}) on conflict do nothing`;
    return (await this.#run(table, sql, [key, ...Object.values(fields)])).count === 1;
  }

  async update(table: string, key: string, fields: RecordFields): Promise<boolean> {
    const set = Object.keys(fields).map((field, index) => `${field} = $${index + 2}`);
    const sql = `update ${quoted(table)} set ${set.join(', ')} where ycsb_key = $1`;
    return (await this.#run(table, sql, [key, ...Object.values(fields)])).count === 1;
  }

  async delete(table: string, key: string): Promise<boolean> {
    return (await this.#run(table, `delete from ${quoted(table)} where ycsb_key = $1`, [key])).count === 1;
  }

  async scan(
    table: string,
    start: string,
    count: number,
    fields: readonly string[] | null,
  ): Promise<YcsbRecord[]> {
    const sql = `
      select ${columns(fields)} from ${quoted(table)} where ycsb_key >= $1 order by ycsb_key limit $2`;
    const result = await this.#run(table, sql, [start, count]);
    const key = result.columns.indexOf('ycsb_key');
    return result.rows.map((row) => ({ key: row[key] as string, fields: toFields(result, row) }));
  }

  /** A missing table or field is the caller's, not a damaged database. */
  async #run(table: string, sql: string, values: readonly Value[]): Promise<Result> {
    try {
      return await this.#db.run('calls', sql, values);
    } catch (error) {
      const state = error instanceof StoreError ? sqlState(error.cause) : null;
      if (state === null || !ABSENT.includes(state)) throw error;
      throw new StoreError('REJECTED', `table ${table} or one of its fields does not exist`, {
        hint: 'create the table with enough fields first',
        cause: error,
      });
    }
  }
}

/** As YCSB's unquoted names are read; in quotes, since a table may be called `order`. */
function quoted(table: string): string {
  return `"${table.toLowerCase()}"`;
}

function columns(fields: readonly string[] | null): string {
  return fields === null ? '*' : ['ycsb_key', ...fields].join(', ');
}
