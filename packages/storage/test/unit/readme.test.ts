import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { test } from 'node:test';
import { createStore, optionsOf, STORE_ERROR_CODES, STORE_SCHEMES } from '../../src/index.ts';

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const README = read('README.md');
const PAGES = readdirSync(new URL('../../docs', import.meta.url)).map((file) => basename(file, '.md'));

test('the README lists exactly the error codes, with their meanings', () => {
  const rows = [...README.matchAll(/^\| `([A-Z_]+)` \| (.+) \|$/gm)].map(([, code, meaning]) => [
    code,
    meaning,
  ]);
  assert.deepEqual(rows, Object.entries(STORE_ERROR_CODES));
});

test('the README shows a URL of every scheme', () => {
  for (const scheme of STORE_SCHEMES) assert.match(README, new RegExp(`^\\| .+ \\| \`${scheme}:`, 'm'));
});

for (const page of PAGES) {
  test(`the URLs on the page of ${page} are valid, and one has every option`, async () => {
    const urls = [...read(`docs/${page}.md`).matchAll(/^ {4}STORE='?([^\s']+)'?$/gm)].map(([, url]) => url!);
    assert.ok(urls.length >= 2);
    for (const url of urls) await createStore(url);
    const longest = urls.toSorted((a, b) => b.length - a.length)[0]!;
    const given = [...new URL(longest).searchParams.keys()];
    assert.deepEqual(given.toSorted(), Object.keys(await optionsOf(page)).toSorted());
  });
}
