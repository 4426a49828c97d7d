import { forEach } from '@tidegauge/parallel';
import type { Device } from '@tidegauge/readings';
import { unknownDevice } from '@tidegauge/readings';
import type { DeviceFilter, DevicePatch, DeviceQuery, DeviceStore } from '../contract.ts';
import { compareText, mergePages, take } from '../merge.ts';
import { fromPatch, toDevice } from './mapping.ts';
import { DEVICE_SHARDS } from './schema.ts';
import type { Session, Statement } from './session.ts';

const FILTERS = ['year', 'city', 'site', 'kind'] as const;
const BATCH = 50;
const PAGE_ROWS = 500;
const MAX_ATTEMPTS = 20;

const SHARDS = Array.from({ length: DEVICE_SHARDS }, (_, shard) => shard);

/**
 * Devices in a few partitions ordered by name, with indexes (SAI) on the fields of queries. All writes are
 * conditional (Paxos). A conditional write and a plain write must not be mixed, because they take their timestamps
 * from different clocks.
 */
export class CassandraDevices implements DeviceStore {
  readonly #session: Session;
  readonly #table: string;

  constructor(session: Session) {
    this.#session = session;
    this.#table = `"${session.keyspace}".devices`;
  }

  async get(name: string): Promise<Device | null> {
    const query = `select * from ${this.#table} where shard = ? and name = ?`;
    const [row] = await this.#session.readShared(query, [shardOf(name), name]);
    return row === undefined ? null : toDevice(row);
  }

  async put(device: Device): Promise<boolean> {
    const { name, ...fields } = device;
    const columns = fromPatch(fields);
    // Between the two writes, another process can create or delete the device.
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      if (await this.#session.writeIf(this.#insert(device))) return true;
      if (await this.#session.writeIf(this.#update(name, columns))) return false;
    }
    throw new Error(`device ${name} is created and deleted too often by other processes`);
  }

  async register(names: readonly string[]): Promise<void> {
    const shards = Map.groupBy(new Set(names), shardOf);
    await forEach(shards, DEVICE_SHARDS, async ([shard, members]) => {
      for (let start = 0; start < members.length; start += BATCH) {
        await this.#registerSome(shard, members.slice(start, start + BATCH));
      }
    });
  }

  /**
   * Registers all new names in one transaction. It fails if another process registers one of them in the meantime.
   */
  async #registerSome(shard: number, names: readonly string[]): Promise<void> {
    const query = `select name from ${this.#table} where shard = ? and name in ?`;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const known = new Set((await this.#session.readShared(query, [shard, names])).map(({ name }) => name));
      const missing = names.filter((name) => !known.has(name));
      if (missing.length === 0) return;
      if (await this.#session.writeIf(...missing.map((name) => this.#insert(unknownDevice(name))))) return;
    }
    throw new Error(`devices ${names[0]} and others are registered and deleted too often by other processes`);
  }

  async patch(name: string, patch: DevicePatch): Promise<Device | null> {
    const columns = fromPatch(patch);
    if (columns.length > 0 && !(await this.#session.writeIf(this.#update(name, columns)))) return null;
    return this.get(name);
  }

  async patchWhere(filter: DeviceFilter, patch: DevicePatch): Promise<number> {
    const columns = fromPatch(patch);
    let matched = 0;
    await forEach(SHARDS, DEVICE_SHARDS, async (shard) => {
      const names: string[] = [];
      for await (const page of this.#pages(shard, filter, '', PAGE_ROWS)) {
        names.push(...page.map(({ name }) => name));
      }
      const changed = columns.length === 0 ? names.length : await this.#updateAll(names, columns);
      matched += changed;
    });
    return matched;
  }

  delete(name: string): Promise<boolean> {
    const query = `delete from ${this.#table} where shard = ? and name = ? if exists`;
    return this.#session.writeIf({ query, params: [shardOf(name), name] });
  }

  async list(query: DeviceQuery): Promise<Device[]> {
    const { limit, after = '' } = query;
    // Names are usually spread evenly over shards. Otherwise another page is read.
    const size = Math.min(Math.ceil(limit / DEVICE_SHARDS) + 10, PAGE_ROWS);
    const streams = SHARDS.map((shard) => this.#pages(shard, query, after, size));
    const found: Device[] = [];
    const merged = mergePages(streams, (a: Device, b: Device) => compareText(a.name, b.name));
    for await (const device of take(merged, limit)) found.push(device);
    return found;
  }

  /** Matching devices of a shard after a name, by name. */
  async *#pages(shard: number, filter: DeviceFilter, after: string, size: number): AsyncGenerator<Device[]> {
    const given = FILTERS.filter((field) => filter[field] !== undefined);
    const conditions = ['shard = ?', 'name > ?', ...given.map((field) => `${field} = ?`)];
    const query = `select * from ${this.#table} where ${conditions.join(' and ')} limit ?`;
    const values = given.map((field) => filter[field]);
    for (let behind = after; ; ) {
      const rows = await this.#session.readMajority(query, [shard, behind, ...values, size]);
      yield rows.map(toDevice);
      if (rows.length < size) return;
      behind = rows.at(-1)!.name as string;
    }
  }

  #insert({ name, ...fields }: Device): Statement {
    const columns = fromPatch(fields);
    const names = columns.map(([column]) => column).join(', ');
    const marks = ', ?'.repeat(columns.length);
    return {
      query: `insert into ${this.#table} (shard, name, ${names}) values (?, ?${marks}) if not exists`,
      params: [shardOf(name), name, ...columns.map(([, value]) => value)],
    };
  }

  /** Resolves to the number of devices that still exist. */
  async #updateAll(names: readonly string[], columns: ReturnType<typeof fromPatch>): Promise<number> {
    let updated = names.length;
    for (let start = 0; start < names.length; start += BATCH) {
      const updates = names.slice(start, start + BATCH).map((name) => this.#update(name, columns));
      // A device that was deleted in the meantime makes the change of the others fail.
      if (await this.#session.writeIf(...updates)) continue;
      for (const update of updates) if (!(await this.#session.writeIf(update))) updated -= 1;
    }
    return updated;
  }

  #update(name: string, columns: readonly (readonly [string, unknown])[]): Statement {
    const set = columns.map(([column]) => `${column} = ?`).join(', ');
    return {
      query: `update ${this.#table} set ${set} where shard = ? and name = ? if exists`,
      params: [...columns.map(([, value]) => value), shardOf(name), name],
    };
  }
}

/** FNV-1a over UTF-16 code units. It is part of the layout and must never change. */
function shardOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < name.length; index += 1) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) % DEVICE_SHARDS;
}
