import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runProgramSync, temporaryDirectory } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/sizes.ts', import.meta.url));

test('bench sizes --quick stores real and simulated readings, and blocks take less space than rows', (t) => {
  const folder = temporaryDirectory('sizes-test');
  t.after(() => folder.remove());
  const json = join(folder.path, 'sizes.json');
  const { code, stderr } = runProgramSync(process.execPath, [BENCH, '--quick', '--json', json], {
    accept: 'any',
    timeoutMs: 240_000,
  });
  assert.equal(code, 0, stderr);
  const { results } = JSON.parse(readFileSync(json, 'utf8'));
  assert.equal(results.length, 10);
  for (const { data, readings, sizes } of results) {
    assert.ok(readings > 4000, data);
    const { rowBytes, blockBytes, blockReadings } = sizes.sqlite.sqlite;
    assert.ok(blockReadings > 0, data);
    assert.ok(blockBytes / blockReadings < rowBytes / readings / 2, data);
    assert.ok(sizes.parquet.bytes > 0, data);
  }
});
