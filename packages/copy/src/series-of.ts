import type { Reading } from '@tidegauge/readings';
import { compareText, type Store, StoreError } from '@tidegauge/storage';

/** A device has at most `MAX_METRICS`, and some more if several processes created metrics at the same time. */
const MOST_METRICS = 10_000;

/** The metrics of a device, ascending. */
export async function metricsOf(store: Store, device: string): Promise<string[]> {
  const metrics = await store.readings.metrics(device, MOST_METRICS + 1);
  if (metrics.length > MOST_METRICS) {
    throw new StoreError('REJECTED', `device ${device} has more than ${MOST_METRICS} metrics`);
  }
  return metrics.sort(compareText);
}

/** All readings of one series in [from, to), oldest first. */
export function seriesOf(
  store: Store,
  device: string,
  metric: string,
  bounds: { readonly from?: number; readonly to?: number } = {},
): AsyncIterable<Reading> {
  return store.readings.range({ device, metric, ...bounds, order: 'asc', limit: Number.MAX_SAFE_INTEGER });
}

/** The order of `seriesOf`. */
export function byTime(one: Reading, other: Reading): number {
  return one.time - other.time;
}

export async function* none(): AsyncGenerator<never> {}
