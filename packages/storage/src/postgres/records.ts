import type { RecordFields, YcsbRecord } from '../contract.ts';
import { StoreError } from '../errors.ts';
import { namesIn } from '../record-batch.ts';
import {
  areFields,
  type BackendRecords,
  demandOwn,
  kindOf,
  missingField,
  TABLE_MARK,
  type TableKind,
} from '../tables.ts';
import { textArray } from './arrays.ts';
import type { Connection, Database, Result, Value } from './database.ts';
import type { Dialect } from './dialect.ts';
import { sqlState } from './errors.ts';
import { KeyedReads } from './keyed-reads.ts';
import { KEY, toFields } from './mapping.ts';
import { changeTables } from './schema.ts';

// undefined_table, undefined_column
const ABSENT = ['42P01', '42703'];
/** Any number except those in `schema.ts` and `readings.ts`. */
const LOAD_LOCK = 7_431_265_011;

/** Records in the table layout of YCSB's JDBC binding. Table and field names are checked already. */
export class PostgresRecords implements BackendRecords {
  readonly #db: Database;
  readonly #dialect: Dialect;
  readonly #reads: KeyedReads;

  constructor(db: Database, dialect: Dialect) {
    this.#db = db;
    this.#dialect = dialect;
    this.#reads = new KeyedReads(db, dialect.readsTogether);
  }

  inspect(table: string): Promise<TableKind> {
    return this.#db.session((connection) => inspect(connection, table));
  }

  async createTable(table: string, fieldCount: number): Promise<void> {
    const columns = Array.from({ length: fieldCount }, (_, index) => `, field${index} text`).join('');
    const key = 'ycsb_key varchar(255) collate "C" primary key';
    await changeTables(this.#db, this.#dialect, async (connection) => {
      if ((await inspect(connection, table)) !== 'absent') return;
      await connection.query(`create table ${quoted(table)} (${key}${columns})`);
      await connection.query(`comment on table ${quoted(table)} is '${TABLE_MARK}'`);
      await this.#dialect.distribute(connection, table.toLowerCase(), 'ycsb_key');
    });
  }

  async dropTable(table: string): Promise<void> {
    await changeTables(this.#db, this.#dialect, async (connection) => {
      const kind = await inspect(connection, table);
      demandOwn(table, kind);
      if (kind === 'absent') return;
      // From now on, no other program can replace the table.
      await connection.query(`lock table ${quoted(table)} in access exclusive mode`);
      demandOwn(table, await inspect(connection, table));
      await connection.query(`drop table ${quoted(table)}`);
    });
  }

  read(table: string, key: string, fields: readonly string[] | null): Promise<RecordFields | null> {
    const select = `select ${columns(fields)} from ${quoted(table)} where ycsb_key`;
    return onTable(table, () => this.#reads.read(select, key));
  }

  async insert(table: string, key: string, fields: RecordFields): Promise<boolean> {
    const names = Object.keys(fields);
    const marks = names.map((_, index) => `, $${index + 2}`).join('');
    const sql = `
      insert into ${quoted(table)} (ycsb_key, ${names.join(', ')}) values ($1${marks}) on conflict do nothing`;
    return (await this.#run(table, sql, [key, ...Object.values(fields)])).count === 1;
  }

  async insertMany(table: string, records: readonly YcsbRecord[]): Promise<void> {
    const names = namesIn(records);
    const arrays = names.map((_, index) => `, $${index + 2}::text[]`).join('');
    const sql = `
      insert into ${quoted(table)} (ycsb_key, ${names.join(', ')})
      select * from unnest($1::text[]${arrays}) on conflict do nothing`;
    // A field that a record does not have is null.
    const values = [
      textArray(records.map(({ key }) => key)),
      ...names.map((name) => textArray(records.map(({ fields }) => fields[name]))),
    ];
    await onTable(table, () => {
      if (!this.#dialect.takesTurns) return this.#db.run('calls', sql, values);
      return this.#db.transaction('calls', async (connection) => {
        await connection.query('select pg_advisory_xact_lock($1)', [LOAD_LOCK]);
        return connection.query(sql, values);
      });
    });
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
    const key = result.columns.indexOf(KEY);
    return result.rows.map((row) => ({ key: row[key] as string, fields: toFields(result, row) }));
  }

  #run(table: string, sql: string, values: readonly Value[]): Promise<Result> {
    return onTable(table, () => this.#db.run('calls', sql, values));
  }
}

/** A missing table or field is an error of the caller, not a damaged database. */
async function onTable<T>(table: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const state = error instanceof StoreError ? sqlState(error.cause) : null;
    if (state === null || !ABSENT.includes(state)) throw error;
    throw missingField(table, error);
  }
}

const INSPECT = `
  select
    c.relkind in ('r', 'p'),
    coalesce(obj_description(c.oid, 'pg_class') = $2, false),
    array(select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped),
    not exists (
      select from pg_attribute a join pg_type t on t.oid = a.atttypid
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and t.typcategory <> 'S'
    )
  from pg_class c where c.oid = to_regclass($1)`;

async function inspect(connection: Connection, table: string): Promise<TableKind> {
  const [row] = (await connection.query(INSPECT, [quoted(table), TABLE_MARK])).rows;
  if (row === undefined) return 'absent';
  const [isTable, isMarked, columns, areTexts] = row as [boolean, boolean, string[], boolean];
  if (!isTable) return 'other';
  const isLayout = areTexts && columns.includes(KEY) && areFields(columns.filter((column) => column !== KEY));
  return kindOf(isMarked, isLayout);
}

/** Lower case, as PostgreSQL reads YCSB's unquoted names. Quoted, because a table can be called `order`. */
function quoted(table: string): string {
  return `"${table.toLowerCase()}"`;
}

function columns(fields: readonly string[] | null): string {
  return fields === null ? '*' : ['ycsb_key', ...fields].join(', ');
}
