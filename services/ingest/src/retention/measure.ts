import type { Metrics } from '@tidegauge/service';
import { REASONS, RESULTS, type Retention } from './retention.ts';
import type { RulesFile } from './rules-file.ts';

/** Registers the metrics of retention. */
export function measureRetention(metrics: Metrics, retention: Retention, rules: RulesFile): void {
  metrics.counter(
    'tidegauge_retention_deleted_readings_total',
    'Readings that retention deleted, by reason: age, size of the store, or free disk. Some stores do not count',
    () => REASONS.map((reason) => ({ labels: { reason }, value: retention.deleted[reason] })),
    ['reason'],
  );
  metrics.counter(
    'tidegauge_retention_runs_total',
    'Runs of retention, by result: done, elsewhere (another replica does the work), or failed',
    () => RESULTS.map((result) => ({ labels: { result }, value: retention.runs[result] })),
    ['result'],
  );
  metrics.gauge('tidegauge_retention_last_run_seconds', 'Duration of the last run of retention', () => [
    { value: retention.last?.seconds ?? 0 },
  ]);
  metrics.gauge(
    'tidegauge_retention_rules_stale',
    '1 while the rules in use are not those of the rules file, because it has a mistake, otherwise 0',
    () => [{ value: rules.trouble === null ? 0 : 1 }],
  );
}
