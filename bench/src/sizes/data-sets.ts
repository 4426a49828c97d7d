import type { Reading } from '@tidegauge/readings';
import { type Row, readBuoy, readGlucose, readTurbines } from './real-data.ts';
import { KINDS, readSimulated } from './simulated.ts';

export interface Tally {
  replaced: number;
}

export interface DataSet {
  /**
   * Its readings by time, in batches.
   *
   * @param quick a small part
   * @param tally counts readings that a later one of their series and time replaces
   */
  readings(quick: boolean, tally: Tally): AsyncIterable<readonly Reading[]>;
}

/** Data sets by name: three that people measured, and a sensor of the simulator for each kind of signal. */
export const DATA_SETS: Readonly<Record<string, DataSet>> = {
  turbines: { readings: (...args) => asHistory(readTurbines, ...args) },
  glucose: { readings: (...args) => asHistory(readGlucose, ...args) },
  buoy: { readings: (...args) => asHistory(readBuoy, ...args) },
  ...Object.fromEntries(
    KINDS.map((kind) => [kind, { readings: (quick: boolean) => readSimulated(kind, quick) } as const]),
  ),
};

const BATCH = 5000;
const QUICK_ROWS = 5000;

/**
 * The readings of a table as `tidegauge import` stores them: received at their own time, and of two with one time the one of
 * the later row.
 */
async function* asHistory(
  read: () => AsyncIterable<Row>,
  quick: boolean,
  tally: Tally,
): AsyncGenerator<readonly Reading[]> {
  const byTime = new Map<number, Map<string, Reading>>();
  let rows = 0;
  for await (const { device, time, values } of read()) {
    if (quick && rows === QUICK_ROWS) break;
    rows += 1;
    const found = byTime.get(time) ?? new Map<string, Reading>();
    byTime.set(time, found);
    for (const [metric, value] of values) {
      const stamp = { received: time, boot: null, seq: null, quality: 'ok' } as const;
      const series = `${device} ${metric}`;
      if (found.has(series)) tally.replaced += 1;
      found.set(series, { device, metric, time, value, ...stamp });
    }
  }
  let batch: Reading[] = [];
  for (const time of [...byTime.keys()].sort((a, b) => a - b)) {
    batch.push(...byTime.get(time)!.values());
    byTime.delete(time);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
