import type { Device, Reading } from '@tidegauge/readings';
import { unknownDevice } from '@tidegauge/readings';
import { isWithin, Problem } from '@tidegauge/service';
import { compareText, type DeviceFilter, isMatch, type Store } from '@tidegauge/storage';
import { devicesOf } from '../device-list.ts';

/** The most metrics of one device that are exported. */
const MAX_METRICS = 10_000;

/** The position after a reading, in the order of an export. */
export interface ExportPosition {
  readonly device: string;
  readonly metric: string;
  /** Microseconds. */
  readonly time: number;
}

/** Which readings are exported. */
export interface ExportSelection {
  /** Only these devices, registered or not. Null: the registered devices that match. */
  readonly devices: readonly string[] | null;
  /** Only this device and those below it; null for all. */
  readonly within: string | null;
  readonly filter: DeviceFilter;
  /** Only these metrics; null for all. */
  readonly metrics: readonly string[] | null;
  /** Microseconds, inclusive. */
  readonly from: number | undefined;
  /** Microseconds, exclusive. */
  readonly to: number | undefined;
  /** Continues after this reading. */
  readonly after: ExportPosition | null;
}

/** The first time of a series in an export: undefined for all, and null when the series was exported before. */
function firstTime(
  { from, after }: ExportSelection,
  device: string,
  metric: string,
): number | null | undefined {
  if (after === null || device !== after.device) return from;
  const order = compareText(metric, after.metric);
  if (order < 0) return null;
  return order === 0 ? Math.max(from ?? 0, after.time + 1) : from;
}

/**
 * The readings of an export: by device, then metric, then time, all ascending. Only a page of one series is in memory.
 *
 * @throws {Problem} 422 when a device has too many metrics
 */
export async function* readingsOf(store: Store, selection: ExportSelection): AsyncGenerator<Reading> {
  const { to } = selection;
  for await (const device of deviceNames(store, selection)) {
    for (const metric of await metricsOf(store, device, selection.metrics)) {
      const from = firstTime(selection, device, metric);
      if (from === null) continue;
      const bounds = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
      yield* store.readings.range({
        device,
        metric,
        ...bounds,
        order: 'asc',
        limit: Number.MAX_SAFE_INTEGER,
      });
    }
  }
}

async function metricsOf(
  store: Store,
  device: string,
  named: readonly string[] | null,
): Promise<readonly string[]> {
  if (named !== null) return [...new Set(named)].sort(compareText);
  const found = await store.readings.metrics(device, MAX_METRICS + 1);
  if (found.length > MAX_METRICS) {
    const detail = `The device ${device} has more than ${MAX_METRICS} metrics: name those to export.`;
    throw new Problem(422, 'Too many metrics', detail);
  }
  return found.sort(compareText);
}

/** Names of the devices from that of the position on, ascending. */
async function* deviceNames(
  store: Store,
  { devices, within, filter, after }: ExportSelection,
): AsyncGenerator<string> {
  if (devices !== null) {
    for (const name of [...new Set(devices)].sort(compareText)) {
      if (after === null || compareText(name, after.device) >= 0) yield name;
    }
    return;
  }
  const all = Number.POSITIVE_INFINITY;
  if (after === null) {
    for await (const { name } of devicesOf(store, filter, all, within)) yield name;
    return;
  }
  // The device of the position may have been deleted since. Its readings were being exported, so they continue.
  const first: Device = (await store.devices.get(after.device)) ?? unknownDevice(after.device);
  if (isWithin(within, first.name) && isMatch(first, filter)) yield first.name;
  for await (const { name } of devicesOf(store, { ...filter, after: after.device }, all, within)) yield name;
}
