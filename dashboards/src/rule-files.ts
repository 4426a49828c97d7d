import { stringify } from 'yaml';
import { alerts } from './alerts.ts';
import { CONFIG, type WatchConfig } from './config.ts';
import { runbookPath } from './dashboards/runbooks.ts';
import { RECORDING_RULES } from './recording-rules.ts';

const HEAD = '# Made by npm run dashboards from dashboards/src; change it there.\n';

/** Text of the file of recording rules. */
export function recordingRulesFile(): string {
  return yaml({ groups: [{ name: 'tidegauge.rules', rules: RECORDING_RULES }] });
}

/** Text of the file of alerts. */
export function alertsFile(config: WatchConfig = CONFIG): string {
  const rules = alerts(config).map(({ name, severity, expr, forSeconds, summary, description }) => ({
    alert: name,
    expr,
    // 0 is the default.
    ...(forSeconds === 0 ? {} : { for: `${Math.ceil(forSeconds * config.patience)}s` }),
    labels: { severity },
    annotations: { summary, description, runbook_url: runbookOf(name, config) },
  }));
  return yaml({ groups: [{ name: 'tidegauge.alerts', rules }] });
}

function runbookOf(name: string, { runbooks, grafana }: WatchConfig): string {
  return runbooks === null ? grafana + runbookPath(name) : `${runbooks}/${name}.md`;
}

export function yaml(document: object): string {
  return HEAD + stringify(document, { lineWidth: 0 });
}
