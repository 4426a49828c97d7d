import { type Device, unknownDevice } from '@tidegauge/readings';
import type { DeviceFilter, DevicePatch, DeviceQuery, DeviceStore } from '../contract.ts';
import { isMatch } from '../groups.ts';
import { compareText } from '../merge.ts';
import { translated } from './errors.ts';
import { type Documents, KeyedLog } from './keyed-log.ts';
import { type DeviceFacts, isDeviceFacts, toDevice, toFacts } from './mapping.ts';
import type { Layout } from './schema.ts';
import type { SkippedLines } from './skipped-lines.ts';
import { SortedKeys } from './sorted-keys.ts';

// If a larger part of all devices matches, a walk over all in order is faster than sorting the matches.
const FEW = 1 / 8;

export class JsonDevices implements DeviceStore {
  readonly #folder: string;
  readonly #log: KeyedLog<DeviceFacts>;
  readonly #index = new DeviceIndex();

  constructor(layout: Layout, skipped: SkippedLines) {
    this.#folder = layout.folder;
    this.#log = new KeyedLog(layout.folder, 'devices', this.#index, skipped);
  }

  get(name: string): Promise<Device | null> {
    return this.#translated(() =>
      this.#log.read(() => {
        const facts = this.#index.held(name);
        return facts === undefined ? null : toDevice(name, facts);
      }),
    );
  }

  async put(device: Device): Promise<boolean> {
    const facts = toFacts(device);
    const outcome = await this.#change([device.name], () => facts);
    return outcome.get(device.name)?.before === null;
  }

  async register(names: readonly string[]): Promise<void> {
    await this.#change(names, (name, current) => current ?? toFacts(unknownDevice(name)));
  }

  async patch(name: string, patch: DevicePatch): Promise<Device | null> {
    const outcomes = await this.#change([name], (_name, current) => current && patched(current, patch));
    const after = outcomes.get(name)?.after ?? null;
    return after === null ? null : toDevice(name, after);
  }

  patchWhere(filter: DeviceFilter, patch: DevicePatch): Promise<number> {
    return this.#translated(async () => {
      let count = 0;
      const counted = new Set<string>();
      await this.#log.change({
        keys: () => this.#index.matching(filter),
        apply: (name, current) => {
          if (current === null || !isMatch(current, filter)) return current;
          if (!counted.has(name)) count += 1;
          counted.add(name);
          return patched(current, patch);
        },
      });
      return count;
    });
  }

  async delete(name: string): Promise<boolean> {
    const outcomes = await this.#change([name], () => null);
    return outcomes.get(name)?.before !== null;
  }

  list(query: DeviceQuery): Promise<Device[]> {
    return this.#translated(() => this.#log.read(() => this.#index.list(query)));
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  #change(
    names: readonly string[],
    apply: (name: string, current: DeviceFacts | null) => DeviceFacts | null,
  ) {
    return this.#translated(() => this.#log.change({ keys: () => new Set(names), apply }));
  }

  #translated<T>(call: () => Promise<T>): Promise<T> {
    return translated(this.#folder, call);
  }
}

/** All devices in memory: by name, in order, by year and by city. */
class DeviceIndex implements Documents<DeviceFacts> {
  readonly #devices = new Map<string, DeviceFacts>();
  readonly #names = new SortedKeys();
  readonly #years = new Groups<number>();
  readonly #cities = new Groups<string>();

  is(value: unknown): value is DeviceFacts {
    return isDeviceFacts(value);
  }

  held(name: string): DeviceFacts | undefined {
    return this.#devices.get(name);
  }

  changed(name: string, facts: DeviceFacts | null): void {
    const old = this.#devices.get(name) ?? null;
    this.#years.move(name, old?.year ?? null, facts?.year ?? null);
    this.#cities.move(name, old?.city ?? null, facts?.city ?? null);
    if (facts === null) {
      this.#devices.delete(name);
      this.#names.delete(name);
    } else {
      this.#devices.set(name, facts);
      if (old === null) this.#names.add(name);
    }
  }

  reset(): void {
    this.#devices.clear();
    this.#names.clear();
    this.#years.clear();
    this.#cities.clear();
  }

  matching(filter: DeviceFilter): string[] {
    const candidates = this.#candidates(filter) ?? this.#devices.keys();
    return [...candidates].filter((name) => isMatch(this.#devices.get(name)!, filter));
  }

  list(query: DeviceQuery): Device[] {
    const { after = '', limit } = query;
    const devices: Device[] = [];
    for (const name of this.#ordered(query, after)) {
      if (devices.length === limit) break;
      const facts = this.#devices.get(name)!;
      if (name !== after && isMatch(facts, query)) devices.push(toDevice(name, facts));
    }
    return devices;
  }

  #ordered(filter: DeviceFilter, after: string): Iterable<string> {
    const candidates = this.#candidates(filter);
    if (candidates === null || candidates.size > this.#devices.size * FEW) return this.#names.from(after);
    return [...candidates].filter((name) => compareText(name, after) > 0).sort(compareText);
  }

  /** Names that include all matches. Null for all names. */
  #candidates({ year, city }: DeviceFilter): ReadonlySet<string> | null {
    if (year !== undefined) return this.#years.of(year);
    return city === undefined ? null : this.#cities.of(city);
  }
}

/** Names by one field of the device. */
class Groups<K> {
  readonly #groups = new Map<K, Set<string>>();

  of(key: K): ReadonlySet<string> {
    return this.#groups.get(key) ?? new Set();
  }

  move(name: string, from: K | null, to: K | null): void {
    if (from === to) return;
    if (from !== null) {
      const group = this.#groups.get(from);
      group?.delete(name);
      if (group?.size === 0) this.#groups.delete(from);
    }
    if (to === null) return;
    const group = this.#groups.get(to);
    if (group === undefined) this.#groups.set(to, new Set([name]));
    else group.add(name);
  }

  clear(): void {
    this.#groups.clear();
  }
}

/** Fields that are missing or undefined stay. */
function patched(facts: DeviceFacts, patch: DevicePatch): DeviceFacts {
  const { site, city, kind, year, attributes } = facts;
  return toFacts({
    site: patch.site === undefined ? site : patch.site,
    city: patch.city === undefined ? city : patch.city,
    kind: patch.kind === undefined ? kind : patch.kind,
    year: patch.year === undefined ? year : patch.year,
    attributes: patch.attributes ?? attributes,
  });
}
