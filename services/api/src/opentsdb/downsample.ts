import { type Aggregator, aggregatorOf } from './aggregators.ts';
import { bad } from './errors.ts';
import type { Budget, Points } from './points.ts';
import { parseDuration } from './time.ts';

/** What a series has in an interval without values. `none`: no point. */
export type FillPolicy = 'none' | 'nan' | 'null' | 'zero';
const FILL_POLICIES: readonly FillPolicy[] = ['none', 'nan', 'null', 'zero'];

/** http://opentsdb.net/docs/build/html/user_guide/query/downsampling.html */
export interface Downsampling {
  /** Milliseconds. Intervals are aligned to the epoch. Null: one interval, which begins at the start of the query. */
  readonly interval: number | null;
  readonly aggregator: Aggregator;
  readonly fill: FillPolicy;
}

/** A downsampling such as `1m-avg`, `1h-max-zero` or `0all-sum`. @throws {Problem} 400 */
export function parseDownsampling(text: string): Downsampling {
  const [length, name, policy = 'none', ...rest] = text.split('-');
  if (length === undefined || name === undefined || rest.length > 0) {
    throw bad(
      `Invalid downsampling ${JSON.stringify(text)}: write interval-function or interval-function-fill.`,
    );
  }
  const aggregator = aggregatorOf(name);
  if (aggregator === null) throw bad('The aggregator none cannot downsample: use avg, for example.');
  const fill = FILL_POLICIES.find((each) => each === policy.toLowerCase());
  if (fill === undefined) {
    throw bad(`Unrecognized fill policy: ${policy}. There are ${FILL_POLICIES.join(', ')}.`);
  }
  if (/^\d+all$/i.test(length)) return { interval: null, aggregator, fill: 'none' };
  if (/^\d+\D+c$/i.test(length)) {
    throw bad(
      `Intervals of the calendar are not supported: write ${length.slice(0, -1)} instead of ${length}.`,
    );
  }
  return { interval: parseDuration(length), aggregator, fill };
}

/** Collects the values of each interval, in the order of time, and aggregates them when the next interval begins. */
export class IntervalFold {
  readonly #aggregator: Aggregator;
  readonly #budget: Budget;
  readonly #into: Points;
  #values = new Float64Array(64);
  #count = 0;
  #start = Number.NEGATIVE_INFINITY;

  constructor(aggregator: Aggregator, into: Points, budget: Budget) {
    this.#aggregator = aggregator;
    this.#into = into;
    this.#budget = budget;
  }

  /** @param start the start of the value's interval, milliseconds */
  add(start: number, value: number): void {
    if (start !== this.#start) this.end();
    this.#start = start;
    if (this.#count === this.#values.length) {
      this.#budget.take(this.#values.byteLength);
      const larger = new Float64Array(2 * this.#count);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#count] = value;
    this.#count += 1;
  }

  /** Adds the point of the last interval. */
  end(): void {
    if (this.#count > 0) this.#into.add(this.#start, this.#aggregator.run(this.#values, this.#count));
    this.#count = 0;
  }
}

/**
 * A copy that has a point in every interval: those without one have the value of the policy.
 *
 * @param start the first interval, milliseconds
 * @param end the last one, inclusive
 */
export function filled(
  points: Points,
  { start, end, interval, fill }: { start: number; end: number; interval: number; fill: FillPolicy },
  into: Points,
): Points {
  const missing = fill === 'zero' ? 0 : Number.NaN;
  let index = 0;
  for (let time = start; time <= end; time += interval) {
    if (points.timeOrEnd(index) === time) {
      into.add(time, points.value(index));
      index += 1;
    } else into.add(time, missing);
  }
  points.clear();
  return into;
}
