import { nameField, senderField } from '../record-senders.ts';
import { isTable } from './paths.ts';
import { mayBeTime } from './record-time.ts';

// What a payload can mean besides what is stored. Nothing is refused for it, because most senders do not mean it, and a note
// states it.

export const NESTED_TIME =
  'it can be the time: it is stored as a metric, and the time of receipt is used; set time in a mapping to its path, or records ' +
  'when each object has its own time';
export const BY_PLACE =
  'elements of an array are stored by their place, and this field seems to name them: if their order can change, set records, ' +
  'and device or metric, in a mapping';
export const ONE_OF_SEVERAL =
  'it can be the name of a sender or a value: other names on the same topic become the same series; if there are others, put it ' +
  'into device or metric of a mapping';

/** Names of a value besides those of senders, when a record has one value. */
const VALUE_NAMES = ['key', 'n', 'type', 'label', 'value_type', 'tag'];
const VALUES = ['v', 'value'];

/** The field that seems to name the elements of an array; null without one, or when it counts them. */
export function placeName(array: readonly unknown[]): string | null {
  if (array.length < 2 || !array.every(isTable)) return null;
  const sender = senderField(array, (field) => !field.includes('.'));
  if (sender !== null) {
    const start = array[0]![sender];
    const isCount = typeof start === 'number' && array.every((each, index) => each[sender] === start + index);
    return isCount ? null : sender;
  }
  const isName = (field: string) =>
    !mayBeTime(field) &&
    array.every((each) => typeof each[field] === 'string' && /\p{L}/u.test(each[field])) &&
    new Set(array.map((each) => each[field])).size === array.length;
  return Object.keys(array[0]!).find(isName) ?? null;
}

/** The field of a record that can name its sender or its only value; null without one. */
export function ownName(record: Readonly<Record<string, unknown>>): string | null {
  const sender = nameField(record);
  if (sender !== null) return sender;
  if (!VALUES.some((field) => Object.hasOwn(record, field))) return null;
  const isText = (field: string) => typeof record[field] === 'string' && record[field] !== '';
  return VALUE_NAMES.find((field) => Object.hasOwn(record, field) && isText(field)) ?? null;
}
