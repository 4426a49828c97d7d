import type { Histogram } from '@tidegauge/service';

const SLOT_MS = 10_000;
/** The period that `figures` covers, seconds. */
export const RECENT_SECONDS = 60;

interface Snapshot {
  /** `performance.now()` at which the counts were valid. */
  readonly at: number;
  readonly counts: readonly Float64Array[];
}

/**
 * The observations of histograms in the last minute, in addition to those since the start, which Prometheus needs.
 * Counts are copied every ten seconds, when a value is observed or figures are read: there is no timer, and one
 * observation costs a comparison. The figures cover at least one minute and at most ten seconds more.
 */
export class RecentHistograms<Name extends string> {
  readonly #histograms: Readonly<Record<Name, Histogram>>;
  readonly #names: readonly Name[];
  readonly #begun: number;
  /** Oldest first. The first is at least a minute old, once the process is. */
  #snapshots: Snapshot[] = [];
  #slotEnds: number;

  constructor(histograms: Readonly<Record<Name, Histogram>>, now = performance.now()) {
    this.#histograms = histograms;
    this.#names = Object.keys(histograms) as Name[];
    this.#begun = now;
    this.#slotEnds = now;
    this.pass(now);
  }

  /** Call it before each observation. */
  pass(now: number): void {
    if (now >= this.#slotEnds) this.#endSlot(now);
  }

  /** The observations of each histogram in the last minute. */
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
    // The counts have not changed since the slot ended.
    this.#snapshots.push({ at: this.#slotEnds, counts });
    this.#snapshots.splice(0, this.#indexBefore(now));
    this.#slotEnds = now + SLOT_MS;
  }

  /** The index of the newest snapshot that is a minute old, or of the oldest snapshot. */
  #indexBefore(now: number): number {
    const from = now - RECENT_SECONDS * 1000;
    return Math.max(
      0,
      this.#snapshots.findLastIndex(({ at }) => at <= from),
    );
  }
}
