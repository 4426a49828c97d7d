import type { Metrics, Sample } from '@tidegauge/service';

interface Signal {
  readonly topic: string;
  readonly kind: 'counter' | 'gauge';
  readonly name: string;
  readonly help: string;
}

/**
 * The values of mosquitto's $SYS tree (mosquitto(8), "Broker Status") that are exported. Averages are left to
 * Prometheus.
 */
export const SIGNALS: readonly Signal[] = [
  counter('publish/messages/received', 'mosquitto_publish_received_total', 'PUBLISH messages received'),
  counter('publish/messages/sent', 'mosquitto_publish_sent_total', 'PUBLISH messages sent'),
  counter(
    'publish/messages/dropped',
    'mosquitto_publish_dropped_total',
    'PUBLISH messages dropped because a queue was full, although they were acknowledged to their publishers',
  ),
  counter('publish/bytes/received', 'mosquitto_publish_received_bytes_total', 'Payload bytes received'),
  counter('publish/bytes/sent', 'mosquitto_publish_sent_bytes_total', 'Payload bytes sent'),
  counter('messages/received', 'mosquitto_messages_received_total', 'MQTT packets received, of any type'),
  counter('messages/sent', 'mosquitto_messages_sent_total', 'MQTT packets sent, of any type'),
  counter('bytes/received', 'mosquitto_received_bytes_total', 'Bytes received'),
  counter('bytes/sent', 'mosquitto_sent_bytes_total', 'Bytes sent'),
  counter('clients/expired', 'mosquitto_clients_expired_total', 'Sessions that ended by expiry'),
  gauge('clients/connected', 'mosquitto_clients_connected', 'Clients that are connected'),
  gauge(
    'clients/disconnected',
    'mosquitto_clients_disconnected',
    'Sessions of clients that are not connected',
  ),
  gauge('subscriptions/count', 'mosquitto_subscriptions', 'Subscriptions'),
  gauge(
    'retained messages/count',
    'mosquitto_retained_messages',
    'Retained messages, those of $SYS included',
  ),
  gauge('store/messages/count', 'mosquitto_stored_messages', 'Messages held: queued, in flight and retained'),
  gauge('store/messages/bytes', 'mosquitto_stored_bytes', 'Payload bytes of the messages held'),
  gauge('heap/current', 'mosquitto_heap_bytes', 'Memory in use, when mosquitto was built to report it'),
  gauge('uptime', 'mosquitto_uptime_seconds', 'Time since the broker started'),
];

const PREFIX = '$SYS/broker/';

/**
 * The last report of a broker. A value that the broker has not sent is absent: an absent sample is better than a zero
 * that was not reported. While the broker is unavailable, the only sample is `mosquitto_up 0`.
 */
export class BrokerReport {
  readonly #values = new Map<string, number>();
  #reportedAt: number | null = null;

  /** Reads a message of the $SYS tree. Values that are not numbers (`version`) are ignored. */
  take(topic: string, payload: string): void {
    // Uptime has a unit: `1234 seconds`.
    const number = /^-?\d+(\.\d+)?(?= seconds$|$)/.exec(payload)?.[0];
    if (number === undefined || !topic.startsWith(PREFIX)) return;
    this.#values.set(topic.slice(PREFIX.length), Number(number));
    this.#reportedAt = performance.now();
  }

  /** Removes all values, because the broker is unavailable or was replaced. */
  clear(): void {
    this.#values.clear();
    this.#reportedAt = null;
  }

  measure(metrics: Metrics, up: () => boolean): void {
    metrics.gauge('mosquitto_up', 'Whether the broker has a session with this exporter', () => [
      { value: up() ? 1 : 0 },
    ]);
    metrics.gauge('mosquitto_report_age_seconds', 'Time since the last report of the broker', () =>
      this.#reportedAt === null ? [] : [{ value: (performance.now() - this.#reportedAt) / 1000 }],
    );
    for (const { topic, kind, name, help } of SIGNALS) {
      metrics[kind](name, help, (): Sample[] => {
        const value = this.#values.get(topic);
        return value === undefined ? [] : [{ value }];
      });
    }
  }
}

function counter(topic: string, name: string, help: string): Signal {
  return { topic, kind: 'counter', name, help };
}

function gauge(topic: string, name: string, help: string): Signal {
  return { topic, kind: 'gauge', name, help };
}
