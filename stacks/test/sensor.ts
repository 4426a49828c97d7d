import { setTimeout as delay } from 'node:timers/promises';
import { now } from '@tidegauge/readings';
import mqtt, { type MqttClient } from 'mqtt';
import type { Deployment, SensorOptions } from './deployment.ts';

const PROBES = 8;
// Unacknowledged messages, at most.
const WINDOW = 500;
const TICK_MS = 20;

/**
 * A sensor outside of the swarm with 8 probes, which number their readings (boot, seq): message n is from probe
 * n modulo 8. It publishes with QoS 1 over TLS. After a reconnect it publishes unacknowledged messages again.
 */
export class Sensor {
  readonly name: string;
  /** Numbers of the messages that the broker has acknowledged. */
  readonly acknowledged = new Set<number>();
  readonly #client: MqttClient;
  readonly #pending = new Set<Promise<void>>();
  readonly #begun = now();
  #sent = 0;

  private constructor(name: string, client: MqttClient) {
    this.name = name;
    this.#client = client;
    // It connects again by itself.
    client.on('error', () => {});
  }

  static async connect({ name, password, ca, address }: SensorOptions): Promise<Sensor> {
    const options = {
      username: name,
      password,
      ca,
      reconnectPeriod: 500,
      connectTimeout: 5000,
      keepalive: 5,
    };
    return new Sensor(name, await mqtt.connectAsync(`mqtts://${address}:8883`, options, false));
  }

  /** Publishes `count` messages as fast as they are acknowledged. */
  async publish(count: number): Promise<void> {
    for (let left = count; left > 0; left -= 1) {
      if (this.#pending.size >= WINDOW) await Promise.race(this.#pending);
      this.#send();
    }
    await Promise.all(this.#pending);
  }

  /** Publishes at a rate, messages per second. The returned function stops, and waits for all acknowledgements. */
  stream(rate: number): () => Promise<void> {
    const stop = new AbortController();
    const running = this.#run(rate, stop.signal);
    return async () => {
      stop.abort();
      await running;
      await Promise.all(this.#pending);
    };
  }

  async #run(rate: number, signal: AbortSignal): Promise<void> {
    const begun = performance.now();
    for (let sent = 0; !signal.aborted; await delay(TICK_MS)) {
      const due = ((performance.now() - begun) * rate) / 1000;
      for (; sent < due && this.#pending.size < WINDOW; sent += 1) this.#send();
      // Messages that could not be sent while the broker was unavailable are not made up for.
      sent = Math.max(sent, Math.floor(due));
    }
  }

  #send(): void {
    const number = this.#sent++;
    const topic = `sensors/${this.name}/probe-${number % PROBES}/temperature`;
    const seq = Math.floor(number / PROBES);
    const payload = JSON.stringify({ t: this.#begun + number, v: (number % 400) / 10, boot: 'one', seq });
    const sending = this.#client.publishAsync(topic, payload, { qos: 1 }).then(() => {
      this.acknowledged.add(number);
      this.#pending.delete(sending);
    });
    this.#pending.add(sending);
  }

  get sent(): number {
    return this.#sent;
  }

  /** Numbers of its messages that are in the store. Throws if one is stored twice. */
  async stored(deployment: Deployment): Promise<Set<number>> {
    const found = new Set<number>();
    for (let probe = 0; probe < PROBES; probe += 1) {
      for (const { seq } of await deployment.readings(`${this.name}/probe-${probe}`)) {
        const number = seq! * PROBES + probe;
        if (found.has(number)) throw new Error(`message ${number} is stored twice`);
        found.add(number);
      }
    }
    return found;
  }

  /** Acknowledged messages that are not in the store. */
  async missing(deployment: Deployment): Promise<number[]> {
    const stored = await this.stored(deployment);
    return [...this.acknowledged].filter((number) => !stored.has(number));
  }

  async end(): Promise<void> {
    await this.#client.endAsync(true);
  }
}
