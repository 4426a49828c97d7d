import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeCount } from '@tidegauge/bench/timing';

test('each operation runs once, and at most the given number at once', async () => {
  const seen: number[] = [];
  let running = 0;
  let most = 0;
  const timing = await timeCount(20, 4, async (number) => {
    running++;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    seen.push(number);
    running--;
  });
  assert.deepEqual(
    seen.toSorted((a, b) => a - b),
    Array.from({ length: 20 }, (_, index) => index),
  );
  assert.equal(most, 4);
  assert.ok(timing.perSecond > 0 && timing.p50Ms <= timing.p99Ms);
});

test('an operation that fails ends the run', async () => {
  await assert.rejects(
    timeCount(3, 1, async (number) => {
      if (number === 1) throw new Error('second');
    }),
    /second/,
  );
});
