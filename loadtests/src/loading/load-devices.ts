import { forEach } from '@tidegauge/parallel';
import type { Device } from '@tidegauge/readings';
import { type DeviceStore, MAX_PAGE } from '@tidegauge/storage';
import { devicePages, devicesIn, nextOf } from '../drivers/device-target.ts';
import type { HttpClient } from '../drivers/http-client.ts';
import { deviceNumber, loadedCity, loadedDevice } from '../operations/registered-devices.ts';
import { insist, insistOnStore } from './load.ts';

/** Devices that are written or deleted at the same time. Stores write concurrent changes together. */
const AT_ONCE = 128;
/** The API ends a page after 4 MiB; the store has no such limit. */
const PAGE = Math.min(MAX_PAGE, 1000);

/** The calls that a load needs. Each is repeated while the store is unavailable. */
export interface DeviceTable {
  pages(): AsyncIterable<readonly Device[]>;
  put(device: Device): Promise<unknown>;
  setCity(year: number, city: string): Promise<unknown>;
  delete(name: string): Promise<unknown>;
}

/** The devices of a store. */
export function storedDevices(devices: DeviceStore): DeviceTable {
  return {
    pages: () =>
      devicePages((query) => insistOnStore('listing devices', () => devices.list(query)), { limit: PAGE }),
    put: (device) => insistOnStore(`registering ${device.name}`, () => devices.put(device)),
    setCity: (year, city) =>
      insistOnStore(`changing the devices of ${year}`, () => devices.patchWhere({ year }, { city })),
    delete: (name) => insistOnStore(`deleting ${name}`, () => devices.delete(name)),
  };
}

/** The devices of an API. */
export function devicesOfApi(api: string, client: HttpClient): DeviceTable {
  const url = `${api}/v1/devices`;
  return {
    async *pages() {
      for (let next: string | null = ''; next !== null; ) {
        const cursor: string = next === '' ? '' : `&cursor=${encodeURIComponent(next)}`;
        const list = () => client.send('GET', `${url}?limit=${PAGE}${cursor}`);
        const { body } = await insist('listing devices', list);
        yield devicesIn(body);
        next = nextOf(body);
      }
    },
    put: ({ name, ...facts }) =>
      insist(`registering ${name}`, () => client.send('PUT', `${url}/${name}`, JSON.stringify(facts))),
    setCity: (year, city) =>
      insist(`changing the devices of ${year}`, () =>
        client.send('PATCH', `${url}?year=${year}`, JSON.stringify({ city })),
      ),
    delete: (name) => insist(`deleting ${name}`, () => client.send('DELETE', `${url}/${name}`), 'NOT_FOUND'),
  };
}

/**
 * Makes the register have the first `count` devices as they are after a load, and no others. What is right already stays.
 *
 * @throws {Error} when the register has devices that no load has made, or when the store stays unavailable
 */
export async function loadDevices(table: DeviceTable, count: number): Promise<void> {
  const found = new Uint8Array(count);
  const surplus: string[] = [];
  const years = new Set<number>();
  const wrong: Device[] = [];
  for await (const page of table.pages()) {
    for (const device of page) {
      const number = numberOf(device);
      if (number >= count) {
        surplus.push(device.name);
        continue;
      }
      found[number] = 1;
      const right = loadedDevice(number);
      if (isSame(device, { ...right, city: device.city })) {
        if (device.city !== right.city) years.add(right.year!);
      } else wrong.push(right);
    }
  }
  await forEach(surplus, AT_ONCE, (name) => table.delete(name));
  for (const year of years) await table.setCity(year, loadedCity(year));
  await forEach(wrong, AT_ONCE, (device) => table.put(device));
  await forEach(missing(found), AT_ONCE, (number) => table.put(loadedDevice(number)));
}

/** Deletes all devices that a load has made. */
export async function deleteDevices(table: DeviceTable): Promise<void> {
  const ours: string[] = [];
  for await (const page of table.pages()) {
    for (const { name } of page) if (deviceNumber(name) !== null) ours.push(name);
  }
  await forEach(ours, AT_ONCE, (name) => table.delete(name));
}

function numberOf({ name }: Device): number {
  const number = deviceNumber(name);
  if (number !== null) return number;
  throw new Error(`the register has the device ${name}, which is not of the study: use an empty database`);
}

function isSame(one: Device, other: Device): boolean {
  return (['site', 'city', 'kind', 'year'] as const).every((key) => one[key] === other[key]);
}

function* missing(found: Uint8Array): Generator<number> {
  for (const [number, isThere] of found.entries()) if (isThere === 0) yield number;
}
