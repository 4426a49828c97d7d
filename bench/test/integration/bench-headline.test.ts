import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runProgramSync } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/headline.ts', import.meta.url));

function bench(...args: string[]) {
  return runProgramSync(process.execPath, [BENCH, '--quick', ...args], {
    accept: 'any',
    timeoutMs: 120_000,
  });
}

test('bench headline --quick reports what the application adds, with what each operation uses', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-bench-test-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const [json, csv] = [join(folder, 'headline.json'), join(folder, 'headline.csv')];
  const args = ['--stores', 'sqlite', '--workloads', 'f,g', '--threads', '1,4'];
  const { code, stdout, stderr } = bench(...args, '--json', json, '--csv', csv);
  assert.equal(code, 0, stderr);
  const { results, verified } = JSON.parse(readFileSync(json, 'utf8'));
  assert.deepEqual(
    results.map(({ workload, threads }: { workload: string; threads: number }) => [workload, threads]),
    [
      ['f', 1],
      ['f', 4],
      ['g', 1],
      ['g', 4],
    ],
  );
  assert.ok(verified > 0);
  const [first] = results;
  assert.deepEqual(Object.keys(first.operations).toSorted(), ['read', 'readModifyWrite', 'update']);
  // A request takes longer than a call of SQLite in the same process.
  assert.ok(first.operations.read.median.value > 0);
  const { raw, app } = first.demand;
  assert.deepEqual([raw.cpuMicros.api, raw.cpuMicros.store, app.cpuMicros.store], [null, null, null]);
  assert.ok(app.bytes.api > 0);
  // A short run may use less than one step of the kernel's figure.
  assert.ok(results.some(({ demand }: { demand: typeof first.demand }) => demand.app.cpuMicros.api > 0));
  // Half of the operations are a read and an update, so calls are 1.5 on average.
  for (const { storeCalls } of [raw, app]) assert.ok(storeCalls > 1.2 && storeCalls < 1.8, `${storeCalls}`);
  assert.match(stdout, /^\| sqlite \| 4 \| /m);
  assert.match(readFileSync(csv, 'utf8'), /^sqlite,g,1,insert,\d+,/m);
});
