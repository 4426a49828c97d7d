import { wholeNumber } from '@tidegauge/readings';
import { ConfigError } from '@tidegauge/service/program';
import type { ImportSource, SourceReading, Step } from '../import-source.ts';
import type { Tally } from '../tally.ts';
import { fileName, fileVersion, TextReader } from '../text-reader.ts';
import { type Row, type RowOptions, RowReader } from './rows.ts';

const SEPARATORS = [';', '\t', ','];
/** The longest row, characters. A quote that is not closed joins all rows after it. */
const MOST_ROW = 1024 * 1024;
const MOST_COLUMNS = 1000;
/** The last line of an export of Tidegauge, when it is complete, and when it is not. */
const COMPLETE = /^# complete: /;
const FAILED = /^# failed /;

interface Position {
  readonly offset: number;
  /** The number of the next row, from 1 for the header. */
  readonly row: number;
}

/** A row of CSV. An empty cell without quotes is null. */
interface Cells {
  readonly cells: readonly (string | null)[];
  /** Where the next row begins. */
  readonly end: number;
}

/**
 * Comma-separated values (RFC 4180; also with semicolons or tabs) with a header. An export of Tidegauge is read as it is, and
 * other tables by a mapping.
 */
export function csvFile(path: string, options: RowOptions, received: number): ImportSource {
  return {
    name: fileName('csv', path),
    version: fileVersion(path, options),
    steps: (position, tally) => read(path, options, received, position as Position | null, tally),
  };
}

async function* read(
  path: string,
  options: RowOptions,
  received: number,
  position: Position | null,
  tally: Tally,
): AsyncGenerator<Step> {
  const { columns, separator, offset } = await readHeader(path);
  const rows = new RowReader(columns, options, received);
  const reader = new TextReader(path, position?.offset ?? offset);
  let number = position?.row ?? 2;
  let isFirst = true;
  try {
    while (await reader.more()) {
      const { text, isLast } = reader;
      const found: [row: Row, place: string][] = [];
      let end = 0;
      for (const next of completeRows(text, isLast, separator)) {
        const place = `row ${number}`;
        checkExport(path, next.cells);
        if (isRow(next.cells, columns, place, tally))
          found.push([rowOf(columns, next.cells, rows.isExport), place]);
        number += 1;
        end = next.end;
      }
      if (isFirst) rows.check(found.map(([row]) => row));
      isFirst = false;
      const readings: SourceReading[] = [];
      for (const [row, place] of found) rows.read(row, place, readings, tally);
      reader.take(end);
      yield { readings, position: { offset: reader.offset, row: number }, share: reader.share };
    }
  } finally {
    reader.close();
  }
}

/** The rows of a text up to its last complete one. `cells` is null when a quote is not closed. */
function* completeRows(
  text: string,
  isLast: boolean,
  separator: string,
): Generator<Cells | { readonly cells: null; readonly end: number }> {
  for (let end = 0; end < text.length; ) {
    const next = readCells(text, end, separator);
    if (next === null && !isLast && text.length - end <= MOST_ROW) return;
    const row = next ?? { cells: null, end: endOfLine(text, end) };
    yield row;
    end = row.end;
  }
}

/** @throws {Error} at the last line of an export that failed */
function checkExport(path: string, cells: Cells['cells'] | null): void {
  if (cells !== null && FAILED.test(String(cells[0])))
    throw new Error(`${path}: the export failed: ${cells[0]}`);
}

/** Whether cells are a row with all columns. Counts what they are otherwise, unless the line is empty. */
function isRow(
  cells: Cells['cells'] | null,
  columns: readonly string[],
  place: string,
  tally: Tally,
): cells is Cells['cells'] {
  if (cells === null) {
    tally.add('refused', 'a quote is not closed', place);
    return false;
  }
  if (COMPLETE.test(String(cells[0]))) {
    tally.add('skipped', 'the line that ends an export', place);
    return false;
  }
  if (cells.length === columns.length) return true;
  const isEmpty = cells.length === 1 && cells[0] === null;
  if (!isEmpty)
    tally.add('refused', `the row does not have ${columns.length} cells`, `${place}: ${cells.length}`);
  return false;
}

interface Header {
  readonly columns: readonly string[];
  readonly separator: string;
  /** Where the rows begin, bytes. */
  readonly offset: number;
}

async function readHeader(path: string): Promise<Header> {
  const reader = new TextReader(path);
  try {
    await reader.more();
    const line = reader.text.slice(0, endOfLine(reader.text, 0));
    const separator = SEPARATORS.find((each) => line.includes(each)) ?? ',';
    const header = readCells(reader.text, 0, separator);
    const columns = (header?.cells ?? []).map((name) => (name ?? '').trim());
    if (header === null || columns.length > MOST_COLUMNS || columns.includes(''))
      throw new ConfigError([`${path}: its first row must have a name for each column`]);
    if (new Set(columns).size < columns.length)
      throw new ConfigError([`${path}: two columns have one name: ${columns.join(', ')}`]);
    reader.take(header.end);
    return { columns, separator, offset: reader.offset };
  } finally {
    reader.close();
  }
}

/** Empty cells are absent, as a field that a payload does not have. */
function rowOf(columns: readonly string[], cells: readonly (string | null)[], keepsTexts: boolean): Row {
  const row: Record<string, unknown> = Object.create(null);
  for (const [index, cell] of cells.entries()) {
    if (cell !== null) row[columns[index]!] = keepsTexts ? cell : (wholeNumber(cell) ?? cell);
  }
  return row;
}

/** Reads the row at `from`; null when a quote is not closed. */
function readCells(text: string, from: number, separator: string): Cells | null {
  const cells: (string | null)[] = [];
  for (let at = from; ; at += 1) {
    const isQuoted = text[at] === '"';
    const start = isQuoted ? endOfQuotes(text, at) : at;
    if (start === -1) return null;
    const quoted = isQuoted ? text.slice(at + 1, start - 1).replaceAll('""', '"') : '';
    at = endOfCell(text, start, separator);
    const isEnd = text[at] !== separator;
    const rest = text.slice(start, at);
    const cell = quoted + (isEnd && rest.endsWith('\r') ? rest.slice(0, -1) : rest);
    cells.push(cell === '' && !isQuoted ? null : cell);
    if (isEnd) return { cells, end: at + 1 };
  }
}

function endOfCell(text: string, from: number, separator: string): number {
  let at = from;
  while (at < text.length && text[at] !== separator && text[at] !== '\n') at += 1;
  return at;
}

/** Where the quotes end that begin at `from`: after the first quote that is not doubled; -1 when there is none. */
function endOfQuotes(text: string, from: number): number {
  for (let at = from + 1; ; at += 2) {
    at = text.indexOf('"', at);
    if (at === -1) return -1;
    if (text[at + 1] !== '"') return at + 1;
  }
}

function endOfLine(text: string, from: number): number {
  const newline = text.indexOf('\n', from);
  return newline === -1 ? text.length : newline + 1;
}
