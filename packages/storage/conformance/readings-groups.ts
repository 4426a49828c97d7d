import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { type Reading, unknownDevice } from '@tidegauge/readings';
import fc from 'fast-check';
import type { DevicesCursor, Group, GroupKey, GroupQuery, Store } from '../src/index.ts';
import { collect, freshDevice, reading, series, T0 } from './data.ts';
import { openStore } from './open.ts';
import { runsOn, type StoreTarget, type Subject, useStore } from './target.ts';

const DAY = 86_400_000_000;
const HOUR = DAY / 24;

/** The figures of one group, computed in the simplest way. */
function group(key: string, values: readonly number[]): Group {
  const sum = values.reduce((total, value) => total + value, 0);
  const [min, max] = [Math.min(...values), Math.max(...values)];
  return { key, count: values.length, min, max, mean: sum / values.length, sum };
}

let metrics = 0;

/** A metric that no other test has used, because groups are over all devices. */
function freshMetric(): string {
  metrics += 1;
  return `grouped-${metrics}`;
}

/** A new device name that comes after all earlier ones, also as text. */
function nextDevice(): string {
  return freshDevice('group').replace(/\d+$/, (number) => number.padStart(6, '0'));
}

/** Registers a device in a city. */
async function deviceIn(subject: Subject, city: string, name = nextDevice()): Promise<string> {
  await subject.store.devices.put({ ...unknownDevice(name), city, kind: 'probe', year: 2020 });
  return name;
}

