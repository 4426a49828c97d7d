import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketAt, columnsOf, extentOf, gapOf, partsOf } from '../../public/columns.js';

const bucket = (time: number, length: number, mean: number, spread = 0) => ({
  time,
  end: time + length,
  min: mean - spread,
  max: mean + spread,
  mean,
});

test('a peak of one reading is in its column, and columns without readings are empty', () => {
  const buckets = [bucket(0, 10, 5), bucket(10, 10, 5, 95), bucket(80, 10, 7)];
  const { low, high } = columnsOf(buckets, 0, 100, 10);
  assert.deepEqual([...low.slice(0, 3)], [5, -90, Number.NaN]);
  assert.deepEqual([...high.slice(0, 3)], [5, 100, Number.NaN]);
  assert.deepEqual(extentOf({ low, high }), [-90, 100]);
  assert.equal(extentOf(columnsOf([], 0, 100, 10)), null);
  // Many buckets in a column, and a bucket in many columns.
  assert.deepEqual([...columnsOf(buckets, 0, 100, 1).high], [100]);
  assert.deepEqual([...columnsOf([bucket(-50, 300, 4)], 0, 100, 4).low], [4, 4, 4, 4]);
});

test('a pause of more than four usual intervals is a gap, also for a slow sensor', () => {
  const every = (length: number, count: number, from = 0) =>
    Array.from({ length: count }, (_, n) => bucket(from + n * length, 1000, n));
  for (const length of [1000, 1_800_000]) {
    const whole = [...every(length, 20), ...every(length, 20, 23 * length)];
    assert.equal(partsOf(whole, gapOf(whole)).length, 1);
    const broken = [...every(length, 20), ...every(length, 20, 25 * length)];
    const parts = partsOf(broken, gapOf(broken));
    assert.deepEqual(
      parts.map((part: unknown[]) => part.length),
      [20, 20],
    );
    assert.deepEqual(parts[0]![0], [500, 0], 'the middle of the bucket, and its mean');
  }
  assert.deepEqual(partsOf([], gapOf([])), []);
  assert.equal(partsOf([bucket(0, 1000, 1)], gapOf([bucket(0, 1000, 1)])).length, 1);
});

test('a mean that is no number breaks nothing', () => {
  const buckets = [bucket(0, 1000, 1), { ...bucket(1000, 1000, 0), mean: null }, bucket(2000, 1000, 2)];
  assert.deepEqual(partsOf(buckets, 4000), [
    [
      [500, 1],
      [2500, 2],
    ],
  ]);
});

test('the value at a time is that of the nearest bucket, and none in a gap', () => {
  const buckets = [bucket(0, 1000, 1), bucket(1000, 1000, 2), bucket(60_000, 1000, 3)];
  const at = (time: number) => bucketAt(buckets, time, 4000)?.mean ?? null;
  assert.deepEqual([0, 999, 1000, 2500, 30_000, 59_000, 60_500, 99_000].map(at), [
    1,
    1,
    2,
    2,
    null,
    3,
    3,
    null,
  ]);
  assert.equal(bucketAt([], 5, 4000), null);
});
