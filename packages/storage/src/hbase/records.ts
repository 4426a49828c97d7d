import { filters, type Row } from '@tidegauge/hbase-client';
import type { RecordFields, YcsbRecord } from '../contract.ts';
import { areFields, type BackendRecords, demandOwn, MissingTable, type TableKind } from '../tables.ts';
import { failedWith } from './errors.ts';
import { fromFields, RECORD_FAMILY, toFields } from './mapping.ts';
import { createTable, DEFINE, MARK, recordsTable } from './schema.ts';
import type { Session } from './session.ts';

const SAMPLE = 10;

/**
 * Records in the layout of YCSB's HBase binding (the key as row, family `family`, a column per field), with its
 * semantics: insert and update do not read first. Names are checked already.
 */
export class HbaseRecords implements BackendRecords {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  inspect(table: string): Promise<TableKind> {
    return this.#session.run(() => this.#inspect(table));
  }

  createTable(table: string, _fieldCount: number): Promise<void> {
    // A column is created by the first row that has it.
    return this.#session.run(() => createTable(this.#session, table, recordsTable(this.#session.config)));
  }

  async dropTable(table: string): Promise<void> {
    const name = this.#session.nameOf(table);
    const { admin } = this.#session.client;
    await this.#session.run(async () => {
      const kind = await this.#inspect(table);
      demandOwn(table, kind);
      if (kind === 'absent') return;
      try {
        await admin.disableTable(name, DEFINE).catch((error: unknown) => {
          if (!failedWith(error, 'TABLE_DISABLED')) throw error;
        });
        await admin.dropTable(name, DEFINE);
      } catch (error) {
        if (!failedWith(error, 'TABLE_NOT_FOUND')) throw error;
      }
    });
  }

  read(table: string, key: string, fields: readonly string[] | null): Promise<RecordFields | null> {
    return this.#on(table, async () => {
      const row = await this.#session.table(table).get(key, columns(fields));
      return row === null ? null : toFields(row);
    });
  }

  insert(table: string, key: string, fields: RecordFields): Promise<boolean> {
    return this.update(table, key, fields);
  }

  async insertMany(table: string, records: readonly YcsbRecord[]): Promise<void> {
    await this.#on(table, () => {
      const puts = records.map(
        ({ key, fields }) => ({ type: 'put', row: key, cells: fromFields(fields) }) as const,
      );
      return this.#session.table(table).mutateAll(puts);
    });
  }

  update(table: string, key: string, fields: RecordFields): Promise<boolean> {
    return this.#on(table, async () => {
      await this.#session.table(table).put(key, fromFields(fields));
      return true;
    });
  }

  delete(table: string, key: string): Promise<boolean> {
    return this.#on(table, async () => {
      const rows = this.#session.table(table);
      const row = await rows.get(key, { filter: filters.keyOnly() });
      if (row === null) return false;
      // The delete has the timestamp of the cells that were read. A delete with the present time could remove an
      // insert of the same millisecond.
      await rows.delete(key, { timestamp: Math.max(...row.cells.map(({ timestamp }) => timestamp)) });
      return true;
    });
  }

  scan(table: string, start: string, count: number, fields: readonly string[] | null): Promise<YcsbRecord[]> {
    return this.#on(table, async () => {
      const records: YcsbRecord[] = [];
      const rows: AsyncIterable<Row> = this.#session
        .table(table)
        .scan({ start, limit: count, ...columns(fields) });
      for await (const row of rows) records.push({ key: row.key.toString(), fields: toFields(row) });
      return records;
    });
  }

  async #inspect(table: string): Promise<TableKind> {
    const { admin } = this.#session.client;
    const found = await admin.describe(this.#session.nameOf(table)).catch((error: unknown) => {
      if (failedWith(error, 'TABLE_NOT_FOUND')) return null;
      throw error;
    });
    if (found === null) return 'absent';
    if (found.attributes[MARK.name] === MARK.value) return 'own';
    const [family, ...more] = found.families;
    if (family?.name !== RECORD_FAMILY || more.length > 0) return 'other';
    // HBase has no list of columns, so this reads the columns of the first rows.
    const rows: AsyncIterable<Row> = this.#session.table(table).scan({ limit: SAMPLE });
    for await (const row of rows) {
      if (!areFields(row.cells.map(({ qualifier }) => qualifier.toString()))) return 'other';
    }
    return 'ycsb';
  }

  /** A missing table is an error of the caller, not a damaged namespace. */
  #on<T>(table: string, work: () => Promise<T>): Promise<T> {
    return this.#session.run(async () => {
      try {
        return await work();
      } catch (cause) {
        if (!failedWith(cause, 'TABLE_NOT_FOUND')) throw cause;
        const hint = 'create the table first';
        throw new MissingTable(`table ${table} does not exist`, { hint, cause });
      }
    });
  }
}

function columns(fields: readonly string[] | null) {
  return fields === null ? {} : { columns: [{ family: RECORD_FAMILY, qualifiers: fields }] };
}
