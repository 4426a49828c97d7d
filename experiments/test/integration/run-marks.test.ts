import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openResults } from '@tidegauge/experiments/archive/results';
import { runStudy } from '@tidegauge/experiments/runner';
import { startPrometheus } from '@tidegauge/lab/prometheus';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { remoteWrite } from '@tidegauge/loadtests/results/remote-write';
import { RunMarks } from '@tidegauge/loadtests/results/run-marks';
import { freePort, waitUntil } from '@tidegauge/process';
import { SmallPlace, smallPlan, smallRound } from '../study/small-study.ts';

const found = await startOrSkip('prometheus', () => startPrometheus({ targets: {} }));
const skip = 'skip' in found ? found.skip : false;

test('Prometheus has the phases and the figures of an experiment', { skip }, async (context) => {
  const { server: prometheus } = found as Extract<typeof found, { server: object }>;
  context.after(() => prometheus.stop());
  const directory = mkdtempSync(join(tmpdir(), 'tidegauge-run-marks-'));
  context.after(() => rmSync(directory, { recursive: true }));
  const plan = smallPlan({ deployments: 1, series: 1, trials: 2, warmup: 1, drivers: ['raw'] });
  const lines: string[] = [];
  const marks = new RunMarks(prometheus.url, (line) => lines.push(line));
  const options = { source: '', force: false, needBytes: 0, say: () => {} };
  const results = await openResults(join(directory, 'results'), plan, { machine: 'a' }, options);
  const seen = new Set<string>();
  // The run does not wait until Prometheus has its phase.
  const look = async () => {
    const phases = await prometheus.query('tidegauge_run_phase');
    for (const { labels } of phases) seen.add(`${labels.phase}: ${labels.testid}`);
    return phases.length > 0;
  };
  const openRound = smallRound(async () => {
    await waitUntil('Prometheus has the phase', look, { timeoutMs: 10_000 });
    return true;
  });
  const given = { results, openRound, marks, estimateSeconds: 1, force: false, say: () => {} };
  const signal = new AbortController().signal;
  await runStudy({ ...given, place: new SmallPlace(), signal });
  results.close();

  const [run, ...warmUps] = ['2-raw-1', '1-raw-1', '1-raw-2', '1-raw-3'].map(
    (name) => `small store=sqlite1 threads=1 d1s1-1-${name}`,
  );
  const marked = warmUps.map((name) => `warm-up: ${name}`);
  assert.deepEqual([...seen], [...marked, `run: ${run}`]);
  const phases = await prometheus.query('max_over_time(tidegauge_run_phase[5m])');
  assert.deepEqual(phases.map(({ labels }) => `${labels.phase}: ${labels.testid}`).toSorted(), [
    'deploy: small store=sqlite1 d1',
    'load: small store=sqlite1 threads=1 d1s1',
    `run: ${run}`,
    ...marked,
  ]);
  // Each phase has ended.
  assert.deepEqual(await prometheus.query('tidegauge_run_phase'), []);
  for (const [figure, value] of [
    ['operations', 10],
    ['valid', 1],
  ] as const) {
    const found = await prometheus.query(`tidegauge_run_${figure}`);
    assert.deepEqual(
      found.map(({ labels, value }) => [labels.testid, value]).toSorted(),
      [...warmUps, run].map((testid) => [testid, value]),
    );
  }
  const rates = await prometheus.query(
    'tidegauge_run_operations_per_second * tidegauge_run_duration_seconds',
  );
  for (const { value } of rates) assert.ok(Math.abs(value - 10) < 1e-6);
  assert.equal(rates.length, 1 + warmUps.length);
  assert.deepEqual(lines, []);

  // Long messages need more than one literal of Snappy.
  const time = Date.now();
  const long = Array.from({ length: 2000 }, (_, index) => ({
    labels: { __name__: 'long', number: String(index), text: 'ü'.repeat(50) },
    value: index / 3,
    time,
  }));
  await remoteWrite(`${prometheus.url}/`, long);
  const [sum] = await prometheus.query('sum(long)');
  assert.ok(Math.abs(sum!.value - (1999 * 2000) / 6) < 1e-6);
  await assert.rejects(
    remoteWrite(prometheus.url, [{ ...long[0]!, time: time - 1000 }]),
    /Prometheus refused samples with 400: .*out of order/,
  );
});

test('a Prometheus that does not answer is reported once, and the run continues', async () => {
  const lines: string[] = [];
  const marks = new RunMarks(`http://127.0.0.1:${await freePort()}`, (line) => lines.push(line));
  assert.equal(await marks.during('run', 'a', async () => 7), 7);
  await marks.result('a', { operations: 1, seconds: 1, valid: true });
  assert.equal(lines.length, 1);
  assert.match(
    lines[0]!,
    /lacks phases of this run: cannot write to Prometheus at .*no program listens there/,
  );
});
