import type { Metrics, Sample } from '@tidegauge/service';
import { BrokerCount } from './broker-count.ts';

interface Signal {
  readonly topic: string;
  readonly kind: 'counter' | 'gauge';
  /** A counter that is 0 as long as all is well. */
  readonly isLoss: boolean;
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
  loss(
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
  loss('clients/expired', 'mosquitto_clients_expired_total', 'Sessions that ended by expiry'),
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
/** A broker that began so recently has counted nothing that is old. */
const NEW_SECONDS = 60;

/**
 * The reports of a broker. Counters begin at 0 when this exporter starts, and stay while the broker is unavailable. A
 * gauge that the broker has not reported is absent.
 *
 * A broker with `retain_available false` reports only what changes while this exporter is connected. So the first number
 * of a loss counts from 0: it can include losses before this exporter started, and no loss is missed. Other counters
 * count from their first number, because a million messages of yesterday would be a rate of today.
 */
export class BrokerReport {
  readonly #gauges = new Map<string, number>();
  readonly #counts = new Map(
    SIGNALS.filter(({ kind }) => kind === 'counter').map(({ topic, isLoss }) => [
      topic,
      new BrokerCount(isLoss),
    ]),
  );
  readonly #now: () => number;
  #uptime: number | null = null;
  #reportedAt: number | null = null;
  #intervalMs = 0;

  /** @param now a monotonic time, in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Reads a message of the $SYS tree. Values that are not numbers (`version`) are ignored.
   *
   * @param retained whether the broker had kept it for this subscription
   */
  take(topic: string, payload: string, retained: boolean): void {
    // Uptime has a unit: `1234 seconds`.
    const number = Number(/^-?\d+(\.\d+)?(?= seconds$|$)/.exec(payload)?.[0] ?? Number.NaN);
    if (Number.isNaN(number) || !topic.startsWith(PREFIX)) return;
    const name = topic.slice(PREFIX.length);
    const now = this.#now();
    if (name === 'uptime') this.#begin(number, retained, now);
    this.#reportedAt ??= now;
    const count = this.#counts.get(name);
    if (count === undefined) this.#gauges.set(name, number);
    else count.take(number, retained, now, this.#intervalMs);
  }

  /**
   * Hides what is true of the present only, because the broker is unavailable. The same broker does not report again what
   * has not changed, so the values are shown again after its next report.
   */
  clear(): void {
    this.#reportedAt = null;
    this.#intervalMs = 0;
  }

  /** Each report begins with the uptime. */
  #begin(uptime: number, retained: boolean, now: number): void {
    if (!retained) {
      const isNew = this.#uptime === null ? uptime < NEW_SECONDS : uptime < this.#uptime;
      if (isNew) {
        for (const count of this.#counts.values()) count.restart();
        this.#gauges.clear();
      }
      if (this.#reportedAt !== null) this.#intervalMs = now - this.#reportedAt;
      this.#reportedAt = now;
    }
    this.#uptime = uptime;
  }

  measure(metrics: Metrics, up: () => boolean): void {
    metrics.gauge('mosquitto_up', 'Whether the broker has a session with this exporter', () => [
      { value: up() ? 1 : 0 },
    ]);
    metrics.gauge('mosquitto_report_age_seconds', 'Time since the last report of the broker', () =>
      this.#reportedAt === null ? [] : [{ value: (this.#now() - this.#reportedAt) / 1000 }],
    );
    for (const { topic, kind, name, help } of SIGNALS) {
      metrics[kind](name, help, (): Sample[] => {
        const value = this.#counts.get(topic)?.at(this.#now()) ?? this.#gauge(topic);
        return value === undefined ? [] : [{ value }];
      });
    }
  }

  #gauge(topic: string): number | undefined {
    if (this.#reportedAt === null) return undefined;
    const value = this.#gauges.get(topic);
    if (value !== undefined || topic !== 'clients/disconnected') return value;
    // The connection of this exporter changes these two, so they are reported.
    const [total, connected] = [this.#gauges.get('clients/total'), this.#gauges.get('clients/connected')];
    return total === undefined || connected === undefined ? undefined : total - connected;
  }
}

function counter(topic: string, name: string, help: string): Signal {
  return { topic, kind: 'counter', isLoss: false, name, help };
}

function loss(topic: string, name: string, help: string): Signal {
  return { ...counter(topic, name, help), isLoss: true };
}

function gauge(topic: string, name: string, help: string): Signal {
  return { topic, kind: 'gauge', isLoss: false, name, help };
}
