import { randomInt } from 'node:crypto';
import type { Reading } from '@tidegauge/readings';
import { MAX_METRICS_READ } from '../arguments.ts';
import { cachedBytes, MAX_CACHED_BYTES } from '../cached-bytes.ts';
import type { SeriesName, SeriesUnit } from '../contract.ts';
import { compareText } from '../merge.ts';
import type { Database } from './database.ts';
import { insertNew } from './insert.ts';
import type { SeriesDocument } from './mapping.ts';

const DEVICES_PER_QUERY = 1000;
// The widest range of randomInt. The index on _id refuses a number that is used already, and another one is drawn.
const NUMBERS = 2 ** 48 - 1;

/** Numbers of series. They never change, so the cache stays valid. */
export class SeriesDictionary {
  readonly #db: Database;
  readonly #devices = new Map<string, Map<string, number>>();
  #bytes = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /** The number of the series of each reading. New series get a number. */
  async numbers(batch: readonly Reading[]): Promise<Float64Array> {
    const numbers = new Float64Array(batch.length);
    for (;;) {
      const unknown = this.#lookUp(batch, numbers);
      if (unknown.size === 0) return numbers;
      const missing = await this.#find(unknown);
      await insertNew(this.#db.series, missing);
      // Another process may have been faster. The stored number is valid.
      if (missing.length > 0) await this.#find(unknown);
    }
  }

  /** All series of a device, in any order, or only the named one. */
  allOf(device: string, metric?: string): AsyncIterable<SeriesDocument> {
    return this.#db.series.find(metric === undefined ? { d: device } : { d: device, m: metric });
  }

  /** The series of a device by metric, or only the named one. */
  async ofDevice(device: string, metric?: string, limit = MAX_METRICS_READ + 1): Promise<SeriesDocument[]> {
    const wanted = metric === undefined ? { d: device } : { d: device, m: metric };
    const found = await this.#db.series.find(wanted).limit(limit).toArray();
    return found.sort((a, b) => compareText(a.m, b.m));
  }

  /** All series of the devices, by device, then metric. */
  async ofDevices(devices: readonly string[]): Promise<SeriesDocument[]> {
    const found: SeriesDocument[] = [];
    for (let start = 0; start < devices.length; start += DEVICES_PER_QUERY) {
      const some = devices.slice(start, start + DEVICES_PER_QUERY);
      found.push(...(await this.#db.series.find({ d: { $in: some } }).toArray()));
    }
    return found.sort((a, b) => compareText(a.d, b.d) || compareText(a.m, b.m));
  }

  /** Sets the units of series that exist. */
  async setUnits(units: readonly SeriesUnit[]): Promise<void> {
    const operations = units.map(({ device, metric, unit }) => ({
      updateOne: { filter: { d: device, m: metric }, update: { $set: { u: unit } } },
    }));
    await this.#db.series.bulkWrite(operations, { ordered: false });
  }

  async units(series: readonly SeriesName[]): Promise<(string | null)[]> {
    const known = new Map<string, string>();
    const byDevice = [...Map.groupBy(series, ({ device }) => device)];
    for (let start = 0; start < byDevice.length; start += DEVICES_PER_QUERY) {
      const wanted = byDevice
        .slice(start, start + DEVICES_PER_QUERY)
        .map(([d, metrics]) => ({ d, m: { $in: metrics.map(({ metric }) => metric) } }));
      for await (const { d, m, u } of this.#db.series.find({ $or: wanted }))
        if (u !== undefined) known.set(`${d} ${m}`, u);
    }
    return series.map(({ device, metric }) => known.get(`${device} ${metric}`) ?? null);
  }

  #lookUp(batch: readonly Reading[], numbers: Float64Array): Map<string, Set<string>> {
    const unknown = new Map<string, Set<string>>();
    for (let row = 0; row < batch.length; row += 1) {
      const { device, metric } = batch[row]!;
      const number = this.#devices.get(device)?.get(metric);
      if (number !== undefined) numbers[row] = number;
      else unknown.set(device, (unknown.get(device) ?? new Set()).add(metric));
    }
    return unknown;
  }

  /** Caches stored series. Resolves to documents for the others. */
  async #find(unknown: ReadonlyMap<string, ReadonlySet<string>>): Promise<SeriesDocument[]> {
    // The cache must hold all series of a batch, so that a look-up after this finds them.
    if (this.#bytes >= MAX_CACHED_BYTES) this.#clear();
    for (const { _id, d, m } of await this.ofDevices([...unknown.keys()])) {
      if (unknown.get(d)?.has(m) === true) this.#remember(d, m, _id);
    }
    const missing: SeriesDocument[] = [];
    for (const [device, metrics] of unknown) {
      for (const metric of metrics) {
        if (this.#devices.get(device)?.get(metric) !== undefined) continue;
        missing.push({ _id: randomInt(NUMBERS), d: device, m: metric });
      }
    }
    return missing.sort((a, b) => compareText(a.d, b.d) || compareText(a.m, b.m));
  }

  #remember(device: string, metric: string, number: number): void {
    let metrics = this.#devices.get(device);
    if (metrics === undefined) {
      metrics = new Map();
      this.#devices.set(device, metrics);
    }
    if (!metrics.has(metric)) this.#bytes += cachedBytes(device, metric);
    metrics.set(metric, number);
  }

  #clear(): void {
    this.#devices.clear();
    this.#bytes = 0;
  }
}
