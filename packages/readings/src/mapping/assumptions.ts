import type { DecodeContext } from '../codec.ts';
import type { Reading, ReadingValue } from '../reading.ts';
import { nameField, senderField } from '../record-senders.ts';
import { MAX_AHEAD, parseTime } from '../time.ts';
import { restoreName } from './clean-name.ts';
import { isTime, isTimeBelow } from './history.ts';
import { isTable } from './paths.ts';
import { mayBeTime } from './record-time.ts';
import { FIRST_DATE } from './short-time.ts';
import { stateOf } from './texts.ts';

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

const SEVERAL_NAMES =
  'it differs between the values of one payload: if it names a sender or a value, they are one series that should be several; put it ' +
  'into device or metric of a mapping';

/** Further names of senders, for which records are not refused, because many senders mean something else by them. */
const SENDER_NAMES =
  'topic entity entity_id thing asset machine room source src sender gateway gw alias tag ch chan'.split(' ');
/** Names of a value besides those of senders, when a record has one value. */
const VALUE_NAMES = (
  'key n type label value_type path location zone point signal variable parameter property quantity measurement code ' +
  'resource resourceName item object port register'
).split(' ');
const VALUES = ['v', 'value', 'val', 'payload', 'reading', 'result', 'data'];
/** Texts that differ between records without naming them. */
const STATE_NAME =
  /(?:state|status|mode|quality|error|err|fault|alarm|alert|message|msg|event|action|reason|result|level|text|comment|note|version|firmware|effect|colou?r|weather|condition)$/i;
/** Numbers by which senders can be distinguished. Others are measurements. */
const PLACES = new Set(
  'ch chan port phase pin gpio register reg cell slot input output zone line module'.split(' '),
);

/** A number is near the time of receipt from a year before it, microseconds. */
const YEAR = 365 * 86_400_000_000;
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
  if (typeof value === 'string') return isDate(value);
  if (value < FIRST_DATE) return false;
  const time = parseTime(value);
  return time !== null && time > received - YEAR && time - received <= MAX_AHEAD;
}

/** Whether a text is a time, and no number of digits. */
function isDate(text: string): boolean {
  return /[^\d.]/.test(text) && isTime(text);
}

/** Notes fields that can name the senders or values of the records of a payload, which are one series. */
export function noteNames(readings: readonly Reading[], { notes }: DecodeContext): void {
  // Two records of a name and a number.
  if (readings.length < 4) return;
  const values = new Map<string, ReadingValue>();
  const names = new Set<string>();
  let numbers = 0;
  for (const { device, metric, value } of readings) {
    if (typeof value === 'number' && !PLACES.has(metric)) {
      numbers++;
      continue;
    }
    const series = `${device} ${metric}`;
    const before = values.get(series);
    values.set(series, value);
    if (before !== undefined && before !== value && mayBeName(metric, value)) names.add(metric);
  }
  if (numbers > 1) for (const name of names) notes?.doubt?.(restoreName(name), SEVERAL_NAMES);
}

function mayBeName(metric: string, value: ReadingValue): boolean {
  return typeof value === 'number' || !(STATE_NAME.test(metric) || stateOf(value) !== null || isDate(value));
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
  const isText = (field: string) =>
    Object.hasOwn(record, field) && typeof record[field] === 'string' && record[field] !== '';
  const sender = nameField(record) ?? SENDER_NAMES.find(isText);
  if (sender !== undefined) return sender;
  const hasValue = VALUES.some((field) => Object.hasOwn(record, field));
  return hasValue ? (VALUE_NAMES.find(isText) ?? null) : null;
}
