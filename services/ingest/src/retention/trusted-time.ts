import { readFileSync } from 'node:fs';
import { now } from '@tidegauge/readings';
import type { Logger } from '@tidegauge/service';
import { replaceFile } from '../replace-file.ts';

const DAY_US = 86_400_000_000;
/** A clock that is so much later than at the last call can be wrong, microseconds. Runs are a week apart at most. */
const MOST_AHEAD_US = 10 * DAY_US;
/** After so long it is taken as right, milliseconds. NTP corrects a clock sooner. */
const DOUBTED_MS = 86_400_000;
/** The file is written at most so often, microseconds. */
const KEEP_EVERY_US = 3_600_000_000;

/**
 * The present time for deletions. A clock that is years ahead after a start, because its battery failed or NTP was wrong, must
 * not delete all that is there. So when the clock is more than ten days after the last call, also that of an earlier process,
 * the time of that call is returned for another day.
 */
export class TrustedTime {
  readonly #file: string;
  readonly #logger: Logger;
  /** The time of the last call that was not in doubt; null before the first one. */
  #last: number | null;
  #kept = Number.NEGATIVE_INFINITY;
  /** Since when the clock is in doubt, by `performance.now()`. */
  #doubtedSince: number | null = null;

  /** @param file keeps the time for the next process */
  constructor(file: string, logger: Logger) {
    this.#file = file;
    this.#logger = logger;
    this.#last = readTime(file);
  }

  /** Microseconds since the epoch. */
  now(): number {
    const time = now();
    if (this.#last === null || time - this.#last <= MOST_AHEAD_US) return this.#trust(time);
    const clock = performance.now();
    this.#doubtedSince ??= clock;
    if (clock - this.#doubtedSince >= DOUBTED_MS) return this.#trust(time);
    const days = Math.floor((time - this.#last) / DAY_US);
    this.#logger.warn(
      { days },
      'the clock is days ahead of the last run: nothing is deleted by age for a day',
    );
    return this.#last;
  }

  #trust(time: number): number {
    this.#doubtedSince = null;
    this.#last = time;
    if (Math.abs(time - this.#kept) >= KEEP_EVERY_US) this.#keep(time);
    return time;
  }

  #keep(time: number): void {
    try {
      replaceFile(this.#file, `${time}\n`);
      this.#kept = time;
    } catch (error) {
      this.#logger.error({ err: error, file: this.#file }, 'the time of the last run cannot be kept');
    }
  }
}

/** Null without a file, and for one that cannot be read: the clock is taken as right then. */
function readTime(file: string): number | null {
  try {
    const time = Number(readFileSync(file, 'utf8'));
    return Number.isSafeInteger(time) && time > 0 ? time : null;
  } catch {
    return null;
  }
}
