import type { Reading } from '@tidegauge/readings';
import { foldBuckets } from '../aggregate.ts';
import type { AggregateQuery, Bucket, Order, RangeQuery, ReadingStore, WriteResult } from '../contract.ts';
import { StoreError } from '../errors.ts';
import { compareText, NEWEST, type PageQuery, rangeOfSeries } from '../merge.ts';
import type { Database, Result, Value } from './database.ts';
import type { Dialect } from './dialect.ts';
import { sqlState } from './errors.ts';
import { identities } from './identities.ts';
import { fromReadings, READING_COLUMNS, toBucket, toReading } from './mapping.ts';
import { type Series, SeriesDictionary } from './series.ts';

// An expiry's transactions end at so many rows.
const EXPIRE_ROWS = 5000;
const EXPIRE_SERIES = 1000;
// Looked into at once where one statement cannot.
const SERIES_AT_ONCE = 4;

/** Any number but that of `schema.ts`. */
const WRITE_LOCK = 7_431_265_010;

const OVERWRITE = `
  insert into readings as kept (series, time, value, text, received, boot, seq, quality)
  select * from unnest($1::bigint[], $2::bigint[], $3::float8[], $4::text[], $5::bigint[], $6::text[],
    $7::bigint[], $8::smallint[])
  on conflict (series, time) do update set value = excluded.value, text = excluded.text,
    received = excluded.received, boot = excluded.boot, seq = excluded.seq, quality = excluded.quality`;
// Counts rows that are new or changed.
const UPSERT = `${OVERWRITE}
  where kept.value is distinct from excluded.value or kept.text is distinct from excluded.text`;
const UPSERT_AND_TELL = `${UPSERT} returning true`;
const PAGE = `
  select ${READING_COLUMNS} from readings where series = $1 and time >= $2 and time < $3 order by time`;
const PAGES: Readonly<Record<Order, string>> = { asc: `${PAGE} asc limit $4`, desc: `${PAGE} desc limit $4` };
const LATEST = `
  select device, metric, newest.* from series cross join lateral (
    select ${READING_COLUMNS} from readings where series = series.id order by time desc limit 1
  ) as newest
  where device = any ($1) order by device, metric`;
const AGGREGATE = `
  select time / $4::bigint * $4::bigint as bucket, count(*), min(value), max(value), avg(value), sum(value)
  from readings where series = $1 and time >= $2 and time < $3 and value is not null
  group by bucket order by bucket`;

/** Readings by (series, time); every statement but `LATEST` stays within one series, or one shard of them. */
export class PostgresReadings implements ReadingStore {
  readonly #db: Database;
  readonly #dialect: Dialect;
  readonly #dictionary: SeriesDictionary;

  constructor(db: Database, dialect: Dialect) {
    this.#db = db;
    this.#dialect = dialect;
    this.#dictionary = new SeriesDictionary(db);
    db.onLost = () => this.#dictionary.clear();
  }

  async write(batch: readonly Reading[]): Promise<WriteResult> {
    const series = await this.#dictionary.numbers(batch);
    const { first, last, changes } = identities(batch, series);
    const rows = fromReadings(batch, series, first);
    const stored =
      changes + (await this.#store(rows, last.length === 0 ? null : fromReadings(batch, series, last)));
    return { stored, duplicate: batch.length - stored };
  }

  /** Upserts rows, then those that come last; resolves to how many of the first were new or changed. */
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
    return this.#dialect.countsUpserts ? UPSERT : UPSERT_AND_TELL;
  }

  #changed({ rows, count }: Result): number {
    return this.#dialect.countsUpserts ? count : rows.length;
  }

  async *range(query: RangeQuery): AsyncGenerator<Reading> {
    const { device } = query;
    const series = await this.#dictionary.of(device);
    yield* rangeOfSeries(query, series, (each, page) => this.#page(device, each, page));
  }

  async #page(device: string, { id, metric }: Series, page: PageQuery): Promise<Reading[]> {
    const { from, to, order, limit } = page;
    const { rows } = await this.#db.run('calls', PAGES[order], [id, from, to, limit]);
    return rows.map((row) => toReading(device, metric, row));
  }

  async latest(devices: readonly string[]): Promise<Reading[]> {
    if (devices.length === 0) return [];
    if (!this.#dialect.lateral) return this.#latestBySeries(devices);
    const { rows } = await this.#db.run('calls', LATEST, [devices]);
    return rows.map(([device, metric, ...row]) => toReading(device as string, metric as string, row));
  }

  /** The same with a statement per series, which goes to one shard. */
  async #latestBySeries(devices: readonly string[]): Promise<Reading[]> {
    const sql = 'select device, id, metric from series where device = any ($1)';
    const { rows } = await this.#db.run('calls', sql, [devices]);
    const left = rows.map(([device, id, metric]) => ({ device, series: { id, metric } as Series }));
    const found: Reading[] = [];
    const look = async (): Promise<void> => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        found.push(...(await this.#page(next.device as string, next.series, NEWEST)));
      }
    };
    await Promise.all(Array.from({ length: SERIES_AT_ONCE }, look));
    return found.sort((a, b) => compareText(a.device, b.device) || compareText(a.metric, b.metric));
  }

  async aggregate(query: AggregateQuery): Promise<Bucket[]> {
    const { device, metric, from, to, bucket } = query;
    const series = (await this.#dictionary.of(device)).find((candidate) => candidate.metric === metric);
    if (series === undefined) return [];
    try {
      const { rows } = await this.#db.run('calls', AGGREGATE, [series.id, from, to, bucket]);
      return rows.map(toBucket);
    } catch (error) {
      if (!(error instanceof StoreError) || sqlState(error.cause) !== OVERFLOW) throw error;
      // PostgreSQL refuses a sum beyond the largest double, where others answer infinity.
      return foldBuckets(this.range({ device, metric, from, to, limit: Number.MAX_SAFE_INTEGER }), bucket);
    }
  }

  /** By series, for the key begins with it, in bounded parts, so that writes go on in between. */
  async expire(before: number): Promise<number> {
    let expired = 0;
    for (let last = 0, size = EXPIRE_SERIES; size === EXPIRE_SERIES; ) {
      const sql = 'select id from series where id > $1 order by id limit $2';
      const { rows } = await this.#db.run('calls', sql, [last, EXPIRE_SERIES]);
      for (const [id] of rows as [number][]) expired += await this.#expireSeries(id, before);
      size = rows.length;
      last = (rows.at(-1)?.[0] as number | undefined) ?? last;
    }
    return expired;
  }

  async #expireSeries(series: number, before: number): Promise<number> {
    const place = 'select time from readings where series = $1 and time < $2 order by time limit 1 offset $3';
    let expired = 0;
    for (;;) {
      const { rows } = await this.#db.run('calls', place, [series, before, EXPIRE_ROWS]);
      const bound = rows[0]?.[0] as number | undefined;
      const sql = 'delete from readings where series = $1 and time < $2';
      expired += (await this.#db.run('calls', sql, [series, bound ?? before])).count;
      if (bound === undefined) return expired;
    }
  }
}

/** numeric_value_out_of_range */
const OVERFLOW = '22003';
