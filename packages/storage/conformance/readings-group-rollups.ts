import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Reading, unknownDevice } from '@tidegauge/readings';
import fc from 'fast-check';
import type { Group, GroupKey, GroupQuery, Store } from '../src/index.ts';
import { freshDevice, reading, rejection, T0 } from './data.ts';
import { openStore } from './open.ts';
import { runsOn, type StoreTarget, useStore } from './target.ts';

const MINUTE = 60_000_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const KEYS: readonly GroupKey[] = ['device', 'day', 'metric', 'site', 'city', 'kind', 'all'];
/** Days of the property with expiry. Readings before them are deleted in no other test. */
const EXPIRING = T0 + 10 * DAY;

/** Three devices below a common one, in two sites. The last one has no site, city or kind. */
interface Fleet {
  readonly prefix: string;
  readonly devices: readonly [string, string, string];
}

async function freshFleet(store: Store): Promise<Fleet> {
  const prefix = freshDevice('fleet');
  const devices = [`${prefix}/a`, `${prefix}/a/inner`, `${prefix}/b`] as const;
  const fields = { city: prefix, kind: 'probe' };
  await store.devices.put({ ...unknownDevice(devices[0]), ...fields, site: 'north' });
  await store.devices.put({ ...unknownDevice(devices[1]), ...fields, site: 'south' });
  return { prefix, devices };
}

function keyOf(by: GroupKey, { prefix, devices }: Fleet, { device, metric, time }: Reading): string {
  const index = devices.indexOf(device);
  const keys: Record<GroupKey, string> = {
    device,
    metric,
    day: new Date(time / 1000).toISOString().slice(0, 10),
    site: ['north', 'south', ''][index]!,
    city: index === 2 ? '' : prefix,
    kind: index === 2 ? '' : 'probe',
    all: 'all',
  };
  return keys[by];
}

/** The simplest definition of groups. Values are multiples of 1/8, so that sums are exact in any order. */
function expected(rows: readonly Reading[], by: GroupKey, fleet: Fleet, bucket?: number): Group[] {
  const numbers = rows.filter(({ value }) => typeof value === 'number');
  const groups = Map.groupBy(numbers, (row) => keyOf(by, fleet, row));
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, members]) => {
      if (bucket === undefined) return { key, ...figures(members) };
      const buckets = Map.groupBy(members, ({ time }) => Math.floor(time / bucket) * bucket);
      return {
        key,
        ...figures(members),
        buckets: [...buckets].sort(([a], [b]) => a - b).map(([time, some]) => ({ time, ...figures(some) })),
      };
    });
}

function figures(rows: readonly Reading[]): Omit<Group, 'key'> {
  const values = rows.map(({ value }) => value as number);
  const sum = values.reduce((total, value) => total + value, 0);
  const [min, max] = [Math.min(...values), Math.max(...values)];
  return { count: values.length, min, max, mean: sum / values.length, sum };
}

async function workAll(store: Store): Promise<void> {
  while ((await store.rollups.work()).more);
}

