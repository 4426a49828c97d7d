import { type DecodeContext, DecodeError } from '../codec.ts';
import { timeProblem } from '../make-reading.ts';
import { quote } from '../quote.ts';
import { type MappingOptions, timeOptions } from './options.ts';
import { valueAt } from './paths.ts';
import { canBeDate, isShortTime, looksLikeTime, MAY_BE_TIME, mayBeUptime } from './short-time.ts';
import { compileTemplate, type Template, type TemplateValues } from './template.ts';
import { isNoValue } from './texts.ts';
import { compileTime, joinTime, type ReadTime, timeDoubt, UNKNOWN_ZONE, type When } from './times.ts';

/** The time of a record, and the field of the record that has it, which is no metric. */
export interface RecordTime {
  readonly time: number;
  readonly field: string | null;
  /** The field with the date, when the time of day has its own. */
  readonly dateField?: string;
}

/** @param after the time of the record before it in the payload; null without one */
export type ReadRecordTime = (
  values: TemplateValues,
  context: DecodeContext,
  after: number | null,
) => RecordTime | DecodeError;

/** Names that are the time. A time that cannot be read there is an error. `t` is the time only if it can be one. */
const CERTAIN = ['t', 'time', 'ts', 'timestamp'];
/**
 * Names that are the time when their value is one without doubt: a text with an offset, or a number of this century.
 * Senders use them for other things too.
 */
const LIKELY = [
  ...[
    'Time',
    'TIME',
    'Timestamp',
    'timeStamp',
    'time_stamp',
    'ts_ms',
    'time_ms',
    'timestamp_ms',
    'TS',
    'tst',
  ],
  ...[
    'datetime',
    'date_time',
    'dateTime',
    'DateTime',
    'DATETIME',
    'date',
    'dt',
    'dateTimeUTC',
    'utc',
    'epoch',
  ],
  ...['measured_at', 'measuredAt', 'observed_at', 'observedAt', 'sampled_at', 'recorded_at', 'recordedAt'],
  ...[
    'received_at',
    'receivedAt',
    'reported_at',
    'reportedAt',
    'created_at',
    'timeCreated',
    'createdAt',
    'last_seen',
    'lastSeen',
  ],
];
const LIKELY_NAMES = new Set(LIKELY);

/** Whether a field can be the time of its record, by its name. */
export function isLikelyTime(field: string): boolean {
  return LIKELY_NAMES.has(field);
}

/** Whether a field is the time of its record, or can be it, by its name. */
export function mayBeTime(field: string): boolean {
  return CERTAIN.includes(field) || LIKELY_NAMES.has(field);
}

/** Compiles how the time of a record is found and read. */
export function compileRecordTime({ time }: MappingOptions): ReadRecordTime {
  if (time === false) return (_values, { received }) => ({ time: received, field: null });
  const { field, zone, unit = 'auto', format = 'auto' } = timeOptions(time ?? {});
  if (field === undefined) {
    return automatic(zone ?? null, zone ?? UNKNOWN_ZONE, { unit, format });
  }
  const fields = typeof field === 'string' ? [field] : field;
  const templates = fields.map((name) => (name.includes('{') ? compileTemplate(name) : name));
  return explicit(templates, compileTime({ unit, format, zone: zone ?? null }));
}

/** The paths that an explicit `time` uses. */
export function timePaths({ time }: MappingOptions): readonly string[] {
  if (time === undefined || time === false) return [];
  const fields = [timeOptions(time).field ?? []].flat();
  return fields.flatMap((field) => (field.includes('{') ? compileTemplate(field).names : [field]));
}

function explicit(fields: readonly (string | Template)[], read: ReadTime): ReadRecordTime {
  return (values, context, after) => {
    for (const field of fields) {
      const name = typeof field === 'string' ? field : field.text;
      const raw = typeof field === 'string' ? fieldAt(field, values) : filled(field, values);
      if (raw !== null) return timeOf(raw, name, read, context, after);
    }
    return { time: context.received, field: null };
  };
}

function fieldAt(path: string, { record, root }: TemplateValues): unknown {
  return valueAt(record, path) ?? valueAt(root, path) ?? null;
}

function filled(template: Template, values: TemplateValues): string | null {
  const text = template.fill(values, (part) => part);
  return typeof text === 'string' ? text : null;
}

function timeOf(
  raw: unknown,
  field: string,
  read: ReadTime,
  context: DecodeContext,
  after: number | null,
): RecordTime | DecodeError {
  const { received, notes } = context;
  // A sensor without a clock sends 0.
  if (raw === 0 || raw === '0' || (typeof raw === 'string' && isNoValue(raw))) {
    notes?.ignored(field, 'it is no time, so the time of receipt is used');
    return { time: received, field };
  }
  const time = read(raw, whenOf(field, context, after));
  if (time === 'local') {
    notes?.ignored(field, LOCAL);
    return { time: received, field };
  }
  if (time === 'twice') return new DecodeError('invalid_time', `${quote(field)} is ${quote(raw)}: ${TWICE}`);
  const doubt = time === 'unreadable' ? timeDoubt(raw) : null;
  if (doubt !== null) return new DecodeError('invalid_time', `${quote(field)} is ${quote(raw)}: ${doubt}`);
  if (time === 'unreadable') {
    return new DecodeError(
      'invalid_time',
      `${quote(field)} is ${quote(raw)}, which cannot be read as a time: set the time of the mapping ` +
        '(field, zone, unit, format), or time: false to use the time of receipt',
    );
  }
  return timeProblem(time, field, received) ?? { time, field };
}

