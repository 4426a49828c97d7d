import type { Random } from '@tidegauge/workload';
import { BROKEN, identityOf, numbersIn, REJECTED } from './model-store.ts';

/** A reading as its sensor sent it. */
export interface Sent {
  readonly device: string;
  /** Microseconds since the epoch. */
  readonly time: number;
  readonly value: number;
  readonly boot: string;
  readonly seq: number;
}

export interface Message {
  readonly topic: string;
  readonly text: string;
  /** Its readings; empty for one that cannot be decoded. */
  readonly readings: readonly Sent[];
}

export interface SensorsOptions {
  /** The share of readings that correct an earlier one, and of those that the store refuses. */
  readonly corrections: number;
  readonly refused: number;
  /** The share of messages that cannot be decoded, and of numbers that a sensor loses before it sends them. */
  readonly undecodable: number;
  readonly lost: number;
  /** The share of messages before which a device restarts, twice at most. */
  readonly restarts: number;
}

/** All readings have one metric. */
export const METRIC = 'm';
const MOST_BOOTS = 3;
/** The share of corrections of the readings before the last one. */
const FAR_BACK = 8;

interface Device {
  readonly name: string;
  boots: number;
  next: number;
  readonly times: number[];
}

/**
 * What all sensors sent, and so what a store must have in the end: of each identity the last value that the store accepts.
 * Values differ, so that each reading can be recognized.
 */
export class Sensors {
  /** By identity. */
  readonly expected = new Map<string, Sent>();
  /** The numbers of readings that the store refuses, by device and boot. */
  readonly refused = new Map<string, Set<number>>();
  /** The payloads that must be in quarantine. */
  readonly quarantined = new Set<string>();
  /** The most readings in a message. */
  largest = 1;
  readonly #options: SensorsOptions;
  readonly #random: Random;
  readonly #devices = new Map<string, Device>();
  #values = 0;

  constructor(options: SensorsOptions, random: Random) {
    this.#options = options;
    this.#random = random;
  }

  /** A message of a device that sends for itself. `at`: the time of its clock, microseconds since the epoch. */
  single(name: string, at: number): Message {
    const topic = `sensors/${name}/${METRIC}`;
    if (this.#happens(this.#options.undecodable)) return this.#undecodable(topic);
    const reading = this.#read(name, at);
    const { time, value, boot, seq } = reading;
    return this.#message(topic, JSON.stringify({ t: time, v: value, boot, seq }), [reading]);
  }

  /** A message of a gateway with readings of some of its devices. */
  gateway(name: string, devices: readonly string[], at: number): Message {
    const readings = devices.map((device) => this.#read(`${name}/${device}`, at));
    const records = readings.map(({ device, time: t, value: v, boot, seq }) => ({
      device: device.slice(name.length + 1),
      t,
      v,
      boot,
      seq,
    }));
    return this.#message(`sensors/${name}/${METRIC}`, JSON.stringify(records), readings);
  }

  /** The body of a request of HTTP. */
  request(name: string, at: number): Message {
    const reading = this.#read(name, at);
    const { device, time: t, value: v, boot, seq } = reading;
    return this.#message('', JSON.stringify([{ device, metric: METRIC, t, v, boot, seq }]), [reading]);
  }

  #undecodable(topic: string): Message {
    return this.#message(topic, `{"broken":${++this.#values}`, []);
  }

  #message(topic: string, text: string, readings: readonly Sent[]): Message {
    this.largest = Math.max(this.largest, readings.length);
    for (const reading of readings) {
      if (isRefused(reading)) numbersIn(this.refused, reading.device, reading.boot).add(reading.seq);
      else this.expected.set(identityOf({ ...reading, metric: METRIC }), reading);
    }
    if (readings.length === 0 || readings.some(isRefused)) this.quarantined.add(text);
    return { topic, text, readings };
  }

  #read(name: string, at: number): Sent {
    const device = this.#device(name);
    const { corrections, refused, lost, restarts } = this.#options;
    if (device.boots < MOST_BOOTS && this.#happens(restarts)) {
      device.boots++;
      device.next = this.#random.below(5);
    }
    if (this.#happens(lost)) device.next += 1 + this.#random.below(3);
    const time = this.#happens(corrections) ? this.#earlier(device, at) : this.#present(device, at);
    const refusal = this.#random.below(2) === 0 ? REJECTED : BROKEN;
    const value = this.#happens(refused) ? refusal : ++this.#values;
    return { device: name, time, value, boot: `b${device.boots}`, seq: device.next++ };
  }

  #device(name: string): Device {
    const known = this.#devices.get(name) ?? { name, boots: 1, next: this.#random.below(5), times: [] };
    this.#devices.set(name, known);
    return known;
  }

  /** A time after all others of the device. */
  #present({ times }: Device, at: number): number {
    const time = Math.max(at, (times.at(-1) ?? 0) + 1);
    times.push(time);
    return time;
  }

  #earlier(device: Device, at: number): number {
    const { times } = device;
    const back = 1 + this.#random.below(Math.min(FAR_BACK, times.length));
    return times.at(-back) ?? this.#present(device, at);
  }

  #happens(share: number): boolean {
    return this.#random.double() < share;
  }
}

function isRefused({ value }: Sent): boolean {
  return value === REJECTED || value === BROKEN;
}
