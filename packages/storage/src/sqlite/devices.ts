import type { Device } from '@tidegauge/readings';
import type { DeviceFilter, DevicePatch, DeviceQuery, DeviceStore } from '../contract.ts';
import type { Database } from './database.ts';
import { fromPatch, toDevice } from './mapping.ts';

const FILTERS = ['year', 'city', 'site', 'kind'] as const;

export class SqliteDevices implements DeviceStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async get(name: string): Promise<Device | null> {
    const row = await this.#db.run(() =>
      this.#db.statement('select * from devices where name = ?').get(name),
    );
    return row === undefined ? null : toDevice(row);
  }

  put(device: Device): Promise<boolean> {
    const { name, site, city, kind, year, attributes } = device;
    return this.#db.transaction(() => {
      const known = this.#db.statement('select 1 from devices where name = ?').get(name);
      this.#db
        .statement(
          `insert or replace into devices (name, site, city, kind, year, attributes) values (?, ?, ?, ?, ?, ?)`,
        )
        .run(name, site, city, kind, year, JSON.stringify(attributes));
      return known === undefined;
    });
  }

  async register(names: readonly string[]): Promise<void> {
    await this.#db.transaction(() => {
      const insert = this.#db.statement(`insert or ignore into devices (name, attributes) values (?, '{}')`);
      for (const name of names) insert.run(name);
    });
  }

  async patch(name: string, patch: DevicePatch): Promise<Device | null> {
    const columns = fromPatch(patch);
    if (columns.length === 0) return this.get(name);
    const sql = `update devices set ${assignments(columns)} where name = ? returning *`;
    const row = await this.#db.transaction(() =>
      this.#db.statement(sql).get(...columns.map(([, value]) => value), name),
    );
    return row === undefined ? null : toDevice(row);
  }

  patchWhere(filter: DeviceFilter, patch: DevicePatch): Promise<number> {
    const columns = fromPatch(patch);
    const [where, matches] = conditions(filter);
    // A patch without changes only counts.
    const set = columns.length === 0 ? 'name = name' : assignments(columns);
    const values = [...columns.map(([, value]) => value), ...matches];
    return this.#db.transaction(() => {
      const { changes } = this.#db.statement(`update devices set ${set} where ${where}`).run(...values);
      return changes as number;
    });
  }

  delete(name: string): Promise<boolean> {
    return this.#db.transaction(
      () => this.#db.statement('delete from devices where name = ?').run(name).changes === 1,
    );
  }

  async list(query: DeviceQuery): Promise<Device[]> {
    const [where, matches] = conditions(query);
    const sql = `select * from devices where ${where} and name > ? order by name limit ?`;
    await this.#db.pause();
    const rows = await this.#db.run(() =>
      this.#db.statement(sql).all(...matches, query.after ?? '', query.limit),
    );
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
