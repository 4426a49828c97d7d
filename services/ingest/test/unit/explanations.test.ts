import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Problem } from '@tidegauge/service';
import { Explanations } from '../../src/explanations.ts';

const isProblem = (status: number) => (error: unknown) =>
  error instanceof Problem && error.details.status === status && error.details.retryAfter === 1;

test('explanations of clients take turns, with a rest after each, and a failure ends none of the others', async () => {
  const rests: number[] = [];
  let go = () => {};
  const explanations = new Explanations({
    rest: (milliseconds) => {
      rests.push(milliseconds);
      return new Promise<void>((resolve) => {
        go = resolve;
      });
    },
  });
  const order: string[] = [];
  const run = (client: string, name: string) => explanations.run(client, () => order.push(name));
  const all = [run('a', 'a1'), run('a', 'a2'), run('a', 'a3'), run('b', 'b1')];
  const failed = explanations.run('c', () => {
    throw new Error('no');
  });
  const reason = assert.rejects(failed, /no/);
  assert.deepEqual(order, ['a1'], 'the others wait until the rest is over');
  for (let turn = 0; turn < 5; turn++) {
    go();
    await setImmediate();
  }
  await Promise.all([...all, reason]);
  assert.deepEqual(order, ['a1', 'a2', 'b1', 'a3']);
  assert.ok(rests.length >= 5 && rests.every((rest) => rest >= 0));
});

test('one client has a bounded number of places, and all have too', () => {
  const explanations = new Explanations({ clientMost: 2, most: 3 });
  const leave = explanations.enter('a');
  explanations.enter('a');
  assert.throws(() => explanations.enter('a'), isProblem(429));
  explanations.enter('b');
  assert.throws(() => explanations.enter('c'), isProblem(503));
  leave();
  leave();
  explanations.enter('c');
  assert.throws(() => explanations.enter('b'), isProblem(503), 'a place is given back once');
});
