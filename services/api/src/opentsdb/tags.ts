import { type Device, deviceNameProblem, firstLevelOf, unknownDevice } from '@tidegauge/readings';
import { isWithin } from '@tidegauge/service';
import { compareText, type DeviceFilter, type Store } from '@tidegauge/storage';
import { devicesOf } from '../device-list.ts';
import type { TagFilter } from './filters.ts';
import type { Budget } from './points.ts';
import { TAG_KEYS, type TagKey } from './tag-keys.ts';

/** The tags that a device has. */
export type Tags = ReadonlyMap<TagKey, string>;

export interface TaggedDevice {
  readonly device: string;
  readonly tags: Tags;
}

/** The tags of a device. `prefix` is the longest of the prefixes that the query names, or else its first segment. */
export function tagsOf({ name, site, city, kind, year }: Device, prefixes?: ReadonlySet<string>): Tags {
  const tags = { device: name, prefix: prefixOf(name, prefixes), site, city, kind, year };
  return new Map(TAG_KEYS.flatMap((key) => (tags[key] === null ? [] : [[key, String(tags[key])] as const])));
}

function prefixOf(name: string, named?: ReadonlySet<string>): string {
  for (let end = name.length; named !== undefined && end > 0; end = name.lastIndexOf('/', end - 1)) {
    const prefix = name.slice(0, end);
    if (named.has(prefix)) return prefix;
  }
  return firstLevelOf(name);
}

/**
 * The devices that match all filters, ascending by name. Devices that a filter lists need not be registered.
 *
 * @param budget checked for each device that is compared with the filters
 * @param within the device that the sender is limited to, with those below it; null for all
 */
export async function* matchingDevices(
  store: Store,
  filters: readonly TagFilter[],
  within: string | null,
  budget: Budget,
): AsyncGenerator<TaggedDevice> {
  const prefixes = new Set(literalsOf(filters, 'prefix'));
  for await (const device of candidates(store, filters, within)) {
    await budget.turn();
    const tags = tagsOf(device, prefixes);
    if (filters.every(({ key, matches }) => matches(tags.get(key) ?? null)))
      yield { device: device.name, tags };
  }
}

async function* candidates(
  store: Store,
  filters: readonly TagFilter[],
  within: string | null,
): AsyncGenerator<Device> {
  const listed = filters.find(({ key, literals }) => key === 'device' && literals !== undefined);
  if (listed === undefined) {
    yield* devicesOf(store, storeFilter(filters), Number.POSITIVE_INFINITY, within);
    return;
  }
  for (const name of [...new Set(listed.literals)].sort(compareText)) {
    if (deviceNameProblem(name) !== null || !isWithin(within, name)) continue;
    yield (await store.devices.get(name)) ?? unknownDevice(name);
  }
}

/** The part of the filters that the store can apply: fields with one value. */
function storeFilter(filters: readonly TagFilter[]): DeviceFilter {
  const only = (key: TagKey): string | undefined => {
    const found = filters.find((each) => each.key === key && each.literals?.length === 1);
    return found?.literals?.[0];
  };
  const year = only('year');
  return {
    ...fieldOf('site', only('site')),
    ...fieldOf('city', only('city')),
    ...fieldOf('kind', only('kind')),
    ...(year !== undefined && /^\d{1,4}$/.test(year) ? { year: Number(year) } : {}),
  };
}

function fieldOf(name: 'site' | 'city' | 'kind', value: string | undefined): DeviceFilter {
  return value === undefined ? {} : { [name]: value };
}

function literalsOf(filters: readonly TagFilter[], key: TagKey): string[] {
  return filters.flatMap((each) => (each.key === key ? [...(each.literals ?? [])] : []));
}
