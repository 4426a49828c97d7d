import { now, type Reading, type ReadingValue } from '@tidegauge/readings';
import type { RangeCursor, SeriesName, Store } from '@tidegauge/storage';
import { defined } from './parameters.ts';

/** Readings that are read and then written at once. They can have texts of the largest length. */
const PART = 500;
/** The time after which a request answers that there are more readings, milliseconds. */
const CHANGE_MS = 10_000;

/** Readings of one series in [from, to), microseconds. */
export interface SeriesRange extends SeriesName {
  readonly from: number;
  readonly to: number;
}

export interface Change {
  /** Readings with another value than before. */
  readonly changed: number;
  /** The time from which the rest of the range is to be changed, microseconds; null when it is done. */
  readonly next: number | null;
}

/**
 * Corrects the values of readings, until all are corrected, the time is over or the client has gone. Stores treat it as
 * they treat a correction of a sensor, so rollups change with it.
 *
 * @param corrected the value that replaces another one, or null when it stays
 */
export async function changeReadings(
  store: Store,
  range: SeriesRange,
  corrected: (value: ReadingValue) => ReadingValue | null,
  client: { readonly destroyed: boolean },
): Promise<Change> {
  const deadline = performance.now() + CHANGE_MS;
  let changed = 0;
  for (let after: RangeCursor | undefined; ; ) {
    const query = defined({ ...range, order: 'asc' as const, limit: PART, after });
    const part: Reading[] = [];
    let count = 0;
    for await (const reading of store.readings.range(query)) {
      count += 1;
      after = { time: reading.time, metric: reading.metric };
      const value = corrected(reading.value);
      if (value !== null) part.push({ ...reading, value, received: now() });
    }
    if (part.length > 0) await store.readings.write(part);
    changed += part.length;
    if (count < PART || after === undefined) return { changed, next: null };
    if (client.destroyed || performance.now() >= deadline) return { changed, next: after.time + 1 };
  }
}
