import type { Device } from '@tidegauge/readings';
import type { DeviceFilter, DevicePatch, DeviceQuery, DeviceStore } from '../contract.ts';
import { compareText } from '../merge.ts';
import type { Database, Value } from './database.ts';
import { DEVICE_COLUMNS, fromPatch, toDevice } from './mapping.ts';

const FILTERS = ['year', 'city', 'site', 'kind'] as const;

/** Devices in one table. Citus keeps it on every node. */
export class PostgresDevices implements DeviceStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async get(name: string): Promise<Device | null> {
    const sql = `select ${DEVICE_COLUMNS} from devices where name = $1`;
    const { rows } = await this.#db.run('calls', sql, [name]);
    return rows[0] === undefined ? null : toDevice(rows[0]);
  }

  async put(device: Device): Promise<boolean> {
    const { name, site, city, kind, year, attributes } = device;
    const values = [name, site, city, kind, year, JSON.stringify(attributes)];
    const insert = `
      insert into devices (${DEVICE_COLUMNS}) values ($1, $2, $3, $4, $5, $6) on conflict (name) do nothing`;
    const update = `
      update devices set site = $2, city = $3, kind = $4, year = $5, attributes = $6 where name = $1`;
    // Both statements change nothing only if another process deletes or creates the device in between.
    for (;;) {
      if ((await this.#db.run('calls', insert, values)).count === 1) return true;
      if ((await this.#db.run('calls', update, values)).count === 1) return false;
    }
  }

  async register(names: readonly string[]): Promise<void> {
    const sql = `
      insert into devices (name, attributes) select name, '{}'::jsonb from unnest($1::text[]) as added (name)
      on conflict (name) do nothing`;
    // Sorted, so that processes with the same new devices never deadlock.
    await this.#db.run('calls', sql, [[...new Set(names)].sort(compareText)]);
  }

  async patch(name: string, patch: DevicePatch): Promise<Device | null> {
    const columns = fromPatch(patch);
    if (columns.length === 0) return this.get(name);
    const values: Value[] = [];
    const set = assignments(columns, values);
    const sql = `update devices set ${set} where name = ${bind(values, name)} returning ${DEVICE_COLUMNS}`;
    const { rows } = await this.#db.run('calls', sql, values);
    return rows[0] === undefined ? null : toDevice(rows[0]);
  }

  async patchWhere(filter: DeviceFilter, patch: DevicePatch): Promise<number> {
    const columns = fromPatch(patch);
    const values: Value[] = [];
    // A patch without changes only counts.
    const set = columns.length === 0 ? 'name = name' : assignments(columns, values);
    const sql = `update devices set ${set} where ${conditions(filter, values)}`;
    return (await this.#db.run('calls', sql, values)).count;
  }

  async delete(name: string): Promise<boolean> {
    return (await this.#db.run('calls', 'delete from devices where name = $1', [name])).count === 1;
  }

  async list(query: DeviceQuery): Promise<Device[]> {
    const values: Value[] = [];
    const where = `${conditions(query, values)} and name > ${bind(values, query.after ?? '')}`;
    const limit = bind(values, query.limit);
    const sql = `select ${DEVICE_COLUMNS} from devices where ${where} order by name limit ${limit}`;
    return (await this.#db.run('calls', sql, values)).rows.map(toDevice);
  }
}

function bind(values: Value[], value: Value): string {
  values.push(value);
  return `$${values.length}`;
}

function assignments(columns: readonly (readonly [string, Value])[], values: Value[]): string {
  return columns.map(([column, value]) => `${column} = ${bind(values, value)}`).join(', ');
}

function conditions(filter: DeviceFilter, values: Value[]): string {
  const given = FILTERS.filter((field) => filter[field] !== undefined);
  return ['true', ...given.map((field) => `${field} = ${bind(values, filter[field]!)}`)].join(' and ');
}
