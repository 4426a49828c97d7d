import { rightValue } from '@tidegauge/readings';
import type { SeriesName, Store } from '@tidegauge/storage';

/** Readings that are read to find the marked ones, and marked ones that are found, at most. */
const MOST_READ = 50_000;
const MOST_FOUND = 1000;
/** The time after which the search ends, milliseconds, and the readings between two looks at the clock. */
const SEARCH_MS = 5000;
const CHECK_READINGS = 1000;

export interface WrongReading extends SeriesName {
  /** Microseconds. */
  readonly time: number;
  /** The number that it had before it was marked. */
  readonly value: number;
}

export interface WrongReadings {
  readonly readings: readonly WrongReading[];
  /** Whether all readings of the range were read. */
  readonly complete: boolean;
}

/** Finds the readings that are marked as wrong, one series after the other, in [from, to), microseconds. */
export async function findWrongReadings(
  store: Store,
  series: readonly SeriesName[],
  range: { readonly from: number; readonly to: number },
): Promise<WrongReadings> {
  const deadline = performance.now() + SEARCH_MS;
  const readings: WrongReading[] = [];
  let count = 0;
  for (const { device, metric } of series) {
    const query = { device, metric, ...range, order: 'asc', limit: MOST_READ - count } as const;
    for await (const { time, value } of store.readings.range(query)) {
      count += 1;
      const number = typeof value === 'string' ? rightValue(value) : null;
      if (number !== null) readings.push({ device, metric, time, value: number });
      const isLate = count % CHECK_READINGS === 0 && performance.now() > deadline;
      if (count === MOST_READ || readings.length === MOST_FOUND || isLate)
        return { readings, complete: false };
    }
  }
  return { readings, complete: true };
}
