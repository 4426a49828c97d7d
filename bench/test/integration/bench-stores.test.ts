import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runProgramSync } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/stores.ts', import.meta.url));

test('bench stores --quick prints a table per store and writes its figures', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-bench-test-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const json = join(folder, 'stores.json');
  const args = [BENCH, '--stores', 'sqlite', '--quick', '--rounds', '1', '--json', json];
  const { code, stdout, stderr } = runProgramSync(process.execPath, args, { accept: 'any' });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^ {2}readings written .*\n {4}bare driver .*\n {4}ratio \d/m);
  const { results } = JSON.parse(readFileSync(json, 'utf8'));
  const [{ store, operations, write, recordRead }] = results;
  assert.equal(store, 'sqlite');
  assert.ok(write.ratio.median > 0 && recordRead.ratio.median > 0);
  for (const [name, timings] of Object.entries<{ perSecond: number }[]>(operations)) {
    assert.equal(timings.length, 3, name);
    for (const { perSecond } of timings) assert.ok(perSecond > 0, name);
    assert.ok(stdout.includes(name), name);
  }
});
