// Ten preferred numbers per decade: each bucket is about 25 % wide, so a quantile is within about 12 % of the exact
// value.
const STEPS = [1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.4, 8];

/** The buckets of a histogram: all of them for quantiles, and a few that are published to Prometheus. */
export interface Scale {
  readonly bounds: Float64Array;
  /** Indexes of the published bounds: 1, 2 and 5 of each decade. */
  readonly published: readonly number[];
}

function scale(firstDecade: number, decades: number): Scale {
  const bounds = Float64Array.from({ length: decades * STEPS.length }, (_, index) =>
    Number(`${STEPS[index % STEPS.length]}e${firstDecade + Math.floor(index / STEPS.length)}`),
  );
  return {
    bounds,
    published: [...bounds.keys()].filter((index) => [0, 3, 7].includes(index % STEPS.length)),
  };
}

/** 10 microseconds to 800 seconds. */
export const SECONDS = scale(-5, 8);
/** 1 to 80,000 items. */
export const COUNTS = scale(0, 5);

/**
 * A histogram for the hot path: one observation is a binary search and three additions, and one call can count many
 * equal observations.
 *
 * @example
 * const histogram = new Histogram();
 * histogram.observe(0.004);
 * histogram.quantile(0.99); // about 0.004
 */
export class Histogram {
  readonly #bounds: Float64Array;
  readonly #published: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;
  #count = 0;

  constructor({ bounds, published }: Scale = SECONDS) {
    this.#bounds = bounds;
    this.#published = published;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  get count(): number {
    return this.#count;
  }

  /** Counts `times` observations; negative values (a clock stepped back) count as zero. */
  observe(observed: number, times = 1): void {
    const value = observed > 0 ? observed : 0;
    let low = 0;
    let high = this.#bounds.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#bounds[middle]! < value) low = middle + 1;
      else high = middle;
    }
    this.#counts[low]! += times;
    this.#sum += value * times;
    this.#count += times;
  }

  /** Adds the observations of another histogram of the same scale. */
  add(other: Histogram): void {
    for (let index = 0; index < this.#counts.length; index++) this.#counts[index]! += other.#counts[index]!;
    this.#sum += other.#sum;
    this.#count += other.#count;
  }

  /** The q-quantile, interpolated inside its bucket; null before the first observation. */
  quantile(q: number): number | null {
    if (this.#count === 0) return null;
    const rank = q * this.#count;
    let below = 0;
    for (let index = 0; index < this.#bounds.length; index++) {
      const here = this.#counts[index]!;
      if (here > 0 && below + here >= rank) {
        const from = index === 0 ? 0 : this.#bounds[index - 1]!;
        return from + ((rank - below) / here) * (this.#bounds[index]! - from);
      }
      below += here;
    }
    return this.#bounds[this.#bounds.length - 1]!;
  }

  /** A copy of the counts, for `since`. */
  counts(): Float64Array {
    return this.#counts.slice();
  }

  /** The observations since the counts were as given: their number and quantiles. The sum is not available. */
  since(earlier: Float64Array): Pick<Histogram, 'count' | 'quantile'> {
    const recent = new Histogram({ bounds: this.#bounds, published: this.#published });
    for (let index = 0; index < earlier.length; index++) {
      const times = this.#counts[index]! - earlier[index]!;
      recent.#counts[index] = times;
      recent.#count += times;
    }
    return recent;
  }

  /** Cumulative published buckets, sum and count, for the Prometheus text format. */
  snapshot(): {
    readonly buckets: readonly (readonly [le: number, count: number])[];
    sum: number;
    count: number;
  } {
    const buckets: [number, number][] = [];
    let cumulative = 0;
    let next = 0;
    for (const index of this.#published) {
      while (next <= index) cumulative += this.#counts[next++]!;
      buckets.push([this.#bounds[index]!, cumulative]);
    }
    return { buckets, sum: this.#sum, count: this.#count };
  }
}
