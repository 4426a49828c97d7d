import { formatTime, type Reading, type ResendDocument } from '@tidegauge/readings';
import type { Random } from '@tidegauge/workload';
import type { SequenceLedger } from '../../src/ledger/sequence-ledger.ts';
import { BROKEN, identityOf, numbersIn, REJECTED } from './model-store.ts';

/** A reading as its sensor sent it. */
export interface Sent {
  readonly device: string;
  /** Microseconds since the epoch. */
  readonly time: number;
  /** The same by the clock of the sensor, as it sends it. */
  readonly t: number | string;
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
  /** The share of devices without a battery for their clock: it begins at a date of the past with each boot. */
  readonly unset: number;
  /** Lost readings that a device keeps for a request of ingest. Of more, the oldest are gone. */
  readonly kept: number;
}

/** All readings have one metric. */
export const METRIC = 'm';
/** The largest difference of a reading that a filter leaves out to the last stored one. */
export const DEADBAND = 4;
const MOST_BOOTS = 3;
/** The share of corrections of the readings before the last one. */
const FAR_BACK = 8;
/** Where clocks without a battery begin, and the longest time since then at the start of a schedule, microseconds. */
const EPOCHS = [0, Date.UTC(1980, 0, 1) * 1000, Date.UTC(2000, 0, 1) * 1000];
const LONGEST_RUN_US = 3_600_000_000;

interface Device {
  readonly name: string;
  boots: number;
  next: number;
  /** Where its clock begins; null: it has the time. */
  readonly epoch: number | null;
  /** When it began, microseconds since the epoch. */
  started: number;
  readonly times: number[];
  /** Readings that it could not send, oldest first. */
  readonly kept: Sent[];
  /** It has no number of a boot below this one. */
  readonly gone: Map<string, number>;
}

/**
 * What all sensors sent, and so what a store must have in the end: of each identity the last value that the store accepts.
 * Values differ, so that each reading can be recognized.
 */
export class Sensors {
  /** By identity. */
  readonly expected = new Map<string, Sent>();
  /** Those to which ingest gives a time, by `withoutTime`. */
  readonly untimed = new Map<string, Sent>();
  /** All readings, with those that were corrected, by device. */
  readonly sent = new Map<string, Sent[]>();
  /** The numbers of readings that the store refuses, by device and boot. */
  readonly refused = new Map<string, Set<number>>();
  /** The payloads that must be in quarantine. */
  readonly quarantined = new Set<string>();
  /** The most readings in a message. */
  largest = 1;
  readonly #options: SensorsOptions;
  readonly #random: Random;
  readonly #isFiltered: boolean;
  readonly #devices = new Map<string, Device>();
  #values = 0;

  /** @param isFiltered whether ingest leaves out readings that are like earlier ones */
  constructor(options: SensorsOptions, isFiltered: boolean, random: Random) {
    this.#options = options;
    this.#isFiltered = isFiltered;
    this.#random = random;
  }

