import type { Store } from '@tidegauge/storage';
import { type Aggregator, LAST, type StoredFigure } from './aggregators.ts';
import { type FillPolicy, filled, IntervalFold } from './downsample.ts';
import { tooLarge } from './errors.ts';
import { type Budget, Points } from './points.ts';
import type { SubQuery } from './sub-query.ts';

const SECOND = 1000;
/** Buckets of one call of the store, and of one series. */
const CALL_BUCKETS = 5000;
const MAX_BUCKETS = 100_000;
/** Readings between two looks at the clock. */
const CHECK_READINGS = 1000;

/** Microseconds of a number of milliseconds, at most the largest time. */
export function micros(ms: number): number {
  return Math.min(ms * 1000, Number.MAX_SAFE_INTEGER);
}

/** The time range of a query, milliseconds, both inclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** How the points of every series of a sub query are read. */
export interface ReadPlan extends Span {
  /** Milliseconds; null: one interval. Undefined: every reading is a point. */
  readonly interval?: number | null;
  readonly aggregator: Aggregator;
  readonly fill: FillPolicy;
  /** Whether the store computes the points. It cannot if there could be too many intervals without readings. */
  readonly inStore: boolean;
}

/**
 * Plans how the series of a sub query are read. Intervals are whole, also the first and the last one. Without a
 * downsampling, and with times in seconds, each second is an interval. Rates need the interval before the first one.
 *
 * @throws {Problem} 413 when there are too many intervals
 */
export function planOf(
  { downsampling, aggregator, rate }: SubQuery,
  span: Span,
  inSeconds: boolean,
): ReadPlan {
  if (downsampling === null) {
    const point = { ...span, aggregator: aggregator ?? LAST, fill: 'none', inStore: false } as const;
    if (!inSeconds) return point;
    return { ...point, start: aligned(span.start, SECOND), interval: SECOND };
  }
  const { interval, fill } = downsampling;
  const plan = { aggregator: downsampling.aggregator, fill, inStore: true };
  if (interval === null) return { ...plan, ...span, interval };
  const first = aligned(span.start, interval);
  const start = rate === null ? first : Math.max(0, first - interval);
  const count = Math.floor((span.end - start) / interval) + 1;
  if (count > MAX_BUCKETS) {
    throw tooLarge(
      `The downsampling makes ${count} intervals of each series, more than ${MAX_BUCKETS}: take a longer interval, or shorten the time range.`,
    );
  }
  return { ...plan, start, end: start + (count - 1) * interval, interval };
}

/** The first multiple of the interval that is not before the time. */
function aligned(time: number, interval: number): number {
  return Math.ceil(time / interval) * interval;
}

/** Reads the points of one series. Texts are no values, so they are left out. */
export async function readSeries(
  store: Store,
  series: { readonly device: string; readonly metric: string },
  plan: ReadPlan,
  budget: Budget,
): Promise<Points> {
  const points = new Points(budget);
  const { figure } = plan.aggregator;
  if (plan.inStore && figure !== undefined) await readBuckets(store, series, plan, figure, points, budget);
  else await readValues(store, series, plan, points, budget);
  const { interval, fill, start, end } = plan;
  if (fill === 'none' || interval == null || points.length === 0) return points;
  return filled(points, { start, end, interval, fill }, new Points(budget));
}

async function readBuckets(
  store: Store,
  series: { readonly device: string; readonly metric: string },
  { start, end, interval }: ReadPlan,
  figure: StoredFigure,
  points: Points,
  budget: Budget,
): Promise<void> {
  const read = (from: number, to: number, bucket: number) =>
    store.readings.aggregate({ ...series, from: micros(from), to: micros(to), bucket });
  if (interval == null) {
    // One bucket contains every time.
    if (end <= start) return;
    const { buckets } = await read(start, end, Number.MAX_SAFE_INTEGER);
    for (const bucket of buckets) points.add(start, bucket[figure]);
    return;
  }
  const step = CALL_BUCKETS * interval;
  for (let from = start; from <= end; from += step) {
    budget.checkTime();
    const to = Math.min(from + step, end + interval);
    const { buckets } = await read(from, to, micros(interval));
    for (const bucket of buckets) {
      points.add(bucket.time / 1000, bucket[figure]);
    }
  }
}

async function readValues(
  store: Store,
  series: { readonly device: string; readonly metric: string },
  { start, end, interval, aggregator }: ReadPlan,
  points: Points,
  budget: Budget,
): Promise<void> {
  // One interval ends before the end of the query, as in OpenTSDB. Otherwise the last interval is whole.
  const to = interval === null ? end : end + (interval ?? 1);
  if (to <= start) return;
  const query = {
    ...series,
    from: micros(start),
    to: micros(to),
    order: 'asc',
    limit: Number.MAX_SAFE_INTEGER,
  } as const;
  const fold = new IntervalFold(aggregator, points, budget);
  let count = 0;
  for await (const { time, value } of store.readings.range(query)) {
    count += 1;
    if (count % CHECK_READINGS === 0) budget.checkTime();
    if (typeof value !== 'number') continue;
    const ms = Math.floor(time / 1000);
    if (interval === undefined) points.add(ms, value);
    else fold.add(interval === null ? start : ms - (ms % interval), value);
  }
  fold.end();
}
