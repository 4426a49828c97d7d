import type { DecodeContext } from '../codec.ts';
import type { DoubtfulName } from '../notes.ts';
import type { Reading, ReadingValue } from '../reading.ts';
import { isAddress, mayNameSender, nameField, namesSender, senderField } from '../record-senders.ts';
import { FAR_PAST, MAX_AHEAD, parseTime } from '../time.ts';
import { restoreName } from './clean-name.ts';
import { isTime, isTimeBelow } from './history.ts';
import { recordList } from './named-values.ts';
import { isTable, valueAt } from './paths.ts';
import { mayBeTime } from './record-time.ts';
import { FIRST_DATE } from './short-time.ts';
import { stateOf } from './texts.ts';

// What a payload can mean besides what is stored. Nothing is refused for it, because most senders do not mean it, and a note
// states it.

const OTHER_TIME =
  'it can be the time: it is stored as a metric, and the time of receipt is used; set time in a mapping to its path, or records ' +
  'when each object has its own time';
const OLD_TIME =
  'it is more than a year before the receipt: a sensor can count in another unit, or from another date, such as 2000 ' +
  '(946684800 s later than 1970); set the unit of time in a mapping, or time: false for the time of receipt. Times of a clock ' +
  'that was never set are replaced';
const TIME_AS_NAME =
  'names of fields are times, and each becomes a metric; set records to the path of these fields with * at its end, and time to ' +
  "'{key}', in a mapping";
export const BY_PLACE =
  'elements of an array are stored by their place, and this field seems to name them: if their order can change, set records, ' +
  'and device or metric, in a mapping';
export const ONE_TIME =
  'all its values have the one time beside them: if they are a step apart, name that time start when it is of the first value';
const ONE_OF_SEVERAL =
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
const VALUES = ['v', 'value', 'val', 'payload', 'reading', 'result', 'data', 'nvalue'];
/** Texts that differ between records without naming them. */
const STATE_NAME =
  /(?:state|status|mode|quality|error|err|fault|alarm|alert|message|msg|event|action|reason|result|level|text|comment|note|version|firmware|effect|colou?r|weather|condition)$/i;
/** Numbers by which senders can be distinguished. Others are measurements. */
const PLACES = new Set(
  'ch chan port phase pin gpio register reg cell slot input output zone line module'.split(' '),
);
/** Numbers that name the only value of a record. */
const NUMBERS = [...PLACES, 'idx'];
/** Objects that say where the values of a payload are from. */
const ORIGIN = /^(?:tags|meta|metadata|header|head|info|source|origin|sender|context|labels)$/i;
/** Objects about a connection, whose channel is no sender. */
const LINK = /wi-?fi|wlan|radio/i;
/** Values of fields such as `sensor` that say which of the own ones is used. */
const CHOICE = /^(?:in|ex)ternal$/;
const OTHER_NAMES = new Set([...SENDER_NAMES, ...VALUE_NAMES, ...NUMBERS]);
/** Notes of the names in a payload at most: it can have an object for each of many senders. */
const MOST_NAMES = 4;
/** A text from this length on is in a name on purpose, such as the address in `shelly-A4C138`. */
const LONG_NAME = 6;
const SEPARATORS = /[\s_:./-]+/g;
const NONE: ReadonlySet<string> = new Set();
/** Longer names are those of payloads that differ. */
const LONGEST_KNOWN = 64;

/** Metrics of which is known whether they can be such a name: most payloads have the same few. */
const MOST_KNOWN = 1000;
const known = new Map<string, boolean>();

/** A part of the path of a field that is a time; names have `~20` for a space. */
const DATE_NAME = /(?<=^|\.)(?:1\d{9}|1\d{12}|\d{4}-\d\d-\d\d(?:(?:T|~20)[^.]*)?)(?=\.|$)/;

/** Characters of a date, or of seconds since 1970. */
const SHORTEST_DATE = 10;

