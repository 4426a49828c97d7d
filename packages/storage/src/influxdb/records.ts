import type { RecordFields, YcsbRecord } from '../contract.ts';
import { areFields, type BackendRecords, demandOwn, kindOf, type TableKind } from '../tables.ts';
import type { Client } from './client.ts';
import { fromRecord, PLACES, placeOf, toRecord } from './mapping.ts';

/** A field of a point behind all records. It is dropped with its measurement. */
const MARK = 'tidegauge_mark';

/** A measurement for each table: see `mapping.ts`. */
export class InfluxdbRecords implements BackendRecords {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  async inspect(table: string): Promise<TableKind> {
    const rows = await this.#client.query(`show field keys from "${table}"`);
    if (rows.length === 0) return 'absent';
    const names = rows.map(({ fieldKey }) => fieldKey as string);
    return kindOf(names.includes(MARK), areFields(names.filter((name) => name !== 'key')));
  }

  async createTable(table: string): Promise<void> {
    await this.#client.write([`${table} ${MARK}=true ${PLACES}`], 'n');
  }

  async dropTable(table: string): Promise<void> {
    const kind = await this.inspect(table);
    demandOwn(table, kind);
    if (kind === 'own') await this.#client.query(`drop measurement "${table}"`);
  }

  async read(table: string, key: string, fields: readonly string[] | null): Promise<RecordFields | null> {
    const { part, time } = placeOf(key);
    const from = `from "${table}" where part = $part and time = ${time}`;
    const rows = await this.#client.query(`select ${columns(fields)} ${from}`, { part });
    // The place can belong to another key.
    const found = rows.find((row) => row.key === key);
    return found === undefined ? null : toRecord(found).fields;
  }

  insertMany(table: string, records: readonly YcsbRecord[]): Promise<void> {
    const lines = records.map((record) => fromRecord(table, record));
    return this.#client.write(lines, 'n');
  }

  async delete(table: string, key: string): Promise<boolean> {
    const { part, time } = placeOf(key);
    const place = `part = $part and time >= ${time} and time <= ${time}`;
    await this.#client.query(`delete from "${table}" where ${place}`, { part });
    return true;
  }

  async scan(table: string, start: string, count: number, fields: readonly string[] | null) {
    const first = start === '' ? 0 : placeOf(start).time;
    const from = `from "${table}" where time >= ${first} and time < ${PLACES} order by time limit ${count}`;
    return (await this.#client.query(`select ${columns(fields)} ${from}`)).map(toRecord);
  }
}

function columns(fields: readonly string[] | null): string {
  return fields === null ? '*' : ['"key"', ...fields].join(', ');
}