  /** Whether ingest may leave a reading out. */
  mayLack({ device, time, value }: Sent): boolean {
    if (!this.#isFiltered) return false;
    const isLike = (other: Sent): boolean => other.time < time && Math.abs(other.value - value) <= DEADBAND;
    return this.sent.get(device)!.some(isLike);
  }

  /** Whether a device sent a value for the time of a reading that the store accepts. */
  wasSent({ device, time }: Sent, value: Reading['value']): boolean {
    return this.sent.get(device)!.some((sent) => sent.time === time && sent.value === value);
  }

  /** A message of a device that sends for itself. `at`: the time of its clock, microseconds since the epoch. */
  single(name: string, at: number): Message {
    const topic = `sensors/${name}/${METRIC}`;
    if (this.#happens(this.#options.undecodable)) return this.#undecodable(topic);
    const reading = this.#read(name, at);
    const { t, value: v, boot, seq } = reading;
    return this.#message(topic, JSON.stringify({ t, v, boot, seq }), [reading]);
  }

  /** A message of a gateway with readings of some of its devices. */
  gateway(name: string, devices: readonly string[], at: number): Message {
    const readings = devices.map((device) => this.#read(`${name}/${device}`, at));
    const records = readings.map(({ device, t, value: v, boot, seq }) => ({
      device: device.slice(name.length + 1),
      t,
      v,
      boot,
      seq,
    }));
    return this.#message(`sensors/${name}/${METRIC}`, JSON.stringify(records), readings);
  }

  /** The body of a request of HTTP. Such a client receives no request. */
  request(name: string, at: number): Message {
    const reading = this.#read(name, at, 0);
    const { device, t, value: v, boot, seq } = reading;
    return this.#message('', JSON.stringify([{ device, metric: METRIC, t, v, boot, seq }]), [reading]);
  }

  /** What a device sends when its numbers are requested: readings that it has, and which ones are gone. */
  answer({ device: name, boot, ranges }: ResendDocument): readonly Message[] {
    const { kept, gone } = this.#devices.get(name)!;
    const isRequested = (reading: Sent): boolean =>
      reading.boot === boot && ranges.some(([from, to]) => reading.seq >= from && reading.seq <= to);
    const found = kept.filter(isRequested);
    kept.splice(0, kept.length, ...kept.filter((reading) => !found.includes(reading)));
    const messages = found.map((reading) => {
      const { t, value: v, seq } = reading;
      return this.#message(`sensors/${name}/${METRIC}`, JSON.stringify({ t, v, boot, seq }), [reading]);
    });
    const least = gone.get(boot) ?? 0;
    if (ranges.every(([from]) => from >= least)) return messages;
    const text = JSON.stringify({ boot, kept: least });
    return [...messages, { topic: `sensors/${name}/kept`, text, readings: [] }];
  }

  /** Whether a ledger misses numbers that some devices still have. */
  areMissed(ledger: SequenceLedger, has: (device: string) => boolean): boolean {
    const all = [...this.#devices.values()].flatMap(({ kept }) => kept);
    return all.some(({ device, boot, seq }) => has(device) && ledger.openBetween(device, boot, seq, seq) > 0);
  }

  #undecodable(topic: string): Message {
    return this.#message(topic, `{"broken":${++this.#values}`, []);
  }

  #message(topic: string, text: string, readings: readonly Sent[]): Message {
    this.largest = Math.max(this.largest, readings.length);
    for (const reading of readings) {
      const { device, boot, seq } = reading;
      const all = this.sent.get(device) ?? [];
      all.push(reading);
      this.sent.set(device, all);
      if (isRefused(reading)) numbersIn(this.refused, device, boot).add(seq);
      else if (reading.t !== reading.time) this.untimed.set(withoutTime(reading), reading);
      else this.expected.set(identityOf({ ...reading, metric: METRIC }), reading);
    }
    if (readings.length === 0 || readings.some(isRefused)) this.quarantined.add(text);
    return { topic, text, readings };
  }

  #read(name: string, at: number, kept = this.#options.kept): Sent {
    const device = this.#device(name, at);
    const hasTime = device.epoch === null;
    const { corrections, refused, lost, restarts } = this.#options;
    if (device.boots < MOST_BOOTS && this.#happens(restarts)) {
      device.boots++;
      device.next = this.#random.below(5);
      device.started = at;
    }
    if (this.#happens(lost)) this.#lose(device, at, 1 + this.#random.below(3), hasTime ? kept : 0);
    const isCorrection = this.#happens(corrections) && hasTime;
    const time = isCorrection ? this.#earlier(device, at) : this.#present(device, at);
    const refusal = this.#random.below(2) === 0 ? REJECTED : BROKEN;
    const value = this.#happens(refused) ? refusal : ++this.#values;
    // A small number could have any unit.
    const t = hasTime ? time : formatTime(device.epoch + time - device.started);
    return { device: name, time, t, value, boot: `b${device.boots}`, seq: device.next++ };
  }

  #lose(device: Device, at: number, count: number, most: number): void {
    for (let left = count; left > 0; left--) {
      const seq = device.next++;
      if (most === 0) continue;
      const time = this.#present(device, at);
      const value = ++this.#values;
      device.kept.push({ device: device.name, time, t: time, value, boot: `b${device.boots}`, seq });
      if (device.kept.length <= most) continue;
      const oldest = device.kept.shift()!;
      device.gone.set(oldest.boot, oldest.seq + 1);
    }
  }

  #device(name: string, at: number): Device {
    const known = this.#devices.get(name);
    if (known !== undefined) return known;
    const next = this.#random.below(5);
    const isUnset = this.#happens(this.#options.unset);
    const epoch = isUnset ? EPOCHS[this.#random.below(EPOCHS.length)]! : null;
    const started = isUnset ? at - this.#random.below(LONGEST_RUN_US) : at;
    const device: Device = {
      ...{ name, boots: 1, next, epoch, started },
      ...{ times: [], kept: [], gone: new Map() },
    };
    this.#devices.set(name, device);
    return device;
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

/** A reading without its time: no other one of its device has its value. */
export function withoutTime({ device, value }: Pick<Reading, 'device' | 'value'>): string {
  return `${device} ${value}`;
}

function isRefused({ value }: Sent): boolean {
  return value === REJECTED || value === BROKEN;
}
