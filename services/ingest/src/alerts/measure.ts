import type { Metrics } from '@tidegauge/service';
import type { Alerts } from './alerts.ts';
import type { EntriesFile } from './entries-file.ts';
import type { AlertRule } from './rule.ts';

/** Registers the metrics of alerts. A device is never a label. Without rules the metrics exist at 0. */
export function measureAlerts(metrics: Metrics, alerts: Alerts, rules: EntriesFile<AlertRule>): void {
  const labels = ['rule', 'severity'];
  const perRule = (pick: 'active' | 'raised') =>
    [...alerts.book.counts()].map((count) => ({
      labels: { rule: count.rule, severity: count.severity },
      value: count[pick],
    }));
  metrics.gauge(
    'tidegauge_alerts_active',
    'Active alerts of sensors, by rule and severity; GET /v1/alerts names the devices',
    () => perRule('active'),
    labels,
  );
  metrics.counter(
    'tidegauge_alerts_raised_total',
    'Alerts of sensors raised, by rule and severity',
    () => perRule('raised'),
    labels,
  );
  metrics.gauge(
    'tidegauge_alerts_unlisted',
    'Active alerts that are counted but not listed, because there are too many',
    () => [{ value: alerts.book.unlisted }],
  );
  metrics.gauge(
    'tidegauge_alerts_evaluating',
    '1 while this process evaluates the alert rules, otherwise 0',
    () => [{ value: alerts.isEvaluating ? 1 : 0 }],
  );
  metrics.gauge(
    'tidegauge_alerts_state_failing',
    '1 while the state of alerts cannot be read from the store or kept there, otherwise 0',
    () => [{ value: alerts.trouble === null ? 0 : 1 }],
  );
  metrics.gauge('tidegauge_alert_series', 'Series with alert rules', () => [{ value: alerts.series }]);
  metrics.gauge('tidegauge_alert_bytes', 'Approximate memory of series with alert rules', () => [
    { value: alerts.bytes },
  ]);
  metrics.counter(
    'tidegauge_alert_dropped_readings_total',
    'Readings that were dropped before the alert rules, because too many waited; the newest of each series is read from the store',
    () => [{ value: alerts.queue.dropped }],
  );
  metrics.counter(
    'tidegauge_alert_unwatched_readings_total',
    'Readings that no alert rule sees, because there are too many series',
    () => [{ value: alerts.unwatched }],
  );
  metrics.gauge(
    'tidegauge_alert_rules_stale',
    '1 while the alert rules in use are not those of their file, because it has a mistake, otherwise 0',
    () => [{ value: rules.trouble === null ? 0 : 1 }],
  );
  metrics.counter(
    'tidegauge_alert_messages_total',
    'Attempts to deliver messages about alerts, by channel and result: sent, failed, or dropped when it is given up',
    () =>
      alerts.channels.flatMap(({ name: channel, counts }) =>
        (['sent', 'failed', 'dropped'] as const).map((result) => ({
          labels: { channel, result },
          value: counts[result],
        })),
      ),
    ['channel', 'result'],
  );
  metrics.gauge(
    'tidegauge_alert_messages_waiting',
    'Messages about alerts that their receiver has not accepted yet',
    () => alerts.channels.map(({ name, waiting }) => ({ labels: { channel: name }, value: waiting })),
    ['channel'],
  );
  metrics.gauge(
    'tidegauge_alert_messages_oldest_seconds',
    'Age of the oldest message about an alert that its receiver has not accepted yet',
    () =>
      alerts.channels.map(({ name, oldestSeconds }) => ({ labels: { channel: name }, value: oldestSeconds })),
    ['channel'],
  );
  metrics.counter(
    'tidegauge_alert_rules_reloads_total',
    'Changed files of alert rules, by result: used, or refused because of a mistake',
    () =>
      (['used', 'refused'] as const).map((result) => ({
        labels: { result },
        value: rules.counts[result],
      })),
    ['result'],
  );
}
