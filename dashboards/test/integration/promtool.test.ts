import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { findProgram } from '@tidegauge/lab';
import { startOrSkip } from '@tidegauge/lab/unavailable';

import { DASHBOARDS } from '../../src/dashboards.ts';
import { expressionsOf, panelsOf, withEverythingChosen } from '../../src/queries.ts';

const run = promisify(execFile);
const FOLDER = join(import.meta.dirname, '..', '..', 'prometheus');

const found = await startOrSkip('prometheus', () => findProgram('promtool', 'prometheus'));
const skip = 'skip' in found ? found.skip : false;
const promtool = (...args: string[]) =>
  run('server' in found ? found.server : 'promtool', args, { cwd: FOLDER, timeout: 120_000 });

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

test('Alertmanager accepts the example, and the configuration of the stack', async (context) => {
  const amtool = await startOrSkip('alertmanager', () => findProgram('amtool', 'prometheus-alertmanager'));
  if ('skip' in amtool) return context.skip(amtool.skip);
  const files = ['alertmanager.yml', '../../stacks/monitoring/alertmanager.yml'];
  const { stdout } = await run(amtool.server, ['check-config', ...files], { cwd: FOLDER, timeout: 30_000 });
  assert.equal(stdout.match(/SUCCESS/g)?.length, files.length, stdout);
});
