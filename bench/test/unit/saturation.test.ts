import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findSaturation, requireShare, type Step } from '@tidegauge/bench/find-saturation';

const SEARCH = { from: 100, to: 10_000, precision: 1.1 };

function step(offered: number, holds: boolean): Step {
  return { offered, achieved: offered, p50Ms: 1, p99Ms: 2, cpu: 0.1, broken: holds ? [] : ['too late'] };
}

/** A service that meets the objective up to a rate, and the rates that were tried. */
function upTo(most: number) {
  const requested: number[] = [];
  const measure = async (rate: number): Promise<Step> => {
    requested.push(rate);
    return step(rate, rate <= most);
  };
  return { requested, measure };
}

test('a rate fails when less than the required share of it was achieved', () => {
  assert.deepEqual(requireShare({ ...step(1000, true), achieved: 891 }, 0.95).broken, [
    '89 % of the rate achieved',
  ]);
  assert.deepEqual(requireShare({ ...step(1000, true), achieved: 951 }, 0.95).broken, []);
  assert.deepEqual(requireShare({ ...step(1000, false), achieved: Number.NaN }, 0.95).broken.length, 2);
});

test('the knee is found with the requested precision', async () => {
  for (const most of [100, 101, 777, 1599, 3200, 9999]) {
    const { knee, beyond } = await findSaturation(SEARCH, upTo(most).measure);
    assert.equal(beyond, false);
    assert.ok(knee!.offered <= most && most < knee!.offered * SEARCH.precision, `${most}: ${knee!.offered}`);
  }
});

test('rates double until one fails twice, and the curve contains all of them, ordered by rate', async () => {
  const { requested, measure } = upTo(500);
  const { curve } = await findSaturation(SEARCH, measure);
  assert.deepEqual(requested.slice(0, 5), [100, 200, 400, 800, 800]);
  assert.deepEqual(
    curve.map(({ offered }) => offered),
    requested.toSorted((a, b) => a - b),
  );
});

test('a knee above the highest rate is reported as beyond it', async () => {
  const { requested, measure } = upTo(Number.POSITIVE_INFINITY);
  const { knee, beyond } = await findSaturation({ ...SEARCH, to: 500 }, measure);
  assert.deepEqual(requested, [100, 200, 400, 500]);
  assert.equal(knee!.offered, 500);
  assert.equal(beyond, true);
});

test('there is no knee when the first rate fails', async () => {
  const { requested, measure } = upTo(50);
  const { knee, beyond } = await findSaturation(SEARCH, measure);
  assert.equal(knee, null);
  assert.equal(beyond, false);
  assert.deepEqual(requested, [100, 100]);
});

test('a rate that fails only once meets the objective', async () => {
  const failing = new Set([200]);
  const measure = async (rate: number) => step(rate, !failing.delete(rate));
  const { knee, curve } = await findSaturation({ ...SEARCH, to: 400 }, measure);
  assert.equal(knee!.offered, 400);
  assert.deepEqual(
    curve.map(({ offered, broken }) => [offered, broken.length]),
    [
      [100, 0],
      [200, 1],
      [200, 0],
      [400, 0],
    ],
  );
});
