import { MAX_TIME } from '@tidegauge/readings';
import type { Store } from '@tidegauge/storage';
import { counted } from '@tidegauge/text';
import { DAY_US, dayName } from './day.ts';

/** Starts of days, microseconds. `to` is inclusive. */
export interface Period {
  readonly from: number | null;
  readonly to: number | null;
}

/**
 * Rolls up the days of a period: day by day from its first day on, or all days in one pass.
 *
 * @param signal Aborted: ends after the running day.
 * @returns Whether all days are rolled up.
 */
export async function rollUp(
  store: Store,
  { from, to }: Period,
  signal: AbortSignal,
  print: (line: string) => void,
): Promise<boolean> {
  const started = Date.now();
  const end = to === null ? MAX_TIME : to + DAY_US;
  let totals = 0;
  if (from === null) {
    totals = await store.readings.rollUp(0, end);
  } else {
    const last = to ?? Math.floor((started * 1000) / DAY_US) * DAY_US;
    for (let day = from; day <= last; day += DAY_US) {
      if (signal.aborted) {
        print(`stopped before ${dayName(day)}: continue with --from ${dayName(day)}`);
        return false;
      }
      const before = performance.now();
      const pairs = await store.readings.rollUp(day, day + DAY_US);
      totals += pairs;
      print(`${dayName(day)}  ${counted(pairs, 'metric')}  ${seconds(performance.now() - before)}`);
    }
  }
  const asOf = new Date(started).toISOString();
  print(
    `${counted(totals, 'total')} of a day and a metric in ${seconds(Date.now() - started)}, with the readings until ${asOf}`,
  );
  return true;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
