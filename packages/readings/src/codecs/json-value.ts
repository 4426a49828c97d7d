import type { DecodeError } from '../codec.ts';
import { readValue } from '../make-reading.ts';
import { keptAsText, noValueNote } from '../mapping/field-values.ts';
import { Doubt, mayBeNumberOrNone, numberOf, type Quantity, simpleNumber } from '../mapping/numbers.ts';
import { isNoValue, isVersion } from '../mapping/texts.ts';
import type { ReadingValue } from '../reading.ts';

/** A note of a field, which is given only when the whole payload is read. */
export type FieldNote = readonly [field: string, why: string];

/**
 * Converts a value of JSON to the value of a reading. Of texts, numbers become numbers, see `numberOf`, and words for no
 * value become null. Both a word for no value and a text that can be a number are noted.
 *
 * @param field its field; null when it is the whole payload
 * @returns a quantity for a text with a unit
 */
export function readJsonValue(
  raw: unknown,
  field: string | null,
  notes: FieldNote[],
): ReadingValue | Quantity | null | DecodeError {
  if (typeof raw !== 'string' || !mayBeNumberOrNone(raw)) return readValue(raw, field);
  if (field !== null && isVersion(field, raw)) return readValue(raw, field);
  const simple = simpleNumber(raw);
  if (!Number.isNaN(simple)) return simple;
  const number = numberOf(raw, null);
  if (number !== null && !(number instanceof Doubt)) return number.unit === null ? number.value : number;
  if (isNoValue(raw)) {
    notes.push([field ?? '(payload)', noValueNote(raw)]);
    return null;
  }
  if (number !== null && !number.isText) notes.push([field ?? '(payload)', keptAsText(number)]);
  return readValue(raw, field);
}
