import { forEach } from '@tidegauge/parallel';
import type { RecordFields, YcsbRecord } from '../contract.ts';
import { StoreError } from '../errors.ts';
import {
  areFields,
  type BackendRecords,
  demandOwn,
  kindOf,
  missingField,
  TABLE_MARK,
  type TableKind,
} from '../tables.ts';
import { isInvalid } from './errors.ts';
import { toFields } from './mapping.ts';
import { requests } from './record-requests.ts';
import { compression, withSchemaLock } from './schema.ts';
import type { Row, Session, Statement } from './session.ts';

/** Concurrent requests of one load. */
const LOAD_WIDTH = 64;

/**
 * Records in the layout of YCSB's Cassandra binding (y_id, field0..), with its semantics: insert and update do not
 * read first, and a scan is in the order of tokens, not of keys. Names are checked already.
 */
export class CassandraRecords implements BackendRecords {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  async inspect(table: string): Promise<TableKind> {
    const name = [this.#session.keyspace, table];
    const [found] = await this.#session.read(
      'select comment from system_schema.tables where keyspace_name = ? and table_name = ?',
      name,
    );
    if (found === undefined) return 'absent';
    const columns = await this.#session.read(
      'select column_name, kind, type from system_schema.columns where keyspace_name = ? and table_name = ?',
      name,
    );
    const keys = columns.filter(({ kind }) => kind !== 'regular');
    const fields = columns.filter(({ kind }) => kind === 'regular');
    const isLayout =
      keys.length === 1 &&
      keys[0]!.column_name === 'y_id' &&
      areFields(fields.map(({ column_name }) => String(column_name))) &&
      columns.every(({ type }) => type === 'text' || type === 'ascii');
    return kindOf(found.comment === TABLE_MARK, isLayout);
  }

  async createTable(table: string, fieldCount: number): Promise<void> {
    const columns = Array.from({ length: fieldCount }, (_, index) => `, field${index} varchar`).join('');
    const create = `create table if not exists ${this.#name(table)} (y_id varchar primary key${columns})
      with comment = '${TABLE_MARK}' and compression = ${compression(this.#session.config)}`;
    await withSchemaLock(this.#session, () => this.#session.define(create));
  }

  async dropTable(table: string): Promise<void> {
    demandOwn(table, await this.inspect(table));
    await withSchemaLock(this.#session, async () => {
      const kind = await this.inspect(table);
      demandOwn(table, kind);
      if (kind === 'own') await this.#session.define(`drop table if exists ${this.#name(table)}`);
    });
  }

  async read(table: string, key: string, fields: readonly string[] | null): Promise<RecordFields | null> {
    const query = `select ${columns(fields)} from ${this.#name(table)} where y_id = ?`;
    const [row] = await this.#on(table, () => this.#session.read(query, [key]));
    return row === undefined ? null : toFields(row);
  }

  async insert(table: string, key: string, fields: RecordFields): Promise<boolean> {
    const { query, params } = insertOf(this.#name(table), key, fields);
    await this.#on(table, () => this.#session.write(query, params));
    return true;
  }

  async insertMany(table: string, records: readonly YcsbRecord[]): Promise<void> {
    const name = this.#name(table);
    const nodeOf = (key: string) => this.#session.nodeOf([Buffer.from(key)]);
    await this.#on(table, () =>
      forEach(requests(records, nodeOf), LOAD_WIDTH, (some) => {
        const statements = some.map(({ key, fields }) => insertOf(name, key, fields));
        const [first] = statements;
        return statements.length === 1
          ? this.#session.write(first!.query, first!.params)
          : this.#session.writeBatch(statements);
      }),
    );
  }

  async update(table: string, key: string, fields: RecordFields): Promise<boolean> {
    const set = Object.keys(fields).map((field) => `${field} = ?`);
    const query = `update ${this.#name(table)} set ${set.join(', ')} where y_id = ?`;
    await this.#on(table, () => this.#session.write(query, [...Object.values(fields), key]));
    return true;
  }

  /** Does not read first: resolves to true even if the key did not exist. */
  async delete(table: string, key: string): Promise<boolean> {
    const query = `delete from ${this.#name(table)} where y_id = ?`;
    await this.#on(table, () => this.#session.write(query, [key]));
    return true;
  }

  /**
   * Scans from the token of `start` on, or from the start of the ring for ''. Another key can have the same token.
   */
  async scan(
    table: string,
    start: string,
    count: number,
    fields: readonly string[] | null,
  ): Promise<YcsbRecord[]> {
    const [where, bound] = start === '' ? ['', []] : [' where token(y_id) >= token(?)', [start]];
    const query = `select ${columns(fields)} from ${this.#name(table)}${where} limit ?`;
    const rows: Row[] = await this.#on(table, () => this.#session.readAll(query, [...bound, count]));
    return rows.map((row) => ({ key: row.y_id as string, fields: toFields(row) }));
  }

  #name(table: string): string {
    return `"${this.#session.keyspace}"."${table}"`;
  }

  /** A missing table or field is an error of the caller, not a damaged keyspace. */
  async #on<T>(table: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreError && isInvalid(error.cause))) throw error;
      if (error.code === 'REJECTED') throw error;
      throw missingField(table, error);
    }
  }
}

function insertOf(name: string, key: string, fields: RecordFields): Statement {
  const columns = Object.keys(fields);
  const marks = ', ?'.repeat(columns.length);
  const query = `insert into ${name} (y_id, ${columns.join(', ')}) values (?${marks})`;
  return { query, params: [key, ...Object.values(fields)] };
}

function columns(fields: readonly string[] | null): string {
  return fields === null ? '*' : ['y_id', ...fields].join(', ');
}
