import { forEach } from '@tidegauge/parallel';
import { MAX_TIME, type Reading } from '@tidegauge/readings';
import { MAX_METRICS_READ } from '../arguments.ts';
import type { BackendReadings } from '../backend.ts';
import type {
  DeleteQuery,
  Order,
  Pace,
  RangeQuery,
  SeriesName,
  SeriesUnit,
  WriteResult,
} from '../contract.ts';
import type { DayTotals } from '../day-totals.ts';
import {
  compareReadings,
  demandFewMetrics,
  firstPageRows,
  flatten,
  latestOfSome,
  mergePages,
  nextPageRows,
  seriesBounds,
  take,
} from '../merge.ts';
import { CassandraGroups } from './groups.ts';
import { bucketOf, fromReading, READING_COLUMNS, toReading } from './mapping.ts';
import { type Partition, partition, requests } from './partition.ts';
import { BUCKET_US } from './schema.ts';
import { SeriesIndex } from './series.ts';
import type { Session } from './session.ts';
import { CassandraTotals } from './totals.ts';
import { CassandraUnits } from './units.ts';

// Concurrent calls of one write, latest or expire.
const WIDTH = 64;
// Devices that `latest` reads together.
const DEVICES_AT_ONCE = 8;

/**
 * Readings in partitions of one series and day, newest first. `series` lists the days. Writes do not read first:
 * of equal identities, the write with the later timestamp wins (see `processTimestamps`).
 */
export class CassandraReadings implements BackendReadings {
  readonly totals: DayTotals;
  readonly #session: Session;
  readonly #index: SeriesIndex;
  readonly #units: CassandraUnits;
  readonly #insert: string;
  readonly #pages: Readonly<Record<Order, string>>;

  constructor(session: Session) {
    this.#session = session;
    this.#index = new SeriesIndex(session);
    this.totals = { table: new CassandraTotals(session), rows: new CassandraGroups(session, this.#index) };
    this.#units = new CassandraUnits(session);
    const table = `"${session.keyspace}".readings`;
    this.#insert = `insert into ${table} (${READING_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
    const page = `
      select time, number, string, received, boot, seq, shape from ${table}
      where device = ? and metric = ? and bucket = ? and time >= ? and time < ? order by time`;
    this.#pages = { asc: `${page} asc limit ?`, desc: `${page} desc limit ?` };
  }

  async write(batch: readonly Reading[]): Promise<WriteResult> {
    const partitions = partition(batch);
    const fresh = partitions.filter(({ device, metric, bucket }) => !this.#index.has(device, metric, bucket));
    if (fresh.length > 0) await this.#index.add(fresh);
    const nodeOf = ({ device, metric, bucket }: Partition) => this.#index.node(device, metric, bucket);
    await forEach(requests(partitions, nodeOf), WIDTH, (parts) => {
      const all = parts.flatMap(({ bucket, rows }) => rows.map((row) => fromReading(row, bucket)));
      return all.length === 1
        ? this.#session.write(this.#insert, all[0]!)
        : this.#session.writeRows(this.#insert, all);
    });
    return { stored: batch.length, duplicate: 0 };
  }

  async *range(query: RangeQuery): AsyncGenerator<Reading> {
    const { device, metric, limit, order = 'desc' } = query;
    const series = await this.#seriesIn(query);
    const size = firstPageRows(limit, series.size);
    const streams = [...series].map(([name, buckets]) =>
      this.#stream(device, name, buckets, query, order, size),
    );
    if (metric !== undefined) {
      // One series needs no merge.
      for (const stream of streams) yield* take(flatten(stream), limit);
      return;
    }
    yield* take(mergePages(streams, compareReadings(order)), limit);
  }

  async #seriesIn(query: RangeQuery): Promise<Map<string, number[]>> {
    const { device, metric } = query;
    if (metric === undefined) {
      const series = await this.#index.ofDevice(device, MAX_METRICS_READ);
      demandFewMetrics(device, series.size);
      return series;
    }
    const { from, to } = seriesBounds(query, metric);
    if (from >= to) return new Map();
    const days = await this.#index.ofSeries(device, metric, bucketOf(from), bucketOf(to - 1));
    return new Map([[metric, days]]);
  }

  /** Reads one series page by page, day by day. */
  async *#stream(
    device: string,
    metric: string,
    buckets: readonly number[],
    query: RangeQuery,
    order: Order,
    rows: number,
  ): AsyncGenerator<Reading[]> {
    let size = rows;
    let { from, to } = seriesBounds(query, metric);
    if (from >= to) return;
    const [first, last] = [bucketOf(from), bucketOf(to - 1)];
    const within = buckets.filter((bucket) => bucket >= first && bucket <= last);
    for (const bucket of order === 'desc' ? within : within.toReversed()) {
      for (;;) {
        const page = await this.#page(device, metric, bucket, from, to, order, size);
        if (page.length > 0) yield page;
        // The next day continues with pages of the same size.
        if (page.length < size) break;
        const { time } = page.at(-1)!;
        [from, to] = order === 'asc' ? [time + 1, to] : [from, time];
        size = nextPageRows(page);
      }
    }
  }

  async #page(
    device: string,
    metric: string,
    bucket: number,
    from: number,
    to: number,
    order: Order,
    limit: number,
  ): Promise<Reading[]> {
    const params = [device, metric, bucket, from, to, limit];
    const rows = await this.#session.read(this.#pages[order], params);
    return rows.map((row) => toReading(device, metric, row));
  }