export function readingsGroups(target: StoreTarget): void {
  describe('readings.groups', () => {
    const subject = useStore(target);
    let ahead: Store | null = null;
    after(() => ahead?.close());

    /**
     * Groups that are computed from rows, so that they contain what was just written: from the aggregates of the series, and
     * by the engine, because rollups are not up to date on a clock that is far ahead.
     */
    async function fromRows(query: Partial<GroupQuery> & { by: GroupKey }): Promise<readonly Group[]> {
      const { groups } = await subject.store.readings.groups({ limit: 1000, ...query });
      ahead ??= await openStore(subject.place.url, { clock: () => T0 + 1000 * DAY });
      assert.deepEqual((await ahead.readings.groups({ limit: 1000, ...query })).groups, groups);
      return groups;
    }

    test('groups readings of all devices by device, whether they are registered or not', async () => {
      const metric = freshMetric();
      const [a, b, c] = [nextDevice(), nextDevice(), nextDevice()];
      await subject.store.devices.register([b!]);
      await subject.store.readings.write([
        reading({ device: c!, metric, value: -7 }),
        reading({ device: a!, metric, value: 1 }),
        reading({ device: b!, metric, value: 2.5 }),
        reading({ device: a!, metric, time: T0 + 3 * DAY, value: 4 }),
        reading({ device: a!, metric: freshMetric(), value: 900 }),
      ]);
      const { groups, source, asOf } = await subject.store.readings.groups({
        by: 'device',
        metric,
        limit: 10,
      });
      const expected = {
        groups: [group(a!, [1, 4]), group(b!, [2.5]), group(c!, [-7])],
        source: 'rows',
        asOf: null,
      };
      assert.deepEqual({ groups, source, asOf }, expected);
      assert.deepEqual(await fromRows({ by: 'device', metric, devices: {} }), expected.groups);
    });

    test('groups the readings of devices that match by device, UTC day and metric', async () => {
      const city = `City ${freshDevice()}`;
      const [a, b] = [await deviceIn(subject, city), await deviceIn(subject, city)];
      const other = await deviceIn(subject, `${city} too`);
      const [x, y] = [freshMetric(), freshMetric()].sort();
      await subject.store.readings.write([
        reading({ device: a, metric: x!, time: T0 - 1, value: 1 }),
        reading({ device: a, metric: x!, time: T0, value: 2 }),
        reading({ device: b, metric: x!, time: T0 + DAY - 1, value: 4 }),
        reading({ device: b, metric: y!, time: T0 + DAY, value: 8 }),
        reading({ device: other, metric: x!, time: T0, value: 1000 }),
        reading({ device: freshDevice(), metric: x!, time: T0, value: 1000 }),
      ]);
      const devices = { city };
      assert.deepEqual(await fromRows({ by: 'device', devices }), [group(a, [1, 2]), group(b, [4, 8])]);
      assert.deepEqual(await fromRows({ by: 'metric', devices }), [group(x!, [1, 2, 4]), group(y!, [8])]);
      assert.deepEqual(await fromRows({ by: 'day', devices }), [
        group('2026-11-20', [1]),
        group('2026-11-21', [2, 4]),
        group('2026-11-22', [8]),
      ]);
      assert.deepEqual(await fromRows({ by: 'day', metric: y!, devices }), [group('2026-11-22', [8])]);
      assert.deepEqual(await fromRows({ by: 'day', devices: { city, kind: 'none' } }), []);
      assert.deepEqual(await fromRows({ by: 'device', devices: { year: 2020, city, kind: 'probe' } }), [
        group(a, [1, 2]),
        group(b, [4, 8]),
      ]);
    });

    test('includes from and excludes to, within a day and at its boundaries', async () => {
      const city = `City ${freshDevice()}`;
      const device = await deviceIn(subject, city);
      const metric = freshMetric();
      // The first microsecond of 1970 is a time too.
      const times = [0, T0 - 1, T0, T0 + HOUR, T0 + DAY - 1, T0 + DAY];
      await subject.store.readings.write(
        times.map((time, index) => reading({ device, metric, time, value: 10 ** index })),
      );
      const sums = async (from: number | undefined, to: number | undefined) => {
        const bounds = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
        const days = await fromRows({ by: 'day', devices: { city }, ...bounds });
        const [whole] = await fromRows({ by: 'device', devices: { city }, ...bounds });
        assert.equal(
          days.reduce((total, { sum }) => total + sum, 0),
          whole?.sum ?? 0,
        );
        return days.map(({ key, sum }) => `${key} ${sum}`);
      };
      assert.deepEqual(await sums(undefined, undefined), [
        '1970-01-01 1',
        '2026-11-20 10',
        '2026-11-21 11100',
        '2026-11-22 100000',
      ]);
      assert.deepEqual(await sums(T0, T0 + DAY), ['2026-11-21 11100']);
      assert.deepEqual(await sums(T0 + 1, T0 + DAY - 1), ['2026-11-21 1000']);
      assert.deepEqual(await sums(T0 + HOUR, undefined), ['2026-11-21 11000', '2026-11-22 100000']);
      assert.deepEqual(await sums(undefined, 1), ['1970-01-01 1']);
      assert.deepEqual(await sums(-DAY, 0), []);
      assert.deepEqual(await sums(T0, T0), []);
      assert.deepEqual(await sums(T0 + DAY, T0), []);
    });

    test('counts duplicates and corrections once, in the same batch and in others', async () => {
      const city = `City ${freshDevice()}`;
      const device = await deviceIn(subject, city);
      const metric = freshMetric();
      const at = (time: number, value: number | string) =>
        reading({ device, metric, time: T0 + time, value });
      const { readings } = subject.store;
      await readings.write([at(0, 1), at(1, 2), at(0, 1), at(2, 3), at(2, 30)]);
      await readings.write([at(1, 2), at(0, 1)]);
      await readings.write([at(1, 20), at(-5, 100), at(2, 30)]);
      // A correction can turn a number into a text, and a text into a number.
      await readings.write([at(3, 5), at(4, 'closed')]);
      await readings.write([at(3, 'open'), at(4, 7)]);
      const expected = [1, 20, 30, 100, 7];
      for (const [by, key] of [
        ['device', device],
        ['metric', metric],
      ] as const) {
        assert.deepEqual(await fromRows({ by, devices: { city } }), [group(key, expected)]);
      }
      const days = await fromRows({ by: 'day', devices: { city } });
      assert.deepEqual(days, [group('2026-11-20', [100]), group('2026-11-21', [1, 20, 30, 7])]);
    });

    test('leaves out texts and groups of texts only', async () => {
      const city = `City ${freshDevice()}`;
      const [a, b] = [await deviceIn(subject, city), await deviceIn(subject, city)];
      const metric = freshMetric();
      await subject.store.readings.write([
        reading({ device: a, metric, value: '17' }),
        reading({ device: a, metric, time: T0 + 1, value: 0.25 }),
        reading({ device: b, metric, value: 'open' }),
      ]);
      assert.deepEqual(await fromRows({ by: 'device', devices: { city } }), [group(a, [0.25])]);
    });

    test('orders groups by a figure, the largest first, and equal ones by key, and stops at the limit', async () => {
      const metric = freshMetric();
      const names = ['é', 'z', 'A', '\u{20000}', 'ｚ'].map((tail) => `${freshDevice('order')}/${tail}`);
      const [a, b, c, d, e] = names as [string, string, string, string, string];
      const values: [string, number[]][] = [
        [c, [5, 5]],
        [a, [1, 2, 3]],
        [b, [10]],
        [e, [-4, -4, -4]],
        [d, [6]],
      ];
      const batch = values.flatMap(([device, all]) =>
        all.map((value, index) => reading({ device, metric, time: T0 + index, value })),
      );
      await subject.store.readings.write(batch);
      const all = values.map(([device, some]) => group(device, some));
      const byKey = all.toSorted((x, y) => Buffer.compare(Buffer.from(x.key), Buffer.from(y.key)));
      for (const order of ['key', 'sum', 'mean', 'count'] as const) {
        // Sorting is stable, so equal figures stay by key.
        const sorted = order === 'key' ? byKey : byKey.toSorted((x, y) => y[order] - x[order]);
        for (const limit of [1, 3, 5, 100]) {
          const query = { by: 'device', metric, order, limit } as const;
          assert.deepEqual(await fromRows(query), sorted.slice(0, limit), `${order} ${limit}`);
        }
      }
    });

    test('keeps extreme doubles, and a sum beyond the largest is infinite', async () => {
      const city = `City ${freshDevice()}`;
      const [a, b, c] = [
        await deviceIn(subject, city),
        await deviceIn(subject, city),
        await deviceIn(subject, city),
      ];
      const metric = freshMetric();
      const { MAX_VALUE: most, MIN_VALUE: least } = Number;
      await subject.store.readings.write([
        reading({ device: a, metric, value: most }),
        reading({ device: a, metric, time: T0 + 1, value: most }),
        reading({ device: b, metric, value: -most }),
        reading({ device: b, metric, time: T0 + 1, value: -most }),
        reading({ device: c, metric, value: least }),
      ]);
      const groups = await fromRows({ by: 'device', devices: { city }, order: 'sum', limit: 2 });
      assert.deepEqual(groups, [group(a, [most, most]), group(c, [least])]);
      const all = await fromRows({ by: 'device', devices: { city } });
      assert.deepEqual(all, [group(a, [most, most]), group(b, [-most, -most]), group(c, [least])]);
    });

    test('agrees with a simple computation for any readings', async () => {
      const row = fc.record({
        device: fc.integer({ min: 0, max: 3 }),
        metric: fc.integer({ min: 0, max: 2 }),
        time: fc.integer({ min: T0 - 2 * DAY, max: T0 + 2 * DAY }),
        // Multiples of 1/8, so that all sums are exact in any order.
        value: fc.integer({ min: -1_000_000, max: 1_000_000 }).map((number) => number / 8),
      });
      const selector = (each: { device: number; metric: number; time: number }) =>
        `${each.device} ${each.metric} ${each.time}`;
      const bound = fc.integer({ min: T0 - 2 * DAY, max: T0 + 2 * DAY });
      const rows = fc.uniqueArray(row, { selector, maxLength: 60 });
      const property = fc.asyncProperty(rows, bound, bound, async (some, from, to) => {
        const city = `City ${freshDevice('any')}`;
        const devices: string[] = [];
        for (let index = 0; index < 4; index += 1) devices.push(await deviceIn(subject, city));
        const batch = some.map(({ device, metric, time, value }) =>
          reading({ device: devices[device]!, metric: `any-${metric}`, time, value }),
        );
        await subject.store.readings.write(batch);
        const within = batch.filter(({ time }) => time >= from && time < to);
        const keys: Record<'device' | 'metric' | 'day', (one: Reading) => string> = {
          device: ({ device }) => device,
          metric: ({ metric }) => metric,
          day: ({ time }) => new Date(time / 1000).toISOString().slice(0, 10),
        };
        for (const by of ['device', 'day', 'metric'] as const) {
          const expected = [...Map.groupBy(within, keys[by])]
            .map(([key, members]) =>
              group(
                key,
                members.map(({ value }) => value as number),
              ),
            )
            .sort((x, y) => (x.key < y.key ? -1 : 1));
          assert.deepEqual(await fromRows({ by, devices: { city }, from, to }), expected);
        }
      });
      await fc.assert(property, { numRuns: runsOn(target, 10) });
    });

    test('is empty without readings', async () => {
      const metric = freshMetric();
      for (const by of ['device', 'day', 'metric'] as const) {
        assert.deepEqual(await fromRows({ by, metric }), []);
        assert.deepEqual(await fromRows({ by, devices: { city: `None ${metric}` } }), []);
      }
    });

    test('rolls up nothing where groups come from rows', async () => {
      if (subject.store.capabilities.groupTables) return;
      const metric = freshMetric();
      await subject.store.readings.write([reading({ device: freshDevice(), metric, value: 3 })]);
      assert.equal(await subject.store.readings.rollUp(T0, T0 + DAY), 0);
      for (const by of ['day', 'metric'] as const) {
        const answer = await subject.store.readings.groups({ by, metric, limit: 10 });
        assert.deepEqual(
          answer.groups.map(({ sum }) => sum),
          [3],
        );
        assert.deepEqual([answer.source, answer.asOf], ['rows', null]);
      }
    });

    test('refuses invalid queries with a TypeError', async () => {
      const { readings } = subject.store;
      for (const wrong of [
        { by: 'year' },
        { limit: 0 },
        { limit: 100_001 },
        { from: 0.5 },
        { order: 'max' },
        { metric: 'a b' },
        { devices: { city: 5 } },
      ]) {
        const query = { by: 'day', limit: 10, ...wrong } as never;
        await assert.rejects(readings.groups(query), TypeError, JSON.stringify(wrong));
      }
      await assert.rejects(readings.rollUp(0.5, 1), TypeError);
    });
  });
}

