import { forEach } from '@tidegauge/parallel';
import type { RollupPeriod } from '../contract.ts';
import type { Figures } from '../rollups/figures.ts';
import { listLogs } from './files.ts';
import { KeyedLog } from './keyed-log.ts';
import type { SkippedLines } from './skipped-lines.ts';

// Rows of rollups, a document per row: `minute-2026-11-21.jsonl` has the rows of a UTC day, `hour-2026-11.jsonl` those
// of a month, and `day-2026.jsonl` those of a year. A document is a list with a list per period:
// [time, count, min, max, sum, first, firstTime, last, lastTime], with the sum as text if it is infinite.

/** How much of the time, as text, is in the name of a file. */
const NAME_LENGTH: Readonly<Record<RollupPeriod, number>> = { minute: 10, hour: 7, day: 4 };
/** Files in memory, and the approximate bytes of the keys of all of them. The file in use can exceed it. */
const MAX_OPEN = 32;
const MAX_BYTES = 16 * 1024 * 1024;
const KEY_BYTES = 250;
const FIELDS = 9;

export type RowDocument = readonly (readonly (number | string)[])[];

interface Entry {
  readonly log: KeyedLog<RowDocument>;
  users: number;
}

/** The files of rollups. The least recently used ones are closed. */
export class RollupFiles {
  readonly #folder: string;
  readonly #skipped: SkippedLines;
  /** By name. The last used is at the end. */
  readonly #entries = new Map<string, Entry>();

  constructor(folder: string, skipped: SkippedLines) {
    this.#folder = folder;
    this.#skipped = skipped;
  }

  /** The names of the files of a period, the earliest first. */
  async names(period: RollupPeriod): Promise<string[]> {
    const names = [...(await listLogs(this.#folder)).keys()];
    return names.filter((name) => name.startsWith(`${period}-`)).sort();
  }

  async use<T>(name: string, call: (log: KeyedLog<RowDocument>) => Promise<T>): Promise<T> {
    const documents = { is: isRow, changed: () => {}, reset: () => {}, held: () => undefined };
    const entry = this.#entries.get(name) ?? {
      log: new KeyedLog<RowDocument>(this.#folder, name, documents, this.#skipped),
      users: 0,
    };
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    entry.users += 1;
    try {
      return await call(entry.log);
    } finally {
      entry.users -= 1;
      await this.#trim();
    }
  }

  async close(): Promise<void> {
    const logs = [...this.#entries.values()].map(({ log }) => log);
    this.#entries.clear();
    await forEach(logs, 1, (log) => log.close());
  }

  async #trim(): Promise<void> {
    let bytes = 0;
    for (const { log } of this.#entries.values()) bytes += log.keys * KEY_BYTES;
    for (const [name, { log, users }] of this.#entries) {
      const left = this.#entries.size;
      if (left === 1 || (bytes <= MAX_BYTES && left <= MAX_OPEN)) return;
      if (users > 0 || log.busy) continue;
      this.#entries.delete(name);
      bytes -= log.keys * KEY_BYTES;
      await log.close();
    }
  }
}

/** The file of a row. @param start microseconds */
export function fileOf(period: RollupPeriod, start: number): string {
  return `${period}-${new Date(start / 1000).toISOString().slice(0, NAME_LENGTH[period])}`;
}

export function toDocument(periods: readonly Figures[]): RowDocument {
  return periods.map(({ time, count, min, max, sum, first, firstTime, last, lastTime }) => {
    const total = Number.isFinite(sum) ? sum : String(sum);
    return [time, count, min, max, total, first, firstTime, last, lastTime];
  });
}

export function fromDocument(document: RowDocument): Figures[] {
  return document.map((fields) => {
    const [time, count, min, max, sum, first, firstTime, last, lastTime] = fields.map(Number);
    return {
      time: time!,
      count: count!,
      min: min!,
      max: max!,
      sum: sum!,
      first: first!,
      firstTime: firstTime!,
      last: last!,
      lastTime: lastTime!,
    };
  });
}

function isRow(value: unknown): value is RowDocument {
  return Array.isArray(value) && value.every((fields) => Array.isArray(fields) && fields.length === FIELDS);
}
