import { seriesPrefix } from './mapping.ts';
import type { Place } from './places.ts';

/** Readings in [from, to) of all series, of a device, or of one series. */
export interface Deletion {
  readonly device?: string;
  readonly metric?: string;
  readonly from: number;
  readonly to: number;
}

/** Microseconds. */
export const DAY = 86_400_000_000;

// An entry is three 32-bit words: the time within the day (37 bits: the first word and 5 bits of the third), the
// offset (37 bits: the second word and 5 bits of the third), and the length (the upper half of the third word).
const WORDS = 3;
const WORD = 2 ** 32;
const FIRST_CAPACITY = 4;
const SERIES_BYTES = 600;
const MIN_LATE = 64;

/**
 * The readings of one series on one day, by time: 12 bytes each. Readings in order are appended. Late readings go
 * to a small sorted array, which is merged when it is longer than the square root of the rest. So that is the
 * largest cost per reading, whatever the order of arrival.
 */
export class Series {
  readonly device: string;
  readonly metric: string;
  /** Beginning of each of its lines, and its length in bytes. */
  readonly prefix: string;
  readonly prefixBytes: number;
  readonly #start: number;
  readonly #meter: Meter;
  readonly #main: Column;
  #late: Column;

  constructor(device: string, metric: string, day: number, meter: Meter) {
    meter.bytes += SERIES_BYTES;
    this.#meter = meter;
    this.#main = new Column(meter);
    this.#late = new Column(meter);
    this.device = device;
    this.metric = metric;
    this.prefix = seriesPrefix(device, metric);
    this.prefixBytes = Buffer.byteLength(this.prefix);
    this.#start = day * DAY;
  }

  get count(): number {
    return this.#main.count + this.#late.count;
  }

  /** Newest time, or -1 if there is none. Late readings are never the newest. */
  get newest(): number {
    return this.#main.count === 0 ? -1 : this.#start + this.#main.timeAt(this.#main.count - 1);
  }

  /** Position of the reading at exactly that time, or null. */
  find(time: number): Place | null {
    const relative = time - this.#start;
    return this.#main.find(relative) ?? this.#late.find(relative);
  }

