import type { Connection } from 'mariadb';
import type { RecordFields, YcsbRecord } from '../contract.ts';
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
import { type Database, isNumber, type Row } from './database.ts';
import { fromField, toFields } from './mapping.ts';

const DUPLICATE_KEY = 1062;
const TABLE_EXISTS = 1050;
const NO_SUCH_TABLE = 1146;
const NO_SUCH_FIELD = 1054;

// Most records and characters in one statement of a load. It stays below the server's default max_allowed_packet.
const LOAD_RECORDS = 1000;
const LOAD_LENGTH = 4_194_304;

/** Records in the table layout of YCSB's JDBC binding. Table and field names are checked already. */
export class MariadbRecords implements BackendRecords {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  inspect(table: string): Promise<TableKind> {
    return this.#db.run((connection) => inspect(connection, table));
  }

  async createTable(table: string, fieldCount: number): Promise<void> {
    const columns = Array.from({ length: fieldCount }, (_, index) => `, FIELD${index} mediumtext`).join('');
    const create = `create table \`${table}\` (YCSB_KEY varchar(255) not null primary key${columns})
      engine = innodb character set utf8mb4 collate utf8mb4_nopad_bin comment = '${TABLE_MARK}'`;
    await this.#db.query(create, []).catch((error: unknown) => {
      // Another process was first.
      if (!isNumber(error, TABLE_EXISTS)) throw error;
    });
  }

  async dropTable(table: string): Promise<void> {
    await this.#db.run(async (connection) => {
      const kind = await inspect(connection, table);
      demandOwn(table, kind);
      if (kind === 'absent') return;
      try {
        // From now on, no other program can replace the table.
        await connection.query(`lock tables \`${table}\` write`);
        demandOwn(table, await inspect(connection, table));
        await connection.query(`drop table \`${table}\``);
      } catch (error) {
        if (!isNumber(error, NO_SUCH_TABLE)) throw error;
      } finally {
        await connection.query('unlock tables');
      }
    });
  }

  async read(table: string, key: string, fields: readonly string[] | null): Promise<RecordFields | null> {
    const sql = `select ${columns(fields)} from \`${table}\` where YCSB_KEY = ?`;
    const [row] = await onTable(table, this.#db.rows(sql, [key]));
    return row === undefined ? null : toFields(row);
  }

  async insert(table: string, key: string, fields: RecordFields): Promise<boolean> {
    try {
      return await this.#change(table, insertOf(table, Object.keys(fields)), [key, ...Object.values(fields)]);
    } catch (error) {
      if (isNumber(error, DUPLICATE_KEY)) return false;
      throw error;
    }
  }

  async insertMany(table: string, records: readonly YcsbRecord[]): Promise<void> {
    for (const part of partsOf(records, LOAD_RECORDS, LOAD_LENGTH)) {
      const names = namesIn(part);
      // Unlike `insert ignore`, this reports every error except a known key.
      const sql = `${insertOf(table, names)} on duplicate key update YCSB_KEY = YCSB_KEY`;
      const rows = part.map(({ key, fields }) => [key, ...names.map((name) => fields[name] ?? null)]);
      await onTable(
        table,
        this.#db.transaction((connection) => connection.batch(sql, rows)),
      );
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

// Compares names with case if the server does.
const INSPECT = `
  select t.table_type as kind, t.table_comment as comment, upper(c.column_name) as name, c.data_type as type
  from information_schema.tables t
  join information_schema.columns c on c.table_schema = t.table_schema and c.table_name = t.table_name
  where t.table_schema = database() and t.table_name = ? and c.table_schema = database() and c.table_name = ?
    and (@@lower_case_table_names > 0 or binary t.table_name = binary ?)`;

async function inspect(connection: Connection, table: string): Promise<TableKind> {
  const rows = await connection.execute<Row[]>(INSPECT, [table, table, table]);
  const [first] = rows;
  if (first === undefined) return 'absent';
  if (first.kind !== 'BASE TABLE') return 'other';
  const names = rows.map(({ name }) => String(name));
  const isLayout =
    names.includes('YCSB_KEY') &&
    areFields(names.filter((name) => name !== 'YCSB_KEY')) &&
    rows.every(({ type }) => /char|text/i.test(String(type)));
  return kindOf(first.comment === TABLE_MARK, isLayout);
}

/** A missing table or field is an error of the caller, not a damaged schema. */
async function onTable<T>(table: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!isNumber(error, NO_SUCH_TABLE, NO_SUCH_FIELD)) throw error;
    throw missingField(table, error);
  }
}

function insertOf(table: string, fields: readonly string[]): string {
  const marks = ', ?'.repeat(fields.length);
  return `insert into \`${table}\` (YCSB_KEY, ${fields.map(fromField).join(', ')}) values (?${marks})`;
}

function columns(fields: readonly string[] | null): string {
  return fields === null ? '*' : ['YCSB_KEY', ...fields.map(fromField)].join(', ');
}
