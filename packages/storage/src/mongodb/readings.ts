import { MAX_TIME, type Reading } from '@tidegauge/readings';
import type { Document } from 'mongodb';
import type { BackendReadings } from '../backend.ts';
import type {
  AggregateQuery,
  Bucket,
  DeleteQuery,
  Pace,
  RangeQuery,
  SeriesName,
  SeriesUnit,
  WriteResult,
} from '../contract.ts';
import { devicePages } from '../groups.ts';
import { demandFewMetrics, latestOfSome, NEWEST, type PageQuery, rangeOfSeries } from '../merge.ts';
import type { Database } from './database.ts';
import { insertNew } from './insert.ts';
import {
  fromReading,
  type ReadingDocument,
  type ReadingKey,
  type SeriesDocument,
  toReading,
} from './mapping.ts';
import { SeriesDictionary } from './series.ts';

const EXPIRE_ROWS = 5000;
const EXPIRE_SERIES = 1000;
/** Queries for single series that run at the same time. */
const AT_ONCE = 4;
/** Devices that `latest` reads together. */
const DEVICES_AT_ONCE = 8;

/** A batch per identity, in the order of keys. */
interface Identities {
  /** The first reading of each identity. */
  readonly first: ReadingDocument[];
  /** The last reading of each identity whose last value differs from its first. */
  readonly last: ReadingDocument[];
  /** The number of readings that correct another one of the same batch. */
  readonly corrections: number;
}

/**
 * Readings by the key {series, time}. Nearly all readings are new and need an insert only. A write then reads the
 * values of existing keys, and replaces those that differ. Bulk upserts have a tenth of the rate of inserts on
 * FerretDB, and report unchanged documents as modified.
 */
export class MongodbReadings implements BackendReadings {
  readonly #db: Database;
  readonly #series: SeriesDictionary;

  constructor(db: Database) {
    this.#db = db;
    this.#series = new SeriesDictionary(db);
  }

