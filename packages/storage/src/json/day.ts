import type { Reading, ReadingValue } from '@tidegauge/readings';
import type { RangeQuery, SeriesName, WriteResult } from '../contract.ts';
import { StoreError } from '../errors.ts';
import { compareText, seriesBounds } from '../merge.ts';
import { DAY, DayIndex, type Deletion, type Series } from './day-index.ts';
import { CHECKSUM_BYTES, withChecksum } from './line-checksum.ts';
import { Log, type LogOwner, type Mark } from './log.ts';
import { decodeReading, encodeReading, parseLine } from './mapping.ts';
import { offsetOf, type Place, placeOf } from './places.ts';
import { dayName } from './schema.ts';
import type { SkippedLines } from './skipped-lines.ts';

const EXPIRED = '{"expired":';
const DELETED = '{"deleted":';
// A smaller file, or one with less garbage, is not worth the write of its readings.
const WORTH_COMPACTING = 64 * 1024;
const GARBAGE_SHARE = 0.25;
// Lines of one step of a compaction, at most 32 KB each.
const COMPACT_LINES = 64;
// Longer than any line of a reading: 4096 characters of text and four names, each character up to six bytes as
// `\u0001`.
const MAX_READING_LINE = 32_767;

export interface DayWrite extends WriteResult {
  readonly mark: Mark;
}

export interface Newest {
  readonly readings: readonly (Reading | null)[];
  readonly fingerprint: string;
}

/**
 * The readings of one UTC day: a log of lines, and an index of their positions. Values are not in memory. The
 * value of a known reading is read from the file when it is needed, which is rare.
 */
export class Day implements LogOwner {
  readonly #day: number;
  readonly #log: Log;
  #index: DayIndex;
  /** Lines of readings in the file. Those that are not in the index are garbage. */
  #lines = 0;

  constructor(folder: string, day: number, skipped: SkippedLines) {
    this.#day = day;
    this.#index = new DayIndex(day);
    this.#log = new Log(folder, dayName(day), this, skipped);
  }

  get bytes(): number {
    return this.#index.bytes;
  }

  get busy(): boolean {
    return this.#log.busy;
  }

  reset(): void {
    this.#index = new DayIndex(this.#day);
    this.#lines = 0;
  }

  line(text: string, offset: number, length: number): boolean {
    if (text.startsWith(EXPIRED) || text.startsWith(DELETED)) {
      const deletion = decodeDeletion(text);
      if (deletion === null) return false;
      this.#index.forget(deletion);
      return true;
    }
    const reading = length > MAX_READING_LINE ? null : decodeReading(text);
    if (reading === null || dayOf(reading.time) !== this.#day) return false;
    this.#index.series(reading.device, reading.metric).set(reading.time, placeOf(offset, length));
    this.#lines += 1;
    return true;
  }

  /** The lines of the readings in the index, in the order of series and times. */
  async *live(): AsyncGenerator<string> {
    for (const series of this.#index.all()) {
      const end = series.lowerBound(Number.POSITIVE_INFINITY);
      for (let start = 0; start < end; start += COMPACT_LINES) {
        const count = Math.min(COMPACT_LINES, end - start);
        const places = Array.from({ length: count }, (_, index) => series.placeAt(start + index));
        const lines = await this.#log.lines(places);
        yield `${lines.map(withChecksum).join('\n')}\n`;
      }
    }
  }

  /** Appends new readings and corrections. They are durable when `durable(mark)` has resolved. */
  write(readings: readonly Reading[]): Promise<DayWrite> {
    return this.#log.exclusive(async () => {
      for (;;) {
        await this.#log.refresh(true);
        const fresh = await this.#withoutDuplicates(readings);
        const stored = fresh.length === 0 ? 0 : await this.#append(fresh);
        if (stored !== null) return { stored, duplicate: readings.length - stored, mark: this.#log.mark };
      }
    });
  }

  durable(mark: Mark): Promise<void> {
    return this.#log.durable(mark);
  }

