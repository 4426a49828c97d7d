import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { countRuns, History } from '@tidegauge/experiments/archive/history';
import { verifyManifest } from '@tidegauge/experiments/archive/manifest';
import { readEntries, readPlan } from '@tidegauge/experiments/archive/results';
import type { RunDocument } from '@tidegauge/experiments/model';
import { startPostgres } from '@tidegauge/lab/postgres';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { type RunningProcess, startProcess } from '@tidegauge/process';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const KILLS = 3;
const STEP_MS = 120_000;
const TRIALS = 2;
// A start completes one series at most before it is killed, so there must be more series than kills.
const WORKLOADS = ['a', 'c'];

// JSON is YAML too.
const STUDY = {
  study: 'kill',
  title: 'A study whose runner is killed',
  hard: { store: ['sqlite', 'postgres'] },
  easy: { workload: WORKLOADS, driver: ['raw', 'app'] },
  fixed: { records: 200, operations: 300 },
  repeat: { deployments: 1, trials: TRIALS, warmup: 1 },
  // Load on this machine must not add repetitions.
  valid: { foreignCpu: null, clockStep: null, swap: null },
  figures: ['bars'],
};

test('kill -9 of the runner at random moments, on real servers', {
  timeout: 900_000,
}, async (context: TestContext) => {
  const postgres = await startOrSkip('postgres', startPostgres);
  if ('skip' in postgres) return context.skip(postgres.skip);
  await postgres.server.stop();
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-study-kill-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'kill.yml');
  const results = join(folder, 'results');
  writeFileSync(file, JSON.stringify(STUDY));
  const start = (): RunningProcess =>
    startProcess({ command: process.execPath, args: [MAIN, 'run', file, '--results', results] });
  const started = (): number =>
    readEntriesSafely(results).filter(({ event }) => event === 'run-started').length;

  for (let kill = 1; kill <= KILLS; kill += 1) {
    const before = started();
    // A series has six runs, two of them to warm up. Some kills are in a series, and some are while servers start or stop.
    const after = 1 + Math.floor(Math.random() * 7);
    const runner = start();
    for (const deadline = Date.now() + STEP_MS; started() < before + after && runner.running; ) {
      assert.ok(Date.now() < deadline, `no progress: ${runner.log()}`);
      await delay(20);
    }
    await delay(Math.random() * 1000);
    assert.ok(runner.running, `the study ended before kill ${kill}: ${runner.log()}`);
    await runner.kill();
    context.diagnostic(
      `killed at run ${started()}, after the entry ${readEntriesSafely(results).at(-1)?.event ?? 'none'}`,
    );
  }
  const last = start();
  const { code } = await last.exited;
  assert.equal(code, 0, last.log());

  const plan = readPlan(results);
  const entries = readEntries(results);
  const history = new History(entries);
  const planned = 2 * WORKLOADS.length * TRIALS * 2;
  assert.deepEqual(countRuns(plan, history), { planned, done: planned, invalid: [] });
  const counted = new Set<string>();
  for (const { id, drivers, trials } of plan.deployments.flatMap(({ series }) => series)) {
    const documents = history
      .runsOf(id)
      .map(
        ({ run }) => JSON.parse(readFileSync(join(results, 'runs', `${run}.json`), 'utf8')) as RunDocument,
      );
    // New servers have their warm-up three times.
    const valid = documents.filter(({ valid, warmup, attempt }) => (warmup ? attempt === 1 : valid));
    for (const { driver, trial } of valid) counted.add(`${id} ${driver} ${trial}`);
    assert.equal(valid.length, drivers.length * trials, `${id} has each run once`);
    // All runs of a series are on one load of one deployment.
    assert.equal(
      new Set(documents.map((each) => `${each.seriesAttempt} ${each.deploymentAttempt}`)).size,
      1,
      id,
    );
  }
  assert.equal(counted.size, planned);
  // Nothing half is left, and what does not count is in the journal.
  assert.deepEqual(
    readdirSync(join(results, 'runs')).filter((name) => name.endsWith('.part')),
    [],
  );
  assert.deepEqual(await verifyManifest(results), []);
  const opened = entries.filter(({ event }) => event === 'opened').length;
  assert.ok(opened <= KILLS + 1 && opened >= 2, `${opened}`);
});

test('SIGINT stops a study in an orderly way, and it continues later', {
  timeout: 300_000,
}, async (context: TestContext) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-study-stop-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'stop.yml');
  const results = join(folder, 'results');
  writeFileSync(
    file,
    JSON.stringify({ ...STUDY, study: 'stop', hard: { store: ['sqlite'] }, easy: { workload: ['a'] } }),
  );
  const start = (): RunningProcess =>
    startProcess({
      command: process.execPath,
      args: [MAIN, 'run', file, '--results', results],
      stopSignal: 'SIGINT',
    });
  const stopped = start();
  for (const deadline = Date.now() + STEP_MS; ; ) {
    const runs = readEntriesSafely(results).filter(({ event }) => event === 'run-ended');
    if (runs.length > 1) break;
    assert.ok(Date.now() < deadline && stopped.running, stopped.log());
    await delay(10);
  }
  const { code } = await stopped.stop();
  assert.equal(code, 1, stopped.log());
  assert.match(stopped.log(), /run it again with --results .*\ninterrupted\n$/);
  const last = readEntries(results).at(-1);
  assert.deepEqual(last?.event === 'closed' && last.complete, false);
  assert.equal(
    new History(readEntries(results)).openAttempt(readPlan(results).deployments[0]!.series[0]!.id),
    null,
  );
  const again = start();
  assert.equal((await again.exited).code, 0, again.log());
  assert.equal(countRuns(readPlan(results), new History(readEntries(results))).done, 2 * TRIALS);
});

/** The entries, or none while the directory does not exist. */
function readEntriesSafely(directory: string) {
  try {
    return readEntries(directory);
  } catch {
    return [];
  }
}
