import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { test } from 'node:test';
import { presetNames } from '@tidegauge/readings';
import { SENDER_PAGES, senderPage } from '../../senders.ts';

for (const file of SENDER_PAGES) {
  test(`the examples and tables of docs/senders/${basename(file)} are what npm run docs writes`, () => {
    assert.equal(readFileSync(file, 'utf8'), senderPage(file));
  });
}

test('every preset has a page', () => {
  const pages = SENDER_PAGES.map((file) => basename(file, '.md'));
  assert.deepEqual(
    presetNames.filter((name) => !pages.includes(name)),
    [],
  );
});