  /** The next readings of a device in order, at most `limit`. */
  page(query: RangeQuery): Promise<Reading[]> {
    return this.#log.exclusive(async () => {
      await this.#log.refresh(false);
      return this.#read(mergedPlaces(this.#index.of(query.device, query.metric), query));
    });
  }

  /** The newest reading of each series, or null, and the state of the file from which it was read. */
  newest(series: readonly SeriesName[]): Promise<Newest> {
    return this.#log.exclusive(async () => {
      await this.#log.refresh(false);
      const places = series.map(({ device, metric }) => {
        const found = this.#index.of(device, metric)[0];
        return found === undefined || found.newest === -1 ? null : found.find(found.newest);
      });
      const found = await this.#read(places.filter((place) => place !== null));
      let next = 0;
      const readings = places.map((place) => (place === null ? null : found[next++]!));
      return { readings, fingerprint: this.#log.fingerprint };
    });
  }

  /** The series that have readings. */
  series(): Promise<SeriesName[]> {
    return this.#log.exclusive(async () => {
      await this.#log.refresh(false);
      return [...this.#index.all()].filter(({ count }) => count > 0);
    });
  }

  /**
   * Deletes readings of this day. Returns their number. Writes the file again without them when they are a large part
   * of it, so that their space becomes free.
   */
  async delete(deletion: Deletion): Promise<number> {
    let mark: Mark | null = null;
    const gone = await this.#log.exclusive(async () => {
      await this.#log.refresh(false);
      while (this.#log.exists && this.#index.countIn(deletion) > 0) {
        const landing = await this.#log.append(encodeDeletion(deletion));
        if (landing === null) {
          await this.#log.refresh(false);
          continue;
        }
        mark = this.#log.mark;
        return this.#index.forget(deletion);
      }
      return 0;
    });
    if (mark !== null) await this.#log.durable(mark);
    if (gone > 0) await this.#log.exclusive(() => this.#compact());
    return gone;
  }

  async #compact(): Promise<void> {
    await this.#log.refresh(false);
    const garbage = this.#lines - this.#index.count;
    if (!this.#log.exists || this.#log.size < WORTH_COMPACTING || garbage < GARBAGE_SHARE * this.#lines)
      return;
    await this.#log.compact();
  }

  /** Deletes the file of the day. Returns the number of its readings. */
  drop(): Promise<number> {
    return this.#log.exclusive(async () => (await this.#log.drop(() => this.#index.count)) ?? 0);
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  /** The rows that are new or a correction, in order. The predecessor of a row can be in the same batch. */
  async #withoutDuplicates(readings: readonly Reading[]): Promise<readonly Reading[]> {
    const newest = new Map<Series, number>();
    const known: number[] = [];
    const places: Place[] = [];
    let repeats = false;
    for (let row = 0; row < readings.length; row += 1) {
      const { device, metric, time } = readings[row]!;
      const series = this.#index.series(device, metric);
      if (time > (newest.get(series) ?? series.newest)) newest.set(series, time);
      else {
        repeats = true;
        const place = series.find(time);
        if (place === null || this.#log.isDoubtful(offsetOf(place))) continue;
        known.push(row);
        places.push(place);
      }
    }
    if (!repeats) return readings;
    const stored = await this.#log.soundLines(places);
    const values = new Map<Series, Map<number, ReadingValue>>();
    const valuesOf = (row: number) => {
      const { device, metric } = readings[row]!;
      const series = this.#index.series(device, metric);
      const found = values.get(series) ?? new Map<number, ReadingValue>();
      values.set(series, found);
      return found;
    };
    known.forEach((row, index) => {
      // A reading whose line was damaged meanwhile is written again.
      const reading = stored[index] === null ? null : decodeReading(stored[index]!);
      if (reading !== null) valuesOf(row).set(reading.time, reading.value);
    });
    return readings.filter(({ time, value }, row) => {
      const seen = valuesOf(row);
      if (seen.has(time) && Object.is(seen.get(time), value)) return false;
      seen.set(time, value);
      return true;
    });
  }

  /** The number of readings that count as stored, or null if the file was sealed before them. */
  async #append(readings: readonly Reading[]): Promise<number | null> {
    const series = readings.map(({ device, metric }) => this.#index.series(device, metric));
    const lengths = new Uint16Array(readings.length);
    let text = '';
    for (let row = 0; row < readings.length; row += 1) {
      const reading = readings[row]!;
      const rest = encodeReading(reading);
      const plain = typeof reading.value === 'number' && reading.boot === null;
      const bytes = series[row]!.prefixBytes + (plain ? rest.length : Buffer.byteLength(rest)) - 1;
      lengths[row] = bytes + CHECKSUM_BYTES;
      text += `${withChecksum(series[row]!.prefix + rest.slice(0, -1))}\n`;
    }
    const landing = await this.#log.append(text);
    if (landing === null) return null;
    const raced = landing.raced ? await this.#raced(readings, landing.since) : 0;
    let offset = landing.offset;
    for (let row = 0; row < readings.length; row += 1) {
      series[row]!.set(readings[row]!.time, placeOf(offset, lengths[row]!));
      offset += lengths[row]! + 1;
    }
    this.#lines += readings.length;
    return readings.length - raced;
  }

  /**
   * The number of readings that another process wrote with the same value between our check and our lines.
   */
  async #raced(readings: readonly Reading[], since: number): Promise<number> {
    const first = new Map<Place, Reading>();
    for (const reading of readings) {
      const place = this.#index.series(reading.device, reading.metric).find(reading.time);
      if (place !== null && offsetOf(place) >= since && !first.has(place)) first.set(place, reading);
    }
    const theirs = await this.#read([...first.keys()]);
    return [...first.values()].filter(({ value }, index) => Object.is(value, theirs[index]!.value)).length;
  }

  async #read(places: readonly Place[]): Promise<Reading[]> {
    const lines = await this.#log.lines(places);
    return lines.map((line, index) => {
      const reading = decodeReading(line);
      if (reading !== null) return reading;
      const where = `readings/${dayName(this.#day)} at byte ${offsetOf(places[index]!)}`;
      throw new StoreError('UNAVAILABLE', `${where}: another program changed the file while it was in use`);
    });
  }
}

