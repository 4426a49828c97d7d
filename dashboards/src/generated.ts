import { BOARDS } from './boards.ts';
import { alertsFile, recordingRulesFile } from './rule-files.ts';
import { ruleTestsFile } from './rule-tests.ts';

/** Every file that is made here and kept beside its source: its path in this folder, and its text. */
export function generated(): ReadonlyMap<string, string> {
  return new Map([
    ['prometheus/rules.yml', recordingRulesFile()],
    ['prometheus/alerts.yml', alertsFile()],
    ['prometheus/alerts.test.yml', ruleTestsFile()],
    ...BOARDS.map((board): [string, string] => [`grafana/dashboards/${board.uid}.json`, json(board)]),
  ]);
}

function json(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
