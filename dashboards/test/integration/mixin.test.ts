import assert from 'node:assert/strict';
import { join } from 'node:path';
import { buildJsonnet, evaluateJsonnet } from '@tidegauge/lab/jsonnet';
import { testWith } from '@tidegauge/lab/unavailable';
import { alerts } from '../../src/alerts.ts';
import { ALL_DASHBOARDS } from '../../src/dashboards.ts';
import { RECORDING_RULES } from '../../src/recording-rules.ts';

const FOLDER = join(import.meta.dirname, '..', '..');

const test = await testWith('jsonnet', buildJsonnet);

/** The result of an expression in which `mixin` is the mixin. */
const evaluate = (expression: string) =>
  evaluateJsonnet(`local mixin = (import 'mixin.libsonnet'); ${expression}`, FOLDER);

test('jsonnet loads the mixin with every dashboard, alert and recording rule', async () => {
  assert.deepEqual(await evaluate('mixin.grafanaDashboards'), {
    ...Object.fromEntries(
      ALL_DASHBOARDS.map((each) => [`${each.uid}.json`, JSON.parse(JSON.stringify(each))]),
    ),
  });
  assert.deepEqual(
    await evaluate('[rule.alert for group in mixin.prometheusAlerts.groups for rule in group.rules]'),
    alerts().map(({ name }) => name),
  );
  assert.deepEqual(
    await evaluate('[rule.record for group in mixin.prometheusRules.groups for rule in group.rules]'),
    RECORDING_RULES.map(({ record }) => record),
  );
});

test('a mixin that extends it can change a dashboard', async () => {
  const changed =
    "(mixin { grafanaDashboards+:: { 'tidegauge-live.json'+: { refresh: '1m' } } }).grafanaDashboards";
  const live = (await evaluate(`${changed}['tidegauge-live.json']`)) as { refresh: string; uid: string };
  assert.deepEqual([live.uid, live.refresh], ['tidegauge-live', '1m']);
});
