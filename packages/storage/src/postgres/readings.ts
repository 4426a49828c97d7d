import { forEach } from '@tidegauge/parallel';
import { MAX_TIME, type Reading } from '@tidegauge/readings';
import type { BackendReadings } from '../backend.ts';
import type {
  AggregateQuery,
  Bucket,
  DeleteQuery,
  DeviceFilter,
  DevicesRangeQuery,
  Order,
  Pace,
  RangeQuery,
  SeriesName,
  SeriesUnit,
  WriteResult,
} from '../contract.ts';
import { StoreError } from '../errors.ts';
import { devicePages, fromRows, pagesOfDevices, type RowGroupQuery, type RowGroups } from '../groups.ts';
import {
  allSeries,
  demandFewMetrics,
  type FirstPage,
  flatten,
  NEWEST,
  type PageQuery,
  rangePages,
  rangePagesAtOnce,
} from '../merge.ts';
import { groupStatement, SQL_DAY } from '../sql-groups.ts';
import { int8Array } from './arrays.ts';
import { copyRows } from './copy-rows.ts';
import { binder, type Database, type Result, type Row, type Value } from './database.ts';
import { devicesStatement } from './devices-range.ts';
import type { Dialect } from './dialect.ts';
import { sqlState } from './errors.ts';
import { identities } from './identities.ts';
import { InsertFirst } from './insert-first.ts';
import { fromReadings, READING_COLUMNS, toBucket, toGroup, toReading } from './mapping.ts';
import { type Series, SeriesDictionary } from './series.ts';

// The most rows in one transaction of a deletion.
const DELETE_ROWS = 5000;
// Series that are read at the same time, where one statement cannot read them.
const SERIES_AT_ONCE = 4;
// Series that one statement of `latest` reads.
const LATEST_SERIES = 1000;

/**
 * The fewest rows that are sent as COPY. It needs less work for each row than INSERT, but one more round trip, and is not
 * prepared. On loopback it takes 0.8 of the time with 128 rows, the same time with 64, and more processor time with 8.
 */
const COPY_ROWS = 128;

/** Any number except the one in `schema.ts`. */
const WRITE_LOCK = 7_431_265_010;

const COLUMNS = 'series, time, value, text, received, boot, seq, quality';
const COPY = `copy readings (${COLUMNS}) from stdin with (format binary)`;
// Citus streams it as COPY over one connection per worker. An upsert goes through one connection per shard.
const INSERT = `
  insert into readings as kept (${COLUMNS})
  select * from unnest($1::bigint[], $2::bigint[], $3::float8[], $4::text[], $5::bigint[], $6::text[],
    $7::bigint[], $8::smallint[])`;
const OVERWRITE = `${INSERT}
  on conflict (series, time) do update set value = excluded.value, text = excluded.text,
    received = excluded.received, boot = excluded.boot, seq = excluded.seq, quality = excluded.quality`;
// Counts new and changed rows.
const UPSERT = `${OVERWRITE}
  where kept.value is distinct from excluded.value or kept.text is distinct from excluded.text`;
const UPSERT_RETURNING = `${UPSERT} returning true`;
const PAGE = `
  select ${READING_COLUMNS} from readings where series = $1 and time >= $2 and time < $3 order by time`;
const PAGES: Readonly<Record<Order, string>> = { asc: `${PAGE} asc limit $4`, desc: `${PAGE} desc limit $4` };
const FIRST_PAGE = `
  select place, page.* from unnest($1::bigint[], $2::bigint[], $3::bigint[]) with ordinality
    as wanted (id, low, high, place) cross join lateral (
    select ${READING_COLUMNS} from readings where series = id and time >= low and time < high order by time`;
/** The first pages of several series, in the order of the parameters. */
const FIRST_PAGES: Readonly<Record<Order, string>> = {
  asc: `${FIRST_PAGE} asc limit $4) as page order by place, page.time asc`,
  desc: `${FIRST_PAGE} desc limit $4) as page order by place, page.time desc`,
};
const LATEST_SERIES_OF = `
  select device, metric, id from series where device = any ($1) and (device, metric) > ($2, $3)
  order by device, metric limit $4`;
