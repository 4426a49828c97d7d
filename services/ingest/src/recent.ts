import type { Histogram } from '@tidegauge/service';

const SLOT_MS = 10_000;
/** How far back figures go, seconds. */
export const RECENT_SECONDS = 60;

interface Snapshot {
  /** From when the counts were so, `performance.now()`. */
  readonly at: number;
  readonly counts: readonly Float64Array[];
}

/**
 * What histograms observed in the last minute, beside what they observed since the start, which Prometheus wants.
 * Their counts are copied every ten seconds, when something is observed or asked: there is no timer, and one
 * observation costs a comparison. A minute is covered whole, and up to ten seconds more.
 */
export class Recent<Name extends string> {
  readonly #histograms: Readonly<Record<Name, Histogram>>;
  readonly #names: readonly Name[];
  readonly #begun: number;
  /** Oldest first; the first one is the state a minute ago or before. */
  #snapshots: Snapshot[] = [];
  #slotEnds: number;

  constructor(histograms: Readonly<Record<Name, Histogram>>, now = performance.now()) {
    this.#histograms = histograms;
    this.#names = Object.keys(histograms) as Name[];
    this.#begun = now;
    this.#slotEnds = now;
    this.pass(now);
  }

  /** To be called before each observation. */
  pass(now: number): void {
    if (now >= this.#slotEnds) this.#endSlot(now);
  }

  /** The last minute of each histogram. */
  figures(now = performance.now()): Record<Name, Pick<Histogram, 'count' | 'quantile'>> {
    this.pass(now);
    const { counts } = this.#snapshots[this.#indexBefore(now)]!;
    const pairs = this.#names.map((name, index) => [name, this.#histograms[name].since(counts[index]!)]);
    return Object.fromEntries(pairs);
  }

  /** Seconds that the figures cover: less than a minute soon after the start. */
  seconds(now = performance.now()): number {
    return Math.min(RECENT_SECONDS, (now - this.#begun) / 1000);
  }

  #endSlot(now: number): void {
    const counts = this.#names.map((name) => this.#histograms[name].counts());
    // Nothing was observed since the slot ended, however long ago that was.
    this.#snapshots.push({ at: this.#slotEnds, counts });
    this.#snapshots.splice(0, this.#indexBefore(now));
    this.#slotEnds = now + SLOT_MS;
  }

  /** The newest snapshot that is a minute old, or the oldest that there is. */
  #indexBefore(now: number): number {
    const from = now - RECENT_SECONDS * 1000;
    return Math.max(
      0,
      this.#snapshots.findLastIndex(({ at }) => at <= from),
    );
  }
}
