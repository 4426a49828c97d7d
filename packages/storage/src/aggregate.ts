import type { Reading } from '@tidegauge/readings';
import type { Bucket } from './contract.ts';

/** A sum of values with Neumaier's compensation. */
export interface Sum {
  sum: number;
  /** The sum of the rounding errors of `sum`. */
  lost: number;
}

/** Figures of some values, which grow with each value. */
export interface Fold extends Sum {
  count: number;
  min: number;
  max: number;
}

/**
 * Computes the buckets of one series, for engines that do not aggregate. Readings can be in any order; buckets are
 * ordered by time. Text values do not count. Sums use Neumaier's compensation, so the order of readings hardly
 * changes them.
 */
export async function foldBuckets(readings: AsyncIterable<Reading>, bucket: number): Promise<Bucket[]> {
  const folds = new Map<number, Fold>();
  for await (const { time, value } of readings) {
    if (typeof value !== 'number') continue;
    const start = Math.floor(time / bucket) * bucket;
    const fold = folds.get(start);
    if (fold === undefined) folds.set(start, foldOf(value));
    else addValue(fold, value);
  }
  return [...folds].sort(([a], [b]) => a - b).map(([time, fold]) => ({ time, ...figuresOf(fold) }));
}

export function foldOf(value: number): Fold {
  return { count: 1, min: value, max: value, sum: value, lost: 0 };
}

export function addValue(fold: Fold, value: number): void {
  addSum(fold, value);
  fold.count += 1;
  if (value < fold.min) fold.min = value;
  if (value > fold.max) fold.max = value;
}

/** Adds the figures of other values. */
export function addFigures(fold: Fold, { count, min, max, sum }: Omit<Figures, 'mean'>): void {
  addSum(fold, sum);
  fold.count += count;
  if (min < fold.min) fold.min = min;
  if (max > fold.max) fold.max = max;
}

export function figuresOf({ count, min, max, sum, lost }: Fold): Figures {
  const total = Number.isFinite(sum) ? sum + lost : sum;
  return { count, min, max, mean: total / count, sum: total };
}

type Figures = Omit<Bucket, 'time'>;

/**
 * Joins the buckets of consecutive parts of one series. Neighbours with the same time are parts of one bucket.
 */
export function mergeBuckets(parts: readonly Bucket[]): Bucket[] {
  const merged: Bucket[] = [];
  for (const part of parts) {
    const last = merged.at(-1);
    if (last?.time !== part.time) {
      merged.push(part);
      continue;
    }
    const count = last.count + part.count;
    const sum = last.sum + part.sum;
    merged[merged.length - 1] = {
      time: part.time,
      count,
      min: Math.min(last.min, part.min),
      max: Math.max(last.max, part.max),
      mean: sum / count,
      sum,
    };
  }
  return merged;
}

/** Adds a value. A sum that has left the range of doubles stays infinite. */
export function addSum(fold: Sum, value: number): void {
  const sum = fold.sum + value;
  if (Number.isNaN(sum)) return;
  fold.lost += Math.abs(fold.sum) >= Math.abs(value) ? fold.sum - sum + value : value - sum + fold.sum;
  fold.sum = sum;
}
