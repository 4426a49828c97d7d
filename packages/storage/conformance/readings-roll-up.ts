import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { exitText, startProcess } from '@tidegauge/process';
import { MAX_TIME, type Reading, unknownDevice } from '@tidegauge/readings';
import type { Group, GroupQuery, Store } from '../src/index.ts';
import { freshDevice, reading, T0 } from './data.ts';
import { type StoreTarget, useStore } from './target.ts';

const WORKER = fileURLToPath(new URL('roll-up-worker.ts', import.meta.url));
const DAY = 86_400_000_000;
const DAYS = 40;
const METRICS = ['humidity', 'pressure', 'temperature'];

/** The simplest definition of groups by day or metric: the last reading of each identity counts. */
function expected(rows: readonly Reading[], by: 'day' | 'metric', metric?: string): Group[] {
  const last = new Map(rows.map((row) => [`${row.time} ${row.metric} ${row.device}`, row]));
  const wanted = [...last.values()].filter((row) => metric === undefined || row.metric === metric);
  const groups = Map.groupBy(wanted, (row) =>
    by === 'metric' ? row.metric : new Date(row.time / 1000).toISOString().slice(0, 10),
  );
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, group]) => {
      const values = group.flatMap(({ value }) => (typeof value === 'number' ? [value] : []));
      if (values.length === 0) return [];
      const sum = values.reduce((total, value) => total + value, 0);
      const [min, max] = [Math.min(...values), Math.max(...values)];
      return [{ key, count: values.length, min, max, mean: sum / values.length, sum }];
    });
}

async function groupsBy(store: Store, by: 'day' | 'metric', query: Partial<GroupQuery> = {}) {
  const { groups } = await store.readings.groups({ by, limit: 1000, ...query });
  return groups;
}

/** Checks all groups of a store. All values of these tests are whole numbers, so sums are exact. */
async function assertTotals(store: Store, rows: readonly Reading[]): Promise<void> {
  for (const by of ['day', 'metric'] as const) {
    assert.deepEqual(await groupsBy(store, by), expected(rows, by));
    for (const metric of METRICS) {
      assert.deepEqual(await groupsBy(store, by, { metric }), expected(rows, by, metric), metric);
    }
  }
}

/** One reading of each metric on each day, of two devices. */
function readingsOf(devices: readonly string[], factor: number): Reading[] {
  return Array.from({ length: DAYS }, (_, day) => day).flatMap((day) =>
    devices.flatMap((device, index) =>
      METRICS.map((metric) =>
        reading({ device, metric, time: T0 - day * DAY + index, value: factor * (day + index + 1) }),
      ),
    ),
  );
}

