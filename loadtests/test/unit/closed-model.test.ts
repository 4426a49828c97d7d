import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runClosedModel } from '@tidegauge/loadtests/drivers/closed-model';

test('at a rate, a run ends at its deadline, and not when its threads would have their next turns', async () => {
  const starts: number[] = [];
  const begun = performance.now();
  // Each thread has a turn in five minutes. A busy machine can need half a second to start them.
  const { seconds, started, done } = await runClosedModel(
    async (thread) => {
      starts.push(thread);
      return true;
    },
    { count: Number.POSITIVE_INFINITY, threads: 6000, rate: 20, deadline: begun + 1000 },
  );
  assert.ok(started >= 10 && started <= 22, `${started} operations`);
  assert.equal(done, started);
  assert.deepEqual(
    starts.toSorted((a, b) => a - b),
    starts.map((_, index) => index),
  );
  assert.ok(seconds >= 0.999 && seconds < 30, `${seconds} s`);
});

test('at a rate, a run without a deadline ends with its operations', async () => {
  const { started, seconds } = await runClosedModel(async () => true, { count: 5, threads: 2, rate: 100 });
  assert.equal(started, 5);
  assert.ok(seconds >= 0.039, `${seconds} s`);
});
