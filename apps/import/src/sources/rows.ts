import {
  type DecodeContext,
  DecodeError,
  Mapping,
  type MappingOptions,
  parseTime,
  QUALITIES,
  type Reading,
} from '@tidegauge/readings';
import { ConfigError } from '@tidegauge/service/program';
import { asHistory, type SourceReading } from '../import-source.ts';
import type { Tally } from '../tally.ts';

/** The columns of an export of Tidegauge, in their order. */
const EXPORT = ['device', 'metric', 'time', 'value', 'text', 'received', 'quality', 'boot', 'seq', 'unit'];
/** Rows that are read together at first, to find out whether they are of several senders. */
const MOST_TRIED = 100;

/** A row of a table: its cells by column. Empty cells are absent. */
export type Row = Readonly<Record<string, unknown>>;

export interface RowOptions {
  /** As in a routes file. */
  readonly mapping: MappingOptions;
  /** The device of the rows: `{device}` in templates of the mapping. Null: the mapping names it. */
  readonly device: string | null;
}

/** Converts rows to readings: those of an export of Tidegauge as they are, and others by a mapping. */
export class RowReader {
  readonly #mapping: Mapping;
  readonly #context: DecodeContext;
  readonly #hasZone: boolean;
  /** Whether the table is an export of Tidegauge, whose texts are never numbers. */
  readonly isExport: boolean;
  /** Units of the row that is read, by series. */
  readonly #units = new Map<string, string>();
  readonly #notes: [field: string, why: string][] = [];
  readonly #doubts: [field: string, why: string][] = [];

  constructor(columns: readonly string[], { mapping, device }: RowOptions, received: number) {
    this.isExport =
      columns.length === EXPORT.length && EXPORT.every((name, index) => columns[index] === name);
    this.#mapping = new Mapping(mapping);
    this.#hasZone = typeof mapping.time === 'object' && mapping.time.zone !== undefined;
    this.#context = {
      ...{ device, full: device, metric: null, received },
      notes: {
        unit: (device, metric, unit) => void this.#units.set(`${device} ${metric}`, unit),
        ignored: (...note) => void this.#notes.push(note),
        doubt: (field, why) => void this.#doubts.push([field, why]),
      },
    };
  }

  /** @throws {ConfigError} when the mapping lacks what names the devices or metrics of the first rows */
  check(rows: readonly Row[]): void {
    if (this.isExport || rows.length === 0) return;
    const decoded = this.#mapping.read(rows.slice(0, MOST_TRIED), this.#context);
    this.#clear();
    if (decoded instanceof DecodeError && decoded.reason === 'invalid_name')
      throw new ConfigError([`the mapping does not fit: ${decoded.message}`]);
  }

  /** @param place where the row is, for people */
  read(row: Row, place: string, into: SourceReading[], tally: Tally): void {
    if (this.isExport) {
      const found = exported(row);
      if (typeof found === 'string') tally.add('refused', found, place);
      else into.push(found);
      return;
    }
    this.#clear();
    const { received } = this.#context;
    const decoded = this.#mapping.read(row, this.#context);
    if (decoded instanceof DecodeError) {
      tally.add('refused', decoded.reason, `${place}: ${decoded.message}`);
      return;
    }
    const doubts = this.#hasZone ? [] : this.#doubts;
    if (doubts.length > 0 || decoded.some(({ time }) => time === received)) {
      const [, why] = doubts[0] ?? this.#notes[0] ?? ['', 'no column is the time: set time of the mapping'];
      tally.add('refused', 'the row has no certain time', `${place}: ${why}`);
      return;
    }
    const outcome = decoded.length === 0 ? 'skipped' : 'noted';
    if (decoded.length === 0 && this.#notes.length === 0) tally.add('skipped', 'the row has no value', place);
    for (const [field, why] of [...this.#notes, ...this.#doubts])
      tally.add(outcome, why, `${place}: ${field}`);
    for (const reading of decoded) {
      const unit = this.#units.get(`${reading.device} ${reading.metric}`) ?? null;
      into.push({ reading: asHistory(reading), unit });
    }
  }

  #clear(): void {
    this.#units.clear();
    this.#notes.length = 0;
    this.#doubts.length = 0;
  }
}

/** The reading of a row of an export; a text when it cannot be read. */
function exported({
  device,
  metric,
  time,
  value,
  text,
  received,
  quality,
  boot,
  seq,
  unit,
}: Row): SourceReading | string {
  const [at, receipt] = [parseTime(time), parseTime(received)];
  if (typeof device !== 'string' || typeof metric !== 'string') return 'the row names no device or no metric';
  if (at === null || receipt === null) return 'the time or the time of receipt cannot be read';
  const number = value === undefined ? null : Number(value);
  if (number !== null && !Number.isFinite(number)) return 'the value is no number';
  if ((number === null) === (text === undefined)) return 'the row has no value, or two';
  const known = QUALITIES.find((name) => name === quality);
  if (known === undefined) return 'the quality is unknown';
  const reading: Reading = {
    device,
    metric,
    time: at,
    value: number ?? String(text),
    received: receipt,
    boot: boot === undefined ? null : String(boot),
    seq: seq === undefined ? null : Number(seq),
    quality: known,
  };
  return { reading, unit: unit === undefined ? null : String(unit) };
}
