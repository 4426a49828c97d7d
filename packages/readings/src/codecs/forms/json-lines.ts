import { DecodeError } from '../../codec.ts';
import { MAX_READINGS_PER_PAYLOAD, tooManyReadings } from '../../make-reading.ts';
import { isTable } from '../../mapping/paths.ts';
import { findSyntaxProblem } from '../json-syntax.ts';
import { decodeUtf8 } from '../utf8.ts';
import { type Form, firstByte } from './form.ts';

/**
 * An object in each line. Objects with nothing between them have the same meaning. The content is the JSON array of them, so
 * that repeated names and whole numbers beyond 2^53 are noted as in every JSON text.
 */
export const jsonLines: Form = {
  name: 'JSON lines',
  read(payload) {
    if (firstByte(payload) !== 0x7b) return null;
    const text = decodeUtf8(payload);
    if (text instanceof DecodeError) return null;
    const records: string[] = [];
    for (let rest = text.trim(); rest !== ''; ) {
      // Where the next value begins: this one has no mistake before it.
      const end = findSyntaxProblem(rest)?.index ?? rest.length;
      const record = rest.slice(0, end);
      if (!isTable(parsed(record))) return null;
      records.push(record);
      if (records.length > MAX_READINGS_PER_PAYLOAD) return tooManyReadings(records.length);
      rest = rest.slice(end);
    }
    return records.length > 1 ? Buffer.from(`[${records.join(',')}]`) : null;
  },
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
