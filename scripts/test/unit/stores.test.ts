import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { test } from 'node:test';
import { ENGINE_PAGES, enginePage, FILE, README, readmePage, storesPage } from '../../stores.ts';

test('docs/stores.md is what npm run docs writes', async () => {
  assert.equal(readFileSync(FILE, 'utf8'), await storesPage());
});

test('the README of the package has the table that npm run docs writes', () => {
  const page = readFileSync(README, 'utf8');
  assert.match(page, /<!-- stores -->\n\| store/);
  assert.equal(page, readmePage());
});

for (const file of ENGINE_PAGES) {
  test(`the options in ${basename(file)} are what npm run docs writes`, async () => {
    const page = readFileSync(file, 'utf8');
    assert.match(page, /<!-- options: \w+ -->\n\| option/);
    assert.equal(page, await enginePage(file));
  });
}
