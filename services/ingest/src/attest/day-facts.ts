import { DeviceDigest } from '@tidegauge/copy';
import { formatTime, type Quality, type Reading } from '@tidegauge/readings';
import type { Store } from '@tidegauge/storage';
import { readingsOfDay } from '../relay/day-digest.ts';

/** Numbers of more readings of one boot and day are not kept in memory, and more ranges of them are not listed. */
const MOST_NUMBERS = 2_000_000;
const MOST_RANGES = 10_000;

/** An inclusive range of sequence numbers. */
export type Range = readonly [from: number, to: number];

/** The numbered readings of one boot on one day. */
export interface BootFacts {
  readonly boot: string;
  /** Their numbers, as ascending ranges; null: there are more than are listed. */
  readonly numbers: readonly Range[] | null;
  /** How many of them were received after one with a higher number. Null with `numbers`. */
  readonly late: number | null;
}

/** What the stored readings of one device on one UTC day are. Times are ISO 8601. */
export interface DayFacts {
  readonly count: number;
  /** As docs/copy.md defines it, with 0 as the time of receipt: some stores change it when a message comes again. */
  readonly digest: string;
  /** The time of the first and of the last reading. */
  readonly times: readonly [first: string, last: string];
  readonly received: readonly [first: string, last: string];
  /** From the time of a reading to its receipt, microseconds. Negative: the clock of the sensor was ahead. */
  readonly delay: readonly [least: number, most: number];
  readonly quality: Readonly<Record<Quality, number>>;
  /** In the order of their first reading, by metric and time. Readings without a boot or a number are in none. */
  readonly boots: readonly BootFacts[];
}

export interface FoundDay {
  readonly day: number;
  /** Null: there are no readings. */
  readonly facts: DayFacts | null;
  /** How many of the readings are numbers. */
  readonly numeric: number;
}

/**
 * Reads one day of a device. Memory is bounded by the readings of the day that have a number, 16 bytes for each.
 *
 * @param day counted since the epoch
 * @throws {StoreError}
 */
export async function readDay(store: Store, device: string, day: number): Promise<FoundDay> {
  const digest = new DeviceDigest();
  const boots = new Map<string, Arrivals>();
  const times = new Bounds();
  const received = new Bounds();
  const delay = new Bounds();
  const quality: Record<Quality, number> = { ok: 0, skewed: 0, unsynced: 0 };
  let numeric = 0;
  const add = (reading: Reading): void => {
    digest.add({ ...reading, received: 0 });
    times.add(reading.time);
    received.add(reading.received);
    delay.add(reading.received - reading.time);
    quality[reading.quality]++;
    if (typeof reading.value === 'number') numeric++;
    const { boot, seq } = reading;
    if (boot === null || seq === null) return;
    let arrivals = boots.get(boot);
    if (arrivals === undefined) {
      arrivals = new Arrivals();
      boots.set(boot, arrivals);
    }
    arrivals.add(seq, reading.received);
  };
  for await (const page of readingsOfDay(store, device, day, Number.POSITIVE_INFINITY)) page.forEach(add);
  const found = digest.days().get(day);
  if (found === undefined) return { day, facts: null, numeric };
  const facts: DayFacts = {
    count: found.count,
    digest: found.digest.toString('hex'),
    times: [formatTime(times.least), formatTime(times.most)],
    received: [formatTime(received.least), formatTime(received.most)],
    delay: [delay.least, delay.most],
    quality,
    boots: [...boots].map(([boot, arrivals]) => ({ boot, ...arrivals.facts() })),
  };
  return { day, facts, numeric };
}

class Bounds {
  least = Number.POSITIVE_INFINITY;
  most = Number.NEGATIVE_INFINITY;

  add(value: number): void {
    if (value < this.least) this.least = value;
    if (value > this.most) this.most = value;
  }
}

/** The numbers of one boot and the times of their receipt. */
class Arrivals {
  readonly #numbers: number[] = [];
  readonly #received: number[] = [];
  #isAscending = true;
  #isFull = false;

  add(seq: number, received: number): void {
    if (this.#numbers.length === MOST_NUMBERS) {
      this.#isFull = true;
      return;
    }
    if (this.#numbers.length > 0 && seq < this.#numbers.at(-1)!) this.#isAscending = false;
    this.#numbers.push(seq);
    this.#received.push(received);
  }

  facts(): Omit<BootFacts, 'boot'> {
    const none = { numbers: null, late: null };
    if (this.#isFull) return none;
    const order = Uint32Array.from(this.#numbers.keys());
    if (!this.#isAscending) order.sort((a, b) => this.#numbers[a]! - this.#numbers[b]!);
    const numbers = this.#rangesOf(order);
    return numbers.length > MOST_RANGES ? none : { numbers, late: this.#lateOf(order) };
  }

  #rangesOf(order: Uint32Array): Range[] {
    const ranges: [number, number][] = [];
    for (const index of order) {
      const seq = this.#numbers[index]!;
      const last = ranges.at(-1);
      if (last !== undefined && seq <= last[1] + 1) last[1] = seq;
      else ranges.push([seq, seq]);
    }
    return ranges;
  }

  /** Goes from the highest number to the lowest. Readings with equal numbers are not late because of each other. */
  #lateOf(order: Uint32Array): number {
    let late = 0;
    let higher = Number.POSITIVE_INFINITY;
    let same = Number.POSITIVE_INFINITY;
    let number = Number.NaN;
    for (const index of order.toReversed()) {
      if (this.#numbers[index] !== number) {
        number = this.#numbers[index]!;
        higher = Math.min(higher, same);
        same = Number.POSITIVE_INFINITY;
      }
      const received = this.#received[index]!;
      if (received > higher) late++;
      same = Math.min(same, received);
    }
    return late;
  }
}
