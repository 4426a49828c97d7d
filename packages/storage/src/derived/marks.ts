import { randomInt } from 'node:crypto';
import { forEach } from '@tidegauge/parallel';
import { MAX_TIME } from '@tidegauge/readings';
import type { CoreReadings } from '../backend.ts';
import type { SeriesName } from '../contract.ts';
import type { Mark, MarkCount } from '../rollups/backend-rollups.ts';
import { ceilTo, floorTo, HOUR_US, MINUTE_US } from '../rollups/periods.ts';
import { rollupsOf, textAt, writeAll } from './reserved.ts';

const QUEUE = 'store queue';
/** Series of the queue, of which each process uses one. */
const LANES = 64;
/** Longest text of an entry of the queue, unless one mark is longer. Every engine keeps texts of this length. */
const ENTRY_LENGTH = 4000;
const AT_ONCE = 8;
/** A mark of the last hour of all times must have a place in the queue too. */
const LAST_DUE = floorTo(MAX_TIME, HOUR_US) - HOUR_US;

/** Some marks in the queue, with the same `due`. */
interface Entry {
  readonly metric: string;
  readonly time: number;
  readonly due: number;
  readonly marks: readonly Mark[];
}

/**
 * Marks in two structures. By series: a reading per mark, whose time is that of the hour, and which encodes `due` and
 * `erased` in the microseconds after it. So marks never replace each other, and the latest `due` counts. In a queue:
 * entries of several marks, at a time of up to one hour after their `due`. Each process has its own lane and its own first
 * microsecond in that hour, and uses each place once, so entries of processes do not replace each other.
 *
 * The queue is written first and cleared last, so after a crash it can have a mark that its series does not have. The
 * worker then computes that hour once more.
 */
export class DerivedMarks {
  readonly #readings: CoreReadings;
  readonly #maxBatch: number;
  readonly #lane = `lane ${randomInt(LANES)}`;
  #place = randomInt(HOUR_US);

  constructor(readings: CoreReadings, maxBatch: number) {
    this.#readings = readings;
    this.#maxBatch = maxBatch;
  }

