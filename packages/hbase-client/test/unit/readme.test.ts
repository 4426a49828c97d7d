import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { filters, HBASE_ERROR_CODES } from '../../src/index.ts';

const README = await readFile(new URL('../../README.md', import.meta.url), 'utf8');

test('the README lists exactly the error codes, with their meanings', () => {
  const rows = [...README.matchAll(/^\| `([A-Z_]+)` \| (.+) \|$/gm)].map(([, code, meaning]) => [
    code,
    meaning,
  ]);
  assert.deepEqual(rows, Object.entries(HBASE_ERROR_CODES));
});

test('the README names every filter', () => {
  for (const name of Object.keys(filters)) assert.match(README, new RegExp(`\`${name}`), name);
});
