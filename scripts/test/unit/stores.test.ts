import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FILE, storesPage } from '../../stores.ts';

test('docs/stores.md is what the stores say of themselves (npm run docs)', async () => {
  assert.equal(readFileSync(FILE, 'utf8'), await storesPage());
});
