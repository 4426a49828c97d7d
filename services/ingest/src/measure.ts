import type { Metrics } from '@tidegauge/service';
import type { Pipeline } from './pipeline.ts';
import type { Quarantine } from './quarantine.ts';
import type { Router } from './routes.ts';

const REASONS = [
  'unknown_topic',
  'empty_payload',
  'malformed',
  'too_large',
  'invalid_value',
  'invalid_time',
  'invalid_name',
  'too_many_readings',
  'unsupported',
  'rejected',
  'unexpected',
];

/** Registers ingest's metrics; all of them read the pipeline's own numbers at scrape time. */
export function measure(
  metrics: Metrics,
  pipeline: Pipeline,
  router: Router,
  quarantine: Quarantine,
  backend: string,
  broker: () => { readonly connected: boolean; readonly reconnects: number },
): void {
  const { accounts, sequences } = pipeline;
  metrics.counter(
    'tidegauge_messages_received_total',
    'MQTT messages received, by route and QoS',
    () =>
      router.routes.flatMap(({ name, messages }) =>
        messages.map((value, qos) => ({ labels: { route: name, qos: `${qos}` }, value })),
      ),
    ['route', 'qos'],
  );
  metrics.counter(
    'tidegauge_readings_received_total',
    'Readings decoded, or messages that could not be',
    () => [{ value: accounts.received }],
  );
  metrics.counter(
    'tidegauge_readings_stored_total',
    'Readings that changed the store: new ones and corrections',
    () => [{ labels: { backend }, value: accounts.stored }],
    ['backend'],
  );
  metrics.counter('tidegauge_readings_duplicate_total', 'Readings that the store had already', () => [
    { value: accounts.duplicate },
  ]);
  metrics.counter(
    'tidegauge_readings_quarantined_total',
    'Readings that could not be stored and are kept for a person',
    () =>
      REASONS.map((reason) => ({ labels: { reason }, value: accounts.quarantinedByReason.get(reason) ?? 0 })),
    ['reason'],
  );
  metrics.counter('tidegauge_readings_spooled_total', 'Readings put into the local spool', () => [
    { value: accounts.spooledEver },
  ]);
  metrics.counter('tidegauge_retained_skipped_total', 'Retained messages skipped', () => [
    { value: accounts.retainedSkipped },
  ]);
  metrics.counter('tidegauge_quarantine_dropped_total', 'Quarantined items dropped to keep the bound', () => [
    { value: quarantine.dropped },
  ]);
  metrics.gauge('tidegauge_quarantine_items', 'Items in quarantine', () => [{ value: quarantine.total }]);
  metrics.gauge('tidegauge_in_flight_readings', 'Readings received and not settled yet', () => [
    { value: accounts.inFlight },
  ]);
  metrics.gauge('tidegauge_spool_readings', 'Readings in the local spool', () => [
    { value: accounts.spooled },
  ]);
  metrics.gauge('tidegauge_spool_bytes', 'Size of the local spool', () => [
    { value: pipeline.spool?.bytes ?? 0 },
  ]);
  metrics.gauge('tidegauge_spool_limit_bytes', 'Size that the local spool may have', () => [
    { value: pipeline.spool?.maxBytes ?? 0 },
  ]);
  metrics.gauge('tidegauge_spool_oldest_seconds', 'Age of the oldest reading in the spool', () => [
    { value: pipeline.spooledSeconds },
  ]);
  metrics.gauge(
    'tidegauge_oldest_unstored_seconds',
    'Age of the oldest message that is not in the store or in quarantine',
    () => [{ value: pipeline.oldestUnstoredSeconds }],
  );
  metrics.gauge('tidegauge_mqtt_connected', 'Whether the broker session is up', () => [
    { value: broker().connected ? 1 : 0 },
  ]);
  metrics.counter('tidegauge_mqtt_reconnects_total', 'Times the broker session came back', () => [
    { value: broker().reconnects },
  ]);
  metrics.counter(
    'tidegauge_ledger_gap_readings_total',
    'Sequence numbers of stamping devices that were skipped over',
    () => [{ value: sequences.gapsOpened }],
  );
  metrics.gauge('tidegauge_ledger_missing_readings', 'Sequence numbers missing now', () => [
    { value: sequences.missing },
  ]);
  metrics.gauge(
    'tidegauge_ledger_given_up_readings',
    'Sequence numbers that were missing when their detail was given up to bound memory',
    () => [{ value: sequences.givenUp }],
  );
  metrics.counter(
    'tidegauge_ledger_unjudged_readings_total',
    'Readings of stamping devices that could not be checked for gaps, for want of room or detail',
    () => [{ value: sequences.unjudged }],
  );
  metrics.gauge(
    'tidegauge_clock_skew_seconds',
    'Largest lead of a sensor clock over ours since the last scrape',
    () => {
      const value = pipeline.clockLead;
      pipeline.clockLead = 0;
      return [{ value }];
    },
  );
  const stages = metrics.histogram(
    'tidegauge_stage_seconds',
    'Time a reading spends in each stage of its way',
  );
  for (const [stage, histogram] of Object.entries(pipeline.stages)) stages.adopt({ stage }, histogram);
  metrics.histogram('tidegauge_batch_readings', 'Readings per write').adopt({}, pipeline.batchReadings);
}
