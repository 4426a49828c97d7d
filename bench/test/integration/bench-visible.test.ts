import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startMosquitto } from '@tidegauge/lab';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgramSync } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/visible.ts', import.meta.url));
const broker = await startOrSkip('mosquitto', startMosquitto);
const skip = 'skip' in broker ? broker.skip : false;
if (!('skip' in broker)) await broker.server.stop();

function bench(...args: string[]) {
  return runProgramSync(process.execPath, [BENCH, ...args], { accept: 'any', timeoutMs: 120_000 });
}

test('bench visible --quick sees every reading that was published', { skip }, (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-bench-test-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const json = join(folder, 'visible.json');
  const { code, stdout, stderr } = bench('--quick', '--json', json);
  assert.equal(code, 0, stderr);
  const [{ store, published, seen, p50Ms, p95Ms, p99Ms, readMs, rawMs, addedMs, stagesMs }] = JSON.parse(
    readFileSync(json, 'utf8'),
  ).results;
  assert.deepEqual([store, published, seen], ['sqlite', 20, 20]);
  assert.ok(0 < readMs && readMs <= p99Ms);
  assert.ok(0 < rawMs && addedMs.low < addedMs.mean && addedMs.mean < addedMs.high);
  assert.ok(0 < p50Ms && p50Ms <= p95Ms && p95Ms <= p99Ms);
  assert.deepEqual(Object.keys(stagesMs), ['travel', 'queue', 'store', 'ack', 'end_to_end']);
  for (const [stage, millis] of Object.entries<number>(stagesMs)) assert.ok(millis >= 0, stage);
  assert.match(stdout, /^ {2}sqlite +20\/20 +\d/m);
});

const MISTAKES: readonly (readonly [what: string, args: string[], line: RegExp])[] = [
  ['nodes that a store does not have', ['--nodes', '1,3'], /^--nodes 3: sqlite runs here as 1 at most$/m],
  ['an option that a store does not know', ['--options', 'write=ONE'], /write/],
];

for (const [what, args, line] of MISTAKES) {
  test(`bench visible answers ${what} with one line`, () => {
    const { code, stdout, stderr } = bench(...args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, line);
    assert.equal(stderr.trimEnd().split('\n').length, 1);
    assert.equal(stdout, '');
  });
}
