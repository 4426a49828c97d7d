import { forEach } from '@tidegauge/parallel';
import { type Device, unknownDevice } from '@tidegauge/readings';
import type { CoreReadings } from '../backend.ts';
import type { DeviceFilter, DevicePatch, DeviceQuery, DeviceStore } from '../contract.ts';
import { isMatch } from '../groups.ts';
import { compareText } from '../merge.ts';
import type { Cell, Cells } from './cells.ts';
import { recordOf } from './reserved.ts';

/** The cell that a registered device has. */
const REGISTERED = 'registered';
const FIELDS = ['site', 'city', 'kind', 'year', 'attributes'] as const;
/** Devices that are read together. */
const PAGE = 100;
const AT_ONCE = 8;

/**
 * Registered devices, a cell for each field. So patches of different fields keep each other, whichever process makes them.
 * Two processes that put a new device at the same time can both report that they created it.
 */
export class DerivedDevices implements DeviceStore {
  readonly #readings: Pick<CoreReadings, 'devices'>;
  readonly #cells: Cells;

  constructor(readings: Pick<CoreReadings, 'devices'>, cells: Cells) {
    this.#readings = readings;
    this.#cells = cells;
  }

  async get(name: string): Promise<Device | null> {
    const [device] = await this.#read([name]);
    return device ?? null;
  }

  async put(device: Device): Promise<boolean> {
    const known = await this.get(device.name);
    await this.#cells.put([...cellsOf(device.name, device), registration(device.name)]);
    return known === null;
  }

  async register(names: readonly string[]): Promise<void> {
    const known = new Set((await this.#read(names)).map(({ name }) => name));
    const fresh = [...new Set(names)].filter((name) => !known.has(name));
    await this.#cells.put(fresh.map(registration));
  }

  async patch(name: string, patch: DevicePatch): Promise<Device | null> {
    if ((await this.get(name)) === null) return null;
    await this.#cells.put(cellsOf(name, patch));
    return this.get(name);
  }

  async patchWhere(filter: DeviceFilter, patch: DevicePatch): Promise<number> {
    const found = await this.#select(filter, '', Number.MAX_SAFE_INTEGER);
    await this.#cells.put(found.flatMap(({ name }) => cellsOf(name, patch)));
    return found.length;
  }

  async delete(name: string): Promise<boolean> {
    if ((await this.get(name)) === null) return false;
    const cells = [REGISTERED, ...FIELDS];
    await forEach(cells, AT_ONCE, (cell) => this.#cells.delete(recordOf(name), cell));
    return true;
  }

  list(query: DeviceQuery): Promise<Device[]> {
    return this.#select(query, query.after ?? '', query.limit);
  }

  /** The devices that match, by name, after a name. */
  async #select(filter: DeviceFilter, after: string, limit: number): Promise<Device[]> {
    const names: string[] = [];
    const start = recordOf('');
    for await (const reserved of this.#readings.devices()) {
      const name = reserved.slice(start.length);
      if (reserved.startsWith(start) && compareText(name, after) > 0) names.push(name);
    }
    names.sort(compareText);
    const found: Device[] = [];
    for (let index = 0; index < names.length && found.length < limit; index += PAGE) {
      for (const device of await this.#read(names.slice(index, index + PAGE)))
        if (found.length < limit && isMatch(device, filter)) found.push(device);
    }
    return found;
  }

  /** The devices of some names that are registered, in the order of the names. */
  async #read(names: readonly string[]): Promise<Device[]> {
    const all = await this.#cells.of(names.map(recordOf));
    return names.flatMap((name) => {
      const cells = all.get(recordOf(name));
      if (cells?.has(REGISTERED) !== true) return [];
      const given = FIELDS.filter((field) => cells.has(field));
      const fields = Object.fromEntries(given.map((field) => [field, JSON.parse(cells.get(field)!)]));
      return [{ ...unknownDevice(name), ...fields }];
    });
  }
}

function registration(name: string): Cell {
  return { device: recordOf(name), name: REGISTERED, text: '1' };
}

function cellsOf(name: string, patch: DevicePatch): Cell[] {
  const given = FIELDS.filter((field) => patch[field] !== undefined);
  return given.map((field) => ({
    device: recordOf(name),
    name: field,
    text: JSON.stringify(patch[field]),
  }));
}
