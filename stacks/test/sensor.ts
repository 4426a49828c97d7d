import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { formatTime, now, type ReadingDocument } from '@tidegauge/readings';
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
    const { device, metric, ...payload } = this.#reading(number);
    const topic = `sensors/${device}/${metric}`;
    const sending = this.#client.publishAsync(topic, JSON.stringify(payload), { qos: 1 }).then(() => {
      this.acknowledged.add(number);
      this.#pending.delete(sending);
    });
    this.#pending.add(sending);
  }

  #reading(number: number) {
    return {
      device: `${this.name}/probe-${number % PROBES}`,
      metric: 'temperature',
      t: this.#begun + number,
      v: (number % 400) / 10,
      boot: 'one',
      seq: Math.floor(number / PROBES),
    };
  }

  get sent(): number {
    return this.#sent;
  }

  /** Numbers of its messages that are in the store. Throws if one is stored twice. */
  async stored(deployment: Deployment): Promise<Set<number>> {
    return new Set((await this.#read(deployment)).keys());
  }

  /** A digest of its acknowledged readings. */
  digest(): string {
    const lines = [...this.acknowledged].map((number) => {
      const { device, metric, t, v, boot, seq } = this.#reading(number);
      return [device, metric, formatTime(t), v, boot, seq];
    });
    return digestOf(lines);
  }

  /** The same digest of its readings in the store. Throws if one is stored twice. */
  async storedDigest(deployment: Deployment): Promise<string> {
    const readings = [...(await this.#read(deployment)).values()];
    return digestOf(
      readings.map(({ device, metric, time, value, boot, seq }) => [device, metric, time, value, boot, seq]),
    );
  }

  async #read(deployment: Deployment): Promise<Map<number, ReadingDocument>> {
    const found = new Map<number, ReadingDocument>();
    for (let probe = 0; probe < PROBES; probe += 1) {
      for (const reading of await deployment.readings(`${this.name}/probe-${probe}`)) {
        const number = reading.seq! * PROBES + probe;
        if (found.has(number)) throw new Error(`message ${number} is stored twice`);
        found.set(number, reading);
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

/** SHA-256 of lines, in any order. */
function digestOf(lines: readonly (readonly unknown[])[]): string {
  const sorted = lines.map((line) => JSON.stringify(line)).toSorted();
  return createHash('sha256').update(sorted.join('\n')).digest('hex');
}
