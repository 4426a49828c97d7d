import { MAX_TIME } from '@tidegauge/readings';
import { addFigures, type Fold, figuresOf } from '../aggregate.ts';
import type { CompleteReadings } from '../backend.ts';
import type {
  Aggregate,
  AggregateOrigin,
  AggregateQuery,
  AggregateSource,
  Bucket,
  RollupQuery,
  SeriesName,
} from '../contract.ts';
import type { BackendRollups } from './backend-rollups.ts';
import { type Figures, PeriodFolds, withMean } from './figures.ts';
import { type Limits, RollupState } from './limits.ts';
import { eachNumber } from './numbers.ts';
import { ceilTo, DAY_US, floorTo, HOUR_US, PERIOD_US, ROLLUP_PERIODS, ROW_US } from './periods.ts';
import { type Plan, planOf, type Span, subtract, type TableSpan } from './plan.ts';

/** How an engine reads readings. */
export type RawReader = Pick<CompleteReadings, 'aggregate' | 'range' | 'metrics' | 'numbers'>;

/** The end of the last day that can have readings. */
const END = ceilTo(MAX_TIME + 1, DAY_US);
/** A query is planned again if data was deleted meanwhile. Deletions are rare, so this is enough. */
const ATTEMPTS = 3;

/** The most buckets that one read of readings returns, about 250 bytes each. */
const READ_BUCKETS = 10_000;

/** A series has more changed hours than the caller accepts. */
export class TooManyMarks extends Error {}

/** Figures of readings in one bucket. `time` is in that bucket. */
export type Part = Omit<Bucket, 'mean'>;

/** Figures by bucket, of parts in any order. */
export class BucketFolds {
  readonly #bucket: number;
  readonly #folds = new Map<number, Fold>();
  /** The bucket of the last part: parts mostly follow each other. */
  #start = Number.NaN;
  #fold: Fold | undefined;

  /** @param bucket its length, microseconds */
  constructor(bucket: number) {
    this.#bucket = bucket;
  }

  get size(): number {
    return this.#folds.size;
  }

