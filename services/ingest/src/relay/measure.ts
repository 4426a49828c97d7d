import type { Metrics } from '@tidegauge/service';
import type { Boards } from './boards.ts';
import type { CentreDocument } from './centre-link.ts';
import type { Relay } from './relay.ts';

/** Metrics of the relay, on boards and centres. All are 0 without one. */
export function measureRelay(metrics: Metrics, relay: Relay | null, boards: Boards): void {
  const centres = (): readonly CentreDocument[] => relay?.documents ?? [];
  const total = (pick: (centre: CentreDocument) => number) => () => [
    { value: centres().reduce((sum, each) => sum + pick(each), 0) },
  ];
  metrics.gauge('tidegauge_relay_failing_centres', 'Centres that did not take the last request', () => [
    { value: centres().filter(({ trouble }) => trouble !== null).length },
  ]);
  metrics.gauge(
    'tidegauge_relay_backlog_bytes',
    'Bytes on disk that wait for centres',
    total(({ backlogBytes }) => backlogBytes),
  );
  metrics.gauge('tidegauge_relay_lag_seconds', 'Longest time that readings wait for a centre', () => [
    { value: Math.max(0, ...centres().map(({ lagSeconds }) => lagSeconds)) },
  ]);
  metrics.counter(
    'tidegauge_relay_sent_bytes_total',
    'Bytes of requests to centres, compressed',
    total(({ sentBytes }) => sentBytes),
  );
  metrics.counter(
    'tidegauge_relay_sent_readings_total',
    'Readings that centres took',
    total(({ received }) => received),
  );
  metrics.counter(
    'tidegauge_relay_refused_total',
    'Readings, devices and days that centres refused, because the key does not allow them',
    total(({ refused }) => refused),
  );
  metrics.gauge(
    'tidegauge_relay_unequal_days',
    'Days of devices that differ from a centre after they were sent again, in the last comparison',
    total(({ comparison }) => comparison?.unequal ?? 0),
  );
  metrics.gauge('tidegauge_relay_boards', 'Boards that relay to this process', () => [
    { value: boards.size },
  ]);
  metrics.gauge('tidegauge_relay_boards_lost', 'Boards without contact for five minutes', () => [
    { value: boards.lost },
  ]);
  metrics.gauge(
    'tidegauge_relay_boards_lag_seconds',
    'Longest time that readings wait on a board that relays to this process',
    () => [{ value: boards.lagSeconds }],
  );
}