  async put(given: readonly Mark[]): Promise<void> {
    const marks = given.map((mark) => ({
      ...mark,
      due: Math.max(mark.hour, ceilTo(mark.due, MINUTE_US)),
    }));
    const entries = [...Map.groupBy(marks, ({ due }) => due)].flatMap(([due, some]) =>
      textsOf(due, some).map((text) => textAt(QUEUE, this.#lane, this.#placeOf(due), text)),
    );
    await writeAll(this.#readings, entries, this.#maxBatch);
    const bySeries = marks.map((mark) =>
      textAt(rollupsOf(mark.device), metricOf(mark), timeOf(mark) + (mark.erased ? 1 : 0), '1'),
    );
    await writeAll(this.#readings, bySeries, this.#maxBatch);
  }

  async due(due: number, limit: number): Promise<Mark[]> {
    const found = new Map<string, Mark>();
    for await (const entry of this.#entries(due + HOUR_US)) {
      if (entry.due > due) continue;
      for (const mark of entry.marks) found.set(keyOf(mark), joined(mark, found.get(keyOf(mark))));
      if (found.size >= limit) break;
    }
    return [...found.values()].sort((a, b) => a.due - b.due).slice(0, limit);
  }

  async of({ device, metric }: SeriesName, from: number, to: number): Promise<Mark[]> {
    const found = new Map<number, Mark>();
    const range = { from: floorTo(from, HOUR_US), to: ceilTo(to, HOUR_US) };
    const series = { device: rollupsOf(device), metric: metricOf({ metric }) };
    const query = { ...series, ...range, order: 'asc', limit: Number.MAX_SAFE_INTEGER } as const;
    for await (const { time } of this.#readings.range(query)) {
      const hour = floorTo(time, HOUR_US);
      if (hour < from || hour >= to) continue;
      const code = time - hour;
      const due = hour + Math.floor(code / 2) * MINUTE_US;
      const mark = { device, metric, hour, due, erased: code % 2 === 1 };
      found.set(hour, joined(mark, found.get(hour)));
    }
    return [...found.values()];
  }

  async remove(marks: readonly Mark[]): Promise<void> {
    if (marks.length === 0) return;
    await forEach(marks, AT_ONCE, (mark) => {
      const series = { device: rollupsOf(mark.device), metric: metricOf(mark) };
      return this.#readings.delete({ ...series, from: mark.hour, to: timeOf(mark) + 2 });
    });
    const removed = new Map(marks.map((mark) => [keyOf(mark), mark.due]));
    const last = Math.max(...removed.values());
    const changes: (Entry & { readonly left: readonly Mark[] })[] = [];
    for await (const entry of this.#entries(last + HOUR_US)) {
      const left = entry.marks.filter((mark) => mark.due > (removed.get(keyOf(mark)) ?? -1));
      if (left.length < entry.marks.length) changes.push({ ...entry, left });
    }
    await forEach(changes, AT_ONCE, async ({ metric, time, due, left }) => {
      const [text] = textsOf(due, left);
      if (text !== undefined) await this.#readings.write([textAt(QUEUE, metric, time, text)]);
      else await this.#readings.delete({ device: QUEUE, metric, from: time, to: time + 1 });
    });
  }

  /** Reads the whole queue. */
  async count(): Promise<MarkCount> {
    const marks = new Set<string>();
    let [hour, due] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for await (const entry of this.#entries(MAX_TIME + 1)) {
      due = Math.min(due, entry.due);
      for (const mark of entry.marks) {
        hour = Math.min(hour, mark.hour);
        marks.add(keyOf(mark));
      }
    }
    return marks.size === 0 ? { marks: 0, hour: null, due: null } : { marks: marks.size, hour, due };
  }

  #placeOf(due: number): number {
    this.#place = (this.#place + 1) % HOUR_US;
    return Math.min(due, LAST_DUE) + this.#place;
  }

  /** The entries before a time: all that are due an hour before it, and some that are due later. */
  async *#entries(to: number): AsyncGenerator<Entry> {
    const query = { device: QUEUE, order: 'asc', to, limit: Number.MAX_SAFE_INTEGER } as const;
    for await (const { metric, time, value } of this.#readings.range(query)) {
      const [due, ...packed] = JSON.parse(String(value)) as [number, ...PackedMark[]];
      const marks = packed.map(([device, name, hour, erased]): Mark => {
        return { device, metric: name, hour, due, erased: erased === 1 };
      });
      yield { metric, time, due, marks };
    }
  }
}

type PackedMark = readonly [device: string, metric: string, hour: number, erased: 0 | 1];

/** The texts of entries with these marks. */
function textsOf(due: number, marks: readonly Mark[]): string[] {
  const texts: string[] = [];
  let text = '';
  for (const { device, metric, hour, erased } of marks) {
    const packed: PackedMark = [device, metric, hour, erased ? 1 : 0];
    const more = JSON.stringify(packed);
    if (text !== '' && text.length + more.length >= ENTRY_LENGTH) {
      texts.push(`${text}]`);
      text = '';
    }
    text = text === '' ? `[${due},${more}` : `${text},${more}`;
  }
  return text === '' ? texts : [...texts, `${text}]`];
}

/** Two marks of one hour of a series as one. */
function joined(mark: Mark, other: Mark | undefined): Mark {
  if (other === undefined) return mark;
  return { ...mark, due: Math.max(mark.due, other.due), erased: mark.erased || other.erased };
}

function metricOf({ metric }: Pick<SeriesName, 'metric'>): string {
  return `mark ${metric}`;
}

function timeOf({ hour, due }: Mark): number {
  return hour + 2 * ((due - hour) / MINUTE_US);
}

function keyOf({ device, metric, hour }: Mark): string {
  return `${device} ${metric} ${hour}`;
}
