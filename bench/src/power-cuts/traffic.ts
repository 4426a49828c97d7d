import { formatTime } from '@tidegauge/readings';
import mqtt from 'mqtt';

/** Devices that the messages come from. */
export const DEVICES = Array.from({ length: 20 }, (_, number) => `power-cuts/probe-${number}`);

/** First time of a reading, microseconds; message n is n milliseconds later. */
const START = Date.UTC(2026, 0, 1) * 1000;
const TICK_MS = 10;
const MOST_IN_FLIGHT = 1000;

/** What message n is: a reading with the value n, or a text that no decoder takes. */
export type Payload = 'reading' | 'undecodable';

/** The number of a message, from the value of its reading or from its bytes. */
export function numberIn(value: unknown): number {
  const found = /(\d+)$/.exec(String(value));
  if (found === null) throw new Error(`${JSON.stringify(value)} is no message of this program`);
  return Number(found[1]);
}

export interface Acknowledged {
  readonly number: number;
  /** `performance.now()` of the PUBACK. */
  readonly at: number;
}

/** Numbered messages with QoS 1 at a steady rate, and a record of those that were acknowledged. */
export class Traffic {
  readonly #client: mqtt.MqttClient;
  readonly #payload: Payload;
  readonly #acknowledged: Acknowledged[] = [];
  readonly #timer: NodeJS.Timeout;
  #sent = 0;
  #failure: Error | null = null;

  private constructor(client: mqtt.MqttClient, rate: number, payload: Payload) {
    this.#client = client;
    this.#payload = payload;
    client.on('error', (error) => {
      this.#failure ??= error;
    });
    client.on('close', () => {
      this.#failure ??= new Error('the connection was closed');
    });
    const started = performance.now();
    this.#timer = setInterval(() => {
      const due = Math.ceil(((performance.now() - started) / 1000) * rate);
      while (this.#sent < due && this.#sent - this.#acknowledged.length < MOST_IN_FLIGHT) this.#publish();
    }, TICK_MS);
  }

  /** @param rate messages per second; fewer when acknowledgements come more slowly */
  static async start(url: string, rate: number, payload: Payload): Promise<Traffic> {
    return new Traffic(await mqtt.connectAsync(url, { reconnectPeriod: 0 }), rate, payload);
  }

  /**
   * The messages that were acknowledged until now. Later ones are not in the result.
   *
   * @throws {Error} when the connection failed
   */
  acknowledged(): readonly Acknowledged[] {
    if (this.#failure !== null) throw this.#failure;
    return this.#acknowledged.slice();
  }

  /** As `acknowledged`, also when the connection failed. */
  get allAcknowledged(): readonly Acknowledged[] {
    return this.#acknowledged;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#failure ??= new Error('the traffic was stopped');
    await this.#client.endAsync(true);
  }

  #publish(): void {
    const number = this.#sent++;
    const topic = `sensors/${DEVICES[number % DEVICES.length]}/number`;
    const text =
      this.#payload === 'undecodable'
        ? `{"no reading ${number}`
        : JSON.stringify({ t: formatTime(START + number * 1000), v: number });
    this.#client.publish(topic, text, { qos: 1 }, (error) => {
      if (error) this.#failure ??= error;
      else this.#acknowledged.push({ number, at: performance.now() });
    });
  }
}
