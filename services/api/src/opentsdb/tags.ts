import { type Device, deviceNameProblem, firstLevelOf, unknownDevice } from '@tidegauge/readings';
import { isWithin } from '@tidegauge/service';
import { compareText, type DeviceFilter, type Store } from '@tidegauge/storage';
import { devicesOf } from '../device-list.ts';
import type { TagFilter } from './filters.ts';
import { TAG_KEYS, type TagKey } from './tag-keys.ts';

/** The tags that a device has. */
export type Tags = ReadonlyMap<TagKey, string>;

export interface TaggedDevice {
  readonly device: string;
  readonly tags: Tags;
}

/**
 * The tags of a device. `prefix` is its first segment, or a longer prefix that the query names.
 *
 * @param prefixes prefixes that the query names, the longest first
 */
export function tagsOf({ name, site, city, kind, year }: Device, prefixes: readonly string[] = []): Tags {
  const named = prefixes.find((prefix) => isWithin(prefix, name));
  const tags = { device: name, prefix: named ?? firstLevelOf(name), site, city, kind, year };
  return new Map(TAG_KEYS.flatMap((key) => (tags[key] === null ? [] : [[key, String(tags[key])] as const])));
}

/**
 * The devices that match all filters, ascending by name. Devices that a filter lists need not be registered.
 *
 * @param within the device that the sender is limited to, with those below it; null for all
 */
export async function* matchingDevices(
  store: Store,
  filters: readonly TagFilter[],
  within: string | null,
): AsyncGenerator<TaggedDevice> {
  const prefixes = literalsOf(filters, 'prefix').sort((a, b) => b.length - a.length);
  for await (const device of candidates(store, filters, within)) {
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
