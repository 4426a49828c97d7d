import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { STORE_ERROR_CODES, STORE_SCHEMES } from '../../src/index.ts';
import { SQLITE_OPTIONS } from '../../src/sqlite/index.ts';

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

test('the README lists every error code with its meaning, and no other', () => {
  const rows = [...README.matchAll(/^\| `([A-Z_]+)` \| (.+) \|$/gm)].map(([, code, meaning]) => [
    code,
    meaning,
  ]);
  assert.deepEqual(rows, Object.entries(STORE_ERROR_CODES));
});

test('the README lists every option of sqlite as the code has it', () => {
  const section = README.slice(README.indexOf('Options of `sqlite`'), README.indexOf('## Errors'));
  const rows = [...section.matchAll(/^\| `(\w+)` \| (.+?) \| (.+?) \| (.+) \|$/gm)].map((match) =>
    match.slice(1),
  );
  const options = Object.entries(SQLITE_OPTIONS).map(([name, option]) => [
    name,
    option.takes,
    String(option.default),
    option.description,
  ]);
  assert.deepEqual(rows, options);
});

test('the README shows a URL of every scheme', () => {
  for (const scheme of STORE_SCHEMES) assert.match(README, new RegExp(`^ {4}${scheme}:`, 'm'));
});
