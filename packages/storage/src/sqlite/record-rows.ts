import type { StatementSync } from 'node:sqlite';
import type { RecordFields, YcsbRecord } from '../contract.ts';
import type { Database } from './database.ts';

/** The fields of a statement's columns. */
interface Columns {
  /** The version of the schema that they are of. */
  readonly version: number;
  /** Index of the key. */
  readonly key: number;
  /** By column; null for the key. */
  readonly fields: readonly (string | null)[];
}

type Row = readonly unknown[];

/** The column of the key. SQLite ignores the case of names. */
const KEY = 'ycsb_key';

/**
 * Reads records as arrays of values, which takes half the time of objects. The columns of `select *` are those that the
 * table has when SQLite runs the statement, because another process can change the table.
 */
export class RecordRows {
  readonly #db: Database;
  readonly #columns = new WeakMap<StatementSync, Columns>();

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * The fields of the record that a statement selects, or null.
   *
   * @param schema the version of the schema, from `Database.read`
   */
  get(schema: number, sql: string, key: string): RecordFields | null {
    const statement = this.#db.arrays(sql);
    const row = statement.get(key) as Row | undefined;
    return row === undefined ? null : toFields(row, this.#columnsOf(statement, schema).fields);
  }

  /** The records that a statement selects. */
  all(schema: number, sql: string, ...values: (string | number)[]): YcsbRecord[] {
    const statement = this.#db.arrays(sql);
    const rows = statement.all(...values) as unknown as readonly Row[];
    const { key, fields } = this.#columnsOf(statement, schema);
    return rows.map((row) => ({ key: row[key] as string, fields: toFields(row, fields) }));
  }

  /** The columns of the rows that the statement has returned in this transaction. */
  #columnsOf(statement: StatementSync, version: number): Columns {
    const known = this.#columns.get(statement);
    if (known?.version === version) return known;
    const names = statement.columns().map(({ name }) => name.toLowerCase());
    const columns = {
      version,
      key: names.indexOf(KEY),
      fields: names.map((name) => (name === KEY ? null : name)),
    };
    this.#columns.set(statement, columns);
    return columns;
  }
}

function toFields(row: Row, names: readonly (string | null)[]): RecordFields {
  const fields: Record<string, string> = {};
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index]!;
    const value = row[index];
    if (name !== null && value !== null) fields[name] = value as string;
  }
  return fields;
}
