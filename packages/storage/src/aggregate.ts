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
 * Computes the buckets of one series from its numeric readings, in any order. Sums use Neumaier's compensation, so the order
 * hardly changes them.
 */
export class BucketFolds {
  readonly #bucket: number;
  readonly #folds = new Map<number, Fold>();
  /** The bucket of the last reading. Mostly it is also that of the next one. */
  #start = -1;
  #fold: Fold | null = null;

  constructor(bucket: number) {
    this.#bucket = bucket;
  }

  add(time: number, value: number): void {
    const start = time - (time % this.#bucket);
    if (start !== this.#start) {
      this.#start = start;
      this.#fold = this.#folds.get(start) ?? null;
    }
    if (this.#fold !== null) addValue(this.#fold, value);
    else {
      this.#fold = foldOf(value);
      this.#folds.set(start, this.#fold);
    }
  }

  /** Ordered by time. */
  buckets(): Bucket[] {
    return [...this.#folds].sort(([a], [b]) => a - b).map(([time, fold]) => ({ time, ...figuresOf(fold) }));
  }
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

/** Adds a value. A sum that has left the range of doubles stays infinite. */
export function addSum(fold: Sum, value: number): void {
  const sum = fold.sum + value;
  if (Number.isNaN(sum)) return;
  fold.lost += Math.abs(fold.sum) >= Math.abs(value) ? fold.sum - sum + value : value - sum + fold.sum;
  fold.sum = sum;
}