  write(batch: readonly Reading[]): Promise<WriteResult> {
    return this.#db.run(async () => {
      const { first, last, corrections } = identities(batch, await this.#series.numbers(batch));
      const taken = await insertNew(this.#db.readings, first);
      const met = taken.map((index) => first[index]!);
      const stored = first.length - met.length + (await this.#correct(met)) + corrections;
      await this.#replace(last);
      return { stored, duplicate: batch.length - stored };
    });
  }

  /** Replaces documents whose stored value differs. Resolves to their number. */
  async #correct(documents: readonly ReadingDocument[]): Promise<number> {
    if (documents.length === 0) return 0;
    const wanted = { _id: { $in: documents.map(({ _id }) => _id) } };
    const cursor = this.#db.readings.find(wanted, { projection: { v: 1 }, batchSize: documents.length });
    const stored = new Map<string, unknown>();
    for (const { _id, v } of await cursor.toArray()) stored.set(keyText(_id), v);
    // A missing document has expired in the meantime.
    return this.#replace(
      documents.filter(({ _id, v }) => {
        const known = stored.get(keyText(_id));
        return known !== undefined && known !== v.valueOf();
      }),
    );
  }

  /** Replaces documents unless they have the value already. Resolves to the number of replaced documents. */
  async #replace(documents: readonly ReadingDocument[]): Promise<number> {
    if (documents.length === 0) return 0;
    const operations = documents.map(({ _id, ...replacement }) => ({
      replaceOne: { filter: { _id, v: { $ne: replacement.v } }, replacement },
    }));
    return (await this.#db.readings.bulkWrite(operations, { ordered: false })).matchedCount;
  }

  async *range(query: RangeQuery): AsyncGenerator<Reading> {
    const { device, metric } = query;
    const known = await this.#db.run(() => this.#series.ofDevice(device, metric));
    if (metric === undefined) demandFewMetrics(device, known.length);
    const series = known.map((document) => ({ metric: document.m, document }));
    yield* rangeOfSeries(query, series, ({ document }, page) => this.#page(document, page));
  }

  #page({ _id, d, m }: SeriesDocument, { from, to, order, limit }: PageQuery): Promise<Reading[]> {
    return this.#db.run(async () => {
      const documents = await this.#db.readings
        .find(between(_id, from, to), { singleBatch: true, batchSize: limit })
        .sort({ _id: order === 'asc' ? 1 : -1 })
        .limit(limit)
        .toArray();
      return documents.map((document) => toReading(d, m, document));
    });
  }

  latest(devices: readonly string[], limit: number): Promise<Reading[]> {
    return latestOfSome(devices, limit, DEVICES_AT_ONCE, async (some) => {
      const series = await eachOf(some, (device) => this.#db.run(() => this.#series.ofDevice(device)));
      for (const [index, { length }] of series.entries()) demandFewMetrics(some[index]!, length);
      const all = series.flat();
      const newest = await eachOf(all, (series) => this.#page(series, NEWEST));
      return newest.flat();
    });
  }

  setUnits(units: readonly SeriesUnit[]): Promise<void> {
    return this.#db.run(() => this.#series.setUnits(units));
  }

  units(series: readonly SeriesName[]): Promise<(string | null)[]> {
    return this.#db.run(() => this.#series.units(series));
  }

  async metrics(device: string, limit: number): Promise<string[]> {
    const series = await this.#db.run(() => this.#series.ofDevice(device, undefined, limit));
    return series.map(({ m }) => m);
  }

  /** Reads the index of series. `distinct` would return all devices in one document, which has a limit. */
  devices(after?: string): AsyncGenerator<string> {
    return devicePages(after, (last, limit) =>
      this.#db.run(async () => {
        const query = { projection: { _id: 0, d: 1 }, singleBatch: true, batchSize: limit } as const;
        const found = this.#db.series
          .find({ d: { $gt: last } }, query)
          .sort({ d: 1, m: 1 })
          .limit(limit);
        return (await found.toArray()).map(({ d }) => d);
      }),
    );
  }

  async aggregate({ device, metric, from, to, bucket }: AggregateQuery): Promise<Bucket[]> {
    const pipeline = (series: number): Document[] => [
      { $match: { ...between(series, from, to), v: { $type: 'number' } } },
      {
        $group: {
          _id: { $subtract: ['$_id.t', { $mod: ['$_id.t', bucket] }] },
          count: { $sum: 1 },
          min: { $min: '$v' },
          max: { $max: '$v' },
          mean: { $avg: '$v' },
          sum: { $sum: '$v' },
        },
      },
      { $sort: { _id: 1 } },
    ];
    return this.#db.run(async () => {
      const [series] = await this.#series.ofDevice(device, metric);
      if (series === undefined || from >= to) return [];
      const buckets = await this.#db.readings.aggregate(pipeline(series._id)).toArray();
      return buckets.map(({ _id, ...bucket }) => ({ time: _id, ...bucket }) as unknown as Bucket);
    });
  }

  expire(before: number, pace?: Pace): Promise<number> {
    return this.#db.run(async () => {
      let expired = 0;
      for (let last = -1; ; ) {
        const page = await this.#db.series
          .find({ _id: { $gt: last } })
          .sort({ _id: 1 })
          .limit(EXPIRE_SERIES)
          .toArray();
        const counts = await eachOf(page, ({ _id }) => this.#deleteOf(_id, 0, before, pace));
        expired += counts.reduce((sum, count) => sum + count, 0);
        if (page.length < EXPIRE_SERIES) return expired;
        last = page.at(-1)!._id;
      }
    });
  }

  delete({ device, metric, from = 0, to = MAX_TIME + 1 }: DeleteQuery, pace?: Pace): Promise<number> {
    return this.#db.run(async () => {
      let deleted = 0;
      for await (const { _id } of this.#series.allOf(device, metric))
        deleted += await this.#deleteOf(_id, from, to, pace);
      return deleted;
    });
  }

  /** Deletes in bounded parts, so that no command blocks writes for long. */
  async #deleteOf(series: number, from: number, to: number, pace?: Pace): Promise<number> {
    for (let deleted = 0; ; ) {
      const old = await this.#db.readings
        .find(between(series, from, to), {
          projection: { _id: 1 },
          batchSize: EXPIRE_ROWS,
          singleBatch: true,
        })
        .sort({ _id: 1 })
        .limit(EXPIRE_ROWS)
        .toArray();
      const last = old.at(-1);
      if (last === undefined) return deleted;
      const part = between(series, from, last._id.t + 1);
      const { deletedCount } = await this.#db.readings.deleteMany(part);
      deleted += deletedCount;
      await pace?.(deletedCount);
      if (old.length < EXPIRE_ROWS) return deleted;
    }
  }
}

/** Keys of one series in [from, to). */
function between(series: number, from: number, to: number): { _id: { $gte: ReadingKey; $lt: ReadingKey } } {
  return { _id: { $gte: { s: series, t: from }, $lt: { s: series, t: to } } };
}

function keyText({ s, t }: ReadingKey): string {
  return `${s} ${t}`;
}

function identities(batch: readonly Reading[], series: Float64Array): Identities {
  const order = new Uint32Array(batch.length).map((_, row) => row);
  order.sort((a, b) => series[a]! - series[b]! || batch[a]!.time - batch[b]!.time || a - b);
  const first: ReadingDocument[] = [];
  const last: ReadingDocument[] = [];
  let corrections = 0;
  for (let at = 0; at < order.length; ) {
    const start = order[at]!;
    const { time, value } = batch[start]!;
    let end = start;
    for (at += 1; at < order.length; at += 1) {
      const next = order[at]!;
      if (series[next] !== series[start] || batch[next]!.time !== time) break;
      if (batch[next]!.value === batch[end]!.value) continue;
      corrections += 1;
      end = next;
    }
    first.push(fromReading(series[start]!, batch[start]!));
    if (batch[end]!.value !== value) last.push(fromReading(series[end]!, batch[end]!));
  }
  return { first, last, corrections };
}

/** Calls `ask` for each item, a few at a time. The results have the order of the items. */
async function eachOf<T, R>(items: readonly T[], ask: (item: T) => Promise<R>): Promise<R[]> {
  const answers = new Array<R>(items.length);
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next;
      next += 1;
      answers[index] = await ask(items[index]!);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return answers;
}
