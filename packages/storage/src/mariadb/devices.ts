import type { Device } from '@tidegauge/readings';
import type { DeviceFilter, DevicePatch, DeviceQuery, DeviceStore } from '../contract.ts';
import { type Database, isNumber, type Row } from './database.ts';
import { fromPatch, toDevice } from './mapping.ts';

const DUPLICATE_KEY = 1062;
const FILTERS = ['year', 'city', 'site', 'kind'] as const;
const GET = 'select * from devices where name = ?';
/** Names per statement when registering. */
const REGISTER_ROWS = 1000;

export class MariadbDevices implements DeviceStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async get(name: string): Promise<Device | null> {
    const [row] = await this.#db.rows(GET, [name]);
    return row === undefined ? null : toDevice(row);
  }

  async put({ name, site, city, kind, year, attributes }: Device): Promise<boolean> {
    const insert = 'insert into devices (site, city, kind, year, attributes, name) values (?, ?, ?, ?, ?, ?)';
    const update = 'update devices set site = ?, city = ?, kind = ?, year = ?, attributes = ? where name = ?';
    const values = [site, city, kind, year, JSON.stringify(attributes), name];
    // Both statements change nothing only if another process deletes or creates the device in between.
    for (;;) {
      try {
        await this.#db.change(insert, values);
        return true;
      } catch (error) {
        if (!isNumber(error, DUPLICATE_KEY)) throw error;
      }
      if ((await this.#db.change(update, values)) === 1) return false;
    }
  }

  async register(names: readonly string[]): Promise<void> {
    const sorted = [...new Set(names)].sort();
    for (let start = 0; start < sorted.length; start += REGISTER_ROWS) {
      const rows = sorted.slice(start, start + REGISTER_ROWS);
      const marks = rows.map(() => `(?, '{}')`).join(', ');
      // Not `insert ignore`, which would also ignore other errors.
      const sql = `insert into devices (name, attributes) values ${marks} on duplicate key update name = devices.name`;
      await this.#db.transaction((connection) => connection.query(sql, rows));
    }
  }

  async patch(name: string, patch: DevicePatch): Promise<Device | null> {
    const columns = fromPatch(patch);
    if (columns.length === 0) return this.get(name);
    const sql = `update devices set ${assignments(columns)} where name = ?`;
    return this.#db.transaction(async (connection) => {
      await connection.query(sql, [...columns.map(([, value]) => value), name]);
      const [row] = await connection.query<Row[]>(GET, [name]);
      return row === undefined ? null : toDevice(row);
    });
  }

  patchWhere(filter: DeviceFilter, patch: DevicePatch): Promise<number> {
    const columns = fromPatch(patch);
    const [where, matches] = conditions(filter);
    // A patch without changes only counts.
    const set = columns.length === 0 ? 'name = name' : assignments(columns);
    const values = [...columns.map(([, value]) => value), ...matches];
    return this.#db.change(`update devices set ${set} where ${where}`, values);
  }

  async delete(name: string): Promise<boolean> {
    return (await this.#db.change('delete from devices where name = ?', [name])) === 1;
  }

  async list(query: DeviceQuery): Promise<Device[]> {
    const [where, matches] = conditions(query);
    const sql = `select * from devices where ${where} and name > ? order by name limit ?`;
    const rows = await this.#db.rows(sql, [...matches, query.after ?? '', query.limit]);
    return rows.map(toDevice);
  }
}

function assignments(columns: readonly (readonly [string, unknown])[]): string {
  return columns.map(([column]) => `${column} = ?`).join(', ');
}

function conditions(filter: DeviceFilter): [where: string, values: (string | number)[]] {
  const given = FILTERS.filter((field) => filter[field] !== undefined);
  return [
    ['true', ...given.map((field) => `${field} = ?`)].join(' and '),
    given.map((field) => filter[field]!),
  ];
}
