import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimate, studentQuantile, studentTail } from '@tidegauge/loadtests/results/student';

/** Values of published tables: 97.5 %, then 99.5 %. */
const TABLE: readonly (readonly [degrees: number, q975: number, q995: number])[] = [
  [1, 12.706, 63.657],
  [2, 4.303, 9.925],
  [3, 3.182, 5.841],
  [4, 2.776, 4.604],
  [5, 2.571, 4.032],
  [10, 2.228, 3.169],
  [29, 2.045, 2.756],
  [30, 2.042, 2.75],
  [120, 1.98, 2.617],
];

test('quantiles are those of published tables', () => {
  for (const [degrees, q975, q995] of TABLE) {
    assert.ok(Math.abs(studentQuantile(0.975, degrees) - q975) < 6e-4, `${degrees}`);
    assert.ok(Math.abs(studentQuantile(0.995, degrees) - q995) < 6e-4, `${degrees}`);
  }
});

test('a quantile is where the tail begins', () => {
  for (const degrees of [1, 2, 7, 8, 999]) {
    for (const p of [0.6, 0.9, 0.999])
      assert.ok(Math.abs(studentTail(studentQuantile(p, degrees), degrees) - (1 - p)) < 1e-12);
  }
});

test('an estimate is the mean with its 95 % interval', () => {
  // Three values with a standard deviation of 1: 4.303 / sqrt(3) on each side.
  const { mean, low, high } = estimate([1, 2, 3]);
  assert.equal(mean, 2);
  assert.ok(Math.abs(high - 2 - 2.4843) < 1e-3);
  assert.ok(Math.abs(2 - low - 2.4843) < 1e-3);
});

test('the interval is zero for equal values, and infinite for one value', () => {
  assert.deepEqual(estimate([5, 5, 5]), { mean: 5, low: 5, high: 5 });
  assert.deepEqual(estimate([5]), { mean: 5, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY });
});
