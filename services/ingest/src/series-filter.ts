import type { Reading, ReadingValue } from '@tidegauge/readings';
import { copyString } from '@tidegauge/text';
import { ByteCache } from './byte-cache.ts';
import { BOUNDS } from './memory.ts';

/** Which readings of a route are worth storing. */
export interface FilterOptions {
  /** The largest difference of a number to the last kept one that is left out. 0: equal values are left out. */
  readonly deadband: number;
  /** The same by metric. */
  readonly deadbands: ReadonlyMap<string, number>;
  /** A reading this long after the last kept one is kept, whatever its value, microseconds. */
  readonly silence: number;
}

/** The last kept reading of a series. */
interface Last {
  time: number;
  /** Readings up to this time are kept. */
  until: number;
  value: ReadingValue;
}

/** How much earlier than stored readings the first one after a restart usually is at most, microseconds. */
const LATE_US = 3_600_000_000;
/** The clocks of sensors and of ingest usually differ by less than this, microseconds. */
const SKEW_US = 60_000_000;
/** The time of a series whose last kept reading was not stored. */
const NEVER = Number.NEGATIVE_INFINITY;

/** Bytes of a number with its time. */
const LAST_BYTES = 48;

/**
 * Leaves out readings that are like the last kept reading of their series. The state is in memory and bounded: after a
 * restart, and for a series that was dropped to bound the memory, the next reading is kept, and so are those up to its receipt,
 * of an hour at most: they can be corrections of stored ones. When the clock of ingest is behind that of the sensor, all readings of
 * an hour are kept.
 *
 * A reading that is not newer than the last kept one is kept: it is late, a correction or a duplicate. So is one with an
 * unreliable time. Such readings do not change the state.
 */
export class SeriesFilter {
  readonly #last: ByteCache<Last>;

  constructor(maxBytes = BOUNDS.filterStates) {
    this.#last = new ByteCache(
      maxBytes,
      ({ value }) => LAST_BYTES + (typeof value === 'string' ? 2 * value.length : 0),
    );
  }

  /** The indexes of the readings to keep, or null if all are kept. */
  keep(options: FilterOptions, readings: readonly Reading[]): readonly number[] | null {
    let kept: number[] | null = null;
    for (let index = 0; index < readings.length; index++) {
      const isKept = this.#keeps(options, readings[index]!);
      if (isKept) kept?.push(index);
      else kept ??= Array.from({ length: index }, (_, before) => before);
    }
    return kept;
  }

  /** The next reading of the series is kept: the last one was not stored. */
  forget({ device, metric }: Pick<Reading, 'device' | 'metric'>): void {
    const last = this.#last.get(`${device} ${metric}`);
    if (last !== undefined) last.time = NEVER;
  }

  #keeps(options: FilterOptions, { device, metric, time, value, received, quality }: Reading): boolean {
    if (quality !== 'ok') return true;
    const name = `${device} ${metric}`;
    const last = this.#last.get(name);
    if (last !== undefined) {
      if (time <= last.until) return true;
      if (time - last.time < options.silence && isLike(options, metric, value, last.value)) return false;
    }
    const isFirst = last === undefined || last.time === NEVER;
    const until = isFirst ? newestStored(time, received) : time;
    if (last !== undefined && typeof value === 'number' && typeof last.value === 'number') {
      // Not a new entry, which would count in the bound of the cache again.
      last.time = time;
      last.until = until;
      last.value = value;
    } else
      this.#last.set(copyString(name), {
        time,
        until,
        value: typeof value === 'string' ? copyString(value) : value,
      });
    return true;
  }
}

/** The latest time that a stored reading of the series can have, when one arrives and no other is known. */
function newestStored(time: number, received: number): number {
  // Without a battery, the clock of a board is behind after a start. Then the receipt does not tell how late a reading is.
  const isBehind = received < time - SKEW_US;
  return isBehind ? time + LATE_US : Math.max(time, Math.min(received, time + LATE_US));
}

function isLike(
  { deadband, deadbands }: FilterOptions,
  metric: string,
  value: ReadingValue,
  last: ReadingValue,
): boolean {
  if (typeof value !== 'number' || typeof last !== 'number') return value === last;
  return Math.abs(value - last) <= (deadbands.get(metric) ?? deadband);
}
