import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pauseAfter } from '../../src/schedule.ts';

test('a schedule tries again soon when the store does not answer, and later when half a backup was made', () => {
  assert.equal(pauseAfter(0), 10_000);
  assert.equal(pauseAfter(5), 10_000);
  assert.equal(pauseAfter(60_000), 180_000);
  assert.equal(pauseAfter(3_600_000), 900_000);
});
