import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Backoff } from '../../src/backoff.ts';

test('ceilings double up to the cap and start over after a reset', () => {
  const backoff = new Backoff(100, 1000, () => 1);
  const delays = Array.from({ length: 6 }, () => backoff.next());
  assert.deepEqual(delays, [100, 200, 400, 800, 1000, 1000]);
  backoff.reset();
  assert.equal(backoff.next(), 100);
});

test('jitter is full: a delay may have any value from zero to its ceiling', () => {
  const draws = [0, 0.25, 0.5];
  const backoff = new Backoff(100, 1000, () => draws.shift()!);
  assert.deepEqual([backoff.next(), backoff.next(), backoff.next()], [0, 50, 200]);
});

test('the longest delay is never short, and a thousand attempts do not overflow', () => {
  const backoff = new Backoff(100, 1000, () => 0);
  assert.equal(backoff.longest(), 500);
  for (let i = 0; i < 2000; i += 1) assert.ok(Number.isFinite(backoff.next()));
});
