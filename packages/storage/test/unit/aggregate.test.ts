import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Reading, ReadingValue } from '@tidegauge/readings';
import fc from 'fast-check';
import { reading } from '../../conformance/data.ts';
import { addFigures, addValue, BucketFolds, figuresOf, foldOf } from '../../src/aggregate.ts';
import { eachNumber } from '../../src/rollups/numbers.ts';

async function* rows(...values: [time: number, value: ReadingValue][]) {
  for (const [time, value] of values) yield reading({ device: 'd', time, value });
}

/** The buckets of readings, as an engine without aggregates computes them. */
async function foldBuckets(readings: AsyncIterable<Reading>, width: number) {
  const folds = new BucketFolds(width);
  const query = { device: 'd', metric: 'm', from: 0, to: 100 };
  await eachNumber({ range: () => readings }, query, (time, value) => folds.add(time, value));
  return folds.buckets();
}

describe('buckets', () => {
  test('computes numbers per bucket, for any order of readings', async () => {
    assert.deepEqual(await foldBuckets(rows([25, 1], [3, 5], [9, -1], [10, 7], [29, 2]), 10), [
      { time: 0, count: 2, min: -1, max: 5, mean: 2, sum: 4 },
      { time: 10, count: 1, min: 7, max: 7, mean: 7, sum: 7 },
      { time: 20, count: 2, min: 1, max: 2, mean: 1.5, sum: 3 },
    ]);
  });

  test('leaves out texts, and buckets with texts only', async () => {
    const buckets = await foldBuckets(rows([0, 'open'], [1, '7'], [12, 'x'], [13, 4]), 10);
    assert.deepEqual(buckets, [{ time: 10, count: 1, min: 4, max: 4, mean: 4, sum: 4 }]);
    assert.deepEqual(await foldBuckets(rows(), 10), []);
  });

  test('keeps the precision of small numbers with large ones', async () => {
    const [bucket] = await foldBuckets(rows([0, 1e100], [1, 1], [2, -1e100], [3, 1]), 10);
    assert.equal(bucket?.sum, 2);
    assert.equal(bucket?.mean, 0.5);
  });

  test('overflows to infinity, not to NaN', async () => {
    const [bucket] = await foldBuckets(rows([0, 1.7e308], [1, 1.7e308]), 10);
    assert.equal(bucket?.sum, Number.POSITIVE_INFINITY);
  });
});

describe('figures', () => {
  /** The figures of values, as one sum. */
  function figures([first, ...others]: readonly number[]) {
    const fold = foldOf(first!);
    for (const value of others) addValue(fold, value);
    return figuresOf(fold);
  }

  const integers = fc.array(fc.integer(), { minLength: 1, maxLength: 50 });

  test('of parts are those of the whole', () => {
    fc.assert(
      fc.property(integers, fc.array(integers, { maxLength: 10 }), (first, others) => {
        const fold = { ...figures(first), lost: 0 };
        for (const other of others) addFigures(fold, figures(other));
        assert.deepEqual(figuresOf(fold), figures([first, ...others].flat()));
      }),
    );
  });

  test('of parts that are infinite in opposite directions stay infinite', () => {
    const [high, low] = [figures([1.7e308, 1.7e308]), figures([-1.7e308, -1.7e308])];
    const fold = { ...high, lost: 0 };
    addFigures(fold, low);
    assert.deepEqual(figuresOf(fold), {
      ...{ count: 4, min: -1.7e308, max: 1.7e308 },
      ...{ mean: Number.POSITIVE_INFINITY, sum: Number.POSITIVE_INFINITY },
    });
  });
});
