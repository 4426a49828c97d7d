import type { Reading } from '@tidegauge/readings';
import { cachedBytes, MAX_CACHED_BYTES } from '../cached-bytes.ts';
import type { SeriesName, SeriesUnit } from '../contract.ts';
import { compareText } from '../merge.ts';
import type { Database } from './database.ts';

/** Names looked up per statement. */
const LEARN_ROWS = 1000;

export interface Series {
  readonly id: number;
  /** Readings of the present batch. */
  rows: Reading[];
  /** The last boot and its number. Boots change rarely. */
  boot: string | null;
  bootId: number | null;
}

/** Names that a batch needs and the cache lacks, as a flat list of device, metric, device, metric. */
export interface Missing {
  readonly series: string[];
  readonly boots: string[];
}

/** Numbers of series and boots. They are committed separately and never change. */
export class SeriesDictionary {
  readonly #db: Database;
  readonly #devices = new Map<string, Map<string, Series>>();
  readonly #boots = new Map<string, number>();
  #bytes = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  clear(): void {
    this.#devices.clear();
    this.#boots.clear();
    this.#bytes = 0;
  }

  get(device: string, metric: string): Series | undefined {
    return this.#devices.get(device)?.get(metric);
  }

  /** Undefined if the number must be read first. */
  bootId(series: Series, boot: string | null): number | null | undefined {
    if (boot === null) return null;
    if (series.boot === boot) return series.bootId;
    const id = this.#boots.get(boot);
    if (id === undefined) return undefined;
    series.boot = boot;
    series.bootId = id;
    return id;
  }

  /** Reads numbers, and inserts new names. */
  async learn({ series, boots }: Missing): Promise<void> {
    if (this.#bytes >= MAX_CACHED_BYTES) this.clear();
    for (let start = 0; start < series.length; start += 2 * LEARN_ROWS) {
      const pairs = series.slice(start, start + 2 * LEARN_ROWS);
      const rows = await this.#numbers('series', ['device', 'metric'], pairs);
      for (const { id, device, metric } of rows) this.#add(id as number, device as string, metric as string);
    }
    for (let start = 0; start < boots.length; start += LEARN_ROWS) {
      const rows = await this.#numbers('boots', ['boot'], boots.slice(start, start + LEARN_ROWS));
      for (const { id, boot } of rows) {
        this.#boots.set(boot as string, id as number);
        this.#bytes += cachedBytes(boot as string);
      }
    }
  }

  /** Sets the units of series that exist. */
  async setUnits(units: readonly SeriesUnit[]): Promise<void> {
    // Sorted, so that processes that change the same series wait for each other and never deadlock.
    const sorted = units.toSorted(
      (a, b) => compareText(a.device, b.device) || compareText(a.metric, b.metric),
    );
    await this.#db.transaction((connection) =>
      connection.batch(
        'update series set unit = ? where device = ? and metric = ?',
        sorted.map(({ device, metric, unit }) => [unit, device, metric]),
      ),
    );
  }

  async units(series: readonly SeriesName[]): Promise<(string | null)[]> {
    const known = new Map<string, string | null>();
    for (let start = 0; start < series.length; start += LEARN_ROWS) {
      const names = series.slice(start, start + LEARN_ROWS).flatMap(({ device, metric }) => [device, metric]);
      const marks = new Array<string>(names.length / 2).fill('(?, ?)').join(', ');
      const find = `select device, metric, unit from series where (device, metric) in (${marks})`;
      for (const { device, metric, unit } of await this.#db.query(find, names))
        known.set(`${device} ${metric}`, unit as string | null);
    }
    return series.map(({ device, metric }) => known.get(`${device} ${metric}`) ?? null);
  }

  #add(id: number, device: string, metric: string): void {
    let metrics = this.#devices.get(device);
    if (metrics === undefined) {
      metrics = new Map();
      this.#devices.set(device, metrics);
    }
    // Another write may have read it in the meantime.
    if (metrics.has(metric)) return;
    metrics.set(metric, { id, rows: [], boot: null, bootId: null });
    this.#bytes += cachedBytes(device, metric);
  }

  async #numbers(table: string, columns: readonly string[], values: readonly string[]) {
    const names = columns.join(', ');
    const mark = `(${columns.map(() => '?').join(', ')})`;
    const marks = new Array<string>(values.length / columns.length).fill(mark).join(', ');
    const find = `select id, ${names} from ${table} where (${names}) in (${marks})`;
    const found = await this.#db.query(find, values);
    if (found.length * columns.length === values.length) return found;
    const known = new Set(found.map((row) => columns.map((column) => row[column]).join('\0')));
    const fresh: string[] = [];
    for (let start = 0; start < values.length; start += columns.length) {
      const name = values.slice(start, start + columns.length);
      if (!known.has(name.join('\0'))) fresh.push(...name);
    }
    const freshMarks = new Array<string>(fresh.length / columns.length).fill(mark).join(', ');
    const insert = `insert into ${table} (${names}) values ${freshMarks} on duplicate key update id = ${table}.id`;
    await this.#db.transaction((connection) => connection.query(insert, fresh));
    return this.#db.query(find, values);
  }
}
