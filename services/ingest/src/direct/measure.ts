import { END_REASONS } from '@tidegauge/mqtt-session/server';
import type { Metrics } from '@tidegauge/service';
import type { DirectSource } from './direct-source.ts';

/** Registers the metrics of the connections of sensors. All are 0 without LISTEN. */
export function measureDirect(metrics: Metrics, source: DirectSource | null): void {
  const server = source?.server;
  const stats = server?.stats;
  const total = (name: string, help: string, read: () => number | undefined) =>
    metrics.counter(`tidegauge_direct_${name}_total`, help, () => [{ value: read() ?? 0 }]);
  metrics.gauge('tidegauge_direct_connections', 'Connections of sensors to ingest itself', () => [
    { value: server?.connections ?? 0 },
  ]);
  metrics.gauge('tidegauge_direct_sessions', 'Sessions of sensors, with those without a connection', () => [
    { value: server?.sessions.size ?? 0 },
  ]);
  total('logins', 'Logins of sensors', () => stats?.accepted);
  metrics.counter(
    'tidegauge_direct_ended_total',
    'Connections of sensors that ingest refused or ended, by reason',
    () => END_REASONS.map((reason) => ({ labels: { reason }, value: stats?.ended[reason] ?? 0 })),
    ['reason'],
  );
  total('messages', 'Messages that sensors sent to ingest itself', () => stats?.messages);
  total('denied', 'Messages on topics that their sensor may not publish on', () => stats?.denied);
  total('duplicates', 'QoS 2 messages that were sent again and left out', () => stats?.duplicates);
  total('wills', 'Wills of sensors whose connection broke', () => stats?.wills);
  total('subscriptions_refused', 'Subscriptions that were refused', () => stats?.subscriptionsRefused);
  total('received_bytes', 'Bytes that sensors sent', () => stats?.receivedBytes);
  total('sent_bytes', 'Bytes that were sent to sensors', () => stats?.sentBytes);
}
