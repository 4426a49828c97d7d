import { didYouMean } from '@tidegauge/text';
import { OUTCOMES } from '../operations/outcome.ts';
import { DONE, MEASURED_BY } from '../results/summary.ts';
import { type CommonConfig, mistake } from './settings.ts';

/** The kinds of k6's metrics, with the statistics that a threshold can have (metric_type.go of k6). */
const STATISTICS = {
  counter: ['count', 'rate'],
  gauge: ['value'],
  rate: ['rate'],
  trend: ['avg', 'min', 'max', 'med', 'p(N)'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

type Kind = keyof typeof STATISTICS;

/** Metrics that k6 has without a script (k6 1 and 2). Those of other protocols are not used here. */
const OF_K6: Readonly<Record<Kind, readonly string[]>> = {
  counter: ['iterations', 'dropped_iterations', 'data_sent', 'data_received', 'http_reqs'],
  gauge: ['vus', 'vus_max'],
  rate: ['checks', 'http_req_failed'],
  trend: [
    ...['iteration_duration', 'group_duration', 'http_req_duration', 'http_req_blocked'],
    ...['http_req_connecting', 'http_req_tls_handshaking', 'http_req_sending', 'http_req_waiting'],
    'http_req_receiving',
  ],
};

/** The counters of our module for MQTT (loadtests/k6-modules/mqtt/meter.go). */
const COUNTERS: readonly string[] = [
  ...['mqtt_sent', 'mqtt_acked', 'mqtt_received', 'mqtt_duplicates'],
  ...['connect', 'subscribe', 'publish', 'timeout', 'lost'].map((kind) => `mqtt_errors_${kind}`),
];

/**
 * Refuses a threshold on a metric that a profile does not have, or on a statistic that it does not have. k6 does so after
 * the load.
 *
 * @param operations the names of the meters in the profile's script
 * @throws {ConfigError}
 */
export function refuseUnknownMetrics(
  { threshold }: Pick<CommonConfig, 'threshold'>,
  operations: readonly string[],
): void {
  const trends = [...operations.map((name) => `op_${name}`), ...Object.values(MEASURED_BY)];
  const metrics: Readonly<Record<Kind, readonly string[]>> = {
    ...OF_K6,
    trend: [
      ...trends,
      ...trends.map((name) => `${name}_intended`),
      ...operations.map((name) => `op_${name}_failed`),
      ...OF_K6.trend,
    ],
    counter: [
      ...operations.flatMap((name) => OUTCOMES.map((outcome) => `op_${name}_return_${outcome}`)),
      DONE,
      ...COUNTERS,
      ...OF_K6.counter,
    ],
  };
  for (const [metric, condition] of threshold ?? []) {
    const kind = (Object.keys(metrics) as Kind[]).find((each) => metrics[each].includes(metric));
    if (kind === undefined) {
      const near =
        didYouMean(metric, Object.values(metrics).flat()) || `; the operations are ${trends.join(', ')}`;
      throw mistake(`--threshold: there is no metric ${metric}${near}`);
    }
    const statistics: readonly string[] = STATISTICS[kind];
    const given = condition.replace(/^p\(.*?\)/, 'p(N)').replace(/ *[<>=!].*$/, '');
    if (statistics.includes(given)) continue;
    throw mistake(`--threshold: ${metric} is a ${kind} of k6: write ${statistics.join(', ')}, not ${given}`);
  }
}
