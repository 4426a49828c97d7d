import type { Device, Reading } from '@tidegauge/readings';

// Readings in the shape of the data set Online Retail II, which Hilpold, Kraeman, Turek and Chien used: an invoice line
// is a reading, a customer a device, a product a metric, and a postcode a city. Each reading is computed from its number.

/** The size of the original, and the days that it covers. */
const ORIGINAL = { readings: 1_067_371, devices: 5_900, metrics: 4_600, days: 739 } as const;
const DAY_US = 86_400_000_000;
/** The first day of the original, 2009-12-01. */
const START_US = Date.UTC(2009, 11, 1) * 1000;
/** Stores accept at most 500 metrics of a device. */
const METRICS_OF_DEVICE = 400;
const DEVICES_OF_CITY = 10;
const SITES = 100;
/** The chosen device is a tenth down the list: it has about 290 readings, whatever the size is. */
const ASKED_SHARE = 0.1;

/** The ten questions. docs/studies/s4-read-load.md has them in words. */
export const QUERIES = ['q1', 'q2', 'q3', 'q4', 'q5', 'q6', 'q7', 'q8', 'q9', 'q10'] as const;

export type QueryName = (typeof QUERIES)[number];

/** A generated reading. Its value is a multiple of 1/4, so that sums are exact in any order. */
export interface LoadedReading {
  readonly device: string;
  readonly metric: string;
  /** Microseconds. No two readings have the same time. */
  readonly time: number;
  readonly value: number;
}

/** The readings and devices of one size and volume. */
export class ReadLoad {
  /** Readings of 100 % of the volume, devices and metrics. */
  readonly size: number;
  readonly devices: number;
  readonly metrics: number;
  /** UTC days of 100 % of the volume, with or without readings. */
  readonly dayCount: number = ORIGINAL.days;
  readonly #cities: number;
  readonly #asked: number;
  readonly #stepUs: number;
  /** Readings that are loaded: the first ones by time. */
  readonly readings: number;

  /** @param volume percent of the readings that are loaded, 1 to 100 */
  constructor(size: number, volume: number) {
    this.size = size;
    this.devices = scaled(size, ORIGINAL.devices);
    this.metrics = scaled(size, ORIGINAL.metrics);
    // One more, so that the city of the chosen device does not have the most frequent device too.
    this.#cities = Math.ceil(this.devices / DEVICES_OF_CITY) + 1;
    this.#asked = Math.floor(this.devices * ASKED_SHARE);
    this.#stepUs = Math.floor((ORIGINAL.days * DAY_US) / size);
    this.readings = Math.max(1, Math.floor((size * volume) / 100));
  }

  /** The whole UTC days from the first reading to the last one, microseconds. `to` is their end. */
  get days(): { readonly from: number; readonly to: number } {
    const { time } = this.reading(this.readings - 1);
    return { from: START_US, to: (Math.floor(time / DAY_US) + 1) * DAY_US };
  }

  /** @param number from 0, in the order of time */
  reading(number: number): LoadedReading {
    const device = this.#deviceOf(number);
    const slot = mix(number, 2) % METRICS_OF_DEVICE;
    return {
      device: deviceName(device),
      metric: metricName(skewed(this.metrics, mix(device * METRICS_OF_DEVICE + slot, 3))),
      time: START_US + number * this.#stepUs,
      value: (1 + (mix(number, 4) % 400)) / 4,
    };
  }

  /** @param number from 0; devices with a low number have more readings */
  device(number: number): Device {
    return {
      name: deviceName(number),
      site: `site-${number % SITES}`,
      city: this.#city(number),
      kind: 'customer',
      year: null,
      attributes: {},
    };
  }

  /** What all reads of a study ask for, as in the original. */
  get asked(): {
    readonly device: Device;
    readonly city: string;
    /** The devices of the city. */
    readonly names: readonly string[];
    /** The calendar year 2010, microseconds. */
    readonly from: number;
    readonly to: number;
  } {
    const number = this.#asked;
    const names: string[] = [];
    for (let other = number % this.#cities; other < this.devices; other += this.#cities) {
      names.push(deviceName(other));
    }
    const [from, to] = [Date.UTC(2010, 0) * 1000, Date.UTC(2011, 0) * 1000];
    return { device: this.device(number), city: this.#city(number), names, from, to };
  }

  /**
   * The first reading of the chosen device.
   * @throws {Error} when there is none
   */
  firstOfAsked(): LoadedReading {
    for (let number = 0; number < this.readings; number += 1)
      if (this.#isAsked(number)) return this.reading(number);
    throw this.#tooSmall();
  }

  /**
   * Its newest reading.
   * @throws {Error} when there is none
   */
  lastOfAsked(): LoadedReading {
    for (let number = this.readings - 1; number >= 0; number -= 1) {
      if (this.#isAsked(number)) return this.reading(number);
    }
    throw this.#tooSmall();
  }

  #isAsked(number: number): boolean {
    return this.#deviceOf(number) === this.#asked;
  }

  #tooSmall(): Error {
    return new Error(
      `${this.readings} readings have none of ${this.asked.device.name}: raise records or volume`,
    );
  }

  #deviceOf(number: number): number {
    return skewed(this.devices, mix(number, 1));
  }

  #city(number: number): string {
    return `postcode-${number % this.#cities}`;
  }
}

/** A generated reading as stores keep it. */
export function storedReading({ device, metric, time, value }: LoadedReading): Reading {
  return { device, metric, time, value, received: time, boot: null, seq: null, quality: 'ok' };
}

/** The UTC day of a time in microseconds, such as 2010-01-31. */
export function dayOf(time: number): string {
  return new Date(Math.floor(time / DAY_US) * (DAY_US / 1000)).toISOString().slice(0, 10);
}

function deviceName(number: number): string {
  return `retail/c${number}`;
}

function metricName(number: number): string {
  return `p${number}`;
}

function scaled(size: number, ofOriginal: number): number {
  return Math.max(1, Math.round((size * ofOriginal) / ORIGINAL.readings));
}

/** Low numbers are the most frequent: of 5,900, the first has 1.3 % of all draws. */
function skewed(count: number, draw: number): number {
  const share = draw / 2 ** 32;
  return Math.floor(count * share * share);
}

/** A 32-bit hash of a number: the finalizer of MurmurHash3, with a salt for each use. */
function mix(number: number, salt: number): number {
  let hash = (number ^ Math.imul(salt, 0x9e3779b9)) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