/** Notes times that are stored as metrics, or as names of metrics, while the readings have the time of receipt. */
export function noteTimes(readings: readonly Reading[], { received, notes }: DecodeContext): void {
  if (notes?.doubt === undefined) return;
  for (const { metric, time, value } of readings) {
    if (time !== received) {
      if (received - time > FAR_PAST) notes.doubt('(time)', OLD_TIME);
      continue;
    }
    const field = restoreName(metric);
    // The mapping has noted those with the name of a time.
    if (isNearReceipt(value, received) && !isTimeBelow(field, value)) notes.doubt(field, OTHER_TIME);
    const name = metric.length < SHORTEST_DATE ? null : DATE_NAME.exec(metric);
    if (name !== null) notes.doubt(restoreName(metric.replace(name[0], '*')), TIME_AS_NAME);
  }
}

function isNearReceipt(value: ReadingValue, received: number): boolean {
  if (typeof value === 'string') return isDate(value);
  if (value < FIRST_DATE) return false;
  const time = parseTime(value);
  return time !== null && time > received - FAR_PAST && time - received <= MAX_AHEAD;
}

/** Whether a text is a time, and no number of digits. */
function isDate(text: string): boolean {
  return /[^\d.]/.test(text) && isTime(text);
}

/**
 * Notes fields that can name the sender of other values, or a value, and are stored as values themselves: with other names the
 * values become the same series.
 *
 * @param root the payload
 * @param isMapped whether a mapping names the device, with levels of the topic only
 */
export function noteNames(
  root: unknown,
  readings: readonly Reading[],
  context: DecodeContext,
  isMapped = false,
): void {
  const { notes } = context;
  if (notes?.doubt === undefined) return;
  const several = severalNames(readings);
  for (const field of several) notes.doubt(field, SEVERAL_NAMES);
  if (!haveNames(readings)) return;
  const found = namesIn(placesOf(readings, context, isMapped), several);
  const setting = found.length === 1 && !isMapped ? settingOf(root, found[0]!.field, context) : '';
  for (const { field, name } of found) notes.doubt(field, ONE_OF_SEVERAL + setting, name);
}

/** The fields that have several names in one series. */
function severalNames(readings: readonly Reading[]): ReadonlySet<string> {
  // Two records of a name and a number. Other values of a series at one time are refused.
  if (readings.length < 4 || readings.every(({ time }) => time === readings[0]!.time)) return NONE;
  const names = new Set<string>();
  const values = new Map<string, ReadingValue>();
  let numbers = 0;
  for (const { device, metric, value } of readings) {
    if (typeof value === 'number' && !PLACES.has(metric)) {
      numbers++;
      continue;
    }
    const series = `${device} ${metric}`;
    const before = values.get(series);
    values.set(series, value);
    if (before !== undefined && before !== value && mayBeName(metric, value)) names.add(restoreName(metric));
  }
  return numbers > 1 ? names : NONE;
}

/** The fields of objects that can be their names, with their values; without those that have a note. */
function namesIn(
  places: Iterable<Place>,
  noted: ReadonlySet<string>,
): readonly { readonly field: string; readonly name: DoubtfulName }[] {
  const found: { field: string; name: DoubtfulName }[] = [];
  for (const { path, device, fields } of places) {
    const own = nameIn(path, fields);
    const field = path === '' ? own : `${restoreName(path)}.${own}`;
    if (own === null || noted.has(field!)) continue;
    found.push({ field: field!, name: { device, text: String(fields[own]) } });
    if (found.length === MOST_NAMES) break;
  }
  return found;
}

/** Whether a metric can be the name of a sender or a value. It is on the hot path of ingest. */
function haveNames(readings: readonly Reading[]): boolean {
  for (const { metric } of readings) if (known.get(metric) ?? canName(metric)) return true;
  return false;
}

/** Whether a metric can be such a name, by its last word. */
function canName(metric: string): boolean {
  const field = restoreName(metric.slice(metric.lastIndexOf('.') + 1));
  const can = mayNameSender(field) || OTHER_NAMES.has(field);
  if (metric.length > LONGEST_KNOWN) return can;
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(metric, can);
  return can;
}

type Fields = Readonly<Record<string, unknown>>;

/** An object of a payload whose values are stored. */
interface Place {
  /** Its path, as in the names of metrics. */
  readonly path: string;
  readonly device: string;
  /** The first value of each field, without names that are in the device or the path already. */
  readonly fields: Record<string, ReadingValue>;
}

