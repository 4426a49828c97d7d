import { didYouMean } from '@tidegauge/text';
import { OUTCOMES } from '../operations/outcome.ts';
import { DONE, MEASURED_BY } from '../results/summary.ts';
import { type CommonConfig, mistake } from './settings.ts';

/** Metrics that k6 has without a script (k6 1 and 2). Those of other protocols are not used here. */
const OF_K6: readonly string[] = [
  ...['vus', 'vus_max', 'iterations', 'iteration_duration', 'dropped_iterations', 'checks', 'group_duration'],
  ...['data_sent', 'data_received', 'http_reqs', 'http_req_failed', 'http_req_duration', 'http_req_blocked'],
  ...['http_req_connecting', 'http_req_tls_handshaking', 'http_req_sending', 'http_req_waiting'],
  'http_req_receiving',
];

/** The counters of our module for MQTT (loadtests/k6-modules/mqtt/meter.go). */
const COUNTERS: readonly string[] = [
  ...['mqtt_sent', 'mqtt_acked', 'mqtt_received', 'mqtt_duplicates'],
  ...['connect', 'subscribe', 'publish', 'timeout', 'lost'].map((kind) => `mqtt_errors_${kind}`),
];

/**
 * Refuses a threshold on a metric that a profile does not have. k6 finds it only after the data is loaded.
 *
 * @param operations the names of the meters in the profile's script
 * @throws {ConfigError}
 */
export function refuseUnknownMetrics(
  { threshold }: Pick<CommonConfig, 'threshold'>,
  operations: readonly string[],
): void {
  const trends = [...operations.map((name) => `op_${name}`), ...Object.values(MEASURED_BY)];
  const known = [
    ...trends,
    ...trends.map((name) => `${name}_intended`),
    ...operations.map((name) => `op_${name}_failed`),
    ...operations.flatMap((name) => OUTCOMES.map((outcome) => `op_${name}_return_${outcome}`)),
    DONE,
    ...COUNTERS,
    ...OF_K6,
  ];
  const unknown = threshold?.find(([metric]) => !known.includes(metric))?.[0];
  if (unknown === undefined) return;
  const near = didYouMean(unknown, known) || `; the operations are ${trends.join(', ')}`;
  throw mistake(`--threshold: there is no metric ${unknown}${near}`);
}
