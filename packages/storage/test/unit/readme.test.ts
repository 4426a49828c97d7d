import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { HBASE_OPTIONS } from '../../src/hbase/index.ts';
import { STORE_ERROR_CODES, STORE_SCHEMES } from '../../src/index.ts';
import { MARIADB_OPTIONS } from '../../src/mariadb/index.ts';
import { SQLITE_OPTIONS } from '../../src/sqlite/index.ts';

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

test('the README lists every error code with its meaning, and no other', () => {
  const rows = [...README.matchAll(/^\| `([A-Z_]+)` \| (.+) \|$/gm)].map(([, code, meaning]) => [
    code,
    meaning,
  ]);
  assert.deepEqual(rows, Object.entries(STORE_ERROR_CODES));
});

for (const [engine, options] of Object.entries({
  sqlite: SQLITE_OPTIONS,
  mariadb: MARIADB_OPTIONS,
  hbase: HBASE_OPTIONS,
})) {
  test(`the README lists every option of ${engine} as the code has it`, () => {
    const start = README.indexOf(`Options of \`${engine}\``);
    const section = README.slice(start, README.indexOf('\n## ', start));
    const rows = [...section.matchAll(/^\| `(\w+)` \| (.+?) \| (.+?) \| (.+) \|$/gm)].map((match) =>
      match.slice(1),
    );
    const expected = Object.entries(options).map(([name, option]) => [
      name,
      option.takes,
      String(option.default),
      option.description,
    ]);
    assert.deepEqual(rows, expected);
  });
}

test('the README shows a URL of every scheme', () => {
  for (const scheme of STORE_SCHEMES) assert.match(README, new RegExp(`^ {4}${scheme}:`, 'm'));
});
