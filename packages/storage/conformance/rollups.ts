import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { exitText, startProcess } from '@tidegauge/process';
import type { Reading } from '@tidegauge/readings';
import fc from 'fast-check';
import type { Rollup, RollupPeriod, Store } from '../src/index.ts';
import { freshDevice, reading, rejection, stored, T0, WORKER_TIME } from './data.ts';
import { openStore } from './open.ts';
import { runsOn, type StoreTarget, useStore } from './target.ts';

const MINUTE = 60_000_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const PERIODS = { minute: MINUTE, hour: HOUR, day: DAY } as const;
const SPAN = { from: T0 - DAY, to: T0 + 3 * DAY };

const WORKER = fileURLToPath(new URL('rollup-worker.ts', import.meta.url));
/** Where the clock of the worker process starts. */
const WORKER_CLOCK = T0 + 100 * DAY;

/** The clock of a store in these tests: some days after the readings, and it can be set forward. */
class Clock {
  now = T0 + 10 * DAY;
  readonly read = () => this.now;

  /** Lets all marks become due. */
  pass(): void {
    this.now += 2 * HOUR;
  }
}

/** Computes all rollups that are due. */
async function workAll(store: Store): Promise<void> {
  while ((await store.rollups.work()).more);
}

/** The simplest definition of rollups. */
function expected(rows: readonly Reading[], period: RollupPeriod): Omit<Rollup, 'sum' | 'mean'>[] {
  const length = PERIODS[period];
  const numbers = rows.filter(({ value }) => typeof value === 'number').sort((a, b) => a.time - b.time);
  const groups = Map.groupBy(numbers, ({ time }) => Math.floor(time / length) * length);
  return [...groups].map(([time, group]) => {
    const values = group.map(({ value }) => value as number);
    const [first, last] = [group[0]!, group.at(-1)!];
    return {
      time,
      count: values.length,
      min: Math.min(...values),
      max: Math.max(...values),
      first: first.value as number,
      firstTime: first.time,
      last: last.value as number,
      lastTime: last.time,
    };
  });
}

/** Compares without sums, which can differ in their last digits, and with these within a tolerance. */
function assertRollups(actual: readonly Rollup[], rows: readonly Reading[], period: RollupPeriod): void {
  assert.deepEqual(
    actual.map(({ sum, mean, ...exact }) => exact),
    expected(rows, period),
    period,
  );
  for (const { time, count, min, max, sum, mean } of actual) {
    const inside = rows.filter((row) => row.time >= time && row.time < time + PERIODS[period]);
    const wanted = inside.reduce((total, { value }) => total + (typeof value === 'number' ? value : 0), 0);
    const tolerance = 1e-12 * count * Math.max(Math.abs(min), Math.abs(max), 1);
    assert.ok(Math.abs(sum - wanted) <= tolerance, `sum ${sum} is not ${wanted}`);
    assert.equal(mean, sum / count);
  }
}

const series = (device: string) => ({ device, metric: 'temperature' });

async function assertAll(store: Store, device: string, rows: readonly Reading[]): Promise<void> {
  for (const period of ['minute', 'hour', 'day'] as const) {
    const { rollups, incompleteBefore } = await store.rollups.read({ ...series(device), period, ...SPAN });
    assertRollups(rollups, rows, period);
    assert.equal(incompleteBefore, null);
    const { buckets } = await store.readings.aggregate({
      ...series(device),
      ...SPAN,
      bucket: 3 * PERIODS[period],
    });
    assert.equal(
      buckets.reduce((sum, { count }) => sum + count, 0),
      rows.filter(({ value }) => typeof value === 'number').length,
    );
  }
}

