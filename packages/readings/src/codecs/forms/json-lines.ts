import { DecodeError } from '../../codec.ts';
import { MAX_READINGS_PER_PAYLOAD, tooManyReadings } from '../../make-reading.ts';
import { isTable } from '../../mapping/paths.ts';
import { findSyntaxProblem } from '../json-syntax.ts';
import { decodeUtf8 } from '../utf8.ts';
import { type Form, firstByte, Parsed } from './form.ts';

/** An object in each line. Objects with nothing between them have the same meaning. */
export const jsonLines: Form = {
  name: 'JSON lines',
  read(payload) {
    if (firstByte(payload) !== 0x7b) return null;
    const text = decodeUtf8(payload);
    if (text instanceof DecodeError) return null;
    const records: unknown[] = [];
    for (let rest = text.trim(); rest !== ''; ) {
      // Where the next value begins: this one has no mistake before it.
      const end = findSyntaxProblem(rest)?.index ?? rest.length;
      const record = parsed(rest.slice(0, end));
      if (!isTable(record)) return null;
      records.push(record);
      if (records.length > MAX_READINGS_PER_PAYLOAD) return tooManyReadings(records.length);
      rest = rest.slice(end);
    }
    return records.length > 1 ? new Parsed(records) : null;
  },
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
