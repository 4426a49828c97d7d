import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_TIME, type Reading } from '@tidegauge/readings';
import fc from 'fast-check';
import type { DeleteQuery } from '../src/index.ts';
import { StoreError } from '../src/index.ts';
import { freshDevice, reading, rejection, series, stored, T0 } from './data.ts';
import { runsOn, type StoreTarget, useStore } from './target.ts';

const SECOND = 1_000_000;
const DAY = 86_400 * SECOND;

function isCounted(deleted: number | null, expected: number): void {
  assert.ok(deleted === null || deleted === expected, `${deleted} deleted, ${expected} expected`);
}

export function readingsDelete(target: StoreTarget): void {
  describe('readings.delete', () => {
    const subject = useStore(target);

    test('deletes the readings of a range of times, and no others', async () => {
      const [device, other, below] = [freshDevice(), freshDevice(), freshDevice()];
      const { readings } = subject.store;
      for (const each of [device, other, `${device}/below`, below]) await readings.write(series(each, 20));
      isCounted(await readings.delete({ device, from: T0 + 5 * SECOND, to: T0 + 9 * SECOND }), 4);
      const left = series(device, 20);
      left.splice(5, 4);
      assert.deepEqual(await stored(subject.store, device), left);
      for (const each of [other, `${device}/below`])
        assert.deepEqual(await stored(subject.store, each), series(each, 20));
      isCounted(await readings.delete({ device, to: T0 + 2 * SECOND }), 2);
      isCounted(await readings.delete({ device, from: T0 + 18 * SECOND }), 2);
      assert.deepEqual(await stored(subject.store, device), left.slice(2, -2));
      assert.deepEqual(await readings.latest([device]), left.slice(-3, -2));
    });

    test('deletes one metric, or all of them', async () => {
      const device = freshDevice();
      const { readings } = subject.store;
      await readings.write([...series(device, 10), ...series(device, 10, 'humidity')]);
      isCounted(await readings.delete({ device, metric: 'humidity', from: T0 + SECOND }), 9);
      assert.deepEqual(await stored(subject.store, device, { metric: 'temperature' }), series(device, 10));
      assert.deepEqual(
        await stored(subject.store, device, { metric: 'humidity' }),
        series(device, 1, 'humidity'),
      );
      isCounted(await readings.delete({ device }), 11);
      assert.deepEqual(await stored(subject.store, device), []);
      assert.deepEqual(await readings.latest([device]), []);
    });

    test('deletes over the borders of days', async () => {
      const device = freshDevice();
      const { readings } = subject.store;
      const days = Array.from({ length: 40 }, (_, index) =>
        reading({ device, time: T0 + (index * DAY) / 4, value: index }),
      );
      await readings.write(days);
      isCounted(await readings.delete({ device, from: days[3]!.time, to: days[35]!.time }), 32);
      assert.deepEqual(await stored(subject.store, device), [...days.slice(0, 3), ...days.slice(35)]);
    });

    test('deletes nothing of an unknown device, an unknown metric or an empty range', async () => {
      const device = freshDevice();
      const { readings } = subject.store;
      await readings.write(series(device, 5));
      isCounted(await readings.delete({ device: freshDevice() }), 0);
      isCounted(await readings.delete({ device, metric: 'unknown' }), 0);
      isCounted(await readings.delete({ device, from: T0 + 3 * SECOND, to: T0 + 3 * SECOND }), 0);
      isCounted(await readings.delete({ device, from: T0 + 4 * SECOND, to: T0 }), 0);
      isCounted(await readings.delete({ device, from: -DAY, to: -1 }), 0);
      isCounted(await readings.delete({ device, from: MAX_TIME }), 0);
      assert.deepEqual(await stored(subject.store, device), series(device, 5));
    });

    test('accepts the same and other readings of a deleted range', async () => {
      const device = freshDevice();
      const { readings } = subject.store;
      const given = series(device, 10);
      await readings.write(given);
      await readings.delete({ device, from: T0 + 4 * SECOND });
      const { stored: count } = await readings.write(given);
      assert.equal(count, subject.store.capabilities.countsDuplicates ? 6 : 10);
      assert.deepEqual(await stored(subject.store, device), given);
      const corrected = given.map((each) => ({ ...each, value: 'again' }));
      await readings.delete({ device });
      await readings.write(corrected);
      assert.deepEqual(await stored(subject.store, device), corrected);
    });

    test('deletes in parts, between which the caller can wait or end the call', async () => {
      const [device, live] = [freshDevice(), freshDevice('live')];
      const { readings } = subject.store;
      const given = ['a', 'b', 'c'].flatMap((metric, day) =>
        series(device, 6000, metric).map((each) => ({ ...each, time: each.time + day * DAY })),
      );
      for (let start = 0; start < given.length; start += 5000)
        await readings.write(given.slice(start, start + 5000));
      let parts = 0;
      const pace = async () => {
        parts += 1;
        const part = parts;
        await readings.write([{ ...series(live, 1)[0]!, time: T0 + part }]);
        if (part === 2) throw new StoreError('CLOSED', 'enough');
      };
      await rejection(readings.delete({ device }, pace), 'CLOSED');
      assert.ok(parts >= 2);
      const left = await stored(subject.store, device);
      assert.ok(left.length < given.length, 'the first part stays deleted');
      isCounted(await readings.delete({ device }), left.length);
      assert.deepEqual(await stored(subject.store, device), []);
      assert.equal((await stored(subject.store, live)).length, parts);
    });

    test('leaves what a list without these readings has, after any writes and deletions', async () => {
      const times = fc.integer({ min: 0, max: 12 }).map((hours) => T0 + hours * 3600 * SECOND * 5);
      const metric = fc.constantFrom('a', 'b');
      const step = fc.oneof(
        fc.array(fc.record({ metric, time: times, value: fc.integer() }), { minLength: 1, maxLength: 20 }),
        fc.record({ metric, from: times, to: times }, { requiredKeys: [] }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
          const device = freshDevice();
          const model = new Map<string, Reading>();
          for (const each of steps) {
            if (Array.isArray(each)) {
              const batch = each.map((fields) => reading({ device, ...fields }));
              await subject.store.readings.write(batch);
              for (const one of batch) model.set(`${one.time} ${one.metric}`, one);
              continue;
            }
            await subject.store.readings.delete({ device, ...each });
            for (const [key, one] of model) if (isIn(one, each)) model.delete(key);
          }
          const expected = [...model.values()].sort(
            (a, b) => a.time - b.time || (a.metric < b.metric ? -1 : 1),
          );
          assert.deepEqual(await stored(subject.store, device), expected);
        }),
        { numRuns: runsOn(target, 15) },
      );
    });
  });
}

function isIn(
  { metric, time }: Reading,
  { metric: only = metric, from = 0, to = MAX_TIME + 1 }: Omit<DeleteQuery, 'device'>,
): boolean {
  return metric === only && time >= from && time < to;
}
