import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { forEach } from '@tidegauge/parallel';

test('every item is done once, in order, and no more than the width at the same time', async () => {
  const started: number[] = [];
  let running = 0;
  let most = 0;
  await forEach([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
    started.push(item);
    running += 1;
    most = Math.max(most, running);
    await turn();
    running -= 1;
  });
  assert.deepEqual(started, [1, 2, 3, 4, 5, 6, 7]);
  assert.equal(most, 3);
});

test('items can come from a generator, and from an asynchronous one', async () => {
  const done: number[] = [];
  const task = async (item: number) => done.push(item);
  const numbers = function* () {
    yield* [1, 2, 3];
  };
  const later = async function* () {
    for (const item of numbers()) {
      await turn();
      yield item + 10;
    }
  };
  await forEach(numbers(), 2, task);
  await forEach(later(), 2, task);
  await forEach([], 2, task);
  assert.deepEqual(done, [1, 2, 3, 11, 12, 13]);
});

test('after a failure no further item starts, and the first failure is thrown when all tasks have ended', async () => {
  const started: number[] = [];
  let ended = 0;
  const failing = forEach([1, 2, 3, 4, 5], 2, async (item) => {
    started.push(item);
    await turn();
    if (item === 1) throw new Error('first');
    await turn();
    ended += 1;
    if (item === 2) throw new Error('second');
  });
  await assert.rejects(failing, { message: 'first' });
  assert.deepEqual(started, [1, 2]);
  assert.equal(ended, 1);
});

test('the failure of the items themselves is thrown', async () => {
  const items = function* () {
    yield 1;
    throw new Error('no more');
  };
  await assert.rejects(
    forEach(items(), 2, async () => {}),
    { message: 'no more' },
  );
});

test('a generator of the items is closed after a failure', async () => {
  let isClosed = false;
  const items = async function* () {
    try {
      yield 1;
      yield 2;
    } finally {
      isClosed = true;
    }
  };
  const failing = forEach(items(), 1, async () => {
    throw new Error('no');
  });
  await assert.rejects(failing, { message: 'no' });
  assert.equal(isClosed, true);
});