/** Registers the tests of rollups. Stores without them must refuse the calls. */
export function rollups(target: StoreTarget): void {
  describe('rollups', () => {
    const subject = useStore(target);
    const clock = new Clock();
    const open = () => openStore(subject.place.url, { clock: clock.read });

    /** Runs a test with a store on the clock of these tests. */
    function on(name: string, body: (store: Store) => Promise<void>): void {
      test(name, async (context) => {
        if (!subject.store.capabilities.rollups) return context.skip('the store has no rollups');
        const store = await open();
        try {
          await body(store);
        } finally {
          await store.close();
        }
      });
    }

    test('are refused by a store without them', async (context) => {
      const { capabilities, rollups } = subject.store;
      if (capabilities.rollups) return context.skip('the store has rollups');
      await rejection(rollups.work(), 'NOT_SUPPORTED');
      await rejection(rollups.status(), 'NOT_SUPPORTED');
    });

    on('have count, min, max, mean, sum, first and last of each period', async (store) => {
      const device = freshDevice('rolled');
      const rows = [4, -2, 10.5, 0].map((value, index) =>
        reading({ device, time: T0 + index * 40_000_000, value }),
      );
      await store.readings.write([...rows, reading({ device, time: T0 + 1, value: 'text' })]);
      clock.pass();
      await workAll(store);
      const minutes = await store.rollups.read({
        ...series(device),
        period: 'minute',
        from: T0,
        to: T0 + HOUR,
      });
      assert.deepEqual(minutes.sources, ['minute']);
      assert.deepEqual(minutes.rollups, [
        {
          time: T0,
          count: 2,
          min: -2,
          max: 4,
          mean: 1,
          sum: 2,
          first: 4,
          firstTime: T0,
          last: -2,
          lastTime: T0 + 40_000_000,
        },
        {
          time: T0 + MINUTE,
          count: 1,
          min: 10.5,
          max: 10.5,
          mean: 10.5,
          sum: 10.5,
          first: 10.5,
          firstTime: T0 + 80_000_000,
          last: 10.5,
          lastTime: T0 + 80_000_000,
        },
        {
          time: T0 + 2 * MINUTE,
          count: 1,
          min: 0,
          max: 0,
          mean: 0,
          sum: 0,
          first: 0,
          firstTime: T0 + 120_000_000,
          last: 0,
          lastTime: T0 + 120_000_000,
        },
      ]);
      await assertAll(store, device, rows);
    });

    on('answer the coarsest way that is exact, and name it', async (store) => {
      const device = freshDevice('coarse');
      const rows = Array.from({ length: 300 }, (_, index) =>
        reading({ device, time: T0 + index * 10 * MINUTE + 7, value: index }),
      );
      await store.readings.write(rows);
      const sourcesOf = async (from: number, to: number, bucket: number) => {
        const { buckets, sources } = await store.readings.aggregate({ ...series(device), from, to, bucket });
        const counted = buckets.reduce((sum, { count }) => sum + count, 0);
        assert.equal(counted, rows.filter(({ time }) => time >= from && time < to).length);
        return sources;
      };
      assert.deepEqual(await sourcesOf(T0, T0 + 2 * DAY, DAY), ['raw']);
      clock.pass();
      await workAll(store);
      assert.deepEqual(await sourcesOf(T0, T0 + 2 * DAY, DAY), ['day']);
      assert.deepEqual(await sourcesOf(T0, T0 + 2 * DAY, 2 * HOUR), ['hour']);
      assert.deepEqual(await sourcesOf(T0, T0 + 2 * DAY, 90 * MINUTE), ['minute']);
      assert.deepEqual(await sourcesOf(T0, T0 + 2 * DAY, 90_000_000), ['raw']);
      assert.deepEqual(await sourcesOf(T0 + HOUR, T0 + 2 * DAY - MINUTE, DAY), ['minute', 'hour']);
      assert.deepEqual(await sourcesOf(T0 + 1, T0 + 2 * DAY, DAY), ['raw', 'minute', 'hour', 'day']);
      assert.deepEqual(await sourcesOf(T0, T0 + 2 * DAY + 8, Number.MAX_SAFE_INTEGER), ['raw', 'day']);
    });

    on('read an hour that changed from the readings, until it is computed again', async (store) => {
      const device = freshDevice('changed');
      const rows = [0, 1, 2, 3].map((hour) => reading({ device, time: T0 + hour * HOUR, value: hour }));
      await store.readings.write(rows);
      clock.pass();
      await workAll(store);
      const query = { ...series(device), from: T0, to: T0 + 4 * HOUR, bucket: 4 * HOUR };
      const figures = async () => {
        const { buckets, sources } = await store.readings.aggregate(query);
        return [sources, buckets[0]?.count, buckets[0]?.sum];
      };
      assert.deepEqual(await figures(), [['hour'], 4, 6]);
      await store.readings.write([reading({ device, time: T0 + HOUR, value: 101 })]);
      assert.deepEqual(await figures(), [['raw', 'hour'], 4, 106]);
      // A correction to a text removes the number.
      await store.readings.write([reading({ device, time: T0, value: 'off' })]);
      assert.deepEqual(await figures(), [['raw', 'hour'], 3, 106]);
      clock.pass();
      await workAll(store);
      assert.deepEqual(await figures(), [['hour'], 3, 106]);
    });

    on('wait for the end of an hour, and for writes that can be under way', async (store) => {
      const device = freshDevice('live');
      clock.now = Math.ceil(clock.now / HOUR) * HOUR + 10 * MINUTE;
      await workAll(store);
      const now = clock.now;
      const marks = async () => (await store.rollups.status()).marks;
      const before = await marks();
      for (let minute = 0; minute < 5; minute += 1) {
        clock.now = now + minute * MINUTE;
        await store.readings.write([reading({ device, time: clock.now, value: minute })]);
        await workAll(store);
      }
      assert.equal((await marks()) - before, 1);
      clock.now = now + 51 * MINUTE;
      await workAll(store);
      assert.equal((await marks()) - before, 1);
      clock.now = now + 53 * MINUTE;
      assert.ok((await store.rollups.status()).overdue > 0);
      await workAll(store);
      assert.equal((await marks()) - before, 0);
      const from = now - 10 * MINUTE;
      const { buckets, sources } = await store.readings.aggregate({
        ...series(device),
        from,
        to: from + HOUR,
        bucket: HOUR,
      });
      assert.deepEqual([sources, buckets[0]?.count], [['hour'], 5]);
    });

    on('stay after their readings expired, and late readings do not make them smaller', async (store) => {
      const device = freshDevice('expired');
      const rows = Array.from({ length: 48 }, (_, index) =>
        reading({ device, time: T0 + index * 30 * MINUTE, value: index }),
      );
      await store.readings.write(rows);
      clock.pass();
      await workAll(store);
      await store.readings.expire(T0 + 12 * HOUR + 1);
      await assertAll(store, device, rows);
      // Readings of the last part of the day can still change their hour.
      const changed = reading({ device, time: T0 + 14 * HOUR, value: 1000 });
      await store.readings.write([reading({ device, time: T0 + HOUR, value: -5 }), changed]);
      const after = rows.map((row) => (row.time === changed.time ? changed : row));
      await assertAll(store, device, after);
      clock.pass();
      await workAll(store);
      await assertAll(store, device, after);
      const edge = { ...series(device), from: T0 + 1, to: T0 + DAY, bucket: DAY };
      assert.equal((await store.readings.aggregate(edge)).incompleteBefore, T0 + MINUTE);
    });

    on('count late readings of an hour that had none', async (store) => {
      const device = freshDevice('first');
      await store.readings.expire(T0 + DAY);
      const rows = [1, 2].map((value) => reading({ device, time: T0 + value, value }));
      await store.readings.write(rows);
      clock.pass();
      await workAll(store);
      await assertAll(store, device, rows);
      await store.readings.expire(T0 + DAY);
      await assertAll(store, device, rows);
    });

    on('lose readings that are deleted on request, and keep those that expire', async (store) => {
      const [device, expiring] = [freshDevice('deleted'), freshDevice('expiring')];
      const start = T0 + 5 * DAY;
      const span = { from: start, to: start + 2 * DAY };
      const rowsOf = (name: string) =>
        Array.from({ length: 40 }, (_, index) =>
          reading({ device: name, time: start + index * HOUR + 1, value: index }),
        );
      for (const name of [device, expiring]) await store.readings.write(rowsOf(name));
      clock.pass();
      await workAll(store);
      const assertPeriods = async (name: string, rows: readonly Reading[]) => {
        for (const period of ['minute', 'hour', 'day'] as const) {
          const { rollups } = await store.rollups.read({ ...series(name), period, ...span });
          assertRollups(rollups, rows, period);
        }
      };
      await store.rollups.limitRaw(start + 10 * HOUR, { devices: expiring });
      await store.readings.delete({ device: expiring, to: start + 10 * HOUR, keepRollups: true });
      await assertPeriods(expiring, rowsOf(expiring));
      for (const name of [device, expiring]) {
        await store.readings.delete({ device: name, from: start + 5 * HOUR, to: start + 12 * HOUR });
        const left = rowsOf(name).filter(({ time }) => time < start + 5 * HOUR || time >= start + 12 * HOUR);
        await assertPeriods(name, left);
        clock.pass();
        await workAll(store);
        await assertPeriods(name, left);
      }
      assert.equal((await store.rollups.status()).marks, 0);
    });

    on('expire by period and scope', async (store) => {
      const [kept, gone] = [freshDevice('kept'), freshDevice('gone')];
      const below = `${gone}/part`;
      // Readings of these days are complete, because they are later than those that other tests expired.
      const start = T0 + 2 * DAY;
      for (const device of [kept, gone, below])
        await store.readings.write([reading({ device, time: start, value: 1 })]);
      clock.pass();
      await workAll(store);
      await store.rollups.limitRaw(start + DAY);
      await store.readings.expire(start + DAY);
      assert.equal(await store.rollups.expire('minute', start + HOUR, { devices: gone }), 2);
      assert.equal(await store.rollups.expire('minute', start + HOUR, { devices: gone }), 0);
      for (const [device, minutes] of [
        [kept, 1],
        [gone, 0],
        [below, 0],
      ] as const) {
        const read = (period: RollupPeriod) =>
          store.rollups.read({ ...series(device), period, from: start, to: start + DAY });
        assert.equal((await read('minute')).rollups.length, minutes, device);
        assert.equal((await read('hour')).rollups.length, 1, device);
        assert.equal((await read('minute')).incompleteBefore === null, minutes === 1);
      }
      // A late reading does not bring the minutes back.
      await store.readings.write([reading({ device: gone, time: start + 5, value: 1 })]);
      clock.pass();
      await workAll(store);
      const { rollups } = await store.rollups.read({
        ...series(gone),
        period: 'hour',
        from: start,
        to: start + DAY,
      });
      assert.deepEqual(
        rollups.map(({ count }) => count),
        [1],
      );
    });

    on('equal the readings after any writes, duplicates, corrections and pieces of work', async (store) => {
      const value = fc.oneof(
        { weight: 6, arbitrary: fc.integer({ min: -1000, max: 1000 }) },
        { weight: 2, arbitrary: fc.double({ min: -1e6, max: 1e6, noNaN: true }).map((v) => v + 0) },
        { weight: 1, arbitrary: fc.constant('text') },
      );
      // Few times, so that corrections and duplicates are frequent.
      const time = fc
        .tuple(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 3 }))
        .map(([hour, step]) => T0 + 3 * DAY + hour * HOUR + step * 50_000_000);
      const write = fc.array(fc.record({ time, value }), { minLength: 1, maxLength: 8 });
      const step = fc.oneof(
        { weight: 4, arbitrary: write.map((rows) => ({ kind: 'write', rows }) as const) },
        { weight: 2, arbitrary: fc.constant({ kind: 'work' } as const) },
        { weight: 1, arbitrary: fc.constant({ kind: 'pass' } as const) },
        { weight: 1, arbitrary: fc.constant({ kind: 'reopen' } as const) },
      );
      let current = store;
      const property = fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const device = freshDevice('any');
        const model = new Map<number, Reading>();
        for (const one of steps) {
          if (one.kind === 'write') {
            const rows = one.rows.map((row) => reading({ device, ...row }));
            for (const row of rows) model.set(row.time, row);
            await current.readings.write(rows);
          } else if (one.kind === 'work') await workAll(current);
          else if (one.kind === 'pass') clock.pass();
          else {
            if (current !== store) await current.close();
            current = await open();
          }
          const rows = [...model.values()];
          for (const period of ['minute', 'hour', 'day'] as const) {
            const query = { ...series(device), period, from: T0 + 3 * DAY, to: T0 + 6 * DAY };
            assertRollups((await current.rollups.read(query)).rollups, rows, period);
          }
        }
      });
      try {
        await fc.assert(property, { numRuns: runsOn(target, 15) });
      } finally {
        if (current !== store) await current.close();
      }
    });

    on('equal the readings that were ever counted, after any writes and expiries', async (store) => {
      const time = fc.integer({ min: 0, max: 2 * 24 * 12 }).map((step) => T0 + 7 * DAY + step * 5 * MINUTE);
      const write = fc.array(fc.record({ time, value: fc.integer({ min: -9, max: 9 }) }), {
        minLength: 1,
        maxLength: 20,
      });
      const step = fc.oneof(
        { weight: 3, arbitrary: write.map((rows) => ({ kind: 'write', rows }) as const) },
        { weight: 1, arbitrary: time.map((before) => ({ kind: 'expire', before: before + 1 }) as const) },
      );
      let limit = T0 + 3 * DAY;
      const property = fc.asyncProperty(fc.array(step, { maxLength: 10 }), async (steps) => {
        const device = freshDevice('expiring');
        const model = new Map<number, Reading>();
        for (const one of steps) {
          if (one.kind === 'write') {
            // Late readings count only in hours without any.
            const hours = new Set([...model.keys()].map((at) => Math.floor(at / HOUR)));
            const rows = one.rows.map((row) => reading({ device, ...row }));
            for (const row of rows) {
              const hour = Math.floor(row.time / HOUR);
              if (hour * HOUR >= limit || !hours.has(hour)) model.set(row.time, row);
            }
            await store.readings.write(rows);
          }
          clock.pass();
          await workAll(store);
          if (one.kind === 'expire') {
            limit = Math.max(limit, one.before);
            await store.readings.expire(one.before);
          }
          const rows = [...model.values()];
          for (const period of ['minute', 'hour', 'day'] as const) {
            const query = { ...series(device), period, from: T0 + 7 * DAY, to: T0 + 10 * DAY };
            assertRollups((await store.rollups.read(query)).rollups, rows, period);
          }
        }
      });
      await fc.assert(property, { numRuns: runsOn(target, 10) });
    });

    test('are complete after a process that writes and computes was killed', async (context) => {
      if (!subject.store.capabilities.rollups) return context.skip('the store has no rollups');
      const device = freshDevice('killed');
      for (let round = 0; round < 4; round += 1) {
        await workUntilKilled(subject.place.url, device, round);
        const store = await open();
        try {
          const before = await settled(store, device);
          assert.ok(before.rows.length > 0);
          for (const [period, { rollups }] of before.answers) assertRollups(rollups, before.rows, period);
          clock.now = WORKER_CLOCK + (round + 1) * 100 * DAY;
          await workAll(store);
          const after = await settled(store, device);
          for (const [period, { rollups, sources }] of after.answers) {
            assertRollups(rollups, after.rows, period);
            assert.deepEqual(sources, [period]);
          }
        } finally {
          await store.close();
        }
      }
    });
  });
}

