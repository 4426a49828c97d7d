import { type Device, deviceNameProblem, unitProblem } from '@tidegauge/readings';
import { demandWithin, limitOf, Problem } from '@tidegauge/service';
import {
  compareText,
  type DeviceFilter,
  type DevicePatch,
  MAX_METRICS_READ,
  type Store,
} from '@tidegauge/storage';
import { type Answers, Pages } from '../answers.ts';
import type { Cursors } from '../cursor.ts';
import { devicePagesOf, sizeOfDevice } from '../device-list.ts';
import type { Call, Handlers } from '../dispatch.ts';
import { defined, device, invalid, metric, queryOf } from '../parameters.ts';

interface SeriesParameters {
  readonly device: string;
  readonly metric: string;
}

interface ListParameters extends DeviceFilter {
  readonly limit: number;
  readonly cursor: string;
}

export function deviceHandlers(store: Store, cursors: Cursors, answers: Answers): Handlers {
  return {
    listDevices: async (call, response) => {
      const { limit = 100, cursor, ...filter } = queryOf<ListParameters>(call);
      const within = limitOf(call);
      const key = ['devices', filter.year, filter.city, filter.site, filter.kind, within];
      const after = cursor === undefined ? undefined : cursors.read(key, cursor, isPosition)[0];
      await answers.list(response, {
        name: 'devices',
        items: new Pages(devicePagesOf(store, defined({ ...filter, after }), limit + 1, within)),
        limit,
        sizeOf: sizeOfDevice,
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
      const found = await store.devices.get(name);
      response.json(found === null ? missing(name) : { ...found, units: await unitsOf(store, name) });
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

    setUnit: async (call, response) => {
      const query = queryOf<SeriesParameters>(call);
      const series = { device: demandWithin(call, device(query.device)), metric: metric(query.metric)! };
      const { unit } = call.body as { readonly unit: string };
      const problem = unitProblem(unit);
      if (problem !== null) throw invalid('/body/unit', problem);
      const known = await store.readings.metrics(series.device, MAX_METRICS_READ);
      if (!known.includes(series.metric)) {
        const detail = `There are no readings of ${series.metric} of ${series.device}.`;
        throw new Problem(404, 'Not found', detail);
      }
      await store.readings.setUnits([{ ...series, unit }]);
      response.status(204).end();
    },
  };
}

/** The units of the metrics of a device, by metric. Metrics without a known unit are left out. */
async function unitsOf({ readings }: Store, device: string): Promise<Readonly<Record<string, string>>> {
  const metrics = (await readings.metrics(device, MAX_METRICS_READ)).sort(compareText);
  const units = await readings.units(metrics.map((metric) => ({ device, metric })));
  return Object.fromEntries(
    metrics.flatMap((metric, index) => (units[index] == null ? [] : [[metric, units[index]]])),
  );
}

function isPosition(value: unknown): value is readonly [name: string] {
  return Array.isArray(value) && typeof value[0] === 'string' && deviceNameProblem(value[0]) === null;
}

function nameOf(call: Call): string {
  return demandWithin(call, device(call.params.name, '/params/name'));
}

function missing(name: string): never {
  throw new Problem(404, 'Not found', `There is no device ${name}.`);
}
