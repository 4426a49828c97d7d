import { MAX_TIME, type Reading } from '@tidegauge/readings';
import { MAX_METRICS_READ } from '../arguments.ts';
import type { BackendReadings } from '../backend.ts';
import type {
  AggregateQuery,
  Bucket,
  DeleteQuery,
  Order,
  Pace,
  RangeQuery,
  SeriesName,
  SeriesUnit,
  WriteResult,
} from '../contract.ts';
import { devicePages, fromRows, type RowGroupQuery, type RowGroups } from '../groups.ts';
import { allSeries, demandFewMetrics, rangeOfSeries } from '../merge.ts';
import { DAY_US } from '../rollups/periods.ts';
import { type GroupDialect, groupStatement } from '../sql-groups.ts';
import { type Rows, sortBatch } from './batch.ts';
import type { Database } from './database.ts';
import { READING_COLUMNS, toBucket, toGroup, toReading } from './mapping.ts';
import type { Partitions } from './partitions.ts';
import { SeriesDictionary } from './series.ts';
import { storeRows } from './statements.ts';

const LATEST_DEVICES = 500;
// Series that one statement of `latest` reads.
const LATEST_SERIES = 1000;
// The most rows to delete and series to check in one statement of a deletion.
const EXPIRE_ROWS = 5000;
const EXPIRE_SERIES = 500;

const PAGE = `
  select ${READING_COLUMNS} from readings r left join boots b on b.id = r.boot
  where r.series = ? and r.time >= ? and r.time < ? order by r.time`;
const PAGES: Readonly<Record<Order, string>> = { asc: `${PAGE} asc limit ?`, desc: `${PAGE} desc limit ?` };
// The inner table has the newest times, each read from the end of the key.
const LATEST = `
  select s.device, s.metric, s.newest, ${READING_COLUMNS}
  from (
    select device, metric, id,
      (select time from readings where series = series.id order by time desc limit 1) as newest
    from series where device in (?) and (device, metric) > (?, ?) order by device, metric limit ?
  ) s
  left join readings r on r.series = s.id and r.time = s.newest
  left join boots b on b.id = r.boot
  order by s.device, s.metric`;
const DEVICES = 'select distinct device from series where device > ? order by device limit ?';
const AGGREGATE = `
  select time div ? * ? as time, count(*) as count, min(value) as min, max(value) as max,
    avg(value) as mean, sum(value) as sum
  from readings where series = ? and time >= ? and time < ? and value is not null
  group by 1 order by 1`;

// Beyond the largest double, MariaDB's sums are 0.
const GROUPS: GroupDialect = {
  day: `r.time div ${DAY_US}`,
  unsafe: `count(*) * (greatest(max(r.value), -min(r.value)) / ${Number.MAX_VALUE}) > 1`,
};

interface SeriesRow {
  readonly id: number;
  readonly metric: string;
}