/** Readings and rollups between which no write ended: a server can still commit what the killed process had sent. */
async function settled(store: Store, device: string) {
  for (;;) {
    const rows = await stored(store, device);
    const answers = new Map<RollupPeriod, Awaited<ReturnType<Store['rollups']['read']>>>();
    for (const period of ['minute', 'hour', 'day'] as const) {
      const range = { ...series(device), period, from: WORKER_TIME, to: WORKER_TIME + 4 * DAY };
      answers.set(period, await store.rollups.read(range));
    }
    if (isDeepStrictEqual(await stored(store, device), rows)) return { rows, answers };
  }
}

/** Runs a process that writes and computes, and kills it in its work. */
async function workUntilKilled(url: string, device: string, round: number): Promise<void> {
  let lines = 0;
  const clock = String(WORKER_CLOCK + round * 100 * DAY);
  const worker = startProcess({
    command: process.execPath,
    args: [WORKER, url, device, clock, String(round)],
    stderr: 'inherit',
    onOutput: (text) => {
      lines += text.split('\n').length - 1;
      if (lines > 7 * (round + 1)) void worker.kill();
    },
  });
  const exit = await worker.exited;
  assert.equal(exit.signal, 'SIGKILL', `the worker ended by itself: ${exitText(exit)}`);
}
