import { BOARDS, SQL_BOARDS } from './boards.ts';
import { alertsFile, recordingRulesFile } from './rule-files.ts';
import { ruleTestsFile } from './rule-tests.ts';
import { stackFiles } from './stack-configs.ts';

/** Every file that is made here and kept beside its source: its path in this folder, and its text. */
export function generated(): ReadonlyMap<string, string> {
  const made = new Map([
    ['prometheus/rules.yml', recordingRulesFile()],
    ['prometheus/alerts.yml', alertsFile()],
    ['prometheus/alerts.test.yml', ruleTestsFile()],
    ...BOARDS.map((board): [string, string] => [`grafana/dashboards/${board.uid}.json`, json(board)]),
    ...SQL_BOARDS.map((board): [string, string] => [`grafana/postgres/${board.uid}.json`, json(board)]),
  ]);
  return new Map([...made, ...stackFiles(made)]);
}

function json(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
