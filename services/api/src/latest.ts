import { ANNOTATION_METRIC, type Reading } from '@tidegauge/readings';
import {
  compareText,
  type DeviceFilter,
  MAX_METRICS_READ,
  type SeriesName,
  type Store,
} from '@tidegauge/storage';
import { devicesOf } from './device-list.ts';
import { defined, invalid } from './parameters.ts';

/** Devices whose readings one call of the store returns. */
const SOME_DEVICES = 50;

/** Which registered devices, and after which series their readings continue. */
export interface LatestSelection {
  readonly filter: DeviceFilter | undefined;
  /** Only this device and those below it; null for all. */
  readonly within: string | null;
  readonly after: SeriesName | undefined;
}

/**
 * The newest reading of each metric of some devices, by device, then metric. Reads as many readings at a time as one
 * device can have, so that only part of the answer is in memory.
 */
export async function* latestOf(
  store: Store,
  devices: readonly string[],
): AsyncGenerator<readonly Reading[]> {
  for (let rest = [...new Set(devices)].sort(compareText); rest.length > 0; ) {
    const page = await store.readings.latest(rest, MAX_METRICS_READ + 1);
    const last = page.at(-1)?.device;
    if (page.length <= MAX_METRICS_READ || last === undefined) {
      yield page;
      return;
    }
    // The last device may have more readings, so the next page begins with it.
    const whole = page.filter(({ device }) => device !== last);
    if (whole.length === 0)
      throw invalid('/query/device', `${last} has more than ${MAX_METRICS_READ} metrics`);
    yield whole;
    rest = rest.slice(rest.indexOf(last));
  }
}

/** Like `latestOf`, of the registered devices that match. The devices are read as the answer needs them. */
export async function* latestOfDevices(
  store: Store,
  { filter, within, after }: LatestSelection,
): AsyncGenerator<readonly Reading[]> {
  if (after !== undefined) {
    for await (const page of latestOf(store, [after.device]))
      yield page.filter(({ metric }) => compareText(metric, after.metric) > 0);
  }
  const query = defined({ ...filter, after: after?.device });
  let names: string[] = [];
  for await (const { name } of devicesOf(store, query, Number.POSITIVE_INFINITY, within)) {
    names.push(name);
    if (names.length < SOME_DEVICES) continue;
    yield* latestOf(store, names);
    names = [];
  }
  yield* latestOf(store, names);
}

/** Pages without the readings of other metrics. Annotations are no values of a sensor: they have to be named. */
export async function* ofMetrics(
  pages: AsyncIterable<readonly Reading[]>,
  metrics: readonly string[] | undefined,
): AsyncGenerator<readonly Reading[]> {
  const isWanted = (metric: string) => metrics?.includes(metric) ?? metric !== ANNOTATION_METRIC;
  for await (const page of pages) yield page.filter(({ metric }) => isWanted(metric));
}
