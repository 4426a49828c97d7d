import type { Metrics } from '@tidegauge/service';
import { diskWrites } from './disk-writes.ts';
import type { Pipeline } from './pipeline.ts';
import type { Quarantine } from './quarantine.ts';
import { QUARANTINE_REASONS } from './quarantine-reasons.ts';
import type { RollupWorker } from './rollup-worker.ts';
import type { RouteReloader } from './route-reloader.ts';
import type { Router } from './routes.ts';

/** Registers ingest's metrics. Each metric reads the pipeline's numbers at scrape time. */
export function measure(
  metrics: Metrics,
  pipeline: Pipeline,
  router: Router,
  quarantine: Quarantine,
  backend: string,
  broker: () => { readonly connected: boolean; readonly reconnects: number },
  reloader: RouteReloader,
): void {
  const { accounts, sequences } = pipeline;
  metrics.counter(
    'tidegauge_routes_reloads_total',
    'Changed routes files, by result: used, or refused because of a mistake',
    () =>
      (['used', 'refused'] as const).map((result) => ({
        labels: { result },
        value: reloader.counts[result],
      })),
    ['result'],
  );
  metrics.gauge(
    'tidegauge_routes_stale',
    '1 while the routes in use are not those of the routes file, because it has a mistake, otherwise 0',
    () => [{ value: reloader.trouble === null ? 0 : 1 }],
  );
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
    'tidegauge_ignored_messages_total',
    'Messages without a value, such as unavailable, that were acknowledged and not stored, by route',
    () => router.routes.map(({ name, notes }) => ({ labels: { route: name }, value: notes.ignoredMessages })),
    ['route'],
  );
  metrics.counter(
    'tidegauge_ignored_fields_total',
    'Fields of payloads that were ignored while the rest was stored, by route; GET /routes names them',
    () => router.routes.map(({ name, notes }) => ({ labels: { route: name }, value: notes.ignoredTotal })),
    ['route'],
  );
  metrics.counter(
    'tidegauge_readings_received_total',
    'Readings received; a message that cannot be decoded counts as one',
    () => [{ value: accounts.received }],
  );
  metrics.counter(
    'tidegauge_readings_stored_total',
    'Readings that changed the store: new ones and corrections',
    () => [{ labels: { backend }, value: accounts.stored }],
    ['backend'],
  );
  metrics.counter(
    'tidegauge_unit_changes_total',
    'Series whose stored unit was replaced by another one; the log names some of them',
    () => [{ value: router.units.changes }],
  );
  metrics.counter('tidegauge_readings_duplicate_total', 'Readings that the store already had', () => [
    { value: accounts.duplicate },
  ]);
  metrics.counter(
    'tidegauge_readings_filtered_total',
    'Readings that the filter of their route left out, because they are like the last one',
    () => [{ value: accounts.filtered }],
  );
  metrics.counter(
    'tidegauge_readings_quarantined_total',
    'Readings that could not be stored and are kept in quarantine',
    () =>
      QUARANTINE_REASONS.map((reason) => ({
        labels: { reason },
        value: accounts.quarantinedByReason.get(reason) ?? 0,
      })),
    ['reason'],
  );
  metrics.counter('tidegauge_readings_spooled_total', 'Readings put into the local spool', () => [
    { value: accounts.spooledEver },
  ]);
  metrics.counter(
    'tidegauge_disk_written_bytes_total',
    'Bytes that ingest has written to disks: an embedded store, the spool and the quarantine. Excludes database servers',
    () => [{ value: diskWrites() ?? 0 }],
  );
  metrics.counter(
    'tidegauge_delayed_messages_total',
    'Messages that were acknowledged later, because their client begins too many series or sends too many hours of the past',
    () => [{ value: pipeline.delayed }],
  );
  metrics.counter('tidegauge_retained_skipped_total', 'Retained messages skipped', () => [
    { value: accounts.retainedSkipped },
  ]);
  metrics.counter('tidegauge_rebirth_requests_total', 'Births requested from Sparkplug nodes', () => [
    { value: accounts.replies },
  ]);
  metrics.counter(
    'tidegauge_quarantine_dropped_total',
    'Quarantined items dropped to stay within QUARANTINE_MAX_BYTES',
    () => [{ value: quarantine.dropped }],
  );
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
  metrics.gauge('tidegauge_spool_limit_bytes', 'Largest size of the local spool', () => [
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
  metrics.gauge('tidegauge_store_in_use', '1 while readings can be stored, otherwise 0', () => [
    { value: pipeline.isStoring ? 1 : 0 },
  ]);
  metrics.gauge('tidegauge_mqtt_connected', '1 while the broker session is connected, otherwise 0', () => [
    { value: broker().connected ? 1 : 0 },
  ]);
  metrics.counter('tidegauge_mqtt_reconnects_total', 'Reconnections of the broker session', () => [
    { value: broker().reconnects },
  ]);
  metrics.counter(
    'tidegauge_ledger_gap_readings_total',
    'Sequence numbers that were skipped, of devices that send boot and seq',
    () => [{ value: sequences.gapsOpened }],
  );
  metrics.gauge('tidegauge_ledger_missing_readings', 'Sequence numbers missing now', () => [
    { value: sequences.missing },
  ]);
  metrics.gauge(
    'tidegauge_ledger_gone_readings',
    'Sequence numbers missing now that their sensors declared gone',
    () => [{ value: sequences.gone }],
  );
  metrics.counter(
    'tidegauge_ledger_healed_readings_total',
    'Missing sequence numbers that arrived later',
    () => [{ value: sequences.healed }],
  );
  metrics.gauge(
    'tidegauge_ledger_given_up_readings',
    'Sequence numbers that were missing when their details were dropped to bound memory',
    () => [{ value: sequences.givenUp }],
  );
  metrics.counter(
    'tidegauge_ledger_unjudged_readings_total',
    'Readings with boot and seq that could not be checked for gaps, because details were dropped to bound memory',
    () => [{ value: sequences.unjudged }],
  );
  metrics.gauge(
    'tidegauge_clock_skew_seconds',
    'Largest time by which a sensor clock was ahead of the clock of ingest since the last scrape',
    () => {
      const value = pipeline.clockLead;
      pipeline.clockLead = 0;
      return [{ value }];
    },
  );
  const stages = metrics.histogram(
    'tidegauge_stage_seconds',
    'Time of a reading in each stage from the sensor to the acknowledgement',
  );
  for (const [stage, histogram] of Object.entries(pipeline.stages)) stages.adopt({ stage }, histogram);
  metrics.histogram('tidegauge_batch_readings', 'Readings per write').adopt({}, pipeline.batchReadings);
}

/** Metrics of the worker of rollups. All are 0 without one. */
export function measureRollups(metrics: Metrics, worker: RollupWorker | null): void {
  metrics.gauge(
    'tidegauge_rollup_marks',
    'Hours of series with readings that are not in rollups yet, including those of the present hour',
    () => [{ value: worker?.status?.marks ?? 0 }],
  );
  metrics.gauge(
    'tidegauge_rollup_overdue_seconds',
    'For how long the first of these hours could have been computed',
    () => [{ value: (worker?.status?.overdue ?? 0) / 1e6 }],
  );
  metrics.counter(
    'tidegauge_rollup_hours_total',
    'Hours of series whose rollups this process computed',
    () => [{ value: worker?.counts.hours ?? 0 }],
  );
  metrics.counter('tidegauge_rollup_rows_total', 'Rows of rollups that this process wrote', () => [
    { value: worker?.counts.rows ?? 0 },
  ]);
  metrics.counter(
    'tidegauge_rollup_late_hours_total',
    'Hours with late readings that rollups do not count, because other readings of the hour can be deleted',
    () => [{ value: worker?.counts.late ?? 0 }],
  );
  metrics.counter(
    'tidegauge_rollup_failures_total',
    'Attempts to compute rollups that the store refused',
    () => [{ value: worker?.counts.failures ?? 0 }],
  );
}
