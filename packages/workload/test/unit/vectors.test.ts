import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FILE, vectors } from '../vectors.ts';

test('the recorded vectors are those of this implementation', () => {
  const recorded: unknown = JSON.parse(readFileSync(FILE, 'utf8'));
  assert.deepEqual(recorded, vectors(), 'write them again: node packages/workload/test/vectors.ts');
});
