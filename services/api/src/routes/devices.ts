import { type Device, deviceNameProblem } from '@tidegauge/readings';
import { Problem } from '@tidegauge/service';
import type { DeviceFilter, DevicePatch, DeviceQuery, Store } from '@tidegauge/storage';
import { Router } from 'express';
import type { Answers } from '../answers.ts';
import type { Cursors } from '../cursor.ts';
import { defined, device, queryOf } from '../parameters.ts';

interface ListParameters extends DeviceFilter {
  readonly limit: number;
  readonly cursor: string;
}

/** Devices that one call of the store gives; each can have 16 KiB of attributes. */
const PAGE_DEVICES = 50;

export function deviceRoutes(store: Store, cursors: Cursors, answers: Answers): Router {
  const router = Router();

  router.get('/v1/devices', async (request, response) => {
    const { limit = 100, cursor, ...filter } = queryOf<ListParameters>(request);
    const key = ['devices', filter.year, filter.city, filter.site, filter.kind];
    const after = cursor === undefined ? undefined : cursors.read(key, cursor, isPosition)[0];
    await answers.list(response, {
      name: 'devices',
      items: devicesOf(store, defined({ ...filter, after }), limit + 1),
      limit,
      sizeOf: (each) => 200 + 2 * JSON.stringify(each).length,
      toDocument: (each) => each,
      next: ({ name }) => cursors.write(key, [name]),
    });
  });

  router.patch('/v1/devices', async (request, response) => {
    const { filter } = queryOf<{ filter: DeviceFilter }>(request);
    const matched = await store.devices.patchWhere(defined({ ...filter }), request.body as DevicePatch);
    response.json({ matched });
  });

  router
    .route('/v1/devices/:name')
    .get(async (request, response) => {
      const name = nameOf(request.params);
      response.json((await store.devices.get(name)) ?? missing(name));
    })
    .put(async (request, response) => {
      const name = nameOf(request.params);
      const {
        site = null,
        city = null,
        kind = null,
        year = null,
        attributes = {},
      } = request.body as DevicePatch;
      const replacement: Device = { name, site, city, kind, year, attributes };
      const created = await store.devices.put(replacement);
      response.status(created ? 201 : 200).json(replacement);
    })
    .patch(async (request, response) => {
      const name = nameOf(request.params);
      response.json((await store.devices.patch(name, request.body as DevicePatch)) ?? missing(name));
    })
    .delete(async (request, response) => {
      const name = nameOf(request.params);
      if (!(await store.devices.delete(name))) missing(name);
      response.status(204).end();
    });

  return router;
}

function isPosition(value: unknown): value is readonly [name: string] {
  return Array.isArray(value) && typeof value[0] === 'string' && deviceNameProblem(value[0]) === null;
}

/** In pages of the store, each a bounded number of attributes. */
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

function nameOf(parameters: { readonly name: string }): string {
  return device(parameters.name, '/params/name');
}

function missing(name: string): never {
  throw new Problem(404, 'Not found', `There is no device ${name}.`);
}
