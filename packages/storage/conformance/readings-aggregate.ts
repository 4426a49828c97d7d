import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Bucket } from '../src/index.ts';
import { freshDevice, reading, T0 } from './data.ts';
import { runsOn, type StoreTarget, useStore } from './target.ts';

const MINUTE = 60_000_000;

/** The simplest definition of an aggregate. */
function expected(rows: readonly { time: number; value: number | string }[], bucket: number): Bucket[] {
  const groups = Map.groupBy(rows, ({ time }) => Math.floor(time / bucket) * bucket);
  const buckets: Bucket[] = [];
  for (const [time, group] of [...groups].sort(([a], [b]) => a - b)) {
    const values = group.flatMap(({ value }) => (typeof value === 'number' ? [value] : []));
    if (values.length === 0) continue;
    const sum = values.reduce((total, value) => total + value, 0);
    const [min, max] = [Math.min(...values), Math.max(...values)];
    buckets.push({ time, count: values.length, min, max, mean: sum / values.length, sum });
  }
  return buckets;
}

function assertBuckets(actual: readonly Bucket[], wanted: readonly Bucket[]): void {
  // Adding 0 turns -0 into 0: engines differ in which of the two is the smaller.
  const exact = ({ time, count, min, max }: Bucket) => ({ time, count, min: min + 0, max: max + 0 });
  assert.deepEqual(actual.map(exact), wanted.map(exact));
  for (const [index, { min, max, count, mean, sum }] of wanted.entries()) {
    // Engines add in different orders.
    const tolerance = 1e-12 * count * Math.max(Math.abs(min), Math.abs(max), 1);
    assert.ok(Math.abs(actual[index]!.sum - sum) <= tolerance, `sum ${actual[index]!.sum} is not ${sum}`);
    assert.ok(
      Math.abs(actual[index]!.mean - mean) <= tolerance,
      `mean ${actual[index]!.mean} is not ${mean}`,
    );
  }
}

export function readingsAggregate(target: StoreTarget): void {
  describe('readings.aggregate', () => {
    const subject = useStore(target);

    test('counts, bounds, averages and sums per bucket aligned to the epoch', async () => {
      const device = freshDevice();
      const values = [4, -2, 10, 7.5];
      const batch = values.map((value, index) =>
        reading({ device, time: T0 - MINUTE / 2 + index * 20_000_000, value }),
      );
      await subject.store.readings.write(batch);
      const query = { device, metric: 'temperature', from: T0 - MINUTE, to: T0 + MINUTE, bucket: MINUTE };
      assert.deepEqual((await subject.store.readings.aggregate(query)).buckets, [
        { time: T0 - MINUTE, count: 2, min: -2, max: 4, mean: 1, sum: 2 },
        { time: T0, count: 2, min: 7.5, max: 10, mean: 8.75, sum: 17.5 },
      ]);
    });

    test('counts -0 as a number', async () => {
      const device = freshDevice();
      await subject.store.readings.write([
        reading({ device, value: -0 }),
        reading({ device, time: T0 + 1, value: 0 }),
      ]);
      const query = { device, metric: 'temperature', from: T0, to: T0 + 2, bucket: 1 };
      const { buckets } = await subject.store.readings.aggregate(query);
      const zero = { count: 1, min: 0, max: 0, mean: 0, sum: 0 };
      assertBuckets(buckets, [
        { time: T0, ...zero },
        { time: T0 + 1, ...zero },
      ]);
    });

    test('includes from and excludes to, also within a bucket', async () => {
      const device = freshDevice();
      const batch = [0, 1, 2, 3].map((value) => reading({ device, time: T0 + value, value }));
      await subject.store.readings.write(batch);
      const query = { device, metric: 'temperature', from: T0 + 1, to: T0 + 3, bucket: MINUTE };
      assert.deepEqual((await subject.store.readings.aggregate(query)).buckets, [
        { time: T0, count: 2, min: 1, max: 2, mean: 1.5, sum: 3 },
      ]);
    });

    test('leaves out texts, empty buckets and other metrics', async () => {
      const device = freshDevice();
      await subject.store.readings.write([
        reading({ device, value: 'open' }),
        reading({ device, time: T0 + 1, value: '17' }),
        reading({ device, time: T0 + 3 * MINUTE, value: 5 }),
        reading({ device, time: T0 + 3 * MINUTE, metric: 'humidity', value: 900 }),
      ]);
      const query = { device, metric: 'temperature', from: T0, to: T0 + 10 * MINUTE, bucket: MINUTE };
      assert.deepEqual((await subject.store.readings.aggregate(query)).buckets, [
        { time: T0 + 3 * MINUTE, count: 1, min: 5, max: 5, mean: 5, sum: 5 },
      ]);
    });

    test('is empty without readings', async () => {
      const device = freshDevice();
      const query = { device, metric: 'temperature', from: T0, to: T0 + MINUTE, bucket: MINUTE };
      assert.deepEqual((await subject.store.readings.aggregate(query)).buckets, []);
      await subject.store.readings.write([reading({ device })]);
      assert.deepEqual((await subject.store.readings.aggregate({ ...query, to: T0 })).buckets, []);
    });

    test('counts a correction once, with its new value', async () => {
      const device = freshDevice();
      await subject.store.readings.write([reading({ device, value: 1 })]);
      await subject.store.readings.write([reading({ device, value: 2 })]);
      const query = { device, metric: 'temperature', from: T0, to: T0 + 1, bucket: 1 };
      const [bucket] = (await subject.store.readings.aggregate(query)).buckets;
      assert.deepEqual(bucket, { time: T0, count: 1, min: 2, max: 2, mean: 2, sum: 2 });
    });

    test('agrees with a simple computation for any readings and buckets', async () => {
      const value = fc.oneof(
        fc.integer({ min: -1000, max: 1000 }),
        fc.double({ min: -1e6, max: 1e6, noNaN: true }),
      );
      const row = fc.record({
        time: fc.integer({ min: T0, max: T0 + 100_000 }),
        value: fc.oneof({ weight: 9, arbitrary: value }, { weight: 1, arbitrary: fc.constant('text') }),
      });
      const rows = fc.uniqueArray(row, { selector: ({ time }) => time, maxLength: 60 });
      const property = fc.asyncProperty(rows, fc.integer({ min: 7, max: 50_000 }), async (some, bucket) => {
        const device = freshDevice('fold');
        await subject.store.readings.write(some.map((one) => reading({ device, ...one })));
        const query = { device, metric: 'temperature', from: T0, to: T0 + 90_000, bucket };
        const within = some.filter(({ time }) => time < query.to);
        assertBuckets((await subject.store.readings.aggregate(query)).buckets, expected(within, bucket));
      });
      await fc.assert(property, { numRuns: runsOn(target, 25) });
    });

    test('refuses too many buckets', async () => {
      const query = { device: freshDevice(), metric: 'temperature', from: 0, to: 100_001, bucket: 1 };
      await assert.rejects(subject.store.readings.aggregate(query), TypeError);
      await assert.rejects(subject.store.readings.aggregate({ ...query, bucket: 0 }), TypeError);
    });
  });
}
