import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { parse } from 'yaml';
import { alerts } from '../../src/alerts.ts';
import { DASHBOARDS } from '../../src/dashboards.ts';
import { expressionsOf, type Finding, lint, panelsOf } from '../../src/lint.ts';
import { selectorsOf } from '../../src/promql.ts';
import { RECORDING_RULES } from '../../src/recording-rules.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const FOLDER = join(ROOT, 'dashboards', 'grafana', 'dashboards');

interface Exclusions {
  readonly exclusions: Readonly<
    Record<string, { reason: string; entries: readonly { dashboard: string; panel: string }[] }>
  >;
}

const { exclusions } = parse(readFileSync(join(FOLDER, '.lint'), 'utf8')) as Exclusions;
const excused = ({ rule, dashboard, panel }: Finding) =>
  exclusions[rule]?.entries.some((entry) => entry.dashboard === dashboard && entry.panel === panel) === true;

/** A dashboard as Grafana reads it. */
function load(uid: string): Dashboard {
  return JSON.parse(readFileSync(join(FOLDER, `${uid}.json`), 'utf8')) as Dashboard;
}

for (const { uid } of DASHBOARDS) {
  test(`${uid} follows the rules of Grafana's linter, except those in .lint`, () => {
    assert.deepEqual(
      lint(load(uid!)).filter((finding) => !excused(finding)),
      [],
    );
  });

  test(`${uid} has no two panels with the same place or the same title`, () => {
    const panels = panelsOf(load(uid!));
    const places = panels.map(({ gridPos }) => `${gridPos?.x},${gridPos?.y}`);
    assert.equal(new Set(places).size, panels.length);
    assert.equal(new Set(panels.map(({ title }) => title)).size, panels.length);
    for (const { title, gridPos } of panels) assert.ok(gridPos!.x + gridPos!.w <= 24, title);
  });
}

test('each exception in .lint has a reason and is needed', () => {
  const findings = DASHBOARDS.flatMap(lint);
  for (const [rule, { reason, entries }] of Object.entries(exclusions)) {
    assert.match(reason, /\.$/, rule);
    for (const { dashboard, panel } of entries) {
      const needed = findings.some(
        (found) => found.rule === rule && found.dashboard === dashboard && found.panel === panel,
      );
      assert.ok(needed, `${rule} needs no exception for ${dashboard}: ${panel}`);
    }
  }
});

test('each rule reports its fault', () => {
  type Break = (dashboard: Dashboard, panel: ReturnType<typeof panelsOf>[number]) => void;
  const ask =
    (expr: string): Break =>
    (_, panel) =>
      Object.assign(panel.targets![0]!, { expr });
  const variable =
    (name: string, change: object): Break =>
    ({ templating }) =>
      Object.assign(templating.list!.find((each) => each.name === name)!, change);
  const chosen = 'job=~"$job", instance=~"$instance"';
  const breaks: Record<string, Break> = {
    'uneditable-dashboard': (dashboard) => Object.assign(dashboard, { editable: true }),
    'template-datasource-rule': variable('datasource', { label: 'Source' }),
    'template-job-rule': variable('job', { multi: false }),
    'template-instance-rule': variable('instance', { allValue: '.*' }),
    'template-label-promql-rule': variable('backend', { query: 'up' }),
    'template-on-time-change-reload-rule': variable('job', { refresh: 1 }),
    'panel-title-description-rule': (_, panel) => Object.assign(panel, { description: '' }),
    'panel-units-rule': (_, panel) => Object.assign(panel.fieldConfig!.defaults, { unit: '' }),
    'panel-datasource-rule': (_, panel) => Object.assign(panel, { datasource: { uid: 'prometheus' } }),
    'panel-no-targets-rule': (_, panel) => Object.assign(panel, { targets: [] }),
    'target-promql-rule': ask('1'),
    'target-job-rule': ask('up{instance=~"$instance"}'),
    'target-instance-rule': ask('up{job=~"$job"}'),
    'target-rate-interval-rule': ask(`rate(x_total{${chosen}}[5m])`),
    'target-counter-agg-rule': ask(`sum(x_total{${chosen}})`),
  };
  for (const [rule, spoil] of Object.entries(breaks)) {
    const dashboard = load('tidegauge-live');
    spoil(dashboard, panelsOf(dashboard)[0]!);
    const found = lint(dashboard).filter((finding) => !excused(finding));
    assert.deepEqual([...new Set(found.map((finding) => finding.rule))], [rule]);
  }
});

test('alerts and panels use only metrics that a service exports', () => {
  const sources = globSync('{services/*,packages/service}/src/**/*.ts', { cwd: ROOT })
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
