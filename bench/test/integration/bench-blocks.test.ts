import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runProgramSync, temporaryDirectory } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/blocks.ts', import.meta.url));

test('bench blocks --quick compares rows with blocks, which take less space', (t) => {
  const folder = temporaryDirectory('blocks');
  t.after(() => folder.remove());
  const json = join(folder.path, 'blocks.json');
  const { code, stderr } = runProgramSync(process.execPath, [BENCH, '--quick', '--json', json], {
    accept: 'any',
    timeoutMs: 120_000,
  });
  assert.equal(code, 0, stderr);
  const { results } = JSON.parse(readFileSync(json, 'utf8'));
  assert.ok(results.length > 0);
  for (const { bytes, rows, blocks } of results) {
    assert.ok(bytes.blocks < bytes.rows);
    for (const side of [rows, blocks]) assert.ok(side.page > 0 && side.aggregate > 0);
  }
});
