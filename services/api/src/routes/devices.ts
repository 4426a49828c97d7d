import { type Device, deviceNameProblem } from '@tidegauge/readings';
import { isWithin, Problem } from '@tidegauge/service';
import {
  compareText,
  type DeviceFilter,
  type DevicePatch,
  type DeviceQuery,
  type Store,
} from '@tidegauge/storage';
import type { Answers } from '../answers.ts';
import type { Cursors } from '../cursor.ts';
import { demandWithin, limitOf } from '../device-limit.ts';
import type { Call, Handlers } from '../dispatch.ts';
import { defined, device, queryOf } from '../parameters.ts';

interface ListParameters extends DeviceFilter {
  readonly limit: number;
  readonly cursor: string;
}

/** Devices that one call of the store returns. Each can have 16 KiB of attributes. */
const PAGE_DEVICES = 50;

export function deviceHandlers(store: Store, cursors: Cursors, answers: Answers): Handlers {
  return {
    listDevices: async (call, response) => {
      const { limit = 100, cursor, ...filter } = queryOf<ListParameters>(call);
      const within = limitOf(call);
      const key = ['devices', filter.year, filter.city, filter.site, filter.kind, within];
      const after = cursor === undefined ? undefined : cursors.read(key, cursor, isPosition)[0];
      await answers.list(response, {
        name: 'devices',
        items: listed(store, defined({ ...filter, after }), limit + 1, within),
        limit,
        sizeOf: (each) => 200 + 2 * JSON.stringify(each).length,
        toDocument: (each) => each,
        next: ({ name }) => cursors.write(key, [name]),
      });
    },

    updateDevices: async (call, response) => {
      const { filter } = queryOf<{ filter: DeviceFilter }>(call);
      const matched = await store.devices.patchWhere(defined({ ...filter }), call.body as DevicePatch);
      response.json({ matched });
    },

    getDevice: async (call, response) => {
      const name = nameOf(call);
      response.json((await store.devices.get(name)) ?? missing(name));
    },
    putDevice: async (call, response) => {
      const name = nameOf(call);
      const {
        site = null,
        city = null,
        kind = null,
        year = null,
        attributes = {},
      } = call.body as DevicePatch;
      const replacement: Device = { name, site, city, kind, year, attributes };
      const created = await store.devices.put(replacement);
      response.status(created ? 201 : 200).json(replacement);
    },
    updateDevice: async (call, response) => {
      const name = nameOf(call);
      response.json((await store.devices.patch(name, call.body as DevicePatch)) ?? missing(name));
    },
    deleteDevice: async (call, response) => {
      const name = nameOf(call);
      if (!(await store.devices.delete(name))) missing(name);
      response.status(204).end();
    },
  };
}

function isPosition(value: unknown): value is readonly [name: string] {
  return Array.isArray(value) && typeof value[0] === 'string' && deviceNameProblem(value[0]) === null;
}

/** The devices of a list. With a limit only the one with that name, and those below it. */
function listed(
  store: Store,
  query: Omit<DeviceQuery, 'limit'>,
  count: number,
  within: string | null,
): AsyncGenerator<Device> {
  return within === null ? devicesOf(store, query, count) : devicesWithin(store, query, count, within);
}

/** Names below a device follow each other in the order of names; the device itself can be far before them. */
async function* devicesWithin(
  store: Store,
  { after, ...filter }: Omit<DeviceQuery, 'limit'>,
  count: number,
  within: string,
): AsyncGenerator<Device> {
  if (after === undefined) {
    const own = await store.devices.get(within);
    if (own !== null && matches(own, filter)) yield own;
  }
  const below = `${within}/`;
  const from = after === undefined || compareText(after, below) < 0 ? below : after;
  for await (const each of devicesOf(store, { ...filter, after: from }, count)) {
    if (!isWithin(within, each.name)) return;
    yield each;
  }
}

function matches(found: Device, { year, city, site, kind }: DeviceFilter): boolean {
  return (
    (year === undefined || found.year === year) &&
    (city === undefined || found.city === city) &&
    (site === undefined || found.site === site) &&
    (kind === undefined || found.kind === kind)
  );
}

/** Reads the devices in pages of the store, so that the memory of their attributes is bounded. */
async function* devicesOf(
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

function nameOf(call: Call): string {
  return demandWithin(call, device(call.params.name, '/params/name'));
}

function missing(name: string): never {
  throw new Problem(404, 'Not found', `There is no device ${name}.`);
}
