import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { startPostgres } from '@tidegauge/lab/postgres';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { type ProgramResult, runProgram } from '@tidegauge/process';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const TIMEOUT_MS = 900_000;
/** As many as the letters of groups need. */
const TRIALS = 5;

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-study-'));
after(() => rmSync(folder, { recursive: true }));

const postgres = await startOrSkip('postgres', startPostgres);
if ('server' in postgres) await postgres.server.stop();
const STORES = 'server' in postgres ? ['sqlite', 'postgres'] : ['sqlite'];

// JSON is YAML too. The rules about other processes only measure: tests run side by side.
const STUDY = {
  study: 'end-to-end',
  question: 'Does an experiment work from its file to its report?',
  hard: { store: STORES },
  easy: { workload: 'a', driver: ['raw', 'app'] },
  fixed: { records: 500, operations: 500, threads: 2 },
  repeat: { deployments: 1, trials: TRIALS, warmup: 1 },
  valid: { foreignCpu: null, clockStep: null, swap: null },
  // A report draws for most of its time, and is written three times.
  figures: ['bars', 'drivers'],
};

function study(...args: readonly string[]): Promise<ProgramResult> {
  return runProgram(process.execPath, [MAIN, ...args], { accept: 'any', timeoutMs: TIMEOUT_MS });
}

test('an experiment runs from its file to its report, whose numbers can be recomputed', {
  timeout: TIMEOUT_MS,
}, async () => {
  const file = join(folder, 'study.yml');
  const results = join(folder, 'results');
  writeFileSync(file, JSON.stringify(STUDY));
  const plan = await study('plan', file);
  assert.match(
    plan.stdout,
    new RegExp(`^end-to-end: .*\n${STORES.length * 2 * TRIALS} runs in ${STORES.length} `),
  );
  const { code, stdout, stderr } = await study('run', file, '--results', results);
  assert.equal(code, 0, stderr);
  const page = join(results, 'report', 'report.html');
  assert.equal(stdout.trim(), page);
  const html = readFileSync(page, 'utf8');
  for (const expected of [STUDY.question, ...STORES]) assert.ok(html.includes(expected), expected);
  assert.match(stderr, /overhead between the runs of a series: median/);

  const status = await study('status', results, '--verify');
  assert.equal(status.code, 0, status.stdout);
  assert.match(status.stdout, /\nstate: complete\n(.*\n)*all files are as in the manifest\n$/);

  // A complete study starts nothing, and writes its report again.
  const again = await study('run', file, '--results', results);
  assert.equal(again.code, 0, again.stderr);
  assert.doesNotMatch(again.stderr, /^deployment /m);

  const recompute = () =>
    runProgram('python3', [join(results, 'report', 'recompute.py'), results], { accept: 'any' });
  const agreed = await recompute();
  assert.equal(agreed.code, 0, agreed.stdout + agreed.stderr);
  assert.match(agreed.stdout, /\d+ numbers recomputed, 0 differences/);
  const csv = readdirSync(join(results, 'runs')).findLast((name) => name.endsWith('.csv.gz'))!;
  changeOneLatency(join(results, 'runs', csv));
  assert.equal((await recompute()).code, 1);
  const changed = await study('status', results, '--verify');
  assert.equal(changed.code, 1);
  assert.ok(changed.stdout.includes(`runs/${csv} has changed`), changed.stdout);
});

test('rerun repeats the plan of earlier results, and compare states what differs', {
  timeout: TIMEOUT_MS,
}, async () => {
  const file = join(folder, 'short.yml');
  const [first, second] = [join(folder, 'first'), join(folder, 'second')];
  writeFileSync(
    file,
    JSON.stringify({
      ...STUDY,
      study: 'short',
      hard: { store: ['sqlite'] },
      easy: { workload: 'c', driver: 'raw' },
      repeat: { deployments: 1, trials: 2, warmup: 0 },
    }),
  );
  const run = await study('run', file, '--results', first);
  assert.equal(run.code, 0, run.stderr);
  const same = await study('rerun', first, '--results', first);
  assert.equal(same.code, 2);
  const rerun = await study('rerun', first, '--results', second);
  assert.equal(rerun.code, 0, rerun.stderr);
  assert.match(rerun.stderr, /^versions and machine are as in the earlier results$/m);
  const names = (directory: string): readonly string[] => readdirSync(join(directory, 'runs')).toSorted();
  assert.deepEqual(names(second), names(first));
  assert.equal(existsSync(join(second, 'report', 'report.html')), true);
  const compared = await study('compare', first, second);
  assert.equal(compared.code, 0, compared.stderr);
  assert.match(compared.stdout, /comparable/);
});

/** Makes the latency of the first operation of a run one second longer. */
function changeOneLatency(path: string): void {
  const lines = gunzipSync(readFileSync(path)).toString().split('\n');
  const [start, operation, latency, ...rest] = lines[1]!.split(',');
  lines[1] = [start, operation, Number(latency) + 1_000_000, ...rest].join(',');
  writeFileSync(path, gzipSync(lines.join('\n')));
}
