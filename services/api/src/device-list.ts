import type { Device } from '@tidegauge/readings';
import { isWithin } from '@tidegauge/service';
import { compareText, type DeviceQuery, isMatch, type Store } from '@tidegauge/storage';
import { defined } from './parameters.ts';

/** Devices that one call of the store returns. Each can have 16 KiB of attributes. */
const PAGE_DEVICES = 50;

/**
 * The first `count` devices of a list, by name.
 *
 * @param within only the device of this name and those below it; null for all
 */
export function devicesOf(
  store: Store,
  query: Omit<DeviceQuery, 'limit'>,
  count: number,
  within: string | null,
): AsyncGenerator<Device> {
  return within === null ? allDevices(store, query, count) : devicesWithin(store, query, count, within);
}

/** Names below a device follow each other in the order of names; the device itself can be far before them. */
async function* devicesWithin(
  store: Store,
  { after, ...filter }: Omit<DeviceQuery, 'limit'>,
  count: number,
  within: string,
): AsyncGenerator<Device> {
  if (after === undefined || compareText(within, after) > 0) {
    const own = await store.devices.get(within);
    if (own !== null && isMatch(own, filter)) yield own;
  }
  const below = `${within}/`;
  const from = after === undefined || compareText(after, below) < 0 ? below : after;
  for await (const each of allDevices(store, { ...filter, after: from }, count)) {
    if (!isWithin(within, each.name)) return;
    yield each;
  }
}

/** Reads the devices in pages of the store, so that the memory of their attributes is bounded. */
async function* allDevices(
  store: Store,
  filter: Omit<DeviceQuery, 'limit'>,
  count: number,
): AsyncGenerator<Device> {
  let { after } = filter;
  for (let left = count; left > 0; left -= PAGE_DEVICES) {
    const limit = Math.min(left, PAGE_DEVICES);
    const page = await store.devices.list(defined({ ...filter, after, limit }));
    yield* page;
    if (page.length < limit) return;
    after = page.at(-1)!.name;
  }
}
