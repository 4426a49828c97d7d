import type { Store } from '@tidegauge/storage';
import { type ReadLoad, storedReading } from '../operations/read-load.ts';
import { insistOnStore } from './load.ts';

/** The device whose attributes describe the loaded readings. It has no readings and no city. */
const MARKER = 'retail/load';
/** Devices that are written at the same time. */
const DEVICES_AT_ONCE = 128;
/** Readings in one write, where the store accepts as many. */
const MOST_IN_BATCH = 5000;

/**
 * Writes the readings and devices of a load, and computes the tables of totals where the store has them. A load that was
 * interrupted is done again whole.
 *
 * @returns whether anything was written; false: the readings are there already
 * @throws {Error} when the store has readings of another load, or stays unavailable
 */
export async function loadReadings(store: Store, load: ReadLoad): Promise<boolean> {
  const facts = { size: load.size, readings: load.readings };
  const marker = await insistOnStore('reading the state of the load', () => store.devices.get(MARKER));
  if (marker !== null) {
    const { state, ...found } = marker.attributes;
    if (found.size !== facts.size || found.readings !== facts.readings) {
      throw new Error(
        `the store has ${found.readings} readings of another load, not ${facts.readings}: use an empty database for each level of records and volume`,
      );
    }
    if (state === 'complete') return false;
  }
  const mark = (state: string) =>
    insistOnStore('noting the state of the load', () =>
      store.devices.put({
        ...{ name: MARKER, site: null, city: null, kind: null, year: null },
        attributes: { ...facts, state },
      }),
    );
  await mark('begun');
  await writeDevices(store, load);
  await writeReadings(store, load);
  if (store.capabilities.groupTables) {
    const { from, to } = load.days;
    await insistOnStore('computing the totals', () => store.readings.rollUp(from, to));
  }
  await mark('complete');
  return true;
}

async function writeDevices({ devices }: Store, load: ReadLoad): Promise<void> {
  for (let first = 0; first < load.devices; first += DEVICES_AT_ONCE) {
    const count = Math.min(DEVICES_AT_ONCE, load.devices - first);
    const batch = Array.from({ length: count }, (_, index) => load.device(first + index));
    await Promise.all(
      batch.map((device) => insistOnStore(`registering ${device.name}`, () => devices.put(device))),
    );
  }
}

/** As many writers as the store needs take the next batch when their own is stored. */
async function writeReadings({ readings, capabilities }: Store, load: ReadLoad): Promise<void> {
  const batch = Math.min(MOST_IN_BATCH, capabilities.maxBatch);
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < load.readings) {
      const first = next;
      next = Math.min(load.readings, first + batch);
      const rows = Array.from({ length: next - first }, (_, index) =>
        storedReading(load.reading(first + index)),
      );
      await insistOnStore(`writing readings from number ${first} on`, () => readings.write(rows));
    }
  };
  await Promise.all(Array.from({ length: capabilities.writers }, writer));
}
