import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { ALL_DASHBOARDS } from './dashboards.ts';
import { alertsFile, recordingRulesFile } from './rule-files.ts';
import { ruleTestsFile } from './rule-tests.ts';

/** The text of every file that `npm run dashboards` writes, by its path in the folder `dashboards`. */
export function generated(): ReadonlyMap<string, string> {
  return new Map([
    ['prometheus/rules.yml', recordingRulesFile()],
    ['prometheus/alerts.yml', alertsFile()],
    ['prometheus/alerts.test.yml', ruleTestsFile()],
    ['mixin.libsonnet', mixin()],
    ...ALL_DASHBOARDS.map(entry),
  ]);
}

/** The rules and dashboards in the layout of Prometheus mixins, for those who install them with jsonnet. */
function mixin(): string {
  const dashboards = ALL_DASHBOARDS.map(
    ({ uid }) => `    '${uid}.json': (import 'grafana/dashboards/${uid}.json'),\n`,
  );
  return [
    '// Made by npm run dashboards from dashboards/src; change it there.\n',
    '{\n  grafanaDashboards+:: {\n',
    ...dashboards,
    '  },\n',
    "  prometheusAlerts+:: std.parseYaml(importstr 'prometheus/alerts.yml'),\n",
    "  prometheusRules+:: std.parseYaml(importstr 'prometheus/rules.yml'),\n",
    '}\n',
  ].join('');
}

function entry(dashboard: Dashboard): [string, string] {
  return [`grafana/dashboards/${dashboard.uid}.json`, `${JSON.stringify(dashboard, null, 2)}\n`];
}
