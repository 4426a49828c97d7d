import { MAX_TIME } from '@tidegauge/readings';
import { addFigures, type Fold, figuresOf } from '../aggregate.ts';
import type {
  Aggregate,
  AggregateQuery,
  AggregateSource,
  Bucket,
  RollupQuery,
  SeriesName,
} from '../contract.ts';
import type { BackendReadings } from '../tables.ts';
import type { BackendRollups } from './backend-rollups.ts';
import { type Figures, PeriodFolds } from './figures.ts';
import { type Limits, RollupState } from './limits.ts';
import { ceilTo, DAY_US, floorTo, HOUR_US, PERIOD_US, ROLLUP_PERIODS, ROW_US } from './periods.ts';
import { type Plan, planOf, type Span, subtract, type TableSpan } from './plan.ts';

/** How an engine reads readings. */
export type RawReader = Pick<BackendReadings, 'aggregate' | 'range' | 'metrics' | 'numbers'>;

/** A query is planned again if data was deleted meanwhile. Deletions are rare, so this is enough. */
const ATTEMPTS = 3;

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
    const { device, metric, bucket } = query;
    return this.#planned(query, async ({ tables, raw }, limits) => {
      const folds = new Map<number, Fold>();
      const add = (time: number, part: Omit<Bucket, 'time' | 'mean'>) => {
        const start = floorTo(time, bucket);
        const fold = folds.get(start);
        if (fold !== undefined) addFigures(fold, part);
        else folds.set(start, { count: part.count, min: part.min, max: part.max, sum: part.sum, lost: 0 });
      };
      for (const span of tables) {
        await this.#each(query, span, (part) => add(part.time, part));
      }
      for (const { from, to } of raw) {
        const buckets = await this.#raw.aggregate({ device, metric, from, to, bucket });
        for (const part of buckets) add(part.time, part);
      }
      const buckets = [...folds]
        .sort(([a], [b]) => a - b)
        .map(([time, fold]) => ({ time, ...figuresOf(fold) }));
      return { buckets, ...originOf({ tables, raw }, limits) };
    });
  }

  /** The figures of whole periods, with the first and the last value. */
  read(query: RollupQuery): Promise<{ figures: Figures[] } & Omit<Aggregate, 'buckets'>> {
    const { period, ...series } = query;
    const bucket = PERIOD_US[period];
    return this.#planned({ ...series, bucket }, async (plan, limits) => {
      const folds = new PeriodFolds(bucket);
      for (const span of plan.tables) {
        await this.#each(query, span, (part) => folds.of(part.time).addPart(part));
      }
      for (const span of plan.raw) {
        const range = { ...series, ...span, order: 'asc', limit: Number.MAX_SAFE_INTEGER } as const;
        for await (const { time, value } of this.#raw.range(range)) {
          if (typeof value === 'number') folds.of(time).addReading(time, value);
        }
      }
      return { figures: folds.figures(), ...originOf(plan, limits) };
    });
  }

  async #planned<T>(query: AggregateQuery, execute: (plan: Plan, limits: Limits) => Promise<T>): Promise<T> {
    const within = { ...query, from: Math.max(query.from, 0), to: Math.min(query.to, MAX_TIME + 1) };
    for (let attempt = 1; ; attempt += 1) {
      // Marks and limits are read before the data: what changes later changes them first.
      const state = await RollupState.read(this.#rollups, this.#clock());
      const limits = state.of(query);
      const plan = await this.#plan(within, state, limits);
      const result = await execute(plan, limits);
      const { text } = await RollupState.read(this.#rollups, this.#clock());
      if (text === state.text || attempt === ATTEMPTS) return result;
    }
  }

  async #plan(query: AggregateQuery, { since }: RollupState, limits: Limits): Promise<Plan> {
    const { from, to } = query;
    if (from >= to) return { tables: [], raw: [] };
    const marks = await this.#rollups.marksOf(query, floorTo(from, HOUR_US), to);
    const unknown = from < since ? await this.#unknown(query, from, Math.min(to, since)) : [];
    return planOf(query, { marks, limits, unknown });
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
export function originOf({ tables, raw }: Plan, limits: Limits): Omit<Aggregate, 'buckets'> {
  const sources: AggregateSource[] = ROLLUP_PERIODS.filter((period) =>
    tables.some((span) => span.period === period),
  );
  if (raw.length > 0) sources.unshift('raw');
  const deleted = raw.filter(({ from }) => from < limits.raw).map(({ to }) => Math.min(to, limits.raw));
  return { sources, incompleteBefore: deleted.length === 0 ? null : Math.max(...deleted) };
}