export function readingsRollUp(target: StoreTarget): void {
  describe('readings.rollUp', () => {
    const subject = useStore(target);
    const written: Reading[] = [];
    const devices = [freshDevice('rolled'), freshDevice('rolled')];

    async function write(rows: readonly Reading[]): Promise<void> {
      await subject.store.readings.write(rows);
      written.push(...rows);
    }

    /** Rolls up if the store has tables. Other stores always answer from rows. */
    async function rollUpAll(): Promise<number> {
      const pairs = await subject.store.readings.rollUp(0, MAX_TIME);
      if (!subject.store.capabilities.groupTables) assert.equal(pairs, 0);
      return pairs;
    }

    test('answers days and metrics from tables only if the store has them', async () => {
      const { readings, capabilities } = subject.store;
      await write(readingsOf(devices, 1));
      const { groups, source, asOf } = await readings.groups({ by: 'day', limit: 1000 });
      assert.equal(source, capabilities.groupTables ? 'tables' : 'rows');
      assert.equal(asOf, null);
      assert.equal(groups.length, capabilities.groupTables ? 0 : DAYS);
      const pairs = await rollUpAll();
      if (capabilities.groupTables) assert.equal(pairs, DAYS * METRICS.length);
      await assertTotals(subject.store, written);
    });

    test('has the totals of the readings after duplicates, corrections and texts', async () => {
      const [first, second] = devices as [string, string];
      await write(readingsOf([first], 1));
      await write(readingsOf([second], 7).slice(0, 50));
      const at = (day: number, value: number | string) =>
        reading({ device: first, time: T0 - day * DAY, value });
      await write([at(1, 'open'), at(2, -4), at(2, 5), at(3, 'closed')]);
      await write([at(3, 17), reading({ device: first, metric: 'state', value: 'on' })]);
      await rollUpAll();
      await assertTotals(subject.store, written);
      await rollUpAll();
      await assertTotals(subject.store, written);
    });

    test('orders and limits groups, and reads ranges of whole days', async () => {
      const days = expected(written, 'day');
      const largest = days.toSorted((a, b) => b.sum - a.sum || (a.key < b.key ? -1 : 1));
      assert.deepEqual(await groupsBy(subject.store, 'day', { order: 'sum', limit: 5 }), largest.slice(0, 5));
      const range = { from: T0 - 3 * DAY, to: T0 };
      assert.deepEqual(await groupsBy(subject.store, 'day', range), days.slice(-4, -1));
      assert.deepEqual(await groupsBy(subject.store, 'day', { from: T0, to: T0 }), []);
      // Years are boundaries of the tables.
      const january = Date.UTC(2027, 0, 1) * 1000;
      await write(
        [-DAY, -1, 0, DAY].map((time) => reading({ device: devices[0]!, time: january + time, value: 3 })),
      );
      await rollUpAll();
      const turn = await groupsBy(subject.store, 'day', { from: january - DAY, to: january + DAY });
      assert.deepEqual(
        turn.map(({ key, count }) => `${key} ${count}`),
        ['2026-12-31 2', '2027-01-01 1'],
      );
      await assertTotals(subject.store, written);
    });

    test('computes parts of days and selected devices from rows', async () => {
      const { readings, devices: register } = subject.store;
      await register.put({ ...unknownDevice(devices[0]!), city: 'Here' });
      const range = { from: T0 - DAY + 1, to: T0 + 1 };
      const inRange = written.filter(({ time }) => time >= range.from && time < range.to);
      const some = await readings.groups({ by: 'metric', limit: 10, ...range });
      assert.deepEqual([some.groups, some.source, some.asOf], [expected(inRange, 'metric'), 'rows', null]);
      const here = written.filter(({ device }) => device === devices[0]);
      const selected = await readings.groups({ by: 'day', limit: 1000, devices: { city: 'Here' } });
      assert.deepEqual(
        [selected.groups, selected.source, selected.asOf],
        [expected(here, 'day'), 'rows', null],
      );
      const one = await readings.groups({
        by: 'day',
        limit: 1000,
        metric: 'humidity',
        devices: { city: 'Here' },
      });
      assert.deepEqual(one.groups, expected(here, 'day', 'humidity'));
    });

    test('contains late readings after the next roll-up', async () => {
      const { readings, capabilities } = subject.store;
      const before = await readings.groups({ by: 'day', limit: 1000 });
      const late = reading({ device: freshDevice('late'), time: T0 - 5 * DAY + 500, value: 1000 });
      await write([late, reading({ device: devices[0]!, time: T0 - 6 * DAY, value: -1000 })]);
      const between = await readings.groups({ by: 'day', limit: 1000 });
      if (capabilities.groupTables) assert.deepEqual(between, before);
      // Only the days of the late readings are rolled up.
      const pairs = await readings.rollUp(T0 - 6 * DAY, T0 - 4 * DAY);
      assert.equal(pairs, capabilities.groupTables ? 2 * METRICS.length : 0);
      await assertTotals(subject.store, written);
    });

    test('rolls up whole days only', async () => {
      const { readings } = subject.store;
      assert.equal(await readings.rollUp(T0 + 1, T0 + DAY), 0);
      assert.equal(await readings.rollUp(T0 - DAY + 1, T0 + DAY - 1), 0);
      assert.equal(await readings.rollUp(T0, T0), 0);
      await assertTotals(subject.store, written);
    });

    test('reports until when the tables are complete', async () => {
      const { readings, capabilities } = await subject.open();
      const asOf = async (from: number, to: number) =>
        (await readings.groups({ by: 'metric', limit: 10, from, to })).asOf;
      const [far, from] = [T0 + 4000 * DAY, T0 - 10 * DAY];
      const first = await asOf(from, T0);
      const start = Date.now() * 1000;
      await readings.rollUp(from, T0 - 5 * DAY);
      const second = await asOf(from, T0 - 5 * DAY);
      if (!capabilities.groupTables) {
        assert.deepEqual([first, second], [null, null]);
        return;
      }
      assert.ok(second! >= start && second! <= Date.now() * 1000, `${second}`);
      assert.ok(first! < second!);
      // The other days were rolled up longer ago.
      assert.equal(await asOf(from, T0), await asOf(T0 - 5 * DAY, T0));
      assert.ok((await asOf(from, T0))! < start);
      assert.ok((await asOf(far, far + DAY))! < start, 'all days were rolled up before');
      await rollUpAll();
      assert.ok((await asOf(0, far))! > second!);
    });

    test('has the last state after roll-ups of the same days at the same time', async () => {
      const other = await subject.open();
      for (let round = 1; round <= 3; round += 1) {
        const rows = readingsOf(devices, round);
        const running = other.readings.rollUp(0, MAX_TIME);
        await write(rows);
        await Promise.all([running, rollUpAll()]);
        await assertTotals(subject.store, written);
      }
    });

    test('is right after a roll-up that was killed half-way', { timeout: 120_000 }, async (context) => {
      if (!subject.store.capabilities.groupTables) return context.skip('the store has no tables');
      const old = expected(written, 'day');
      await write(readingsOf(devices, 11));
      const fresh = expected(written, 'day');
      for (const [rollUps, ms] of [
        [1, 20],
        [1, 60],
        [2, 30],
      ] as const) {
        await killRollUp(subject.place.url, rollUps, ms);
        // Each day has its old or its new totals.
        for (const group of await groupsBy(subject.store, 'day')) {
          const before = old.find(({ key }) => key === group.key);
          if (group.sum === before?.sum) assert.deepEqual(group, before);
          else
            assert.deepEqual(
              group,
              fresh.find(({ key }) => key === group.key),
            );
        }
      }
      await rollUpAll();
      await assertTotals(subject.store, written);
    });

    test('removes totals of days and metrics that have no readings any more', async () => {
      const { readings, capabilities } = subject.store;
      await readings.expire(T0 - 10 * DAY);
      await rollUpAll();
      await assertTotals(
        subject.store,
        written.filter(({ time }) => time >= T0 - 10 * DAY),
      );
      await readings.expire(T0 + 4000 * DAY);
      await rollUpAll();
      await assertTotals(subject.store, []);
      assert.equal((await readings.groups({ by: 'day', limit: 1 })).asOf !== null, capabilities.groupTables);
    });
  });
}

/** Starts a process that rolls up in a loop. Kills it a short time after the start of the given roll-up. */
async function killRollUp(url: string, rollUps: number, ms: number): Promise<void> {
  let output = '';
  const worker = startProcess({
    command: process.execPath,
    args: [WORKER, url],
    stderr: 'inherit',
    onOutput: (text) => {
      output += text;
      if (output.split('\n').length > rollUps) void delay(ms).then(() => worker.kill());
    },
  });
  const exit = await worker.exited;
  assert.equal(exit.signal, 'SIGKILL', `the process ended by itself: ${exitText(exit)}`);
}
