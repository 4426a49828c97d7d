import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { SESSION_ERROR_CODES } from '../../src/index.ts';

test('the README lists every error code with its meaning', async () => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
  for (const [code, { permanent, meaning }] of Object.entries(SESSION_ERROR_CODES)) {
    const row = `| \`${code}\` | ${permanent ? 'yes' : 'no'} | ${meaning} |`;
    assert.ok(readme.includes(row), row);
  }
});
