import type { Device } from '@tidegauge/readings';
import { seeded } from '@tidegauge/workload';
import { CITIES, deviceDocument, deviceName, deviceYear, FIRST_YEAR, YEARS, yearAt } from './fleet.ts';
import type { DeviceOperationType } from './plan.ts';

// The register of devices as a table of people: a name, a year and a city. All devices of a year have the same city
// after the load, so that a few calls restore the cities.

const NAME = /^fleet\/d(0|[1-9]\d*)$/;

/** All years of the devices. */
export const ALL_YEARS: readonly number[] = Array.from({ length: YEARS }, (_, index) => FIRST_YEAR + index);

/** A device as it is after the load. Devices are numbered from 0. */
export function loadedDevice(number: number): Device {
  const name = deviceName(number);
  return { ...deviceDocument(number), name, city: loadedCity(deviceYear(number)), attributes: {} };
}

/** The city of all devices of a year after the load. */
export function loadedCity(year: number): string {
  return CITIES[year % CITIES.length]!;
}

/** The number of a device, or null for a device that no load has made. */
export function deviceNumber(name: string): number | null {
  const number = NAME.exec(name)?.[1];
  return number === undefined ? null : Number(number);
}

/** The number of devices of a year among the first `count` devices. */
export function devicesOfYear(year: number, count: number): number {
  return Math.max(0, Math.ceil((count - (year - FIRST_YEAR)) / YEARS));
}

export type RegisterOperation =
  | { readonly type: 'selectOne'; readonly name: string }
  | { readonly type: 'selectSome'; readonly year: number }
  | { readonly type: 'updateSome'; readonly year: number; readonly city: string };

/** The operations of one thread: reads of random devices, or reads or updates of all devices of random years. */
export function registerOperations(
  type: DeviceOperationType,
  devices: number,
  seed: number,
  thread: number,
): { next(): RegisterOperation } {
  const random = seeded(seed, thread);
  const year = (): number => yearAt(random.double());
  return {
    next() {
      if (type === 'selectOne') return { type, name: deviceName(random.below(devices)) };
      if (type === 'selectSome') return { type, year: year() };
      return { type, year: year(), city: CITIES[random.below(CITIES.length)]! };
    },
  };
}