  /** Reads the newest day. A separate row of latest readings would need a read before each write. */
  latest(devices: readonly string[], limit: number): Promise<Reading[]> {
    return latestOfSome(devices, limit, DEVICES_AT_ONCE, async (some) => {
      const found = new Map<string, Reading[]>();
      await forEach(some, some.length, async (device) => {
        const newest: Reading[] = [];
        const series = await this.#index.newest(device, MAX_METRICS_READ + 1);
        demandFewMetrics(device, series.length);
        for (const [metric, bucket] of series) {
          if (newest.length === limit) break;
          const reading = await this.#newest(device, metric, bucket);
          if (reading !== undefined) newest.push(reading);
        }
        found.set(device, newest);
      });
      return some.flatMap((device) => found.get(device)!);
    });
  }

  setUnits(units: readonly SeriesUnit[]): Promise<void> {
    return this.#units.set(units);
  }

  units(series: readonly SeriesName[]): Promise<(string | null)[]> {
    return this.#units.of(series);
  }

  async metrics(device: string, limit: number): Promise<string[]> {
    return (await this.#index.newest(device, limit)).map(([metric]) => metric);
  }

  devices(after?: string): AsyncGenerator<string> {
    return this.#index.devices(after);
  }

  async #newest(device: string, metric: string, bucket: number): Promise<Reading | undefined> {
    const [start, end] = [bucket * BUCKET_US, (bucket + 1) * BUCKET_US];
    const [newest] = await this.#page(device, metric, bucket, start, end, 'desc', 1);
    if (newest !== undefined) return newest;
    // All readings of that day have expired. An older day can still have readings that were written later.
    const query = { device, metric, to: start, limit: 1 };
    for await (const reading of this.range(query)) return reading;
    return undefined;
  }

  /**
   * Drops whole days, and the older part of the day that contains `before`. Deletes carry the timestamp of the
   * start, so readings that are written from now on stay.
   */
  async expire(before: number, pace?: Pace): Promise<null> {
    if (before <= 0) return null;
    const timestamp = this.#session.timestamp();
    this.#index.forget();
    const table = `"${this.#session.keyspace}".readings`;
    const drop = `delete from ${table} where device = ? and metric = ? and bucket = ?`;
    await forEach(this.#index.all(), WIDTH, async ({ device, metric, bucket }) => {
      const start = bucket * BUCKET_US;
      if (start >= before) return;
      if (start + BUCKET_US <= before) {
        await this.#session.write(drop, [device, metric, bucket], timestamp);
        await this.#index.remove(device, metric, bucket, timestamp);
      } else {
        await this.#session.write(`${drop} and time < ?`, [device, metric, bucket, before], timestamp);
      }
      await pace?.(null);
    });
    return null;
  }

  /**
   * Deletes whole days, and ranges of the days at the bounds. Deletes carry the timestamp of the start, so readings that
   * are written from now on stay. Rows of the index stay, because other processes cache them: without its row, a reading
   * that such a process writes next could not be found.
   */
  async delete({ device, metric, from = 0, to = MAX_TIME + 1 }: DeleteQuery, pace?: Pace): Promise<null> {
    if (from >= to) return null;
    const timestamp = this.#session.timestamp();
    const drop = `
      delete from "${this.#session.keyspace}".readings where device = ? and metric = ? and bucket = ?`;
    await forEach(this.#index.of(device), WIDTH, async ({ metric: name, bucket }) => {
      const start = bucket * BUCKET_US;
      if ((metric !== undefined && name !== metric) || start >= to || start + BUCKET_US <= from) return;
      if (from <= start && start + BUCKET_US <= to)
        await this.#session.write(drop, [device, name, bucket], timestamp);
      else {
        const part = `${drop} and time >= ? and time < ?`;
        await this.#session.write(part, [device, name, bucket, from, to], timestamp);
      }
      await pace?.(null);
    });
    return null;
  }
}
