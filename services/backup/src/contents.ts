import {
  DeviceDigest,
  deviceText,
  metricsOf,
  type Progress,
  registeredDevices,
  SumDigest,
  seriesOf,
} from '@tidegauge/copy';
import type { Device, Reading } from '@tidegauge/readings';
import type { SeriesUnit, Store } from '@tidegauge/storage';
import type { Manifest } from './manifest.ts';

/** Numbers and digests of what a store or a backup contains. */
export type Contents = Pick<Manifest, 'readings' | 'units' | 'devices'>;

export interface Watching {
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

/** Receives everything of a store. A promise is waited for. */
export interface Visitor {
  reading(reading: Reading): Promise<void> | null;
  unit(unit: SeriesUnit): Promise<void> | null;
  device(device: Device): Promise<void> | null;
}

/** Readings between two checks for the end. */
const WATCH_EVERY = 5000;

const IGNORE: Visitor = { reading: () => null, unit: () => null, device: () => null };

/** The unit of a series as text, for a line and for its digest. */
export function unitText({ device, metric, unit }: SeriesUnit): string {
  return JSON.stringify({ device, metric, unit });
}

/**
 * Reads everything of a store once, device after device, and passes it to `visitor`: the readings of a device by metric,
 * then time, ascending, and then its units; at the end the registered devices. Resolves to the numbers and digests.
 */
export async function readStore(
  store: Store,
  { signal, progress }: Watching,
  visitor: Visitor = IGNORE,
): Promise<Contents> {
  let all = 0;
  for await (const _ of store.readings.devices()) all += 1;
  progress.expect(all);
  const sums = { readings: new SumDigest(), units: new SumDigest(), devices: new SumDigest() };
  for await (const device of store.readings.devices()) {
    const metrics = await metricsOf(store, device);
    const digest = await readReadings(store, device, metrics, { signal, progress }, visitor);
    progress.finish([device]);
    for (const [day, each] of digest.days()) sums.readings.addDay(device, day, each);
    for (const unit of await unitsOf(store, device, metrics)) {
      sums.units.addText(unitText(unit));
      await visitor.unit(unit);
    }
  }
  for await (const device of registeredDevices(store)) {
    sums.devices.addText(deviceText(device));
    await visitor.device(device);
  }
  return { readings: part(sums.readings), units: part(sums.units), devices: part(sums.devices) };
}

async function readReadings(
  store: Store,
  device: string,
  metrics: readonly string[],
  { signal, progress }: Watching,
  visitor: Visitor,
): Promise<DeviceDigest> {
  const digest = new DeviceDigest();
  let count = 0;
  for (const [index, metric] of metrics.entries()) {
    for await (const reading of seriesOf(store, device, metric)) {
      digest.add(reading);
      const waits = visitor.reading(reading);
      if (waits !== null) await waits;
      count += 1;
      if (count < WATCH_EVERY) continue;
      signal.throwIfAborted();
      progress.advance(count, device, index / metrics.length);
      count = 0;
    }
  }
  signal.throwIfAborted();
  progress.advance(count, device, 1);
  return digest;
}

async function unitsOf(store: Store, device: string, metrics: readonly string[]): Promise<SeriesUnit[]> {
  const units = await store.readings.units(metrics.map((metric) => ({ device, metric })));
  return metrics.flatMap((metric, index) => {
    const unit = units[index] ?? null;
    return unit === null ? [] : [{ device, metric, unit }];
  });
}

function part({ count, hex }: SumDigest): { readonly count: number; readonly digest: string } {
  return { count, digest: hex };
}

/** What differs between two contents, as text, or null. */
export function contentsProblem(found: Contents, expected: Contents): string | null {
  for (const kind of ['readings', 'units', 'devices'] as const) {
    const [is, should] = [found[kind], expected[kind]];
    if (is.count !== should.count) return `it has ${is.count} ${kind}, and the backup has ${should.count}`;
    if (is.digest !== should.digest) return `its ${kind} have another digest than those of the backup`;
  }
  return null;
}
