import { closeSync, existsSync, fstatSync, fsyncSync, ftruncateSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { ConfigError } from '@tidegauge/service/program';
import type { JournalEntry } from '../model.ts';
import { readBounded, syncDirectory, writeAll } from './durable-files.ts';

/** A journal of 100,000 runs has about 50 MB. */
const MOST_BYTES = 256 * 2 ** 20;

/** An entry before it has its time. */
export type NewEntry = JournalEntry extends infer E
  ? E extends JournalEntry
    ? Omit<E, 'time'>
    : never
  : never;

/** Fields of each event, besides `event` and `time`. */
const FIELDS: Readonly<
  Record<JournalEntry['event'], Readonly<Record<string, 'string' | 'number' | 'boolean' | 'object'>>>
> = {
  opened: { plan: 'string', environment: 'object', differs: 'object' },
  'deployment-started': { deployment: 'string', attempt: 'number' },
  'deployment-ready': { deployment: 'string', attempt: 'number', seconds: 'number', versions: 'object' },
  'deployment-ended': { deployment: 'string', attempt: 'number', seconds: 'number', versions: 'object' },
  'deployment-failed': { deployment: 'string', attempt: 'number', reason: 'string' },
  'deployment-skipped': { deployment: 'string' },
  look: { block: 'number', open: 'object' },
  'series-started': {
    series: 'string',
    attempt: 'number',
    deployment: 'string',
    deploymentAttempt: 'number',
  },
  'series-ended': { series: 'string', attempt: 'number' },
  'series-void': { series: 'string', attempt: 'number', reason: 'string' },
  'trial-loaded': { series: 'string', seriesAttempt: 'number', trial: 'number', seconds: 'number' },
  'run-started': { run: 'string', series: 'string', seriesAttempt: 'number' },
  'run-ended': {
    run: 'string',
    series: 'string',
    seriesAttempt: 'number',
    valid: 'boolean',
    seconds: 'number',
    sha256: 'object',
  },
  closed: { complete: 'boolean' },
};

/** Reads a journal without changing it. An incomplete last line, which a crash leaves, is not an entry. */
export function readJournal(path: string): readonly JournalEntry[] {
  return parse(path).entries;
}

/** The journal of a results directory, open for writing. Only one process may have it open. */
export class Journal {
  readonly #file: number;
  readonly #entries: JournalEntry[];
  #bytes: number;

  private constructor(file: number, entries: JournalEntry[], bytes: number) {
    this.#file = file;
    this.#entries = entries;
    this.#bytes = bytes;
  }

  /**
   * Opens the journal, or creates it. An incomplete last line is cut.
   *
   * @throws {ConfigError} when another line is damaged
   */
  static open(path: string): Journal {
    const exists = existsSync(path);
    const { entries, bytes } = exists ? parse(path) : { entries: [], bytes: 0 };
    const file = openSync(path, 'a', 0o644);
    try {
      if (fstatSync(file).size > bytes) ftruncateSync(file, bytes);
      fsyncSync(file);
      if (!exists) syncDirectory(dirname(path));
      return new Journal(file, entries, bytes);
    } catch (error) {
      closeSync(file);
      throw error;
    }
  }

  get entries(): readonly JournalEntry[] {
    return this.#entries;
  }

  /** Adds an entry with the present time. It is on disk when this returns. */
  append(entry: NewEntry): void {
    const stamped = { time: new Date().toISOString(), ...entry } as JournalEntry;
    const line = `${JSON.stringify(stamped)}\n`;
    // A line that could not be read again would end the study at its next start.
    if (entryOf(line) === null) throw new TypeError(`the journal entry lacks a field: ${line}`);
    try {
      writeAll(this.#file, line);
      fsyncSync(this.#file);
    } catch (error) {
      // The next entry must not continue a line that was not written completely.
      ftruncateSync(this.#file, this.#bytes);
      throw error;
    }
    this.#bytes += Buffer.byteLength(line);
    this.#entries.push(stamped);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** The entries of a journal, and the length of the part of the file that has them. */
function parse(path: string): { readonly entries: JournalEntry[]; readonly bytes: number } {
  const text = readBounded(path, MOST_BYTES);
  const entries: JournalEntry[] = [];
  let start = 0;
  while (start < text.length) {
    const end = text.indexOf('\n', start);
    const entry = end === -1 ? null : entryOf(text.slice(start, end));
    if (entry === null) {
      if (end !== -1 && end + 1 < text.length) {
        throw new ConfigError([
          `${path}:${entries.length + 1}: this line is damaged: copy the file from a backup, or choose another directory with --results`,
        ]);
      }
      break;
    }
    entries.push(entry);
    start = end + 1;
  }
  return { entries, bytes: Buffer.byteLength(text.slice(0, start)) };
}

function entryOf(line: string): JournalEntry | null {
  let entry: unknown;
  try {
    entry = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof entry !== 'object' || entry === null) return null;
  const given = entry as Readonly<Record<string, unknown>>;
  const { event } = given;
  if (typeof event !== 'string' || !Object.hasOwn(FIELDS, event)) return null;
  const fields: readonly (readonly [string, string])[] = [
    ['time', 'string'],
    ...Object.entries(FIELDS[event as JournalEntry['event']]),
  ];
  return fields.every(([name, type]) => typeof given[name] === type && given[name] !== null)
    ? (entry as JournalEntry)
    : null;
}
