import { formatTime } from '@tidegauge/readings';
import mqtt from 'mqtt';

/** The device of all messages. */
export const DEVICE = 'brokers/probe';
const TOPIC = `sensors/${DEVICE}/number`;
/** Time of message 0, microseconds; message n is n milliseconds later. */
const START = Date.UTC(2026, 0, 1) * 1000;
const MOST_IN_FLIGHT = 100;
const RECONNECT_MS = 200;
const TICK_MS = 10;

/**
 * A sensor that publishes numbered messages with QoS 1 at a steady rate. After a loss of the connection it sends again what
 * was not acknowledged. It uses MQTT 3.1.1, which all brokers support.
 */
export class NumberedPublisher {
  readonly #client: mqtt.MqttClient;
  readonly #count: number;
  readonly #acknowledged = new Set<number>();
  readonly #done = Promise.withResolvers<void>();
  readonly #timer: NodeJS.Timeout;
  #sent = 0;
  #watch: { readonly at: number; readonly reached: () => void } | null = null;

  private constructor(client: mqtt.MqttClient, count: number, rate: number) {
    this.#client = client;
    this.#count = count;
    // A broker that is down refuses connections; MQTT.js tries again.
    client.on('error', () => {});
    const begun = performance.now();
    this.#timer = setInterval(() => this.#publish(((performance.now() - begun) * rate) / 1000), TICK_MS);
  }

  /**
   * Connects, and publishes the messages 0 to `count` - 1.
   *
   * @param rate messages per second; fewer when acknowledgements come more slowly
   */
  static async start(url: string, count: number, rate: number): Promise<NumberedPublisher> {
    const options = {
      clientId: 'numbered',
      clean: false,
      protocolVersion: 4,
      reconnectPeriod: RECONNECT_MS,
    } as const;
    return new NumberedPublisher(await mqtt.connectAsync(url, options), count, rate);
  }

  /** The numbers for which a PUBACK came. */
  get acknowledged(): ReadonlySet<number> {
    return this.#acknowledged;
  }

  /** Resolves when this many messages are acknowledged. One call at a time. */
  async reaches(count: number): Promise<void> {
    if (this.#acknowledged.size >= count) return;
    await new Promise<void>((resolve) => {
      this.#watch = { at: count, reached: resolve };
    });
  }

  /** Resolves when all messages are acknowledged. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#client.endAsync(true);
  }

  #publish(due: number): void {
    while (this.#sent < Math.min(due, this.#count) && this.#sent - this.#acknowledged.size < MOST_IN_FLIGHT) {
      const number = this.#sent++;
      const reading = { t: formatTime(START + number * 1000), v: number, boot: 1, seq: number };
      this.#client.publish(TOPIC, JSON.stringify(reading), { qos: 1 }, (error) => {
        if (!error) this.#received(number);
      });
    }
  }

  #received(number: number): void {
    this.#acknowledged.add(number);
    const { size } = this.#acknowledged;
    if (this.#watch !== null && size >= this.#watch.at) {
      this.#watch.reached();
      this.#watch = null;
    }
    if (size === this.#count) this.#done.resolve();
  }
}
