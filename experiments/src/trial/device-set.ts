import { runClosedModel } from '@tidegauge/loadtests/drivers/closed-model';
import {
  appDevices,
  type DeviceResult,
  type DeviceTarget,
  getAll,
  rawDevices,
  rawDevicesWithConnect,
} from '@tidegauge/loadtests/drivers/device-target';
import { publishedDevices } from '@tidegauge/loadtests/drivers/published-devices';
import {
  type DeviceTable,
  deleteDevices,
  devicesOfApi,
  loadDevices,
  storedDevices,
} from '@tidegauge/loadtests/loading/load-devices';
import { deviceName } from '@tidegauge/loadtests/operations/fleet';
import type { Outcome } from '@tidegauge/loadtests/operations/outcome';
import {
  ALL_YEARS,
  deviceNumber,
  devicesOfYear,
  loadedCity,
  loadedDevice,
  type RegisterOperation,
  registerOperations,
} from '@tidegauge/loadtests/operations/registered-devices';
import type { Device } from '@tidegauge/readings';
import { parseUrl } from '@tidegauge/storage';
import type { DevicesWorkload } from '../levels.ts';
import type { Connections, OpenRequest } from './connections.ts';
import type { OperationSet, TrialObserver, TrialOperations } from './operation-set.ts';
import { PossibleValues } from './possible-values.ts';
import type { Verification } from './sampled-writes.ts';

/**
 * Reads and updates of the register of devices. The result of each read is checked, and after a run the cities of some
 * devices of each year.
 */
export class DeviceSet implements OperationSet {
  readonly #request: OpenRequest;
  readonly #workload: DevicesWorkload;
  readonly #connections: Connections;
  readonly #published: ReturnType<typeof publishedDevices> | null;
  #cities: ReadonlyMap<number, PossibleValues<string | null>> = new Map();

  constructor(request: OpenRequest, workload: DevicesWorkload, connections: Connections) {
    this.#request = request;
    this.#workload = workload;
    this.#connections = connections;
    this.#published = request.driver === 'published' ? publishedDevices(request.store!) : null;
  }

  async load(): Promise<number> {
    const { devices } = this.#workload;
    const begun = performance.now();
    await loadDevices(await this.#table(), devices);
    await this.#published?.prepare(devices);
    this.#restart();
    return (performance.now() - begun) / 1000;
  }

  async checkRestored(): Promise<void> {
    this.#restart();
    const { devices } = await this.#connections.store();
    const { damaged, example } = await this.#verify((names) => getAll(devices, names));
    if (damaged > 0) throw new Error(`the restored register is not as loaded: ${example}`);
  }

  async begin(seed: number): Promise<TrialOperations> {
    const { threads, rate } = this.#request.settings;
    const { operation, devices } = this.#workload;
    const target = await this.#target();
    const streams = Array.from({ length: threads }, (_, thread) =>
      registerOperations(operation, devices, seed, thread),
    );
    const perform = async (thread: number, due: number | null, observer: TrialObserver): Promise<boolean> => {
      const next = streams[thread]!.next();
      const watched = next.type === 'updateSome' ? this.#cities.get(next.year)!.writing(next.city) : null;
      const begun = due ?? performance.now();
      const { outcome, isRight } = await this.#perform(target, next);
      const end = performance.now();
      watched?.(outcome);
      const right = outcome === 'OK' ? isRight() : null;
      const judged = right === false ? 'UNEXPECTED_STATE' : outcome;
      observer.ended(next.type, judged, begun, end, thread, false);
      if (right !== null) observer.verified(right);
      return judged === 'OK';
    };
    return {
      turn: (limits, observer) =>
        runClosedModel((thread, due) => perform(thread, due, observer), { threads, rate, ...limits }),
      async end() {},
    };
  }

  /** @throws {TypeError} k6 does no operations on devices */
  replay(): void {
    throw new TypeError('no other program does operations on devices');
  }

  async verify(): Promise<Verification> {
    const target = await this.#target();
    return this.#verify((names) => target.check(names));
  }

  /** A database that was made for the register keeps it, because the next series uses it too. */
  async drop(): Promise<void> {
    const { storeUrl } = this.#connections;
    const isOwn = storeUrl !== null && parseUrl(storeUrl).path.includes(this.#request.table);
    if (!isOwn) await deleteDevices(await this.#table());
  }

  async #perform(target: DeviceTarget, operation: RegisterOperation): Promise<Checked> {
    if (operation.type === 'selectOne') {
      const { name } = operation;
      return checked(await target.selectOne(name), (device) => this.#isRight(device, name));
    }
    const { year } = operation;
    const expected = devicesOfYear(year, this.#workload.devices);
    if (operation.type === 'selectSome') {
      return checked(
        await target.selectSome(year),
        (found) => found.length === expected && found.every((device) => device.year === year),
      );
    }
    return checked(await target.updateSome(year, operation.city), (matched) => matched === expected);
  }

  /** Whether a device has the year that it was loaded with, and a city that is possible. */
  #isRight(device: Device | null, name: string): boolean {
    const { year } = loadedDevice(deviceNumber(name)!);
    return device?.name === name && device.year === year && this.#cities.get(year!)!.has(device.city);
  }

  async #verify(read: DeviceTarget['check']): Promise<Verification> {
    const names = [...this.#sample()].map(deviceName);
    let damaged = 0;
    let example: string | null = null;
    for (const [index, device] of (await read(names)).entries()) {
      const name = names[index]!;
      if (this.#isRight(device, name)) continue;
      damaged += 1;
      const problem = device === null ? 'it is missing' : 'it has a city that no update could have left';
      example ??= `${name}: ${problem}`;
    }
    return { checked: names.length, damaged, stale: 0, example };
  }

  /** The first devices and the last ones: one of each year in both groups. */
  *#sample(): Generator<number> {
    const { devices } = this.#workload;
    const years = Math.min(devices, ALL_YEARS.length);
    for (let index = 0; index < years; index += 1) yield index;
    for (let number = Math.max(years, devices - years); number < devices; number += 1) yield number;
  }

  #restart(): void {
    this.#cities = new Map(
      ALL_YEARS.map((year) => [year, new PossibleValues<string | null>(loadedCity(year))]),
    );
  }

  async #table(): Promise<DeviceTable> {
    const { api, storeUrl } = this.#connections;
    if (storeUrl === null) return devicesOfApi(api!.url, api!.client);
    return storedDevices((await this.#connections.store()).devices);
  }

  async #target(): Promise<DeviceTarget> {
    if (this.#published !== null) return this.#published;
    const { api } = this.#connections;
    if (api !== null) return appDevices(api.url, api.client);
    if (this.#request.driver === 'raw-connect') return rawDevicesWithConnect(this.#connections.storeUrl!);
    return rawDevices(await this.#connections.store());
  }
}

interface Checked {
  readonly outcome: Outcome;
  /** Whether the result is right. null: it was not read. */
  readonly isRight: () => boolean | null;
}

function checked<T>({ outcome, value }: DeviceResult<T>, isRight: (value: T) => boolean): Checked {
  return {
    outcome,
    isRight() {
      const found = value();
      return found === null ? null : isRight(found);
    },
  };
}
