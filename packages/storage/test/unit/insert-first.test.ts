import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InsertFirst } from '../../src/postgres/insert-first.ts';

/** The number of batches without an attempt before each of the next `attempts`, all of which conflict. */
function skips(policy: InsertFirst, attempts: number): number[] {
  return Array.from({ length: attempts }, () => {
    let skipped = 0;
    while (!policy.tries()) skipped += 1;
    policy.conflicted();
    return skipped;
  });
}

test('conflicts in a row double the batches without an attempt, up to 31', () => {
  assert.deepEqual(skips(new InsertFirst(), 8), [0, 1, 3, 7, 15, 31, 31, 31]);
});

test('a batch that was inserted begins the count again', () => {
  const policy = new InsertFirst();
  skips(policy, 3);
  while (!policy.tries());
  policy.inserted();
  assert.equal(policy.tries(), true);
  assert.deepEqual(skips(policy, 3), [0, 1, 3]);
});
