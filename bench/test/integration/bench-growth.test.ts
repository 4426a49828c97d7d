import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runProgramSync, temporaryDirectory } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/growth.ts', import.meta.url));

test('bench growth --quick compares a store with a small one, and draws it', (t) => {
  const folder = temporaryDirectory('growth');
  t.after(() => folder.remove());
  const [json, picture] = [join(folder.path, 'growth.json'), join(folder.path, 'growth.svg')];
  const args = [BENCH, '--stores', 'sqlite', '--quick', '--json', json, '--picture', picture];
  const { code, stderr } = runProgramSync(process.execPath, args, { accept: 'any', timeoutMs: 300_000 });
  assert.equal(code, 0, stderr);
  const { results } = JSON.parse(readFileSync(json, 'utf8'));
  const [{ store, points }] = results;
  assert.equal(store, 'sqlite');
  assert.equal(points[0].rows, 5000);
  for (const { writeRatio, readRatio, chartMs, chartSources } of points) {
    for (const figure of [writeRatio, readRatio, chartMs]) assert.ok(figure > 0);
    assert.ok(chartSources.length > 0);
  }
  assert.match(readFileSync(picture, 'utf8'), /<desc id="svg-growth-desc">sqlite: with /);
});
