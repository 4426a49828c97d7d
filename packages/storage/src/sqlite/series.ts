import { cachedBytes, MAX_CACHED_BYTES } from '../cached-bytes.ts';
import type { Database } from './database.ts';
import { SLOTS } from './schema.ts';

export interface Series {
  readonly id: number;
  readonly slot: number;
  /** Newest time in `readings` and in blocks, or -1. Valid while `epoch` is that of its slot. */
  merged: number;
  epoch: number;
  /** Newest time that is not an arrival, or -1. Valid while `check` is that of the dictionary. */
  settled: number;
  check: number;
  /** The last boot and its number. Boots change rarely. */
  boot: string | null;
  bootId: number | null;
}

const NEWEST_MERGED = `
  select max(
    coalesce((select time from readings where series = ?1 order by time desc limit 1), -1),
    coalesce((select last from tidegauge_blocks where series = ?1 order by first desc limit 1), -1)) as time`;
const NEWEST_RECENT = 'select time from recent where slot = ? and series = ? order by time desc limit 1';

/** The number of the last series; null without one. None is ever removed, so it is how many there are. Call it inside `run`. */
export function lastSeries(db: Database): number | null {
  return db.statement('select max(id) as id from series').get()!.id as number | null;
}

/**
 * Numbers of series and boots, and the times up to which the readings of each series are in a slot and in `readings`. This
 * cache is filled inside write transactions, and cleared after a rollback or a write by another process.
 */
export class SeriesDictionary {
  readonly #db: Database;
  readonly #devices = new Map<string, Map<string, Series>>();
  readonly #byId = new Map<number, Series>();
  #bytes = 0;
  #epochs = new Array<number>(SLOTS).fill(0);
  #dataVersion = -1;
  #checks = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  clear(): void {
    this.#devices.clear();
    this.#byId.clear();
    this.#bytes = 0;
  }

  /** Call this first in each transaction that writes readings. Returns whether another connection has committed. */
  refresh(): boolean {
    const version = this.#db.statement('pragma data_version').get()?.data_version as number;
    if (version === this.#dataVersion) return false;
    this.#dataVersion = version;
    this.#epochs = this.#epochs.map((epoch) => epoch + 1);
    this.#checks += 1;
    return true;
  }

  /** Call this when arrivals of a series up to a time have been moved to its slot. */
  settle(id: number, time: number): void {
    const series = this.#byId.get(id);
    if (series !== undefined) series.settled = Math.max(series.settled, time);
  }

  /** Call this when the readings of a slot have been merged. */
  slotMerged(slot: number): void {
    this.#epochs[slot]! += 1;
  }

  get(device: string, metric: string): Series {
    const known = this.#devices.get(device)?.get(metric);
    if (known !== undefined) return known;
    if (this.#bytes >= MAX_CACHED_BYTES) this.clear();
    const id = this.#number('series', 'device, metric', [device, metric]);
    const newest = { merged: -1, epoch: -1, settled: -1, check: -1 };
    const series = { id, slot: id % SLOTS, ...newest, boot: null, bootId: null };
    let metrics = this.#devices.get(device);
    if (metrics === undefined) {
      metrics = new Map();
      this.#devices.set(device, metrics);
    }
    metrics.set(metric, series);
    this.#byId.set(id, series);
    this.#bytes += cachedBytes(device, metric);
    return series;
  }

  /** The newest time of the series in `readings` and in blocks, or a later one. -1 if it has none. */
  merged(series: Series): number {
    const epoch = this.#epochs[series.slot]!;
    if (series.epoch !== epoch) {
      series.merged = this.#time(NEWEST_MERGED, series.id);
      series.epoch = epoch;
    }
    return series.merged;
  }

  /** The newest time of the series that is not an arrival, or a later one. -1 if it has none. At least `merged`. */
  settled(series: Series): number {
    if (series.check !== this.#checks) {
      series.settled = Math.max(this.#time(NEWEST_RECENT, series.slot, series.id), this.merged(series));
      series.check = this.#checks;
    }
    return series.settled;
  }

  #time(sql: string, ...values: readonly number[]): number {
    return (this.#db.statement(sql).get(...values)?.time as number | undefined) ?? -1;
  }

  bootId(series: Series, boot: string | null): number | null {
    if (boot === null) return null;
    if (series.boot !== boot) {
      series.bootId = this.#number('boots', 'boot', [boot]);
      series.boot = boot;
    }
    return series.bootId;
  }

  /** The id of a row in a dictionary table. A new row is inserted. */
  #number(table: string, columns: string, values: readonly string[]): number {
    const marks = values.map(() => '?').join(', ');
    const find = this.#db.statement(`select id from ${table} where (${columns}) = (${marks})`);
    const found = find.get(...values);
    if (found !== undefined) return found.id as number;
    const insert = this.#db.statement(`insert into ${table} (${columns}) values (${marks})`);
    return Number(insert.run(...values).lastInsertRowid);
  }
}
