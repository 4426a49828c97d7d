import mqtt from 'mqtt';

/** Devices that the messages come from. */
export const DEVICES = Array.from({ length: 20 }, (_, number) => `power-cuts/probe-${number}`);

/** First time of a reading, microseconds; message n is n milliseconds later. */
const START = Date.UTC(2026, 0, 1) * 1000;
const TICK_MS = 10;
const MOST_IN_FLIGHT = 1000;

/** Messages per second, at most. */
export const RATE = 200;

/** What message n is: a reading with the value n, also with a number of its sensor, or a text that no decoder takes. */
export type Payload = 'reading' | 'numbered' | 'undecodable';

/** With `numbered`, every seventh message is left out, so that the ledger has gaps. */
const GAP = 7;
const BOOT = 'power-cuts';

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

/** Numbered messages, and which of them were acknowledged. */
export abstract class Source {
  /** As `acknowledged`, also when the source failed. */
  readonly allAcknowledged: Acknowledged[] = [];
  protected failure: Error | null = null;

  /**
   * The messages that were acknowledged until now. Later ones are not in the result.
   *
   * @throws {Error} when the source failed
   */
  acknowledged(): readonly Acknowledged[] {
    if (this.failure !== null) throw this.failure;
    return this.allAcknowledged.slice();
  }

  abstract stop(): Promise<void>;

  protected acknowledge(number: number): void {
    this.allAcknowledged.push({ number, at: performance.now() });
  }
}

/** Messages with QoS 1 at a steady rate. */
export class Traffic extends Source {
  readonly #client: mqtt.MqttClient;
  readonly #payload: Payload;
  readonly #timer: NodeJS.Timeout;
  #next = 0;
  #sent = 0;

  private constructor(client: mqtt.MqttClient, payload: Payload) {
    super();
    this.#client = client;
    this.#payload = payload;
    client.on('error', (error) => {
      this.failure ??= error;
    });
    client.on('close', () => {
      this.failure ??= new Error('the connection was closed');
    });
    const started = performance.now();
    this.#timer = setInterval(() => {
      const due = Math.ceil(((performance.now() - started) / 1000) * RATE);
      while (this.#next < due && this.#sent - this.allAcknowledged.length < MOST_IN_FLIGHT) this.#publish();
    }, TICK_MS);
  }

  /** Begins to publish. */
  static async start(url: string, payload: Payload): Promise<Traffic> {
    return new Traffic(await mqtt.connectAsync(url, { reconnectPeriod: 0 }), payload);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.failure ??= new Error('the traffic was stopped');
    await this.#client.endAsync(true);
  }

  #publish(): void {
    const number = this.#next++;
    const text = payloadOf(this.#payload, number);
    if (text === null) return;
    const topic = `sensors/${deviceOf(number)}/number`;
    this.#sent++;
    this.#client.publish(topic, text, { qos: 1 }, (error) => {
      if (error) this.failure ??= error;
      else this.acknowledge(number);
    });
  }
}

/** null: this message is left out. */
function payloadOf(payload: Payload, number: number): string | null {
  if (payload === 'undecodable') return `{"no reading ${number}`;
  const reading = { t: timeOf(number), v: number };
  if (payload === 'reading') return JSON.stringify(reading);
  if (number % GAP === GAP - 1) return null;
  return JSON.stringify({ ...reading, boot: BOOT, seq: sequenceOf(number) });
}

export function deviceOf(number: number): string {
  return DEVICES[number % DEVICES.length]!;
}

/** The time of a message's reading, microseconds since the epoch. */
export function timeOf(number: number): number {
  return START + number * 1000;
}

/** The number of a message that its sensor counts, from 0 for each device. */
export function sequenceOf(number: number): number {
  return Math.floor(number / DEVICES.length);
}