/** The objects of a payload, without those whose device the payload names. */
function placesOf(
  readings: readonly Reading[],
  { device: ofTopic, metric: own, full }: DecodeContext,
  isMapped: boolean,
): Iterable<Place> {
  const places = new Map<string, Place>();
  for (const { device, metric, value } of readings) {
    if (!isMapped && device !== ofTopic && device !== full) continue;
    const point = metric.lastIndexOf('.');
    const path = metric.slice(0, Math.max(point, 0));
    let place = places.get(path);
    if (place === undefined) {
      place = { path, device, fields: {} };
      places.set(path, place);
    }
    // The value without a name has that of the topic.
    const field = metric === own ? 'value' : restoreName(metric.slice(point + 1));
    if (place.fields[field] !== undefined) continue;
    const isUsed = mayNameSender(field) && isPartOf(String(value), `${device}/${path}`);
    if (!isUsed) place.fields[field] = value;
  }
  return places.values();
}

/** Whether a text is a part of a name already, or the word for a choice. */
function isPartOf(text: string, name: string): boolean {
  const part = text.toLowerCase();
  if (CHOICE.test(part)) return true;
  const whole = restoreName(name).toLowerCase();
  const letters = part.replace(SEPARATORS, '');
  if (letters.length >= LONG_NAME) return whole.replace(SEPARATORS, '').includes(letters);
  return whole.includes(part) && whole.split(SEPARATORS).includes(part);
}

/** The field of an object that can be the name of its sender or value; null without one. */
function nameIn(path: string, fields: Fields): string | null {
  const name = ownName(fields);
  if (name === null || path === '') return name;
  const parent = restoreName(path.slice(path.lastIndexOf('.') + 1));
  // `placeName` is for the elements of arrays.
  if (/^\d+$/.test(parent)) return null;
  if (isAddress(name) || namesSender(name) || namesSender(parent) || ORIGIN.test(parent)) return name;
  const isRecord = Object.keys(fields).some((field) => field !== name && typeof fields[field] === 'number');
  return isRecord && mayNameSender(name) && !LINK.test(parent) ? name : null;
}

/** The setting that puts a field into the device; empty when it is not certain. */
function settingOf(root: unknown, field: string, { device }: DecodeContext): string {
  if (!/^[\w.-]+$/.test(field)) return '';
  const topic = device === null ? '' : '{device}/';
  const record = recordList(root)[0] ?? root;
  if (valueAt(record, field) !== undefined) return `, such as { device: '${topic}{${field}}' }`;
  const point = field.lastIndexOf('.');
  const list = field.slice(0, Math.max(point, 0));
  if (list === '' || !Array.isArray(valueAt(root, list))) return '';
  return `, such as { records: ${list}, device: '${topic}{${field.slice(point + 1)}}' }`;
}

function mayBeName(metric: string, value: ReadingValue): boolean {
  return typeof value === 'number' || !(STATE_NAME.test(metric) || stateOf(value) !== null || isDate(value));
}

/** The field that seems to name the elements of an array; null without one, or when it counts them. */
export function placeName(array: readonly unknown[]): string | null {
  if (array.length === 0 || !array.every(isTable)) return null;
  const sender = senderField(array, (field) => !field.includes('.')) ?? ownName(array[0]!);
  if (sender !== null) return countsPlaces(array, sender) ? null : sender;
  if (array.length === 1) return null;
  const isName = (field: string) =>
    !mayBeTime(field) &&
    array.every((each) => typeof each[field] === 'string' && /\p{L}/u.test(each[field])) &&
    new Set(array.map((each) => each[field])).size === array.length;
  return Object.keys(array[0]!).find(isName) ?? null;
}

/** Whether a field has the places of elements, from 0 or 1. Other numbers are missing before a first one of 2. */
function countsPlaces(array: readonly Fields[], field: string): boolean {
  const first = array[0]![field];
  return (first === 0 || first === 1) && array.every((each, index) => each[field] === first + index);
}

/** The field of a record that can name its sender or its only value; null without one. */
function ownName(record: Fields): string | null {
  const isText = (field: string) => typeof record[field] === 'string' && record[field] !== '';
  const sender = nameField(record) ?? SENDER_NAMES.find(isText);
  if (sender !== undefined) return sender;
  const value = VALUES.find((field) => Object.hasOwn(record, field));
  if (value === undefined) return null;
  const number = typeof record[value] === 'number' ? NUMBERS : [];
  return VALUE_NAMES.find(isText) ?? number.find((field) => typeof record[field] === 'number') ?? null;
}