  set(time: number, place: Place): void {
    const relative = time - this.#start;
    if (time > this.newest) this.#main.insert(this.#main.count, relative, place);
    else if (!this.#main.replace(relative, place) && !this.#late.replace(relative, place)) {
      this.#late.insert(this.#late.lowerBound(relative), relative, place);
      if (this.#late.count > Math.max(MIN_LATE, 2 * Math.sqrt(this.#main.count))) this.#settle();
    }
  }

  /** Index of the first reading at `time` or later. Indexes are valid until the next `set`. */
  lowerBound(time: number): number {
    this.#settle();
    return this.#main.lowerBound(time - this.#start);
  }

  timeAt(index: number): number {
    return this.#start + this.#main.timeAt(index);
  }

  placeAt(index: number): Place {
    return this.#main.placeAt(index);
  }

  /** The number of readings in [from, to). */
  countIn(from: number, to: number): number {
    return Math.max(0, this.lowerBound(to) - this.lowerBound(from));
  }

  /** Removes readings in [from, to). Returns their number. */
  forget(from: number, to: number): number {
    const gone = this.countIn(from, to);
    if (gone > 0) this.#main.remove(this.lowerBound(from), gone);
    return gone;
  }

  #settle(): void {
    if (this.#late.count === 0) return;
    this.#main.merge(this.#late);
    this.#late.release();
    this.#late = new Column(this.#meter);
  }
}

/** Called with the change of the memory that the index takes. */
interface Meter {
  bytes: number;
}

/** Sorted entries in one typed array that grows. */
class Column {
  count = 0;
  readonly #meter: Meter;
  #words = new Uint32Array(0);

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  timeAt(index: number): number {
    const at = index * WORDS;
    return (this.#words[at + 2]! & 31) * WORD + this.#words[at]!;
  }

  placeAt(index: number): Place {
    const at = index * WORDS;
    const high = this.#words[at + 2]!;
    return (((high >>> 5) & 31) * WORD + this.#words[at + 1]!) * 65_536 + (high >>> 16);
  }

  lowerBound(time: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.timeAt(middle) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  find(time: number): Place | null {
    const index = this.lowerBound(time);
    return index < this.count && this.timeAt(index) === time ? this.placeAt(index) : null;
  }

  replace(time: number, place: Place): boolean {
    const index = this.lowerBound(time);
    if (index === this.count || this.timeAt(index) !== time) return false;
    this.#put(index, time, place);
    return true;
  }

  insert(index: number, time: number, place: Place): void {
    this.#reserve(this.count + 1);
    this.#words.copyWithin((index + 1) * WORDS, index * WORDS, this.count * WORDS);
    this.count += 1;
    this.#put(index, time, place);
  }

  remove(index: number, count: number): void {
    const words = new Uint32Array((this.count - count) * WORDS);
    words.set(this.#words.subarray(0, index * WORDS));
    words.set(this.#words.subarray((index + count) * WORDS, this.count * WORDS), index * WORDS);
    this.#replaceWords(words);
    this.count -= count;
  }

  release(): void {
    this.#replaceWords(new Uint32Array(0));
  }

  /** Merges another column that shares no time with this one. */
  merge(other: Column): void {
    let to = this.count + other.count;
    this.#reserve(to);
    let mine = this.count - 1;
    for (let theirs = other.count - 1; theirs >= 0; ) {
      to -= 1;
      if (mine >= 0 && this.timeAt(mine) > other.timeAt(theirs)) {
        this.#words.copyWithin(to * WORDS, mine * WORDS, (mine + 1) * WORDS);
        mine -= 1;
      } else {
        this.#put(to, other.timeAt(theirs), other.placeAt(theirs));
        theirs -= 1;
      }
    }
    this.count += other.count;
  }

  #put(index: number, time: number, place: Place): void {
    const at = index * WORDS;
    const offset = Math.floor(place / 65_536);
    this.#words[at] = time;
    this.#words[at + 1] = offset;
    this.#words[at + 2] =
      Math.floor(time / WORD) | (Math.floor(offset / WORD) << 5) | ((place % 65_536) << 16);
  }

  #reserve(count: number): void {
    const capacity = this.#words.length / WORDS;
    if (count <= capacity) return;
    const grown = Math.max(FIRST_CAPACITY, count, Math.ceil(capacity * 1.25));
    const words = new Uint32Array(grown * WORDS);
    words.set(this.#words);
    this.#replaceWords(words);
  }

  #replaceWords(words: Uint32Array<ArrayBuffer>): void {
    this.#meter.bytes += words.byteLength - this.#words.byteLength;
    this.#words = words;
  }
}

/** The position of each reading of a day in its file. */
export class DayIndex {
  readonly #day: number;
  readonly #devices = new Map<string, Map<string, Series>>();
  readonly #meter: Meter = { bytes: 0 };

  /** `day` in days since the epoch. */
  constructor(day: number) {
    this.#day = day;
  }

  get bytes(): number {
    return this.#meter.bytes;
  }

  get count(): number {
    let count = 0;
    for (const series of this.all()) count += series.count;
    return count;
  }

  *all(): Generator<Series> {
    for (const metrics of this.#devices.values()) yield* metrics.values();
  }

  /** The series of a device, or only the named one. */
  of(device: string, metric?: string): Series[] {
    const metrics = this.#devices.get(device);
    if (metrics === undefined) return [];
    if (metric === undefined) return [...metrics.values()];
    const series = metrics.get(metric);
    return series === undefined ? [] : [series];
  }

  series(device: string, metric: string): Series {
    let metrics = this.#devices.get(device);
    if (metrics === undefined) {
      metrics = new Map();
      this.#devices.set(device, metrics);
    }
    let series = metrics.get(metric);
    if (series === undefined) {
      series = new Series(device, metric, this.#day, this.#meter);
      metrics.set(metric, series);
    }
    return series;
  }

  /** The number of readings that a deletion matches. */
  countIn(deletion: Deletion): number {
    const { from, to } = deletion;
    return this.#matching(deletion).reduce((sum, series) => sum + series.countIn(from, to), 0);
  }

  /** Removes the readings that a deletion matches. Returns their number. */
  forget(deletion: Deletion): number {
    const { from, to } = deletion;
    return this.#matching(deletion).reduce((sum, series) => sum + series.forget(from, to), 0);
  }

  #matching({ device, metric }: Deletion): Series[] {
    return device === undefined ? [...this.all()] : this.of(device, metric);
  }
}
