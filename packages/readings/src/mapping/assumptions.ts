import type { DecodeContext } from '../codec.ts';
import type { Reading, ReadingValue } from '../reading.ts';
import { nameField, senderField } from '../record-senders.ts';
import { MAX_AHEAD, parseTime } from '../time.ts';
import { restoreName } from './clean-name.ts';
import { isTimeBelow } from './history.ts';
import { isTable } from './paths.ts';
import { mayBeTime } from './record-time.ts';
import { FIRST_DATE } from './short-time.ts';

// What a payload can mean besides what is stored. Nothing is refused for it, because most senders do not mean it, and a note
// states it.

const OTHER_TIME =
  'it can be the time: it is stored as a metric, and the time of receipt is used; set time in a mapping to its path, or records ' +
  'when each object has its own time';
const TIME_AS_NAME =
  'names of fields are times, and each becomes a metric; set records to the path of these fields with * at its end, and time to ' +
  "'{key}', in a mapping";
export const BY_PLACE =
  'elements of an array are stored by their place, and this field seems to name them: if their order can change, set records, ' +
  'and device or metric, in a mapping';
export const ONE_TIME =
  'all its values have the one time beside them: if they are a step apart, name that time start when it is of the first value';
export const ONE_OF_SEVERAL =
  'it can be the name of a sender or a value: other names on the same topic become the same series; if there are others, put it ' +
  'into device or metric of a mapping';

/** Names of a value besides those of senders, when a record has one value. */
const VALUE_NAMES = ['key', 'n', 'type', 'label', 'value_type', 'tag'];
const VALUES = ['v', 'value'];

/** A number is near the time of receipt from a year before it, microseconds. */
const YEAR = 365 * 86_400_000_000;
const DATE_TEXT = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/;
/** A part of the path of a field that is a time; names have `~20` for a space. */
const DATE_NAME = /(?<=^|\.)(?:1\d{9}|1\d{12}|\d{4}-\d\d-\d\d(?:(?:T|~20)[^.]*)?)(?=\.|$)/;

/** Characters of a date, or of seconds since 1970. */
const SHORTEST_DATE = 10;

/** Notes times that are stored as metrics, or as names of metrics, while the readings have the time of receipt. */
export function noteTimes(readings: readonly Reading[], { received, notes }: DecodeContext): void {
  for (const { metric, time, value } of readings) {
    if (time !== received) continue;
    const field = restoreName(metric);
    // The mapping has noted those with the name of a time.
    if (isNearReceipt(value, received) && !isTimeBelow(field, value)) notes?.doubt?.(field, OTHER_TIME);
    const name = metric.length < SHORTEST_DATE ? null : DATE_NAME.exec(metric);
    if (name !== null) notes?.doubt?.(restoreName(metric.replace(name[0], '*')), TIME_AS_NAME);
  }
}

function isNearReceipt(value: ReadingValue, received: number): boolean {
  if (typeof value === 'number' && value < FIRST_DATE) return false;
  if (typeof value === 'string' && !DATE_TEXT.test(value)) return false;
  const time = parseTime(value);
  if (time === null) return false;
  return typeof value === 'string' || (time > received - YEAR && time - received <= MAX_AHEAD);
}

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
