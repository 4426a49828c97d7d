import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OpenModel } from '@tidegauge/loadtests/operations/plan';
import { constantRate, intendedStarts } from '@tidegauge/loadtests/operations/schedule';

const open = (startRate: number, ...stages: [rate: number, durationMs: number][]): OpenModel => ({
  kind: 'open',
  threads: 1,
  startRate,
  stages: stages.map(([rate, durationMs]) => ({ rate, durationMs })),
});

test('at a constant rate operations are one period of k6 apart, and the first is at the start', () => {
  const starts = intendedStarts(open(200, [200, 1000]));
  assert.deepEqual([0, 1, 10].map(starts), [0, 5, 50]);
  // k6 truncates 333,333.3 ns.
  assert.equal(intendedStarts(open(3000, [3000, 1000]))(3_000_000), 999_999);
});

test('a model is constant only if no stage changes the rate', () => {
  assert.equal(constantRate(open(50, [50, 100], [50, 100])), 50);
  assert.equal(constantRate(open(50, [50, 100], [51, 100])), null);
});

test('on a ramp operation n starts when the integral of the rate is n + 1', () => {
  // Up from 0 to 100/s in 2 s (100 operations), constant for 1 s (100), down to 0 in 1 s (50).
  const starts = intendedStarts(open(0, [100, 2000], [100, 1000], [0, 1000]));
  const near = (n: number, ms: number) => assert.ok(Math.abs(starts(n) - ms) < 1e-3, `${n}: ${starts(n)}`);
  near(0, 200);
  near(99, 2000);
  near(149, 2500);
  near(199, 3000);
  near(249, 4000);
  assert.equal(starts(250), Number.POSITIVE_INFINITY);
});

test('the fraction of an operation at the end of a stage is carried into the next stage', () => {
  // 4.9 s at 2/s are 9.8 operations; the tenth is due 0.2 operations into the second stage.
  const starts = intendedStarts(open(2, [2, 4900], [3, 5000]));
  assert.ok(starts(8) < 4900 && starts(9) > 4900 && starts(9) < 5000);
});