/** Registers the tests of groups that need rollups. */
export function readingsGroupRollups(target: StoreTarget): void {
  describe('readings.groups from rollups', () => {
    const subject = useStore(target);
    const clock = { now: T0 + 30 * DAY };

    /** Runs a test with a store on the clock of these tests. */
    function on(name: string, body: (store: Store) => Promise<void>): void {
      test(name, async (context) => {
        if (!subject.store.capabilities.rollups) return context.skip('the store has no rollups');
        const store = await openStore(subject.place.url, { clock: () => clock.now });
        try {
          await body(store);
        } finally {
          await store.close();
        }
      });
    }

    async function rollAll(store: Store): Promise<void> {
      clock.now += 2 * HOUR;
      await workAll(store);
    }

    /** Compares all kinds of groups of a fleet with the readings that count. */
    async function assertGroups(
      store: Store,
      fleet: Fleet,
      rows: readonly Reading[],
      span: { readonly from: number; readonly to: number },
    ): Promise<void> {
      const inside = rows.filter(({ time }) => time >= span.from && time < span.to);
      for (const by of KEYS) {
        const bucket = by === 'device' || by === 'site' ? undefined : by === 'day' ? 5 * HOUR : 2 * HOUR;
        const query: GroupQuery = { by, prefix: fleet.prefix, ...span, limit: 1000 };
        const { groups } = await store.readings.groups(bucket === undefined ? query : { ...query, bucket });
        assert.deepEqual(groups, expected(inside, by, fleet, bucket), `by ${by}`);
      }
    }

    on('names the rollups that answered', async (store) => {
      const fleet = await freshFleet(store);
      const rows = fleet.devices.flatMap((device) =>
        Array.from({ length: 60 }, (_, index) =>
          reading({ device, time: T0 + 40 * DAY + index * HOUR, value: index / 8 }),
        ),
      );
      clock.now = Math.max(clock.now, T0 + 50 * DAY);
      await store.readings.write(rows);
      const span = { from: T0 + 40 * DAY, to: T0 + 44 * DAY };
      const query = { by: 'all', prefix: fleet.prefix, ...span, limit: 10 } as const;
      const before = await store.readings.groups(query);
      assert.ok(before.sources.includes('raw'));
      assert.deepEqual([before.source, before.asOf, before.incompleteBefore], ['rows', null, null]);
      await rollAll(store);
      const after = await store.readings.groups(query);
      assert.deepEqual(after, { ...before, sources: ['day'] });
      assert.deepEqual((await store.readings.groups({ ...query, bucket: HOUR })).sources, ['hour']);
      assert.deepEqual((await store.readings.groups({ ...query, from: span.from + MINUTE })).sources, [
        'minute',
        'hour',
        'day',
      ]);
      const edge = { ...query, from: span.from + 1 };
      assert.deepEqual((await store.readings.groups(edge)).sources, ['raw', 'minute', 'hour', 'day']);
      // Engines group by device themselves, unless rollups are up to date.
      const { sources } = await store.readings.groups({
        by: 'device',
        devices: { city: fleet.prefix },
        ...span,
        limit: 10,
      });
      assert.deepEqual(sources, ['day']);
    });

    on('selects by prefix, metric and fields, and returns the top n', async (store) => {
      const fleet = await freshFleet(store);
      const { prefix, devices } = fleet;
      const stranger = `${prefix}-else`;
      const rows = [...devices, stranger].map((device, index) => reading({ device, value: 2 ** index }));
      const other = reading({ device: devices[0], metric: 'other', value: 64 });
      await store.readings.write([...rows, other]);
      const top = async (query: Partial<GroupQuery>) => {
        const { groups } = await store.readings.groups({
          by: 'device',
          prefix,
          order: 'sum',
          limit: 2,
          ...query,
        });
        return groups.map(({ key, sum }) => [key.replace(prefix, ''), sum]);
      };
      assert.deepEqual(await top({}), [
        ['/a', 65],
        ['/b', 4],
      ]);
      assert.deepEqual(await top({ metric: 'temperature' }), [
        ['/b', 4],
        ['/a/inner', 2],
      ]);
      assert.deepEqual(await top({ prefix: devices[0], metric: 'temperature' }), [
        ['/a/inner', 2],
        ['/a', 1],
      ]);
      assert.deepEqual(await top({ devices: { site: 'south', city: prefix } }), [['/a/inner', 2]]);
      assert.deepEqual(await top({ by: 'site', metric: 'temperature', limit: 5 }), [
        ['', 4],
        ['south', 2],
        ['north', 1],
      ]);
      assert.deepEqual(await top({ by: 'all', bucket: DAY, from: T0 + DAY }), []);
      assert.deepEqual(await top({ prefix: `${prefix}/none` }), []);
    });

    on('equals the readings after any writes, duplicates, corrections and late data', async (store) => {
      const value = fc.oneof(
        { weight: 6, arbitrary: fc.integer({ min: -8000, max: 8000 }).map((number) => number / 8) },
        { weight: 1, arbitrary: fc.constant('text') },
      );
      // Few times, so that corrections and duplicates are frequent.
      const time = fc
        .tuple(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 2 }))
        .map(([hour, step]) => T0 + hour * HOUR + step * 25 * MINUTE);
      const row = fc.record({
        device: fc.integer({ min: 0, max: 2 }),
        metric: fc.constantFrom('temperature', 'humidity'),
        time,
        value,
      });
      const step = fc.oneof(
        {
          weight: 3,
          arbitrary: fc
            .array(row, { minLength: 1, maxLength: 12 })
            .map((rows) => ({ kind: 'write', rows }) as const),
        },
        { weight: 2, arbitrary: fc.constant({ kind: 'work' } as const) },
      );
      const bound = fc.integer({ min: 0, max: 3 * 24 * 60 }).map((minute) => T0 + minute * MINUTE + 7);
      const property = fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 5 }),
        bound,
        bound,
        async (steps, from, to) => {
          const fleet = await freshFleet(store);
          const model = new Map<string, Reading>();
          for (const one of steps) {
            if (one.kind === 'work') await rollAll(store);
            else {
              const rows = one.rows.map((fields) =>
                reading({ ...fields, device: fleet.devices[fields.device]! }),
              );
              for (const each of rows) model.set(`${each.device} ${each.metric} ${each.time}`, each);
              await store.readings.write(rows);
            }
            const rows = [...model.values()];
            await assertGroups(store, fleet, rows, { from: T0, to: T0 + 3 * DAY });
          }
          await assertGroups(store, fleet, [...model.values()], { from, to });
        },
      );
      await fc.assert(property, { numRuns: runsOn(target, 8) });
    });

    on('keeps the figures of readings that expired', async (store) => {
      const at = fc.integer({ min: 0, max: 2 * 24 * 4 }).map((step) => EXPIRING + step * 15 * MINUTE);
      const row = fc.record({ device: fc.integer({ min: 0, max: 2 }), time: at, value: fc.integer() });
      const rows = fc.array(row, { minLength: 5, maxLength: 40 });
      // The last query begins after EXPIRING, and some of its range must have expired.
      const end = fc.integer({ min: 1, max: 2 * 24 * 4 }).map((step) => EXPIRING + step * 15 * MINUTE);
      let limit = EXPIRING;
      const property = fc.asyncProperty(rows, end, async (some, before) => {
        const fleet = await freshFleet(store);
        const model = new Map<string, Reading>();
        for (const { device, time, value } of some) {
          const one = reading({ device: fleet.devices[device]!, time, value: value / 8 });
          model.set(`${one.device} ${time}`, one);
        }
        await store.readings.write([...model.values()]);
        await rollAll(store);
        limit = Math.max(limit, before + 1);
        await store.readings.expire(limit);
        const span = { from: EXPIRING, to: EXPIRING + 3 * DAY };
        await assertGroups(store, fleet, [...model.values()], span);
        // The engine's own groups lack the readings that are deleted, so they are not used.
        const { groups, incompleteBefore } = await store.readings.groups({
          by: 'device',
          ...span,
          limit: 100_000,
        });
        const ours = groups.filter(({ key }) => fleet.devices.includes(key));
        assert.deepEqual(ours, expected([...model.values()], 'device', fleet));
        assert.equal(incompleteBefore, null);
        const edge = { by: 'all', prefix: fleet.prefix, from: EXPIRING + 1, to: span.to, limit: 1 } as const;
        assert.equal((await store.readings.groups(edge)).incompleteBefore, EXPIRING + MINUTE);
      });
      await fc.assert(property, { numRuns: runsOn(target, 5) });
    });

    on('refuses what has too many figures', async (store) => {
      const device = `${freshDevice('many')}/one`;
      const at = T0 + 60 * DAY;
      const step = 10;
      const rows = Array.from({ length: 20_001 }, (_, index) =>
        reading({ device, time: at + index * step, value: 1 }),
      );
      await store.readings.write(rows);
      const query = { by: 'all', prefix: device, from: at, to: at + HOUR, bucket: step, limit: 1 } as const;
      const refused = await rejection(store.readings.groups(query), 'REJECTED');
      assert.match(refused.message, /more than 20000 groups and buckets/);
      for (const wrong of [{ bucket: 0 }, { bucket: 0.5 }, { prefix: 'a//b' }, { by: 'year' }])
        await assert.rejects(store.readings.groups({ ...query, ...wrong } as never), TypeError);
    });
  });
}
