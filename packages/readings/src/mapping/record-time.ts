import { type DecodeContext, DecodeError } from '../codec.ts';
import { timeProblem } from '../make-reading.ts';
import { quote } from '../quote.ts';
import { type MappingOptions, timeOptions } from './options.ts';
import { valueAt } from './paths.ts';
import { canBeDate, isShortTime, MAY_BE_TIME, mayBeUptime } from './short-time.ts';
import { compileTemplate, type Template, type TemplateValues } from './template.ts';
import { isNoValue } from './texts.ts';
import { compileTime, type ReadTime, UNKNOWN_ZONE } from './times.ts';

/** The time of a record, and the field of the record that has it, which is no metric. */
export interface RecordTime {
  readonly time: number;
  readonly field: string | null;
}

export type ReadRecordTime = (values: TemplateValues, context: DecodeContext) => RecordTime | DecodeError;

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
  if (time === undefined) return automatic('UTC', UNKNOWN_ZONE, { unit: 'auto', format: 'auto' });
  const { field, zone, unit = 'auto', format = 'auto' } = timeOptions(time);
  if (field === undefined) {
    return automatic(zone ?? 'UTC', zone ?? UNKNOWN_ZONE, { unit, format });
  }
  const fields = typeof field === 'string' ? [field] : field;
  const templates = fields.map((name) => (name.includes('{') ? compileTemplate(name) : name));
  return explicit(templates, compileTime({ unit, format, zone: zone ?? 'UTC' }));
}

/** The paths that an explicit `time` uses. */
export function timePaths({ time }: MappingOptions): readonly string[] {
  if (time === undefined || time === false) return [];
  const fields = [timeOptions(time).field ?? []].flat();
  return fields.flatMap((field) => (field.includes('{') ? compileTemplate(field).names : [field]));
}

function explicit(fields: readonly (string | Template)[], read: ReadTime): ReadRecordTime {
  return (values, context) => {
    for (const field of fields) {
      const name = typeof field === 'string' ? field : field.text;
      const raw = typeof field === 'string' ? fieldAt(field, values) : filled(field, values);
      if (raw !== null) return timeOf(raw, name, read, context);
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
  { received, notes }: DecodeContext,
): RecordTime | DecodeError {
  // A sensor without a clock sends 0.
  if (raw === 0 || raw === '0' || (typeof raw === 'string' && isNoValue(raw))) {
    notes?.ignored(field, 'it is no time, so the time of receipt is used');
    return { time: received, field };
  }
  const time = read(raw);
  if (time === 'local') {
    notes?.ignored(field, LOCAL);
    return { time: received, field };
  }
  if (time === 'unreadable') {
    return new DecodeError(
      'invalid_time',
      `${quote(field)} is ${quote(raw)}, which cannot be read as a time: set the time of the mapping ` +
        '(field, zone, unit, format), or time: false to use the time of receipt',
    );
  }
  return timeProblem(time, field, received) ?? { time, field };
}

const LOCAL = 'it is a local time without a zone, so the time of receipt is used: set the zone of time';

function automatic(
  certainZone: string,
  likelyZone: string,
  how: Pick<Parameters<typeof compileTime>[0], 'unit' | 'format'>,
): ReadRecordTime {
  const readCertain = compileTime({ ...how, zone: certainZone });
  const readLikely = compileTime({ ...how, zone: likelyZone });
  const find = (record: unknown, context: DecodeContext): RecordTime | DecodeError | null => {
    if (typeof record !== 'object' || record === null || Array.isArray(record)) return null;
    const fields = record as Readonly<Record<string, unknown>>;
    return certain(fields, readCertain, context) ?? likely(fields, readLikely, context);
  };
  return ({ record, root }, context) =>
    find(record, context) ??
    (root === record ? null : find(root, context)) ?? { time: context.received, field: null };
}

function certain(
  record: Readonly<Record<string, unknown>>,
  read: ReadTime,
  context: DecodeContext,
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
  return timeOf(record[field], field, read, context);
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
  { received, notes }: DecodeContext,
): RecordTime | null {
  for (const field of LIKELY) {
    if (!Object.hasOwn(record, field)) continue;
    const raw = record[field];
    if (!canBeDate(raw) || (typeof raw !== 'number' && typeof raw !== 'string')) continue;
    const time = read(raw);
    if (time === 'unreadable') continue;
    if (time === 'local') {
      notes?.ignored(field, LOCAL);
      return { time: received, field };
    }
    if (timeProblem(time, field, received) === null) return { time, field };
  }
  return null;
}

function isScalar(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
