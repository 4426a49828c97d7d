import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pingsFor } from '../../src/toxiproxy.ts';

const link = (delayMs: number, jitterMs: number) => ({ delayMs, jitterMs, kilobitsPerSecond: null });

test('the mean of the pings of a link has a standard error of at most 5 % of its delay', () => {
  assert.equal(pingsFor(link(3, 2)), 178);
  const ofMean = 2 / Math.sqrt(pingsFor(link(3, 2)));
  assert.ok(ofMean <= 0.05 * 3, `${ofMean} ms`);
});

test('pings of a link without jitter are few, and those of a slow one take five seconds at most', () => {
  assert.equal(pingsFor(link(0, 0)), 21);
  assert.equal(pingsFor(link(20, 0)), 21);
  assert.equal(pingsFor(link(100, 100)), 50);
  assert.equal(pingsFor(link(400, 400)), 21);
});