export function rangeOfDevices(target: StoreTarget): void {
  describe('readings.rangeOfDevices', () => {
    const subject = useStore(target);

    /** Readings of three devices in a city, by device, newest first. Other devices have readings too. */
    async function threeDevices(): Promise<{ city: string; all: Reading[] }> {
      const city = `City ${freshDevice()}`;
      const names = ['z', 'é', '\u{20000}'].map((tail) => `${freshDevice('some')}/${tail}`).sort();
      const all: Reading[] = [];
      for (const device of names) {
        await deviceIn(subject, city, device);
        for (let step = 9; step >= 0; step -= 1) {
          for (const metric of ['temperature', 'humidity'])
            all.push(reading({ device, metric, time: T0 + step, value: step }));
        }
      }
      await subject.store.readings.write(all);
      const stranger = await deviceIn(subject, `${city} too`);
      await subject.store.readings.write([...series(stranger, 5), ...series(freshDevice(), 5)]);
      return { city, all };
    }

    test('returns the readings of devices that match, by device, newest first', async () => {
      const { city, all } = await threeDevices();
      const { readings } = subject.store;
      assert.deepEqual(await collect(readings.rangeOfDevices({ city }, { limit: 1000 })), all);
      assert.deepEqual(await collect(readings.rangeOfDevices({ city }, { limit: 25 })), all.slice(0, 25));
      assert.deepEqual(await collect(readings.rangeOfDevices({ city, year: 1999 }, { limit: 9 })), []);
      const ascending = [...Map.groupBy(all, ({ device }) => device).values()].flatMap((some) =>
        some.toReversed(),
      );
      const query = { limit: 1000, order: 'asc' } as const;
      assert.deepEqual(await collect(readings.rangeOfDevices({ city }, query)), ascending);
    });

    test('returns only the named metric, from a time and before another', async () => {
      const { city, all } = await threeDevices();
      const query = { metric: 'humidity', from: T0 + 2, to: T0 + 5, limit: 1000 };
      const expected = all.filter(
        ({ metric, time }) => metric === 'humidity' && time >= query.from && time < query.to,
      );
      assert.equal(expected.length, 9);
      assert.deepEqual(await collect(subject.store.readings.rangeOfDevices({ city }, query)), expected);
    });

    for (const order of ['asc', 'desc'] as const) {
      test(`pages ${order} by cursor, within a device and at its end, and returns each reading once`, async () => {
        const { city } = await threeDevices();
        const { readings } = subject.store;
        const all = await collect(readings.rangeOfDevices({ city }, { order, limit: 1000 }));
        for (const limit of [1, 7, 20]) {
          const paged: Reading[] = [];
          let after: DevicesCursor | undefined;
          for (;;) {
            const query = { order, limit, ...(after === undefined ? {} : { after }) };
            const page = await collect(readings.rangeOfDevices({ city }, query));
            paged.push(...page);
            if (page.length < limit) break;
            after = page.at(-1)!;
          }
          assert.deepEqual(paged, all, `pages of ${limit}`);
        }
      });
    }

    test('continues after a device that no longer matches', async () => {
      const { city, all } = await threeDevices();
      const after = all[5]!;
      await subject.store.devices.patch(after.device, { city: 'elsewhere' });
      const rest = await collect(subject.store.readings.rangeOfDevices({ city }, { after, limit: 1000 }));
      assert.deepEqual(
        rest,
        all.filter(({ device }) => device !== after.device),
      );
    });

    test('streams many readings, and can be ended early', async () => {
      const city = `City ${freshDevice()}`;
      const [a, b] = [await deviceIn(subject, city), await deviceIn(subject, city)];
      await subject.store.readings.write([...series(a, 1500), ...series(b, 1500)]);
      const { readings } = subject.store;
      assert.equal((await collect(readings.rangeOfDevices({ city }, { limit: 10_000 }))).length, 3000);
      let count = 0;
      for await (const { device } of readings.rangeOfDevices({ city }, { limit: 10_000 })) {
        count += 1;
        if (device === b) break;
      }
      assert.equal(count, 1501);
    });

    test('refuses invalid queries with a TypeError', async () => {
      const ask = (filter: object, query: object) =>
        collect(subject.store.readings.rangeOfDevices(filter, { limit: 10, ...query } as never));
      await assert.rejects(ask({}, {}), TypeError);
      await assert.rejects(ask({ city: 5 }, {}), TypeError);
      for (const query of [{ limit: 0 }, { from: 0.5 }, { order: 'up' }, { metric: 'a b' }, { after: {} }])
        await assert.rejects(ask({ city: 'Emden' }, query), TypeError, JSON.stringify(query));
    });
  });
}
