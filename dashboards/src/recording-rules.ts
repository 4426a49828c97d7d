export interface RecordingRule {
  readonly record: string;
  readonly expr: string;
}

/**
 * Expressions that dashboards and alerts use often. Names are `level:metric:operations`, and the level lists the
 * remaining labels. Ratios are computed from rates, so that the restart of a process does not distort them.
 */
export const RECORDING_RULES: readonly RecordingRule[] = [
  { record: 'job:up:sum', expr: 'sum by (job) (up)' },
  {
    record: 'job:tidegauge_readings_received:rate5m',
    expr: 'sum by (job) (rate(tidegauge_readings_received_total[5m]))',
  },
  {
    record: 'job_backend:tidegauge_readings_stored:rate5m',
    expr: 'sum by (job, backend) (rate(tidegauge_readings_stored_total[5m]))',
  },
  {
    record: 'instance:tidegauge_readings_quarantined:ratio_rate5m',
    expr:
      'sum by (job, instance) (rate(tidegauge_readings_quarantined_total[5m]))' +
      ' / sum by (job, instance) (rate(tidegauge_readings_received_total[5m]))',
  },
  {
    // Refused and unsupported calls are errors of the caller, not of the store. An unavailable store receives few
    // calls, so over five minutes its few errors would not be visible.
    record: 'instance_backend:tidegauge_store_errors:ratio_rate1m',
    expr:
      'sum by (job, instance, backend) (rate(tidegauge_store_errors_total{kind!~"REJECTED|NOT_SUPPORTED"}[1m]))' +
      ' / sum by (job, instance, backend) (rate(tidegauge_store_seconds_count[1m]))',
  },
  {
    record: 'instance_stage:tidegauge_stage_seconds:p99_rate5m',
    expr: 'histogram_quantile(0.99, sum by (job, instance, stage, le) (rate(tidegauge_stage_seconds_bucket[5m])))',
  },
  {
    record: 'job:tidegauge_http_errors:ratio_rate5m',
    expr:
      'sum by (job) (rate(tidegauge_http_request_seconds_count{status=~"5.."}[5m]))' +
      ' / sum by (job) (rate(tidegauge_http_request_seconds_count[5m]))',
  },
  {
    record: 'instance:node_cpu_busy:ratio_rate5m',
    expr: '1 - avg by (job, instance) (rate(node_cpu_seconds_total{mode="idle"}[5m]))',
  },
];