  add(part: Part): void {
    const start = floorTo(part.time, this.#bucket);
    let fold = start === this.#start ? this.#fold : this.#folds.get(start);
    if (fold === undefined) {
      const { count, min, max, sum } = part;
      fold = { count, min, max, sum, lost: 0 };
      this.#folds.set(start, fold);
    } else {
      addFigures(fold, part);
    }
    this.#start = start;
    this.#fold = fold;
  }

  /** By time. */
  buckets(): Bucket[] {
    return [...this.#folds].sort(([a], [b]) => a - b).map(([time, fold]) => ({ time, ...figuresOf(fold) }));
  }
}

/** Answers queries about one series from rollups where they are exact, and from readings elsewhere. */
export class RollupReader {
  readonly #rollups: BackendRollups;
  readonly #raw: RawReader;
  readonly #clock: () => number;

  /** @param clock microseconds */
  constructor(rollups: BackendRollups, raw: RawReader, clock: () => number) {
    this.#rollups = rollups;
    this.#raw = raw;
    this.#clock = clock;
  }

  aggregate(query: AggregateQuery): Promise<Aggregate> {
    const { bucket, ends = false } = query;
    return this.settled(async (state) => {
      if (ends) {
        const folds = new PeriodFolds(bucket);
        const origin = await this.#figures(query, state, folds);
        return { buckets: folds.figures().map(withMean), ...origin };
      }
      const folds = new BucketFolds(bucket);
      const origin = await this.parts(query, state, (part) => folds.add(part));
      return { buckets: folds.buckets(), ...origin };
    });
  }

  /** The figures of whole periods, with the first and the last value. */
  read(query: RollupQuery): Promise<{ figures: Figures[] } & AggregateOrigin> {
    const { period, ...series } = query;
    const bucket = PERIOD_US[period];
    return this.settled(async (state) => {
      const folds = new PeriodFolds(bucket);
      const origin = await this.#figures({ ...series, bucket }, state, folds);
      return { figures: folds.figures(), ...origin };
    });
  }

  /**
   * Reads what is complete now, and executes a query with it. Executes it again if data was deleted meanwhile: marks and
   * limits are stored before a deletion.
   */
  async settled<T>(execute: (state: RollupState) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const state = await RollupState.read(this.#rollups, this.#clock());
      const result = await execute(state);
      const { text } = await RollupState.read(this.#rollups, this.#clock());
      if (text === state.text || attempt === ATTEMPTS) return result;
    }
  }

  /**
   * Passes the figures of all parts of a query to `add`, in any order. Each part is in one bucket.
   * @param limits `mostMarked`: rejects with `TooManyMarks` if the series has more changed hours; `checkTime`: called
   * before each read of readings, can throw
   */
  async parts(
    query: AggregateQuery,
    state: RollupState,
    add: (part: Part) => void,
    { mostMarked = Number.POSITIVE_INFINITY, checkTime = () => {} } = {},
  ): Promise<AggregateOrigin> {
    const { device, metric, bucket } = query;
    const limits = state.of(query);
    const plan = await this.#plan(query, state, limits, mostMarked);
    for (const span of plan.tables) await this.#each(query, span, add);
    for (const { from, to } of plan.raw)
      await this.#eachRaw({ device, metric, from, to, bucket }, add, checkTime);
    return originOf(plan, limits);
  }

  /** Passes the figures of readings to `add`, at most `READ_BUCKETS` buckets at a time. */
  async #eachRaw(
    { from, to, bucket, ...series }: AggregateQuery,
    add: (part: Part) => void,
    checkTime: () => void,
  ): Promise<void> {
    for (let start = from; start < to; ) {
      checkTime();
      const end = Math.min(to, floorTo(start, bucket) + READ_BUCKETS * bucket);
      const parts = await this.#raw.aggregate({ ...series, from: start, to: end, bucket });
      for (const part of parts) add(part);
      start = end;
      if (parts.length > 0 || start >= to) continue;
      // There can be years without readings.
      let next = to;
      const rest = { ...series, from: start, to, order: 'asc', limit: 1 } as const;
      for await (const { time } of this.#raw.range(rest)) next = time;
      start = next;
    }
  }

  async #figures(query: AggregateQuery, state: RollupState, folds: PeriodFolds): Promise<AggregateOrigin> {
    const { device, metric } = query;
    const limits = state.of(query);
    const plan = await this.#plan(query, state, limits);
    for (const span of plan.tables) {
      await this.#each(query, span, (part) => folds.of(part.time).addPart(part));
    }
    for (const { from, to } of plan.raw) {
      await eachNumber(this.#raw, { device, metric, from, to }, (time, value) =>
        folds.of(time).addReading(time, value),
      );
    }
    return originOf(plan, limits);
  }

  async #plan(
    query: AggregateQuery,
    { since }: RollupState,
    limits: Limits,
    mostMarked = Number.POSITIVE_INFINITY,
  ): Promise<Plan> {
    const from = Math.max(query.from, 0);
    // The end of all times is not that of a period, so a query without an end would read the last minute from readings.
    const to = query.to > MAX_TIME ? END : query.to;
    if (from >= to) return { tables: [], raw: [] };
    // Marks are read before the data: a write stores its marks first.
    const marks = await this.#rollups.marksOf(query, floorTo(from, HOUR_US), to);
    if (marks.length > mostMarked) throw new TooManyMarks();
    const unknown = from < since ? await this.#unknown(query, from, Math.min(to, since)) : [];
    return planOf({ from, to, bucket: query.bucket }, { marks, limits, unknown });
  }

  /** The days of [from, to) without a row. A day that was rolled up has one, even without readings. */
  async #unknown(series: SeriesName, from: number, to: number): Promise<Span[]> {
    const [first, end] = [floorTo(from, DAY_US), ceilTo(to, DAY_US)];
    const known: Span[] = [];
    const { device, metric } = series;
    const rows = this.#rollups.rows({ device, metric, period: 'day', from: first, to: end });
    for await (const { start } of rows) known.push({ from: start, to: start + DAY_US });
    return subtract([{ from: first, to: end }], known);
  }

  /** Passes the periods of a span to `use`, by time. */
  async #each(
    { device, metric }: SeriesName,
    { period, from, to }: TableSpan,
    use: (part: Figures) => void,
  ): Promise<void> {
    const rows = this.#rollups.rows({ device, metric, period, from: floorTo(from, ROW_US[period]), to });
    for await (const { periods } of rows) {
      for (const part of periods) if (part.time >= from && part.time < to) use(part);
    }
  }
}

/** Where the figures of a plan come from. */
export function originOf({ tables, raw }: Plan, limits: Limits): AggregateOrigin {
  const sources: AggregateSource[] = ROLLUP_PERIODS.filter((period) =>
    tables.some((span) => span.period === period),
  );
  if (raw.length > 0) sources.unshift('raw');
  const deleted = raw.filter(({ from }) => from < limits.raw).map(({ to }) => Math.min(to, limits.raw));
  return { sources, incompleteBefore: deleted.length === 0 ? null : Math.max(...deleted) };
}
