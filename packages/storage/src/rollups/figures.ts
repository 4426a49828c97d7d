import { addSum, type Sum } from '../aggregate.ts';

/** The figures of the numeric readings of one series in one period. Times are microseconds since the epoch. */
export interface Figures {
  /** The start of the period. */
  readonly time: number;
  readonly count: number;
  readonly min: number;
  readonly max: number;
  /** Infinite beyond the largest double. */
  readonly sum: number;
  /** The value of the earliest reading, and its time. */
  readonly first: number;
  readonly firstTime: number;
  /** The value of the latest reading, and its time. */
  readonly last: number;
  readonly lastTime: number;
}

export function withMean<F extends Figures>(figures: F): F & { readonly mean: number } {
  return { ...figures, mean: figures.sum / figures.count };
}

/**
 * Figures that grow with readings or with the figures of shorter periods, in any order. Count, min, max, first and last
 * are exact. The sum is compensated (Neumaier): of readings, it is the exact sum rounded to a double in nearly all
 * cases. Of parts, each part was rounded once before, so the last digit can differ from a sum of all readings.
 */
export class PeriodFold {
  readonly #time: number;
  #count = 0;
  #min = 0;
  #max = 0;
  #first = 0;
  #firstTime = 0;
  #last = 0;
  #lastTime = 0;
  readonly #sum: Sum = { sum: 0, lost: 0 };

  constructor(time: number) {
    this.#time = time;
  }

  addReading(time: number, value: number): void {
    this.#add(1, value, value, value, value, time, value, time);
  }

  addPart({ count, min, max, sum, first, firstTime, last, lastTime }: Figures): void {
    this.#add(count, min, max, sum, first, firstTime, last, lastTime);
  }

  /** Null without readings. */
  figures(): Figures | null {
    if (this.#count === 0) return null;
    const { sum, lost } = this.#sum;
    return {
      time: this.#time,
      count: this.#count,
      min: this.#min,
      max: this.#max,
      sum: Number.isFinite(sum) ? sum + lost : sum,
      first: this.#first,
      firstTime: this.#firstTime,
      last: this.#last,
      lastTime: this.#lastTime,
    };
  }

  #add(
    count: number,
    min: number,
    max: number,
    sum: number,
    first: number,
    firstTime: number,
    last: number,
    lastTime: number,
  ): void {
    const isEmpty = this.#count === 0;
    this.#count += count;
    if (isEmpty || min < this.#min) this.#min = min;
    if (isEmpty || max > this.#max) this.#max = max;
    if (isEmpty || firstTime < this.#firstTime) [this.#first, this.#firstTime] = [first, firstTime];
    if (isEmpty || lastTime >= this.#lastTime) [this.#last, this.#lastTime] = [last, lastTime];
    addSum(this.#sum, sum);
  }
}

/** Figures by period, of readings or parts in any order. */
export class PeriodFolds {
  readonly #length: number;
  readonly #folds = new Map<number, PeriodFold>();

  /** @param length of a period, microseconds */
  constructor(length: number) {
    this.#length = length;
  }

  of(time: number): PeriodFold {
    const start = Math.floor(time / this.#length) * this.#length;
    let fold = this.#folds.get(start);
    if (fold === undefined) {
      fold = new PeriodFold(start);
      this.#folds.set(start, fold);
    }
    return fold;
  }

  /** By time. */
  figures(): Figures[] {
    const all = [...this.#folds.values()].flatMap((fold) => fold.figures() ?? []);
    return all.sort((a, b) => a.time - b.time);
  }
}