/** Readings in one table by (series, time), partitioned by time. */
export class MariadbReadings implements BackendReadings {
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
    const { device, metric } = query;
    const series = await this.#seriesOf(device, metric);
    if (metric === undefined) demandFewMetrics(device, series.length);
    yield* rangeOfSeries(query, series, async ({ id, metric }, { from, to, order, limit }) => {
      const rows = await this.#db.rows(PAGES[order], [id, BigInt(from), BigInt(to), limit]);
      return rows.map((row) => toReading(device, metric, row));
    });
  }

  /** Reads one page of series at a time, so that neither side reads more than the limit. */
  async latest(devices: readonly string[], limit: number): Promise<Reading[]> {
    const found: Reading[] = [];
    for (let start = 0; start < devices.length; start += LATEST_DEVICES) {
      const some = devices.slice(start, start + LATEST_DEVICES);
      for (let after = ['', ''], size = LATEST_SERIES; size === LATEST_SERIES; ) {
        const rows = await this.#db.query(LATEST, [some, ...after, LATEST_SERIES]);
        size = rows.length;
        for (const row of rows) {
          after = [row.device as string, row.metric as string];
          if (row.newest !== null) found.push(toReading(after[0]!, after[1]!, row));
          if (found.length === limit) return found;
        }
      }
    }
    return found;
  }

  setUnits(units: readonly SeriesUnit[]): Promise<void> {
    return this.#dictionary.setUnits(units);
  }

  units(series: readonly SeriesName[]): Promise<(string | null)[]> {
    return this.#dictionary.units(series);
  }

  async metrics(device: string, limit: number): Promise<string[]> {
    return (await this.#seriesOf(device, undefined, limit)).map(({ metric }) => metric);
  }

  devices(after?: string): AsyncGenerator<string> {
    return devicePages(after, async (last, limit) => {
      const rows = await this.#db.rows(DEVICES, [last, limit]);
      return rows.map(({ device }) => device as string);
    });
  }

  async aggregate({ device, metric, from, to, bucket }: AggregateQuery): Promise<Bucket[] | null> {
    const [series] = await this.#seriesOf(device, metric);
    if (series === undefined) return [];
    const width = BigInt(bucket);
    const rows = await this.#db.rows(AGGREGATE, [width, width, series.id, BigInt(from), BigInt(to)]);
    const buckets = rows.map(toBucket);
    return buckets.every(isSummable) ? buckets : null;
  }

  async groups(query: RowGroupQuery): Promise<RowGroups | null> {
    const values: unknown[] = [];
    const bind = (value: string | number) => {
      values.push(typeof value === 'number' && value !== query.limit ? BigInt(value) : value);
      return '?';
    };
    const rows = await this.#db.query(groupStatement(query, bind, GROUPS), values);
    return rows[0]?.unsafe === 1 ? null : fromRows(rows.map((row) => toGroup(query.by, row)));
  }

  /**
   * Drops whole partitions without counting rows, then deletes rows of the partition that contains `before`.
   */
  async expire(before: number, pace?: Pace): Promise<number | null> {
    const dropped = await this.#partitions.drop(before);
    if (dropped) await pace?.(null);
    let rows = 0;
    for (let last: number | null = 0; last !== null; ) {
      const series: readonly number[] = await this.#seriesAfter(last);
      last = series.length < EXPIRE_SERIES ? null : series.at(-1)!;
      if (series.length > 0) rows += await this.#deleteOf(series, 0, before, pace);
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

  async delete({ device, metric, from = 0, to = MAX_TIME + 1 }: DeleteQuery, pace?: Pace): Promise<number> {
    let rows = 0;
    const series = allSeries(metric, (after, limit) => this.#seriesOf(device, metric, limit, after));
    for await (const { id } of series) rows += await this.#deleteOf([id], from, to, pace);
    return rows;
  }

  /** Deletes readings of some series in [from, to). */
  async #deleteOf(series: readonly number[], from: number, to: number, pace?: Pace): Promise<number> {
    const sql = `delete from readings where series in (?) and time >= ? and time < ? limit ${EXPIRE_ROWS}`;
    for (let rows = 0; ; ) {
      const { affectedRows } = await this.#db.transaction((connection) =>
        connection.query<{ affectedRows: number }>(sql, [series, from, to]),
      );
      rows += affectedRows;
      await pace?.(affectedRows);
      if (affectedRows < EXPIRE_ROWS) return rows;
    }
  }

  /** The series of a device by metric, from after `after` on, or only the named one. */
  async #seriesOf(
    device: string,
    metric?: string,
    limit = MAX_METRICS_READ + 1,
    after = '',
  ): Promise<SeriesRow[]> {
    const sql = 'select id, metric from series where device = ?';
    const rows =
      metric === undefined
        ? await this.#db.rows(`${sql} and metric > ? order by metric limit ?`, [device, after, limit])
        : await this.#db.rows(`${sql} and metric = ?`, [device, metric]);
    return rows as unknown as SeriesRow[];
  }
}

/** Beyond the largest double, MariaDB's sums are 0. */
function isSummable({ count, min, max }: Bucket): boolean {
  return count * Math.max(-min, max) <= Number.MAX_VALUE;
}
