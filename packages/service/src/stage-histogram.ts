// Preferred numbers, ten to a decade: each bucket is about 25 % wide, so a quantile read from them is
// within about 12 % of the truth.
const STEPS = [1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.4, 8];
const BOUNDS = Float64Array.from(
  [-5, -4, -3, -2, -1, 0, 1, 2].flatMap((decade) => STEPS.map((step) => Number(`${step}e${decade}`))),
);
/** Published buckets: 1, 2, 5 of each decade, which is what a small Prometheus can afford. */
const PUBLISHED = [...BOUNDS.keys()].filter((index) => [0, 3, 7].includes(index % STEPS.length));

/**
 * A histogram of seconds for the hot path: one observation is a binary search and three additions, and one
 * call can stand for many equal observations. Its fine buckets answer quantiles; Prometheus sees fewer.
 */
export class SecondsHistogram {
  readonly #counts = new Float64Array(BOUNDS.length + 1);
  #sum = 0;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Counts `times` observations of `seconds`; negative ones (a clock stepped back) count as zero. */
  observe(seconds: number, times = 1): void {
    const value = seconds > 0 ? seconds : 0;
    let low = 0;
    let high = BOUNDS.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (BOUNDS[middle]! < value) low = middle + 1;
      else high = middle;
    }
    this.#counts[low]! += times;
    this.#sum += value * times;
    this.#count += times;
  }

  /** The q-quantile in seconds, interpolated inside its bucket; null before the first observation. */
  quantile(q: number): number | null {
    if (this.#count === 0) return null;
    const rank = q * this.#count;
    let below = 0;
    for (let index = 0; index < BOUNDS.length; index++) {
      const here = this.#counts[index]!;
      if (here > 0 && below + here >= rank) {
        const from = index === 0 ? 0 : BOUNDS[index - 1]!;
        return from + ((rank - below) / here) * (BOUNDS[index]! - from);
      }
      below += here;
    }
    return BOUNDS[BOUNDS.length - 1]!;
  }

  /** Cumulative published buckets, sum and count, as the Prometheus text format wants them. */
  snapshot(): {
    readonly buckets: readonly (readonly [le: number, count: number])[];
    sum: number;
    count: number;
  } {
    const buckets: [number, number][] = [];
    let cumulative = 0;
    let next = 0;
    for (const index of PUBLISHED) {
      while (next <= index) cumulative += this.#counts[next++]!;
      buckets.push([BOUNDS[index]!, cumulative]);
    }
    return { buckets, sum: this.#sum, count: this.#count };
  }
}
