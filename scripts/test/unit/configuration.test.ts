import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { configurationPage, FILE } from '../../configuration.ts';

test('docs/configuration.md is what npm run docs writes', async () => {
  assert.equal(readFileSync(FILE, 'utf8'), await configurationPage());
});
