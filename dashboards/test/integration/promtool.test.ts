import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { findProgram } from '@tidegauge/lab';
import { startOrSkip } from '@tidegauge/lab/unavailable';

import { DASHBOARDS } from '../../src/dashboards.ts';
import { newlyMissing } from '../../src/panels.ts';
import { eventsIn } from '../../src/promql.ts';
import { expressionsOf, panelsOf, withEverythingChosen } from '../../src/queries.ts';

const run = promisify(execFile);
const FOLDER = join(import.meta.dirname, '..', '..', 'prometheus');

const found = await startOrSkip('prometheus', () => findProgram('promtool', 'prometheus'));
const skip = 'skip' in found ? found.skip : false;
const promtool = (...args: string[]) =>
  run('server' in found ? found.server : 'promtool', args, { cwd: FOLDER, timeout: 300_000 });

test('Prometheus accepts the configuration and the rules', { skip }, async (context) => {
  // promtool requires the files of credentials, which only the stack has.
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-promtool-test-'));
  context.after(() => rm(directory, { recursive: true }));
  await cp(FOLDER, directory, { recursive: true });
  await writeFile(join(directory, 'metrics_token'), 'secret');
  const file = join(directory, 'prometheus.yml');
  const config = await readFile(file, 'utf8');
  await writeFile(file, config.replace('/run/secrets/metrics_token', 'metrics_token'));
  const { stdout } = await promtool('check', 'config', '--lint=all', '--lint-fatal', file);
  assert.match(stdout, /prometheus\.yml is valid/);
  assert.match(stdout, /2 rule files found/);
});

test('every alert fires in its time, clears, and does not fire at its limit', { skip }, async () => {
  const { stdout } = await promtool('test', 'rules', 'alerts.test.yml');
  assert.match(stdout, /SUCCESS/);
});

test('every query of every panel is valid PromQL', { skip }, async (context) => {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-promtool-test-'));
  context.after(() => rm(directory, { recursive: true }));
  const expressions = DASHBOARDS.flatMap(panelsOf).flatMap(expressionsOf);
  const rules = expressions.map((expr, index) => ({
    record: `panel:query:${index}`,
    expr: withEverythingChosen(expr, '20s'),
  }));
  const file = join(directory, 'panels.json');
  await writeFile(file, JSON.stringify({ groups: [{ name: 'panels', rules }] }));
  const { stdout } = await promtool('check', 'rules', file);
  assert.match(stdout, new RegExp(`SUCCESS: ${expressions.length} rules found`));
});

/** Runs promtool's test of expressions on series with a sample every 15 s: values by time, by expression. */
async function evaluates(
  context: TestContext,
  series: Readonly<Record<string, string>>,
  expected: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, number>>>>>>,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-promtool-test-'));
  context.after(() => rm(directory, { recursive: true }));
  const asked = Object.entries(expected).flatMap(([expr, times]) =>
    Object.entries(times).map(([eval_time, samples]) => ({
      expr: withEverythingChosen(expr, '1m'),
      eval_time,
      exp_samples: Object.entries(samples).map(([labels, value]) => ({ labels, value })),
    })),
  );
  const input = Object.entries(series).map(([name, values]) => ({ series: name, values }));
  const tests = [{ interval: '15s', input_series: input, promql_expr_test: asked }];
  const file = join(directory, 'test.json');
  await writeFile(file, JSON.stringify({ rule_files: [], evaluation_interval: '15s', tests }));
  await promtool('test', 'rules', file);
}

test('events are whole numbers, with first values and restarts, and without those of an unreachable process', {
  skip,
}, async (context) => {
  const of = (instance: string, metric = 'x_total') => `${metric}{job="j",instance="${instance}"}`;
  const by = (values: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [`{instance="${name}"}`, value]));
  await evaluates(
    context,
    {
      [of('grows')]: '0x10 3x60',
      // A series of a label, at a process that was scraped before.
      [of('first', 'up')]: '1x70',
      [of('first')]: '_x11 2x60',
      [of('starts', 'process_start_time_seconds')]: '_x11 160x60',
      [of('starts')]: '_x11 4x60',
      [of('restarts')]: '5x10 1x60',
      [of('unreachable', 'up')]: '1x11 0x39 1x20',
      [of('unreachable', 'process_start_time_seconds')]: '-9000x11 stale _x38 -9000x20',
      [of('unreachable')]: '7x11 stale _x38 7x20',
    },
    {
      [`sum by (instance) (${eventsIn('x_total', 'job="j"')})`]: {
        '180s': by({ grows: 3, first: 2, starts: 4, restarts: 1 }),
        '780s': by({ grows: 0, first: 0, starts: 0, restarts: 0, unreachable: 0 }),
      },
    },
  );
});

test('what is missing is red for two to 15 minutes, not when it is late, and not when ingest is dead', {
  skip,
}, async (context) => {
  const series = (values: string) => `{job="ingest",instance="${values}"}`;
  const of = (instance: string, missing: string, up = '1x200') => ({
    [`up${series(instance)}`]: up,
    [`tidegauge_ledger_missing_readings${series(instance)}`]: missing,
  });
  const asked = newlyMissing();
  await evaluates(context, of('a', '3x9 8x150'), {
    [asked]: { '3m': { '{}': 0 }, '6m': { '{}': 5 }, '20m': { '{}': 0 } },
  });
  await evaluates(context, of('a', '0x9 5x4 0x150'), { [asked]: { '3m': { '{}': 0 }, '6m': { '{}': 0 } } });
  await evaluates(context, of('a', '0x9 5x20 stale', '1x29 0x100'), {
    [asked]: { '7m': { '{}': 5 }, '8m': {} },
  });
});

test('a job whose only process has left the list of targets is down', { skip }, async (context) => {
  const of = (title: string) =>
    expressionsOf(DASHBOARDS.flatMap(panelsOf).find((panel) => panel.title === title)!)[0]!;
  const series = {
    'up{job="api",instance="a"}': '1x80',
    'up{job="ingest",instance="i"}': '1x20 stale',
  };
  const rows = (ingest: number) => ({
    '{dashboard="tidegauge-ingest", job="api"}': 1,
    '{dashboard="tidegauge-ingest", job="ingest"}': ingest,
  });
  await evaluates(context, series, {
    [of('Processes')]: { '4m': { '{}': 1 }, '10m': { '{}': 0 } },
    [of('Services')]: { '4m': rows(1), '10m': rows(0) },
  });
});

test('Alertmanager accepts the example, and the configuration of the stack', async (context) => {
  const amtool = await startOrSkip('alertmanager', () => findProgram('amtool', 'prometheus-alertmanager'));
  if ('skip' in amtool) return context.skip(amtool.skip);
  const files = ['alertmanager.yml', '../../stacks/monitoring/alertmanager.yml'];
  const { stdout } = await run(amtool.server, ['check-config', ...files], { cwd: FOLDER, timeout: 30_000 });
  assert.equal(stdout.match(/SUCCESS/g)?.length, files.length, stdout);
});
