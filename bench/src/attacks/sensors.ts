import { setTimeout as sleep } from 'node:timers/promises';
import { send } from './attack.ts';
import { Client, type ClientOptions, type Listeners } from './client.ts';

/** Where the innocent sensors are: an address that attackers can have too, as behind a router. */
export const SENSOR_ADDRESS = '127.0.0.1';
export const SENSOR = 'sensor';
const VICTIM = 'victim';
export const NEWCOMERS = Array.from({ length: 60 }, (_, n) => `newcomer-${n}`);
export const SENSORS = [SENSOR, VICTIM, ...NEWCOMERS];
const UNRELEASED = 100;
const PUBLISH_EVERY_MS = 100;
const LOGIN_EVERY_MS = 1000;
const READ_EVERY_MS = 100;

/** How long clients waited that do nothing wrong, milliseconds, and what was refused. */
export interface Waits {
  readonly publish: number[];
  readonly login: number[];
  readonly read: number[];
  readonly refused: string[];
}

export interface SensorsOptions {
  readonly mqtt: Listeners;
  readonly api: string;
  readonly password: string;
  readonly readKey: string;
  readonly signal: AbortSignal;
}

/** A device and a metric, with the number of readings that it must have. */
export interface Expected {
  readonly device: string;
  readonly metric: string;
  readonly atLeast: number;
  readonly atMost: number;
}

/**
 * Sensors and a reader that do nothing wrong: a sensor that publishes ten messages per second, one that logs in for the
 * first time each second, and one whose QoS 2 messages wait for their release until the end. A wait begins when the
 * step was due, so a slow answer counts for the steps after it too.
 */
export class Sensors {
  readonly waits: Waits = { publish: [], login: [], read: [], refused: [] };
  readonly #options: SensorsOptions;
  readonly #newcomers: string[] = [];
  #published = 0;
  #sent = 0;

  constructor(options: SensorsOptions) {
    this.#options = options;
  }

  /** Before the attack: the messages that are not released, and one that cannot be decoded. */
  async begin(): Promise<void> {
    await this.#sendUnreleased(false);
    const sensor = await this.#login(SENSOR);
    await sensor.publish(`sensors/${SENSOR}/broken/state`, '{"t":', 1);
    await sensor.end();
  }

  /** Publishes, logs in and reads until the signal is aborted. */
  async run(): Promise<void> {
    let sensor = await this.#login(SENSOR);
    let n = 0;
    await Promise.all([
      this.#every(PUBLISH_EVERY_MS, this.waits.publish, async () => {
        if (sensor.closed) {
          this.waits.refused.push('the connection of a sensor was closed');
          sensor = await this.#login(SENSOR);
        }
        this.#sent += 1;
        const payload = JSON.stringify({ t: Date.now() * 1000 + (this.#sent % 1000), v: this.#sent });
        await sensor.publish(`sensors/${SENSOR}/temperature`, payload, this.#sent % 2 === 0 ? 1 : 2);
        this.#published += 1;
      }),
      this.#every(LOGIN_EVERY_MS, this.waits.login, async () => {
        const user = NEWCOMERS[n++ % NEWCOMERS.length]!;
        const client = await this.#login(user, n % 2 === 0);
        await client.publish(`sensors/${user}/n${n}`, '1', 1);
        this.#newcomers.push(`${user} n${n}`);
        await client.end();
      }),
      this.#every(READ_EVERY_MS, this.waits.read, async () => {
        const request = { from: SENSOR_ADDRESS, key: this.#options.readKey };
        const status = await send(this.#options.api, '/v1/devices?limit=1', request);
        if (status !== 200) throw new Error(`a read got ${status}`);
      }),
    ]);
    await sensor.end();
  }

  /** After the attack: sends the messages again that are not released. Returns what the store must contain. */
  async end(): Promise<readonly Expected[]> {
    await this.#sendUnreleased(true);
    const once = { atLeast: 1, atMost: 1 };
    return [
      { device: SENSOR, metric: 'temperature', atLeast: this.#published, atMost: this.#sent },
      ...Array.from({ length: UNRELEASED }, (_, n) => ({ device: VICTIM, metric: `m${n + 1}`, ...once })),
      ...this.#newcomers.map((name) => {
        const [device, metric] = name.split(' ') as [string, string];
        return { device, metric, ...once };
      }),
    ];
  }

  async #sendUnreleased(dup: boolean): Promise<void> {
    const client = await this.#login(VICTIM, false, true);
    for (let id = 1; id <= UNRELEASED; id++)
      await client.publish(`sensors/${VICTIM}/m${id}`, `${id}`, 2, id, dup);
    await client.end();
  }

  #login(user: string, tls = true, lasting = false): Promise<Client> {
    const { mqtt, password } = this.#options;
    const options: ClientOptions = { from: SENSOR_ADDRESS, tls, clientId: user, user, password, lasting };
    return Client.login(mqtt, options);
  }

  async #every(periodMs: number, waits: number[], step: () => Promise<void>): Promise<void> {
    const { signal } = this.#options;
    for (let due = performance.now(); !signal.aborted; due += periodMs) {
      const early = due - performance.now();
      if (early > 0) await sleep(early);
      try {
        await step();
      } catch (error) {
        this.waits.refused.push((error as Error).message);
      }
      waits.push(performance.now() - due);
    }
  }
}
