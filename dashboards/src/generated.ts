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
    ...ALL_DASHBOARDS.map(entry),
  ]);
}

function entry(dashboard: Dashboard): [string, string] {
  return [`grafana/dashboards/${dashboard.uid}.json`, `${JSON.stringify(dashboard, null, 2)}\n`];
}
