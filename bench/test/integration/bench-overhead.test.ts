import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runProgramSync } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/overhead.ts', import.meta.url));

function bench(...args: string[]) {
  return runProgramSync(process.execPath, [BENCH, ...args], { accept: 'any', timeoutMs: 120_000 });
}

test('bench overhead --quick reports what the application adds, by operation and stage', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-bench-test-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const json = join(folder, 'overhead.json');
  const { code, stdout, stderr } = bench('--quick', '--rounds', '3', '--threads', '2', '--json', json);
  assert.equal(code, 0, stderr);
  const { setup, costs, stages, verified, blocks } = JSON.parse(readFileSync(json, 'utf8'));
  assert.deepEqual([setup.store, setup.threads, setup.blocks, setup.ops], ['sqlite', 2, 3, 250]);
  assert.equal(blocks.length, 3);
  const [read, update] = costs;
  assert.deepEqual([read.operation, update.operation], ['read', 'update']);
  assert.equal(read.operations + update.operations, 750);
  assert.equal(verified, 2 * read.operations);
  for (const { operation, median, mean } of costs) {
    // A request takes longer than a call of SQLite in the same process.
    assert.ok(median.added.mean > 0, operation);
    for (const { raw, app, added } of [median, mean]) {
      assert.ok(raw > 0 && added.low <= added.mean && added.mean <= added.high, operation);
      assert.ok(Math.abs(app - raw - added.mean) < 1e-6, operation);
    }
    const { client, api, store } = stages.find((each: { operation: string }) => each.operation === operation);
    assert.ok(store > 0 && api > 0, operation);
    assert.ok(Math.abs(client + api + store - mean.app) < 1e-6, operation);
  }
  assert.match(stdout, /^ {2}read +\d+ +\d+ +\d+ +-?\d+ \[-?\d+, -?\d+\]/m);
});
