import { DecodeError } from '../../codec.ts';
import { MAX_READINGS_PER_PAYLOAD, tooManyReadings } from '../../make-reading.ts';
import { numberOf, simpleNumber, wholeNumber } from '../../mapping/numbers.ts';
import { MAX_VALUES } from '../parse-json.ts';
import { decodeUtf8, withoutLast } from '../utf8.ts';
import { type Form, Parsed } from './form.ts';

const SEPARATORS = [';', '\t', ','];
/** A name of a column: it begins with a letter, so that no row of values is taken for a header. */
const NAME = /^"?\p{L}[^"]{0,63}"?$/u;
const MAX_COLUMNS = 256;

/**
 * Comma-separated values (RFC 4180, also with semicolons or tabs) with a header row of names, rows that have a value for
 * each name, and a number in each row. Quoted values have no separator in them.
 */
export const csv: Form = {
  name: 'CSV with a header row',
  read(payload) {
    // The first row has an end and a separator.
    const end = payload.indexOf(0x0a);
    if (end === -1 || end > 64 * MAX_COLUMNS) return null;
    const text = decodeUtf8(payload);
    if (text instanceof DecodeError) return null;
    // Other white space at the end can be an empty cell.
    const lines = withoutLast(text, '\r\n').split(/\r?\n/, MAX_READINGS_PER_PAYLOAD + 2);
    if (lines.length < 2 || lines[0]!.length > 64 * MAX_COLUMNS) return null;
    const separator = SEPARATORS.find((each) => lines[0]!.includes(each));
    if (separator === undefined) return null;
    const names = lines[0]!.split(separator).map((name) => name.trim());
    if (names.length > MAX_COLUMNS || !names.every((name) => NAME.test(name))) return null;
    const columns = names.map(unquoted);
    if (new Set(columns).size < columns.length) return null;
    if (lines.length > MAX_READINGS_PER_PAYLOAD + 1) return tooManyReadings(lines.length - 1);
    if ((lines.length - 1) * columns.length > MAX_VALUES) {
      return new DecodeError('too_many_readings', `more than ${MAX_VALUES} values in one payload`);
    }
    const records: Record<string, unknown>[] = [];
    for (const line of lines.slice(1)) {
      const cells = line.split(separator, columns.length + 1).map((cell) => unquoted(cell.trim()));
      if (cells.length !== columns.length || !cells.some(isNumber)) return null;
      records.push(recordOf(columns, cells));
    }
    return new Parsed(records);
  },
};

/** Whether a cell is a number, also one that is in doubt, such as `21,5`, or has a unit. */
function recordOf(columns: readonly string[], cells: readonly string[]): Record<string, unknown> {
  const record: Record<string, unknown> = Object.create(null);
  for (const [i, cell] of cells.entries()) {
    if (cell !== '') record[columns[i]!] = wholeNumber(cell) ?? cell;
  }
  return record;
}

function isNumber(cell: string): boolean {
  return !Number.isNaN(simpleNumber(cell)) || numberOf(cell, null) !== null;
}

function unquoted(cell: string): string {
  return cell.length > 1 && cell.startsWith('"') && cell.endsWith('"') ? cell.slice(1, -1) : cell;
}
