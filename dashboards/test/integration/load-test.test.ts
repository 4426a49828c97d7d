import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { buildK6 } from '@tidegauge/lab/k6';
import { startPrometheus } from '@tidegauge/lab/prometheus';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { panelQueries, withoutData } from '../alert-watch.ts';
import { drawingFaults, drawingPage, drawModels, shownNow } from '../drawing.ts';

const PROGRAM = fileURLToPath(new URL('../../../loadtests/src/loadtest.ts', import.meta.url));
const RUNS = ['before', 'after'];
/** No reading comes over MQTT, and no experiment runs. */
const EMPTY_PANELS = new Set(['Readings stored', 'Runs of experiments']);
/** Workload A only reads and updates. */
const EMPTY_QUERIES = /k6_op_(insert|scan)/;
const SCRAPE_MS = 500;

interface Figures {
  readonly summary: {
    readonly operations: Readonly<Record<string, { readonly outcomes: { readonly OK: number } }>>;
  };
}

/** Runs a load test to its end, and resolves to its results. */
async function loadtest(context: TestContext, file: string, ...args: string[]): Promise<Figures> {
  const child = spawn(process.execPath, [PROGRAM, ...args, '--json', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, K6_PROMETHEUS_RW_PUSH_INTERVAL: '1s' },
  });
  context.after(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [code] = await once(child, 'close');
  assert.equal(code, 0, said);
  return JSON.parse(await readFile(file, 'utf8')) as Figures;
}

const found = await startOrSkip('k6', () => buildK6());
const skip = 'skip' in found ? found.skip : false;
const libraries = await startOrSkip('grafana-libraries', drawingPage);
const skipDrawing = 'skip' in libraries ? libraries.skip : false;

test('a load test is visible while it runs, and two runs can be compared', { skip }, async (context) => {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-dashboards-test-'));
  context.after(() => rm(directory, { recursive: true }));
  const api = await startApiProcess({ STORE: `sqlite:${join(directory, 'store.db')}` });
  context.after(() => api.stop());
  const targets = { api: [new URL(api.url).host] };
  const prometheus = await startPrometheus({ targets, scrapeMs: SCRAPE_MS });
  context.after(() => prometheus.stop());

  const work = ['records', '--api', api.url, '--workload', 'a', '--records', '500', '--threads', '2'];
  const run = (testid: string) =>
    loadtest(
      context,
      join(directory, `${testid}.json`),
      ...[...work, '--duration', '9s', '--prometheus', prometheus.url, '--testid', testid],
    );
  const first = await run(RUNS[0]!);
  let ended = false;
  const second = run(RUNS[1]!).finally(() => {
    ended = true;
  });
  const queries = panelQueries('10s').filter((query) => query.dashboard === 'tidegauge-load-test');
  const asked = queries.filter(
    ({ panel, expression }) => !EMPTY_PANELS.has(panel) && !EMPTY_QUERIES.test(expression),
  );
  // A query that has returned data once is not repeated: the gauges of a run disappear when it ends.
  let unseen = [...asked];
  while (unseen.length > 0 && !ended) {
    unseen = await withoutData(prometheus, unseen);
    await sleep(200);
  }
  assert.deepEqual(
    unseen.map(({ panel, expression }) => `${panel}: ${expression}`),
    [],
  );
  const figures = [first, await second];

  for (const [index, testid] of RUNS.entries()) {
    const expression = `max(max_over_time(k6_op_read_return_OK_total{testid="${testid}"}[1h]))`;
    const [sample] = await prometheus.query(expression);
    assert.equal(sample?.value, figures[index]!.summary.operations.READ?.outcomes.OK, testid);
    const phases = await prometheus.query(`max_over_time(tidegauge_run_phase{testid="${testid}"}[1h])`);
    assert.deepEqual(phases.map(({ labels }) => labels.phase).toSorted(), ['load', 'run'], testid);
  }
  assert.deepEqual(await prometheus.query('tidegauge_run_phase'), []);

  await context.test('every panel can be read', { skip: skipDrawing }, async () => {
    const view = { prometheus, seconds: 60, scrapeMs: SCRAPE_MS, dashboards: ['tidegauge-load-test'] };
    const panels = await drawModels(await shownNow({ ...view, state: 'load-test' }));
    assert.deepEqual(
      drawingFaults(panels, ({ title }) => EMPTY_PANELS.has(title)),
      [],
    );
    for (const { text } of panels.filter(({ title }) => title === 'Runs'))
      for (const testid of RUNS) assert.ok(text.includes(testid), text);
  });
});
