import { type Device, unknownDevice } from '@tidegauge/readings';
import { compareText, type SeriesName, type Store } from '@tidegauge/storage';
import type { Sides } from './compare-device.ts';
import { inLockstep } from './lockstep.ts';

/** Devices per page. Each can have 16 KiB of attributes. */
const PAGE_DEVICES = 50;
/** Series of one call. */
const PAGE_SERIES = 1000;

/** Numbers of registered devices or units, by how the target differs. */
export interface NameCounts {
  total: number;
  missing: number;
  different: number;
  extra: number;
}

/** All registered devices, by name. */
export async function* registeredDevices(store: Store): AsyncGenerator<Device> {
  for (let after: string | undefined; ; ) {
    const page = await store.devices.list({ limit: PAGE_DEVICES, ...(after === undefined ? {} : { after }) });
    yield* page;
    if (page.length < PAGE_DEVICES) return;
    after = page.at(-1)!.name;
  }
}

/** A device as text. Equal devices have equal texts, whatever the order of their attributes is. */
export function deviceText({ name, site, city, kind, year, attributes }: Device): string {
  const sorted = Object.entries(attributes).sort(([a], [b]) => compareText(a, b));
  return JSON.stringify([name, site, city, kind, year, sorted]);
}

/**
 * Compares the registered devices.
 *
 * @param change called for a device that the target lacks or has otherwise
 */
export async function compareDevices(
  { source, target }: Sides,
  change: (source: Device, target: Device | null) => Promise<void>,
): Promise<NameCounts> {
  const counts = { total: 0, missing: 0, different: 0, extra: 0 };
  const sides = [registeredDevices(source), registeredDevices(target)] as const;
  await inLockstep(...sides, byName, (device, known) => {
    if (device === null) {
      counts.extra += 1;
      return null;
    }
    counts.total += 1;
    if (known !== null && deviceText(device) === deviceText(known)) return null;
    counts[known === null ? 'missing' : 'different'] += 1;
    return change(device, known);
  });
  return counts;
}

function byName(one: Device, other: Device): number {
  return compareText(one.name, other.name);
}

/** Whether only the name of a device is known. */
export function isBare(device: Device): boolean {
  return deviceText(device) === deviceText(unknownDevice(device.name));
}

/**
 * Compares the units of series. Units that the target lacks or has otherwise are passed to `change`, and those that
 * only the target has are not counted.
 */
export async function compareUnits(
  { source, target }: Sides,
  series: readonly SeriesName[],
  change: ((units: readonly (SeriesName & { unit: string; known: string | null })[]) => Promise<void>) | null,
): Promise<NameCounts> {
  const counts = { total: 0, missing: 0, different: 0, extra: 0 };
  for (let start = 0; start < series.length; start += PAGE_SERIES) {
    const names = series.slice(start, start + PAGE_SERIES);
    const units = await source.readings.units(names);
    const wanted = names.flatMap((name, index) => {
      const unit = units[index] ?? null;
      return unit === null ? [] : [{ ...name, unit }];
    });
    if (wanted.length === 0) continue;
    const found = await target.readings.units(wanted.map(({ device, metric }) => ({ device, metric })));
    counts.total += wanted.length;
    const unequal = wanted
      .map((each, index) => ({ ...each, known: found[index] ?? null }))
      .filter(({ unit, known }) => unit !== known);
    for (const { known } of unequal) counts[known === null ? 'missing' : 'different'] += 1;
    if (unequal.length > 0) await change?.(unequal);
  }
  return counts;
}