/** `{"expired":T}` deletes readings before T, and `{"deleted":{…}}` those of a device. They end with a newline. */
function encodeDeletion(deletion: Deletion): string {
  const line =
    deletion.device === undefined ? `${EXPIRED}${deletion.to}}` : JSON.stringify({ deleted: deletion });
  return `${withChecksum(line)}\n`;
}

function decodeDeletion(text: string): Deletion | null {
  const line = parseLine(text);
  const isTime = (value: unknown) => Number.isSafeInteger(value);
  if (isTime(line?.expired)) return { from: 0, to: line!.expired as number };
  const { device, metric, from, to } = (line?.deleted ?? {}) as Record<string, unknown>;
  const isNamed = typeof device === 'string' && (metric === undefined || typeof metric === 'string');
  return isNamed && isTime(from) && isTime(to) ? (line!.deleted as Deletion) : null;
}

/** Day of a time: days since the epoch. */
export function dayOf(time: number): number {
  return Math.floor(time / DAY);
}

interface Cursor {
  readonly series: Series;
  readonly end: number;
  index: number;
}

/** Positions of the next readings of some series by (time, metric). */
function mergedPlaces(series: readonly Series[], query: RangeQuery): Place[] {
  const descending = query.order !== 'asc';
  const step = descending ? -1 : 1;
  let cursors = series.map((one) => cursorOf(one, query)).filter(({ index, end }) => index !== end);
  const places: Place[] = [];
  while (places.length < query.limit && cursors.length > 0) {
    const next = cursors.reduce((best, cursor) => (isBefore(cursor, best) === descending ? best : cursor));
    places.push(next.series.placeAt(next.index));
    next.index += step;
    if (next.index === next.end) cursors = cursors.filter((cursor) => cursor !== next);
  }
  return places;
}

function isBefore(a: Cursor, b: Cursor): boolean {
  const difference = a.series.timeAt(a.index) - b.series.timeAt(b.index);
  return difference === 0 ? compareText(a.series.metric, b.series.metric) < 0 : difference < 0;
}

/** The part of a series that the query covers, as indexes in its direction. */
function cursorOf(series: Series, query: RangeQuery): Cursor {
  const { from, to } = seriesBounds(query, series.metric);
  const low = series.lowerBound(from);
  const high = series.lowerBound(to);
  if (low >= high) return { series, index: 0, end: 0 };
  return query.order === 'asc'
    ? { series, index: low, end: high }
    : { series, index: high - 1, end: low - 1 };
}
