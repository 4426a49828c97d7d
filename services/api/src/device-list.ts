import type { Device } from '@tidegauge/readings';
import { isWithin } from '@tidegauge/service';
import {
  compareText,
  type DeviceQuery,
  isMatch,
  MAX_ATTRIBUTES_LENGTH,
  type Store,
} from '@tidegauge/storage';
import { defined } from './parameters.ts';

/** Devices that one call of the store returns while the memory for larger pages is in use. */
const FEWEST_DEVICES = 50;
/** Most characters of a device. */
const DEVICE_LENGTH = MAX_ATTRIBUTES_LENGTH + 1024;
/**
 * Characters of the devices in larger pages, of all lists together. How large devices are is known only when they were
 * read, so a page is as large as fits if each has the most attributes: 240 devices.
 */
const PAGES_LENGTH = 4 * 1024 * 1024;

let free = PAGES_LENGTH;

type Filter = Omit<DeviceQuery, 'limit'>;

/**
 * The first `count` devices of a list, by name.
 *
 * @param within only the device of this name and those below it; null for all
 */
export async function* devicesOf(
  store: Store,
  query: Filter,
  count: number,
  within: string | null,
): AsyncGenerator<Device> {
  for await (const page of devicePagesOf(store, query, count, within)) yield* page;
}

/** The same in pages, of which some can be empty. A page stays in memory until the next one is read. */
export function devicePagesOf(
  store: Store,
  query: Filter,
  count: number,
  within: string | null,
): AsyncGenerator<readonly Device[]> {
  return within === null ? allPages(store, query, count) : pagesWithin(store, query, count, within);
}

/** Approximate memory of a device, bytes. */
export function sizeOfDevice(device: Device): number {
  return 300 + 2 * lengthOf(device);
}

/** Names below a device follow each other in the order of names; the device itself can be far before them. */
async function* pagesWithin(
  store: Store,
  { after, ...filter }: Filter,
  count: number,
  within: string,
): AsyncGenerator<readonly Device[]> {
  if (after === undefined || compareText(within, after) > 0) {
    const own = await store.devices.get(within);
    if (own !== null && isMatch(own, filter)) yield [own];
  }
  const below = `${within}/`;
  const from = after === undefined || compareText(after, below) < 0 ? below : after;
  for await (const page of allPages(store, { ...filter, after: from }, count)) {
    const end = page.findIndex(({ name }) => !isWithin(within, name));
    yield end === -1 ? page : page.slice(0, end);
    if (end !== -1) return;
  }
}

async function* allPages(
  store: Store,
  { after: start, ...filter }: Filter,
  count: number,
): AsyncGenerator<readonly Device[]> {
  let after = start;
  for (let left = count; left > 0; ) {
    const limit = Math.min(left, Math.max(FEWEST_DEVICES, Math.floor(free / DEVICE_LENGTH)));
    let reserved = limit > FEWEST_DEVICES ? limit * DEVICE_LENGTH : 0;
    free -= reserved;
    try {
      const page = await store.devices.list(defined({ ...filter, after, limit }));
      if (reserved > 0) {
        const spare = reserved - page.reduce((sum, device) => sum + lengthOf(device), 0);
        free += spare;
        reserved -= spare;
      }
      yield page;
      if (page.length < limit) return;
      after = page.at(-1)!.name;
      left -= limit;
    } finally {
      free += reserved;
    }
  }
}

/** Characters of a device. Most devices have no attributes. */
function lengthOf({ name, site, city, kind, attributes }: Device): number {
  const words = name.length + (site?.length ?? 0) + (city?.length ?? 0) + (kind?.length ?? 0);
  return words + (Object.keys(attributes).length === 0 ? 0 : JSON.stringify(attributes).length);
}
