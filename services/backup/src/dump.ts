import { encodeReading, type Store, seriesPrefix } from '@tidegauge/storage';
import { LineFiles } from './backup-files.ts';
import { readStore, unitText, type Watching } from './contents.ts';
import type { Manifest } from './manifest.ts';

/** What a method of backup writes to the manifest. */
export type Dump = Pick<Manifest, 'readings' | 'units' | 'devices' | 'files' | 'identity'>;

/**
 * Writes everything of a store as lines of JSON to compressed files: readings as in the files of the JSON store, units,
 * and registered devices. Readings that arrive for a device after it was read are not part of the backup.
 */
export async function dumpStore(store: Store, folder: string, watching: Watching): Promise<Dump> {
  const readings = new LineFiles(folder, 'readings');
  const units = new LineFiles(folder, 'units');
  const devices = new LineFiles(folder, 'devices');
  try {
    const contents = await readStore(store, watching, {
      reading: (reading) =>
        readings.add(seriesPrefix(reading.device, reading.metric) + encodeReading(reading)),
      unit: (unit) => units.add(`${unitText(unit)}\n`),
      device: (device) => devices.add(`${JSON.stringify(device)}\n`),
    });
    const files = [await readings.end(), await units.end(), await devices.end()].flat();
    return { ...contents, files, identity: await store.identity() };
  } catch (error) {
    for (const each of [readings, units, devices]) await each.abandon();
    throw error;
  }
}
