import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Dashboard, Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { alerts } from '../../src/alerts.ts';
import { CONFIG } from '../../src/config.ts';
import { ALL_DASHBOARDS, DASHBOARDS } from '../../src/dashboards.ts';
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

test('every dashboard links to all others', () => {
  for (const { uid, links = [], tags } of ALL_DASHBOARDS) {
    assert.deepEqual(
      links.map((link) => [link.tags, link.keepTime]),
      [[tags, true]],
      uid,
    );
  }
});

/** The units of height of what is open at first. One has 38 pixels. */
const MOST_HEIGHT = 52;

test('no dashboard is longer than 2,000 pixels at first, and each line is full', () => {
  for (const { uid, panels = [] } of DASHBOARDS.map((each) => load(each.uid!))) {
    const linesOf = (row: readonly Panel[]) => [...Map.groupBy(row, ({ gridPos }) => gridPos!.y).values()];
    const open = linesOf(panels.filter((panel): panel is Panel => panel.type !== 'row'));
    const closed = panels.flatMap((panel) => ('panels' in panel ? linesOf(panel.panels) : []));
    const rows = panels.filter(({ type }) => type === 'row').length;
    const height = open.reduce((sum, line) => sum + Math.max(...line.map(({ gridPos }) => gridPos!.h)), rows);
    assert.ok(height <= MOST_HEIGHT, `${uid}: ${height} units`);
    for (const line of [...open, ...closed]) {
      const width = line.reduce((sum, { gridPos }) => sum + gridPos!.w, 0);
      assert.equal(width, 24, `${uid}: ${line.map(({ title }) => title)}`);
    }
  }
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

test('all jobs are those that are listed, not every job of Prometheus or every program on Node.js', () => {
  for (const { uid, templating } of DASHBOARDS) {
    const job = templating.list?.find(({ name }) => name === 'job');
    assert.equal(job?.includeAll, true, uid);
    assert.equal(job?.allValue, undefined, uid);
    assert.doesNotMatch(JSON.stringify(job?.query), /nodejs_|process_/, uid);
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

test('each job of the table of services leads to a dashboard that has panels for it', () => {
  const services = panelsOf(load('tidegauge-overview')).find(({ title }) => title === 'Services')!;
  const [state] = expressionsOf(services);
  const { ingest, api, broker, backup, node, stores } = CONFIG.jobs;
  const led = [...state!.matchAll(/"dashboard", "([\w-]+)", "job", "([^"]+)"/g)].flatMap(([, uid, jobs]) =>
    jobs!.split('|').map((job) => [job, uid!] as const),
  );
  for (const job of [broker, backup, node, ...stores])
    assert.ok(
      led.some(([name]) => name === job),
      job,
    );
  const known = new Map([...led, [ingest, 'tidegauge-ingest'], [api, 'tidegauge-ingest']]);
  const uids = new Set(ALL_DASHBOARDS.map(({ uid }) => uid!));
  for (const [job, uid] of known) assert.ok(uids.has(uid), `${job}: ${uid}`);
  assert.match(JSON.stringify(services.fieldConfig), /\/d\/\$\{__data\.fields\.dashboard\}\?/);
});

test('each threshold of an alert is drawn in a panel', () => {
  const drawn = new Set(
    DASHBOARDS.flatMap(panelsOf).flatMap(({ fieldConfig }) =>
      (fieldConfig?.defaults.thresholds?.steps ?? []).map(({ value }) => value),
    ),
  );
  for (const [name, threshold] of Object.entries(CONFIG.thresholds)) {
    // A panel may show hours.
    assert.ok(drawn.has(threshold) || drawn.has(threshold / 3600), `no panel has the threshold ${name}`);
  }
});

test('alerts and panels use only metrics that a service exports', () => {
  const sources = globSync('{services/*,packages/service,loadtests,experiments}/src/**/*.ts', { cwd: ROOT })
    .map((file) => readFileSync(join(ROOT, file), 'utf8'))
    .join('\n');
  const exported = new Set(
    [...sources.matchAll(/'((?:tidegauge|mosquitto)_\w+)'/g)].map(([, name]) => name!),
  );
  for (const { record } of RECORDING_RULES) exported.add(record);
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
