import type { Reading } from '@tidegauge/readings';
import { foldBuckets } from '../aggregate.ts';
import type { AggregateQuery, Bucket, Order, RangeQuery, ReadingStore, WriteResult } from '../contract.ts';
import { rangeOfSeries } from '../merge.ts';
import { type Rows, sortBatch } from './batch.ts';
import type { Database } from './database.ts';
import { READING_COLUMNS, toBucket, toReading } from './mapping.ts';
import type { Partitions } from './partitions.ts';
import { SeriesDictionary } from './series.ts';
import { storeRows } from './statements.ts';

const LATEST_DEVICES = 500;
// A statement of an expiry ends at so many rows dropped or series looked at.
const EXPIRE_ROWS = 5000;
const EXPIRE_SERIES = 500;

const PAGE = `
  select ${READING_COLUMNS} from readings r left join boots b on b.id = r.boot
  where r.series = ? and r.time >= ? and r.time < ? order by r.time`;
const PAGES: Readonly<Record<Order, string>> = { asc: `${PAGE} asc limit ?`, desc: `${PAGE} desc limit ?` };
// `having` keeps the newest times a table of their own, each found at the end of the key.
const LATEST = `
  select s.device, s.metric, ${READING_COLUMNS}
  from (
    select device, metric, id,
      (select time from readings where series = series.id order by time desc limit 1) as newest
    from series where device in (?) having newest is not null
  ) s
  straight_join readings r on r.series = s.id and r.time = s.newest
  left join boots b on b.id = r.boot
  order by s.device, s.metric`;
const AGGREGATE = `
  select time div ? * ? as time, count(*) as count, min(value) as min, max(value) as max,
    avg(value) as mean, sum(value) as sum
  from readings where series = ? and time >= ? and time < ? and value is not null
  group by 1 order by 1`;

interface SeriesRow {
  readonly id: number;
  readonly metric: string;
}

/** Readings in one table by (series, time), partitioned by time. */
export class MariadbReadings implements ReadingStore {
  readonly #db: Database;
  readonly #partitions: Partitions;
  readonly #dictionary: SeriesDictionary;

  constructor(db: Database, partitions: Partitions) {
    this.#db = db;
    this.#partitions = partitions;
    this.#dictionary = new SeriesDictionary(db);
    db.onLoss = () => this.#dictionary.clear();
  }

  async write(batch: readonly Reading[]): Promise<WriteResult> {
    await this.#partitions.keepAhead();
    const rounds = await this.#sort(batch);
    const stored = await this.#db.transaction(async (connection) => {
      let sum = 0;
      for (const rows of rounds) sum += await storeRows(connection, rows);
      return sum;
    });
    return { stored, duplicate: batch.length - stored };
  }

  async #sort(batch: readonly Reading[]): Promise<Rows[]> {
    for (;;) {
      const sorted = sortBatch(batch, this.#dictionary);
      if (Array.isArray(sorted)) return sorted;
      await this.#dictionary.learn(sorted);
    }
  }

  async *range(query: RangeQuery): AsyncGenerator<Reading> {
    const { device } = query;
    const series = await this.#seriesOf(device);
    yield* rangeOfSeries(query, series, async ({ id, metric }, { from, to, order, limit }) => {
      const rows = await this.#db.rows(PAGES[order], [id, BigInt(from), BigInt(to), limit]);
      return rows.map((row) => toReading(device, metric, row));
    });
  }

  async latest(devices: readonly string[]): Promise<Reading[]> {
    const found: Reading[] = [];
    for (let start = 0; start < devices.length; start += LATEST_DEVICES) {
      const rows = await this.#db.query(LATEST, [devices.slice(start, start + LATEST_DEVICES)]);
      for (const row of rows) found.push(toReading(row.device as string, row.metric as string, row));
    }
    return found;
  }

  async aggregate({ device, metric, from, to, bucket }: AggregateQuery): Promise<Bucket[]> {
    const series = (await this.#seriesOf(device)).find((candidate) => candidate.metric === metric);
    if (series === undefined) return [];
    const width = BigInt(bucket);
    const rows = await this.#db.rows(AGGREGATE, [width, width, series.id, BigInt(from), BigInt(to)]);
    const buckets = rows.map(toBucket);
    if (buckets.every(isSummable)) return buckets;
    const all = this.range({ device, metric, from, to, order: 'asc', limit: Number.MAX_SAFE_INTEGER });
    return foldBuckets(all, bucket);
  }

  /** Drops whole partitions, of which nobody counts the rows, then rows of the one that `before` cuts. */
  async expire(before: number): Promise<number | null> {
    const dropped = await this.#partitions.drop(before);
    let rows = 0;
    for (let last: number | null = 0; last !== null; ) {
      const series: readonly number[] = await this.#seriesAfter(last);
      last = series.length < EXPIRE_SERIES ? null : series.at(-1)!;
      if (series.length > 0) rows += await this.#expireSeries(series, before);
    }
    return dropped ? null : rows;
  }

  async #seriesAfter(id: number): Promise<number[]> {
    const rows = await this.#db.rows('select id from series where id > ? order by id limit ?', [
      id,
      EXPIRE_SERIES,
    ]);
    return rows.map((row) => row.id as number);
  }

  async #expireSeries(series: readonly number[], before: number): Promise<number> {
    const sql = `delete from readings where series in (?) and time < ? limit ${EXPIRE_ROWS}`;
    for (let rows = 0; ; ) {
      const { affectedRows } = await this.#db.transaction((connection) =>
        connection.query<{ affectedRows: number }>(sql, [series, before]),
      );
      rows += affectedRows;
      if (affectedRows < EXPIRE_ROWS) return rows;
    }
  }

  /** A device's series by metric. */
  async #seriesOf(device: string): Promise<SeriesRow[]> {
    const rows = await this.#db.rows('select id, metric from series where device = ? order by metric', [
      device,
    ]);
    return rows as unknown as SeriesRow[];
  }
}

/** Beyond the largest double, MariaDB's sums are 0. */
function isSummable({ count, min, max }: Bucket): boolean {
  return count * Math.max(-min, max) <= Number.MAX_VALUE;
}