const LATEST = `
  select device, metric, newest.* from (${LATEST_SERIES_OF}) as series left join lateral (
    select ${READING_COLUMNS} from readings where series = series.id order by time desc limit 1
  ) as newest on true
  order by device, metric`;
const DEVICES = 'select distinct device from series where device > $1 order by device limit $2';
const AGGREGATE = `
  select time / $4::bigint * $4::bigint as bucket, count(*), min(value), max(value), avg(value), sum(value)
  from readings where series = $1 and time >= $2 and time < $3 and value is not null
  group by bucket order by bucket`;

/** Readings by (series, time). Every statement except `LATEST` reads one series, so one shard. */
export class PostgresReadings implements BackendReadings {
  readonly #db: Database;
  readonly #dialect: Dialect;
  readonly #dictionary: SeriesDictionary;
  readonly #insertFirst = new InsertFirst();
  /** False after the server refused COPY. */
  #copies = true;

  constructor(db: Database, dialect: Dialect) {
    this.#db = db;
    this.#dialect = dialect;
    this.#dictionary = new SeriesDictionary(db);
    db.onLost = () => this.#dictionary.clear();
  }

  async write(batch: readonly Reading[]): Promise<WriteResult> {
    const series = await this.#dictionary.numbers(batch);
    const { first, last, changes } = identities(batch, series);
    if (last.length === 0 && (await this.#insert(batch, series, first))) {
      return { stored: first.length, duplicate: batch.length - first.length };
    }
    const columns = (rows: readonly number[]) => fromReadings(batch, series, rows);
    const stored = changes + (await this.#store(columns(first), last.length === 0 ? null : columns(last)));
    return { stored, duplicate: batch.length - stored };
  }

  /** Inserts some rows of the batch if none of them exists. Resolves to false if nothing was stored. */
  async #insert(
    batch: readonly Reading[],
    series: readonly number[],
    rows: readonly number[],
  ): Promise<boolean> {
    if (!this.#insertFirst.tries()) return false;
    const copies = this.#copies && rows.length >= COPY_ROWS;
    try {
      if (copies) await this.#db.copy('ingest', COPY, copyRows(batch, series, rows), rows.length);
      else await this.#db.run('ingest', INSERT, fromReadings(batch, series, rows));
    } catch (error) {
      if (copies && isRefusedCopy(error)) {
        this.#copies = false;
        return this.#insert(batch, series, rows);
      }
      if (!isConflict(error)) throw error;
      this.#insertFirst.conflicted();
      return false;
    }
    this.#insertFirst.inserted();
    return true;
  }

  /** Upserts the first rows, then the last ones. Resolves to the number of first rows that were new or changed. */
  async #store(first: readonly Value[], last: readonly Value[] | null): Promise<number> {
    const { takesTurns } = this.#dialect;
    if (last === null && !takesTurns) return this.#changed(await this.#db.run('ingest', this.#upsert, first));
    return this.#db.transaction('ingest', async (connection) => {
      if (takesTurns) await connection.query('select pg_advisory_xact_lock($1)', [WRITE_LOCK]);
      const changed = this.#changed(await connection.query(this.#upsert, first));
      if (last !== null) await connection.query(OVERWRITE, last);
      return changed;
    });
  }

  get #upsert(): string {
    return this.#dialect.countsUpserts ? UPSERT : UPSERT_RETURNING;
  }

  #changed({ rows, count }: Result): number {
    return this.#dialect.countsUpserts ? count : rows.length;
  }

  range(query: RangeQuery): AsyncGenerator<Reading> {
    return flatten(this.pages(query));
  }

  async *pages(query: RangeQuery): AsyncGenerator<readonly Reading[]> {
    const { device, metric } = query;
    const series = await this.#dictionary.of(device, metric);
    if (metric === undefined) demandFewMetrics(device, series.length);
    const readPage = (each: Series, page: PageQuery) => this.#page(device, each, page);
    if (series.length === 1 || !this.#dialect.lateral) yield* rangePages(query, series, readPage);
    else yield* rangePagesAtOnce(query, series, readPage, (pages) => this.#firstPages(device, pages));
  }

  async #firstPages(device: string, pages: readonly FirstPage<Series>[]): Promise<Reading[][]> {
    const { order, limit } = pages[0]!;
    const bounds = [
      pages.map(({ series }) => series.id),
      pages.map(({ from }) => from),
      pages.map(({ to }) => to),
    ];
    const { rows } = await this.#db.run('calls', FIRST_PAGES[order], [...bounds.map(int8Array), limit]);
    const found: Reading[][] = pages.map(() => []);
    for (const [place, ...row] of rows) {
      const index = Number(place) - 1;
      found[index]!.push(toReading(device, pages[index]!.series.metric, row));
    }
    return found;
  }

  async #page(device: string, { id, metric }: Series, page: PageQuery): Promise<Reading[]> {
    const { from, to, order, limit } = page;
    const { rows } = await this.#db.read(PAGES[order], [id, from, to, limit]);
    return rows.map((row) => toReading(device, metric, row));
  }

  /** Reads one page of series at a time, so that neither side reads more than the limit. */
  async latest(devices: readonly string[], limit: number): Promise<Reading[]> {
    const found: Reading[] = [];
    for (let after = ['', ''], size = LATEST_SERIES; size === LATEST_SERIES && found.length < limit; ) {
      const values = [devices, ...after, LATEST_SERIES] as const;
      const page = this.#dialect.lateral
        ? (await this.#latestOf(values)).rows.map(toLatest)
        : await this.#latestBySeries(values);
      size = page.length;
      for (const { reading } of page) if (reading !== null && found.length < limit) found.push(reading);
      const last = page.at(-1);
      if (last !== undefined) after = [last.device, last.metric];
    }
    return found;
  }

  /** The metrics of one device are a short statement. */
  #latestOf(values: readonly [devices: readonly string[], ...Value[]]): Promise<Result> {
    return values[0].length === 1 ? this.#db.read(LATEST, values) : this.#db.run('calls', LATEST, values);
  }

  /** The same with one statement per series, which uses one shard. */
  async #latestBySeries(values: readonly Value[]): Promise<Latest[]> {
    const { rows } = await this.#db.run('calls', LATEST_SERIES_OF, values);
    const page = rows.map(([device, metric, id]) => ({ device, metric, id, reading: null })) as (Latest & {
      readonly id: number;
    })[];
    await forEach(page, SERIES_AT_ONCE, async (each) => {
      const { device, metric, id } = each;
      each.reading = (await this.#page(device, { id, metric }, NEWEST))[0] ?? null;
    });
    return page;
  }

  setUnits(units: readonly SeriesUnit[]): Promise<void> {
    return this.#dictionary.setUnits(units);
  }

  units(series: readonly SeriesName[]): Promise<(string | null)[]> {
    return this.#dictionary.units(series);
  }

  async metrics(device: string, limit: number): Promise<string[]> {
    return (await this.#dictionary.of(device, undefined, limit)).map(({ metric }) => metric);
  }

  devices(after?: string): AsyncGenerator<string> {
    return devicePages(after, async (last, limit) => {
      const { rows } = await this.#db.run('calls', DEVICES, [last, limit]);
      return rows.map(([device]) => device as string);
    });
  }

  async aggregate(query: AggregateQuery): Promise<Bucket[] | null> {
    const { device, metric, from, to, bucket } = query;
    const [series] = await this.#dictionary.of(device, metric);
    if (series === undefined) return [];
    try {
      const { rows } = await this.#db.run('calls', AGGREGATE, [series.id, from, to, bucket]);
      return rows.map(toBucket);
    } catch (error) {
      if (isOverflow(error)) return null;
      throw error;
    }
  }

  async groups(query: RowGroupQuery): Promise<RowGroups | null> {
    const values: Value[] = [];
    const sql = groupStatement(query, binder(values), { day: SQL_DAY });
    try {
      const { rows } = await this.#db.run('calls', sql, values);
      return fromRows(rows.map((row) => toGroup(query.by, row)));
    } catch (error) {
      if (isOverflow(error)) return null;
      throw error;
    }
  }

  /** One statement for each page, if it can read a part of each series. */
  rangeOfDevices(filter: DeviceFilter, query: DevicesRangeQuery): AsyncGenerator<Reading> | null {
    if (!this.#dialect.lateral) return null;
    return pagesOfDevices(query, (page) => this.#devicesPage(filter, page));
  }

  async #devicesPage(filter: DeviceFilter, query: DevicesRangeQuery): Promise<Reading[]> {
    const values: Value[] = [];
    const { rows } = await this.#db.run('calls', devicesStatement(filter, query, values), values);
    return rows.map(([device, metric, ...row]) => toReading(device as string, metric as string, row));
  }

  async delete({ device, metric, from = 0, to = MAX_TIME + 1 }: DeleteQuery, pace?: Pace): Promise<number> {
    let deleted = 0;
    const series = allSeries(metric, (after, limit) => this.#dictionary.of(device, metric, limit, after));
    for await (const { id } of series) deleted += await this.#deleteOf(id, from, to, pace);
    return deleted;
  }

  /** Deletes readings of a series in [from, to). */
  async #deleteOf(series: number, from: number, to: number, pace?: Pace): Promise<number> {
    const place = `
      select time from readings where series = $1 and time >= $2 and time < $3 order by time limit 1 offset $4`;
    const sql = 'delete from readings where series = $1 and time >= $2 and time < $3';
    let deleted = 0;
    for (;;) {
      const { rows } = await this.#db.run('calls', place, [series, from, to, DELETE_ROWS]);
      const bound = rows[0]?.[0] as number | undefined;
      const { count } = await this.#db.run('calls', sql, [series, from, bound ?? to]);
      deleted += count;
      await pace?.(count);
      if (bound === undefined) return deleted;
    }
  }
}

/** A series and its newest reading, or null if it has none. */
interface Latest {
  readonly device: string;
  readonly metric: string;
  reading: Reading | null;
}

function toLatest([device, metric, ...row]: Row): Latest {
  const names = { device: device as string, metric: metric as string };
  return { ...names, reading: row[0] === null ? null : toReading(names.device, names.metric, row) };
}

const UNIQUE_VIOLATION = '23505';
/** Two writers of the same rows wait for each other. */
const DEADLOCK = '40P01';
/** Citus reports every error of a worker, such as a unique violation, by this routine as an internal error. */
const COPY_ERROR = { state: 'XX000', routine: 'ReportCopyError' };

/**
 * Whether a plain insert stored nothing because of rows that exist or that another writer inserts. On Citus also
 * because of another error of a worker, which the upsert then reports with its own state.
 */
function isConflict(error: unknown): boolean {
  if (!(error instanceof StoreError)) return false;
  const { cause } = error;
  const state = sqlState(cause);
  if (state === UNIQUE_VIOLATION || state === DEADLOCK) return true;
  return state === COPY_ERROR.state && (cause as { routine?: unknown }).routine === COPY_ERROR.routine;
}

/** feature_not_supported */
const NOT_SUPPORTED = '0A000';

/** Whether the server refused COPY, as it does where row-level security applies to the user. */
function isRefusedCopy(error: unknown): boolean {
  return error instanceof StoreError && sqlState(error.cause) === NOT_SUPPORTED;
}

/** numeric_value_out_of_range */
const OVERFLOW = '22003';

/** PostgreSQL refuses a sum beyond the largest double. The contract requires infinity. */
function isOverflow(error: unknown): boolean {
  return error instanceof StoreError && sqlState(error.cause) === OVERFLOW;
}