/** A part of the error for a text that is no time in any form. */
export const NO_TIME = 'which cannot be read as a time';
const UNREADABLE =
  'it looks like a time, and cannot be read as one: set the time of the mapping, or send ISO 8601 such as 2026-11-26T22:00:00Z';
const LOCAL = 'it is a local time without a zone, so the time of receipt is used: set the zone of time';

const TWICE =
  'this local time occurs twice, because clocks are set back, and was received too late to decide which: send it with its offset';
const TWICE_IGNORED =
  'this local time occurs twice, and was received too late to decide which, so the time of receipt is used';

function whenOf(field: string, { received, notes }: DecodeContext, after: number | null): When {
  return { received, after, doubt: (why) => notes?.doubt?.(field, why) };
}

function automatic(
  certainZone: string | null,
  likelyZone: string,
  how: Pick<Parameters<typeof compileTime>[0], 'unit' | 'format'>,
): ReadRecordTime {
  const readCertain = compileTime({ ...how, zone: certainZone });
  const readLikely = compileTime({ ...how, zone: likelyZone });
  const find = (
    record: unknown,
    context: DecodeContext,
    after: number | null,
  ): RecordTime | DecodeError | null => {
    if (typeof record !== 'object' || record === null || Array.isArray(record)) return null;
    const fields = record as Readonly<Record<string, unknown>>;
    return (
      dateAndTime(fields, readCertain, context, after) ??
      certain(fields, readCertain, context, after) ??
      likely(fields, readLikely, context, after)
    );
  };
  return ({ record, root }, context, after) =>
    find(record, context, after) ??
    (root === record ? null : find(root, context, after)) ?? { time: context.received, field: null };
}

/** Names of a date and of the time of day beside it. */
const DATES = ['date', 'Date', 'DATE'];
const CLOCKS = ['time', 'Time', 'TIME', 'clock', 'time_of_day', 'timeOfDay'];

/** The time in two fields: {"date": "2026-11-26", "time": "22:00:00"}. Null without both. */
function dateAndTime(
  record: Readonly<Record<string, unknown>>,
  read: ReadTime,
  context: DecodeContext,
  after: number | null,
): RecordTime | DecodeError | null {
  const dateField = DATES.find((name) => Object.hasOwn(record, name));
  if (dateField === undefined) return null;
  for (const field of CLOCKS) {
    const joined = Object.hasOwn(record, field) ? joinTime(record[dateField], record[field]) : null;
    if (joined === null) continue;
    const found = timeOf(joined, field, read, context, after);
    return found instanceof DecodeError ? found : { ...found, dateField };
  }
  return null;
}

function certain(
  record: Readonly<Record<string, unknown>>,
  read: ReadTime,
  context: DecodeContext,
  after: number | null,
): RecordTime | DecodeError | null {
  const found = CERTAIN.filter(
    (name) =>
      Object.hasOwn(record, name) && isScalar(record[name]) && (name !== 't' || isTime(record, context)),
  );
  const [field, other] = found;
  if (field === undefined) return null;
  if (other !== undefined) {
    return new DecodeError(
      'malformed',
      `"${field}" and "${other}" say the same thing: send one of them, or name the field in the time of the mapping`,
    );
  }
  return timeOf(record[field], field, read, context, after);
}

/** Whether `t` of a record is its time. */
function isTime(record: Readonly<Record<string, unknown>>, { notes }: DecodeContext): boolean {
  const hasValue = Object.hasOwn(record, 'v') || Object.hasOwn(record, 'value');
  if (isShortTime(record.t, hasValue, record.boot, record.seq)) return true;
  if (mayBeUptime(record.t, hasValue)) notes?.ignored('t', MAY_BE_TIME);
  return false;
}

function likely(
  record: Readonly<Record<string, unknown>>,
  read: ReadTime,
  context: DecodeContext,
  after: number | null,
): RecordTime | null {
  for (const field of LIKELY) {
    const raw = Object.hasOwn(record, field) ? record[field] : null;
    if (!canBeDate(raw) || (typeof raw !== 'number' && typeof raw !== 'string')) continue;
    const found = likelyTime(raw, field, read, context, after);
    if (found !== null) return found;
  }
  return null;
}

function likelyTime(
  raw: number | string,
  field: string,
  read: ReadTime,
  context: DecodeContext,
  after: number | null,
): RecordTime | null {
  const { received, notes } = context;
  const time = read(raw, whenOf(field, context, after));
  if (time === 'unreadable') {
    const doubt = timeDoubt(raw) ?? (typeof raw === 'string' && looksLikeTime(raw) ? UNREADABLE : null);
    if (doubt !== null) notes?.doubt?.(field, `${doubt}. The time of receipt is used`);
    return null;
  }
  if (time === 'local' || time === 'twice') {
    notes?.ignored(field, time === 'local' ? LOCAL : TWICE_IGNORED);
    return { time: received, field };
  }
  return timeProblem(time, field, received) === null ? { time, field } : null;
}

function isScalar(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
