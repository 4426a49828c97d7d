import { Histogram } from '@tidegauge/service';

/** A time since the start of a run: seconds from, and to. */
export type Period = readonly [from: number, to: number];

/** Times from when messages were due until they were acknowledged, by the second in which they were due. */
export class AcknowledgementTimes {
  readonly #seconds: Histogram[] = [];

  /**
   * @param due seconds since the start
   * @param seconds from then to the acknowledgement
   */
  add(due: number, seconds: number): void {
    const second = Math.max(0, Math.floor(due));
    while (this.#seconds.length <= second) this.#seconds.push(new Histogram());
    this.#seconds[second]!.observe(seconds);
  }

  /** The 99th percentile of the seconds that are completely in one of the periods; null when there are none. */
  p99(periods: readonly Period[]): number | null {
    const all = new Histogram();
    for (const [second, histogram] of this.#seconds.entries())
      if (periods.some(([from, to]) => from <= second && second + 1 <= to)) all.add(histogram);
    return all.quantile(0.99);
  }
}
