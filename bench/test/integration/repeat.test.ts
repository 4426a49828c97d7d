import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runProgramSync, temporaryDirectory } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/headline.ts', import.meta.url));
const QUICK = ['--quick', '--stores', 'sqlite', '--workloads', 'c', '--threads', '1'];

function bench(...args: string[]) {
  return runProgramSync(process.execPath, [BENCH, ...args], { accept: 'any', timeoutMs: 180_000 });
}

test('--repeat runs a benchmark several times and reports the spread of its figures', (context) => {
  const directory = temporaryDirectory('repeat-test');
  context.after(() => directory.remove());
  const [html, json] = [join(directory.path, 'out.html'), join(directory.path, 'out.json')];
  const { code, stderr } = bench(...QUICK, '--repeat', '3', '--report', html, '--json', json);
  assert.equal(code, 0, stderr);
  const runs = JSON.parse(readFileSync(json, 'utf8'));
  assert.equal(runs.length, 3);
  const text = readFileSync(html, 'utf8');
  const [, embedded] = /id="numbers-json">(.*)<\/script>/.exec(text)!;
  const { numbers, sets } = JSON.parse(embedded!);
  const raw = numbers.filter(
    ({ inputs }: { inputs: { path?: string } }) =>
      inputs.path === 'results[sqlite c].operations.read.mean.value',
  );
  const reads = runs.map(
    ({ results }: { results: { operations: { read: { mean: { value: number } } } }[] }) =>
      results[0]!.operations.read.mean.value,
  );
  assert.deepEqual(
    raw.map(({ value }: { value: number }) => value),
    reads,
  );
  const ids = raw.map(({ id }: { id: string }) => id);
  const [set] = Object.entries(sets).find(([, members]) => String(members) === String(ids))!;
  const mean = numbers.find(
    ({ formula, inputs }: { formula: string; inputs: { of?: string } }) =>
      formula === 'mean' && inputs.of === set,
  );
  const expected = reads.reduce((sum: number, value: number) => sum + value, 0) / 3;
  assert.ok(Math.abs(mean.value - expected) < 1e-9 * expected);
  assert.match(text, /quick results/);
});

test('--report without --repeat and --repeat without a file are refused before anything starts', (context) => {
  const directory = temporaryDirectory('repeat-test');
  context.after(() => directory.remove());
  const html = join(directory.path, 'out.html');
  const alone = bench(...QUICK, '--report', html);
  assert.deepEqual([alone.code, alone.stdout], [2, '']);
  assert.match(alone.stderr, /--report needs several runs: add --repeat 5/);
  const lost = bench(...QUICK, '--repeat', '2');
  assert.equal(lost.code, 2);
  assert.match(lost.stderr, /--repeat keeps no figures: add --report FILE\.html or --json FILE/);
  assert.equal(existsSync(html), false);
});
