import type { Device } from '@tidegauge/readings';
import { Problem } from '@tidegauge/service';
import { type DeviceFilter, type DevicePatch, MAX_PAGE, type Store } from '@tidegauge/storage';
import { Router } from 'express';
import { readCursor, writeCursor } from '../cursor.ts';
import { defined, device, invalid, queryOf } from '../parameters.ts';

interface ListParameters extends DeviceFilter {
  readonly limit: number;
  readonly cursor: string;
}

export function deviceRoutes(store: Store): Router {
  const router = Router();

  router.get('/v1/devices', async (request, response) => {
    const { limit = 100, cursor, ...filter } = queryOf<ListParameters>(request);
    const key = ['devices', filter.year, filter.city, filter.site, filter.kind];
    const after = cursor === undefined ? undefined : (readCursor(key, cursor)[0] as string);
    const asked = Math.min(limit + 1, MAX_PAGE);
    const found = await store.devices.list(defined({ ...filter, after, limit: asked }));
    const devices = found.slice(0, limit);
    // The largest page leaves no room for one beyond it; when full, the next page may be empty.
    const more = found.length > limit || (asked === limit && found.length === limit);
    const next = more ? writeCursor(key, [devices.at(-1)!.name]) : null;
    response.json({ devices, next });
  });

  router.patch('/v1/devices', async (request, response) => {
    const filter = queryOf<DeviceFilter>(request);
    if (Object.keys(filter).length === 0) {
      throw invalid(
        '/query',
        'needs at least one of year, city, site and kind: this changes every device that matches',
      );
    }
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

function nameOf(parameters: { readonly name: string }): string {
  return device(parameters.name, '/params/name');
}

function missing(name: string): never {
  throw new Problem(404, 'Not found', `There is no device ${name}.`);
}
