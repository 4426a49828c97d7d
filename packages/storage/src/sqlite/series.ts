import { cachedBytes, MAX_CACHED_BYTES } from '../cached-bytes.ts';
import type { Database } from './database.ts';
import { SLOTS } from './schema.ts';

export interface Series {
  readonly id: number;
  readonly slot: number;
  /** Newest time in `readings`, or -1. Valid while `epoch` is that of its slot. */
  merged: number;
  epoch: number;
  /** The last boot and its number. Boots change rarely. */
  boot: string | null;
  bootId: number | null;
}

/**
 * Numbers of series and boots, and the time up to which each series is merged. This cache is filled inside write
 * transactions, and cleared after a rollback or a write by another process.
 */
export class SeriesDictionary {
  readonly #db: Database;
  readonly #devices = new Map<string, Map<string, Series>>();
  #bytes = 0;
  #epochs = new Array<number>(SLOTS).fill(0);
  #dataVersion = -1;

  constructor(db: Database) {
    this.#db = db;
  }

  clear(): void {
    this.#devices.clear();
    this.#bytes = 0;
  }

  /** Call this first in each transaction that writes readings. */
  refresh(): void {
    // Changes when another connection has committed.
    const version = this.#db.statement('pragma data_version').get()?.data_version as number;
    if (version === this.#dataVersion) return;
    this.#dataVersion = version;
    this.#epochs = this.#epochs.map((epoch) => epoch + 1);
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
    const series = { id, slot: id % SLOTS, merged: -1, epoch: -1, boot: null, bootId: null };
    let metrics = this.#devices.get(device);
    if (metrics === undefined) {
      metrics = new Map();
      this.#devices.set(device, metrics);
    }
    metrics.set(metric, series);
    this.#bytes += cachedBytes(device, metric);
    return series;
  }

  /** The newest time of the series in `readings`, or a later one. -1 if it has none. */
  merged(series: Series): number {
    const epoch = this.#epochs[series.slot]!;
    if (series.epoch !== epoch) {
      const sql = 'select time from readings where series = ? order by time desc limit 1';
      series.merged = (this.#db.statement(sql).get(series.id)?.time as number | undefined) ?? -1;
      series.epoch = epoch;
    }
    return series.merged;
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
