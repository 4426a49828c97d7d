import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { alerts } from '../../src/alerts.ts';
import { CONFIG } from '../../src/config.ts';
import { ALL_DASHBOARDS, API_DASHBOARDS, DASHBOARDS } from '../../src/dashboards.ts';
import { selectorsOf } from '../../src/promql.ts';
import { expressionsOf, panelsOf } from '../../src/queries.ts';
import { RECORDING_RULES } from '../../src/recording-rules.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const FOLDER = join(ROOT, 'dashboards', 'grafana', 'dashboards');

/** A dashboard as Grafana reads it. */
function load(uid: string): Dashboard {
  return JSON.parse(readFileSync(join(FOLDER, `${uid}.json`), 'utf8')) as Dashboard;
}

for (const { uid } of ALL_DASHBOARDS) {
  test(`${uid} has no two panels with the same place or the same title`, () => {
    const panels = panelsOf(load(uid!));
    const places = panels.map(({ gridPos }) => `${gridPos?.x},${gridPos?.y}`);
    assert.equal(new Set(places).size, panels.length);
    assert.equal(new Set(panels.map(({ title }) => title)).size, panels.length);
    for (const { title, gridPos } of panels) assert.ok(gridPos!.x + gridPos!.w <= 24, title);
  });
}

test('every dashboard links to all others, and the rows of databases are closed at first', () => {
  for (const { uid, links = [], tags } of ALL_DASHBOARDS) {
    assert.deepEqual(
      links.map((link) => [link.tags, link.keepTime]),
      [[tags, true]],
      uid,
    );
  }
  const rows = (DASHBOARDS.find(({ uid }) => uid === 'tidegauge-store')!.panels ?? []).filter(
    ({ type }) => type === 'row',
  );
  for (const { title, ...row } of rows)
    assert.equal('collapsed' in row && row.collapsed, title !== 'Measured by Tidegauge', title);
});

test('every panel has a title, a description and a query, and every number a unit', () => {
  for (const { uid, panels } of DASHBOARDS.map((each) => ({ uid: each.uid, panels: panelsOf(each) }))) {
    for (const { title, description, targets = [], fieldConfig, type } of panels) {
      const name = `${uid}: ${title}`;
      assert.ok(title && /\.$/.test(description ?? ''), name);
      assert.ok(targets.length > 0, name);
      assert.ok(fieldConfig?.defaults.unit, `${name} (${type}) has no unit`);
    }
  }
});

test('all jobs are those that are listed, not every job of Prometheus', () => {
  for (const { uid, templating } of DASHBOARDS) {
    const job = templating.list?.find(({ name }) => name === 'job');
    assert.equal(job?.includeAll, true, uid);
    assert.equal(job?.allValue, undefined, uid);
  }
});

test('a lasting alert is a line with its name, not a region', () => {
  for (const { uid, annotations } of DASHBOARDS) {
    const alert = annotations?.list?.find(({ name }) => name === 'Alerts') as unknown as {
      readonly useValueForTime: boolean;
      readonly titleFormat: string;
    };
    assert.equal(alert.useValueForTime, true, uid);
    assert.equal(alert.titleFormat, '{{alertname}}', uid);
  }
});

test('the cells of a heat map have another unit than its axis', () => {
  const maps = DASHBOARDS.flatMap(panelsOf).filter(({ type }) => type === 'heatmap');
  assert.ok(maps.length > 5);
  for (const { title, options, fieldConfig } of maps) {
    const { cellValues, yAxis } = options as { cellValues: { unit: string }; yAxis: { unit: string } };
    assert.notEqual(cellValues.unit, yAxis.unit, title);
    assert.equal(fieldConfig?.defaults.unit, cellValues.unit, title);
  }
});

test('rates of the broker cover several of its reports', () => {
  const rates = panelsOf(DASHBOARDS.find(({ uid }) => uid === 'tidegauge-broker')!).filter((panel) =>
    expressionsOf(panel).some((expression) => expression.includes('$__rate_interval')),
  );
  assert.ok(rates.length >= 5);
  for (const { title, interval, targets } of rates) {
    assert.equal(interval, '15s', title);
    for (const target of targets as unknown as readonly { interval?: string }[])
      assert.equal(target.interval, '15s', title);
  }
});

test('PANELS.md has a line for every panel, and no other', () => {
  const text = readFileSync(join(ROOT, 'dashboards', 'PANELS.md'), 'utf8');
  const sections = new Map(
    text
      .split(/^## /m)
      .map((section) => [
        section.slice(0, section.indexOf('\n')),
        [...section.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell]) => cell!).slice(2),
      ]),
  );
  for (const each of [...DASHBOARDS, ...API_DASHBOARDS]) {
    const titles = panelsOf(each).map(({ title }) => title);
    assert.deepEqual(sections.get(each.title!.replace('Tidegauge / ', '')), titles, each.title);
  }
});

test('each threshold of an alert is drawn in a panel', () => {
  const drawn = new Set(
    DASHBOARDS.flatMap(panelsOf).flatMap(({ fieldConfig }) =>
      (fieldConfig?.defaults.thresholds?.steps ?? []).map(({ value }) => value),
    ),
  );
  for (const [name, threshold] of Object.entries(CONFIG.thresholds)) {
    // Panels show seconds.
    const value = name.endsWith('Days') ? threshold * 86_400 : threshold;
    assert.ok(drawn.has(value), `no panel has the threshold ${name}`);
  }
});

test('alerts and panels use only metrics that a service exports', () => {
  const sources = globSync('{services/*,packages/service,loadtests}/src/**/*.ts', { cwd: ROOT })
    .map((file) => readFileSync(join(ROOT, file), 'utf8'))
    .join('\n');
  const exported = new Set(
    [...sources.matchAll(/'((?:tidegauge|mosquitto)_\w+)'/g)].map(([, name]) => name!),
  );
  for (const { record } of RECORDING_RULES) exported.add(record);
  // The bound of ingest's spool comes with the spool; until then there is nothing that fills.
  exported.add('tidegauge_spool_limit_bytes');
  const expressions = [
    ...alerts().map(({ expr }) => expr),
    ...RECORDING_RULES.map(({ expr }) => expr),
    ...DASHBOARDS.flatMap(panelsOf).flatMap(expressionsOf),
  ];
  const requested = expressions.flatMap(selectorsOf).map(({ metric }) => metric);
  const ours = requested.filter((metric) => /tidegauge_|mosquitto_/.test(metric));
  assert.ok(ours.length > 50);
  for (const metric of ours) {
    const name = metric.replace(/_(bucket|count|sum)$/, '');
    assert.ok(exported.has(metric) || exported.has(name), `no service exports ${metric}`);
  }
});

test('selectors are distinguished from functions, grouping and numbers', () => {
  const text =
    'histogram_quantile(0.9, sum by (le) (rate(a_bucket{x=~"}{", y="1"}[5m]))) / on (job) b > bool 1e3';
  assert.deepEqual(selectorsOf(text), [
    { metric: 'a_bucket', matchers: 'x=~"}{", y="1"', within: 'rate', range: '5m' },
    { metric: 'b', matchers: '', within: null, range: null },
  ]);
});
