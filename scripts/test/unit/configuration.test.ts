import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { configurationPage, FILE } from '../../configuration.ts';

test('docs/configuration.md is what the code says (npm run docs)', () => {
  assert.equal(readFileSync(FILE, 'utf8'), configurationPage());
});
