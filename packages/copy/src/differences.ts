import type { Counts } from './compare-device.ts';
import { dayName } from './digest.ts';

/** Days that are listed. All are counted. */
const MAX_LISTED = 20;

/** A device and day that differ. */
export interface DayDifference {
  readonly device: string;
  readonly day: string;
  readonly missing: number;
  readonly different: number;
  readonly details: number;
  readonly extra: number;
}

/** Adds up comparisons of devices, and keeps the first days that differ. */
export class Differences {
  readonly #counts: Counts = { equal: 0, missing: 0, different: 0, details: 0, extra: 0, kept: 0 };
  readonly listed: DayDifference[] = [];
  /** Days with a difference. */
  days = 0;

  get counts(): Readonly<Counts> {
    return this.#counts;
  }

  add(counts: Counts): void {
    for (const kind of Object.keys(counts) as (keyof Counts)[]) this.#counts[kind] += counts[kind];
  }

  list(device: string, day: number, { missing, different, details, extra, kept }: Counts): void {
    this.days += 1;
    if (this.listed.length < MAX_LISTED)
      this.listed.push({ device, day: dayName(day), missing, different: different + kept, details, extra });
  }
}
