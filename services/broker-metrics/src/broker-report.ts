import type { Metrics, Sample } from '@tidegauge/service';

interface Signal {
  readonly topic: string;
  readonly kind: 'counter' | 'gauge';
  readonly name: string;
  readonly help: string;
}

/** What of mosquitto's $SYS tree (mosquitto(8), "Broker Status") is shown; averages are left to Prometheus. */
export const SIGNALS: readonly Signal[] = [
  counter('publish/messages/received', 'mosquitto_publish_received_total', 'PUBLISH messages received'),
  counter('publish/messages/sent', 'mosquitto_publish_sent_total', 'PUBLISH messages sent'),
  counter(
    'publish/messages/dropped',
    'mosquitto_publish_dropped_total',
    'PUBLISH messages dropped for limits on queues, though their publishers were told yes',
  ),
  counter('publish/bytes/received', 'mosquitto_publish_received_bytes_total', 'Payload bytes received'),
  counter('publish/bytes/sent', 'mosquitto_publish_sent_bytes_total', 'Payload bytes sent'),
  counter('messages/received', 'mosquitto_messages_received_total', 'MQTT packets received, of any type'),
  counter('messages/sent', 'mosquitto_messages_sent_total', 'MQTT packets sent, of any type'),
  counter('bytes/received', 'mosquitto_received_bytes_total', 'Bytes received'),
  counter('bytes/sent', 'mosquitto_sent_bytes_total', 'Bytes sent'),
  counter('clients/expired', 'mosquitto_clients_expired_total', 'Sessions that ended by expiry'),
  gauge('clients/connected', 'mosquitto_clients_connected', 'Clients that are connected'),
  gauge('clients/disconnected', 'mosquitto_clients_disconnected', 'Sessions kept of clients that are away'),
  gauge('subscriptions/count', 'mosquitto_subscriptions', 'Subscriptions'),
  gauge(
    'retained messages/count',
    'mosquitto_retained_messages',
    'Retained messages, those of $SYS included',
  ),
  gauge('store/messages/count', 'mosquitto_stored_messages', 'Messages held: queued, in flight and retained'),
  gauge('store/messages/bytes', 'mosquitto_stored_bytes', 'Payload bytes of the messages held'),
  gauge('heap/current', 'mosquitto_heap_bytes', 'Memory in use, where mosquitto was built to tell'),
  gauge('uptime', 'mosquitto_uptime_seconds', 'Time since the broker started'),
];

const PREFIX = '$SYS/broker/';

/**
 * The last word of a broker on itself. A signal it has not sent is not shown: no number is better than a zero
 * that nobody said. While the broker is away nothing is shown but `mosquitto_up 0`.
 */
export class BrokerReport {
  readonly #values = new Map<string, number>();
  #reportedAt: number | null = null;

  /** Takes a message of the $SYS tree; what is not a number (`version`) is passed over. */
  take(topic: string, payload: string): void {
    // Uptime comes with its unit: `1234 seconds`.
    const number = /^-?\d+(\.\d+)?(?= seconds$|$)/.exec(payload)?.[0];
    if (number === undefined || !topic.startsWith(PREFIX)) return;
    this.#values.set(topic.slice(PREFIX.length), Number(number));
    this.#reportedAt = performance.now();
  }

  /** Forgets what was said: the broker is away, or another one. */
  clear(): void {
    this.#values.clear();
    this.#reportedAt = null;
  }

  measure(metrics: Metrics, up: () => boolean): void {
    metrics.gauge('mosquitto_up', 'Whether the broker has a session with this exporter', () => [
      { value: up() ? 1 : 0 },
    ]);
    metrics.gauge('mosquitto_report_age_seconds', 'Time since the broker last spoke of itself', () =>
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
