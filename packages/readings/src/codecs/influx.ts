import { type Decode, type DecodeContext, DecodeError, withoutExceptions } from '../codec.ts';
import {
  MAX_READINGS_PER_PAYLOAD,
  makeReading,
  readValue,
  timeProblem,
  tooManyReadings,
} from '../make-reading.ts';
import { ANOTHER_NAME, deviceOfValue } from '../naming.ts';
import { quote } from '../quote.ts';
import type { Reading } from '../reading.ts';
import { MAX_TIME } from '../time.ts';
import { findLines, type Point, parsePoint, type Span } from './influx-line.ts';
import { compileInfluxNames, type InfluxNames } from './influx-names.ts';
import { decodeUtf8 } from './utf8.ts';
import { ROUNDED } from './whole-numbers.ts';

/** Microseconds of each unit of a timestamp; nanoseconds and `auto` are computed from its digits. */
const UNITS = { ns: 0, us: 1, ms: 1e3, s: 1e6, m: 6e7, h: 3.6e9, auto: 0 } as const;

/** The unit of timestamps. `auto`: the size of a timestamp selects it, as in JSON. */
export type InfluxPrecision = keyof typeof UNITS;

const PRECISIONS: ReadonlyMap<string, InfluxPrecision> = new Map([
  ...(Object.keys(UNITS) as InfluxPrecision[]).map((name) => [name, name] as const),
  ['n', 'ns'],
  ['u', 'us'],
  ['µ', 'us'],
]);

/** The precision of a name: ns, us, ms, s, m, h, auto, and the short forms of InfluxDB 1.x; null for other names. */
export function influxPrecision(name: string): InfluxPrecision | null {
  return PRECISIONS.get(name) ?? null;
}

export interface InfluxOptions {
  /** Default: `auto`. */
  readonly precision?: InfluxPrecision;
  /** How lines become names. Default: `compileInfluxNames()`. */
  readonly names?: InfluxNames;
  /** The database or bucket of an HTTP request. */
  readonly database?: string | null;
  /** Whether a measurement with `=` is refused: a payload whose format is not known has names and values then. */
  readonly refusesPairs?: boolean;
}

const DEFAULT_NAMES = compileInfluxNames();
/** Characters of a field in a note. */
const LONGEST_NOTED = 64;
/** Lines that are reported for one payload. */
const MOST_REPORTED = 10;
const UNESCAPED_EQUALS = /(?<!\\)=/;
/** Lines in one step of `splitLinesInSteps`: some milliseconds of work. */
const LINES_AT_ONCE = 1000;

/**
 * Creates a decoder of InfluxDB line protocol. Each field is a reading, at the time of its line or else at the time of
 * receipt. Integers are numbers (rounded beyond 2^53, with a note), booleans are 1 and 0, texts stay texts. One line that is not
 * valid refuses the payload; `splitLines` separates them.
 */
export function influxDecoder(options: InfluxOptions = {}): Decode {
  return withoutExceptions((payload, context) => {
    const text = decodeUtf8(payload);
    if (text instanceof DecodeError) return text;
    const readings: Reading[] = [];
    let lines = 0;
    for (const span of findLines(text)) {
      lines++;
      const error = readLine(text, span, options, context, readings);
      if (error !== null) return error;
    }
    if (lines > 1) noteReplaced(readings, context);
    return readings.length > 0 ? readings : new DecodeError('empty_payload', 'the payload has no lines');
  });
}

/** Notes the fields that a line has several times. As in InfluxDB, the last one is kept. */
function noteRepeated(fields: Point['fields'], { notes }: DecodeContext): void {
  if (notes === undefined) return;
  const seen = new Set<string>();
  for (const [field] of fields) {
    if (seen.has(field))
      notes.ignored(
        field.slice(0, LONGEST_NOTED),
        'a line has this field several times: only its last value is kept',
      );
    seen.add(field);
  }
}

/** Notes several lines without a timestamp that have one series. As in InfluxDB, the last one is kept. */
function noteReplaced(readings: readonly Reading[], { received, notes }: DecodeContext): void {
  if (notes === undefined) return;
  const seen = new Set<string>();
  for (const { device, metric, time } of readings) {
    if (time !== received) continue;
    const series = `${device} ${metric}`;
    if (seen.has(series)) {
      notes.ignored(
        metric,
        'the payload has several values of it without a timestamp, and only the last is kept: give each its timestamp',
      );
    } else seen.add(series);
  }
}

/** Line protocol with the default names, where the size of a timestamp selects its unit. */
export const decodeInflux: Decode = influxDecoder();

/** The lines of a payload by whether they can be stored. */
export interface SplitLines {
  /** Payloads of valid lines; each has at most the requested number of readings. */
  readonly valid: readonly Uint8Array[];
  /** The payload of all other lines; null when there are none. */
  readonly refused: Uint8Array | null;
  readonly refusedLines: number;
  /** The first errors, one for each line. `malformed` lines are no line protocol. Others cannot be stored. */
  readonly errors: readonly DecodeError[];
  /** Whether at least one line is no line protocol. */
  readonly isMalformed: boolean;
}

/**
 * Splits a payload into payloads that can be decoded and one that cannot.
 *
 * @param most readings in each payload of valid lines, up to `MAX_READINGS_PER_PAYLOAD`
 */
export function splitLines(
  payload: Uint8Array,
  options: InfluxOptions,
  context: DecodeContext,
  most = MAX_READINGS_PER_PAYLOAD,
): SplitLines {
  const steps = splitLinesInSteps(payload, options, context, most);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Like `splitLines`, in steps of 1,000 lines, between which the caller can do other work. */
export function* splitLinesInSteps(
  payload: Uint8Array,
  options: InfluxOptions,
  context: DecodeContext,
  most: number,
): Generator<void, SplitLines> {
  if (payload.length === 0)
    return { valid: [], refused: null, refusedLines: 0, errors: [], isMalformed: false };
  const text = decodeUtf8(payload);
  if (text instanceof DecodeError)
    return { valid: [], refused: payload, refusedLines: 1, errors: [text], isMalformed: true };
  const valid: Uint8Array[] = [];
  const refused = new Lines();
  const errors: DecodeError[] = [];
  let isMalformed = false;
  let lines = new Lines();
  let readings = 0;
  const finish = () => {
    if (lines.count > 0) valid.push(lines.toPayload());
    lines = new Lines();
    readings = 0;
  };
  let seen = 0;
  for (const span of findLines(text)) {
    if (++seen % LINES_AT_ONCE === 0) yield;
    const own: Reading[] = [];
    const line = text.slice(span.begin, span.end);
    const error = readLine(text, span, options, context, own);
    if (error === null) {
      if (readings + own.length > most) finish();
      readings += own.length;
      lines.add(line);
      continue;
    }
    refused.add(line);
    isMalformed ||= error.reason === 'malformed';
    if (errors.length < MOST_REPORTED) errors.push(error);
  }
  finish();
  return {
    valid,
    refused: refused.count === 0 ? null : refused.toPayload(),
    refusedLines: refused.count,
    errors,
    isMalformed,
  };
}

function readLine(
  text: string,
  { from, to, line }: Span,
  options: InfluxOptions,
  context: DecodeContext,
  into: Reading[],
): DecodeError | null {
  const source = text.slice(from, to);
  const parsed = parsePoint(source);
  if (parsed instanceof DecodeError) return parsed.at(`line ${line}`);
  const point = isPair(parsed, options) ? '= in the measurement' : parsed;
  if (typeof point === 'string')
    return new DecodeError('malformed', `unable to parse ${quote(source)}: ${point}`, `line ${line}`);
  return readPoint(point, options, context, into)?.at(`line ${line}`) ?? null;
}

function isPair(point: Point | string, { refusesPairs }: InfluxOptions): boolean {
  return refusesPairs === true && typeof point !== 'string' && UNESCAPED_EQUALS.test(point.measurement);
}

/** The readings of one line of a file, as `parsePoint` parsed it. */
export function decodePoint(
  point: Point,
  options: InfluxOptions,
  context: DecodeContext,
): readonly Reading[] | DecodeError {
  const readings: Reading[] = [];
  return readPoint(point, options, context, readings) ?? readings;
}

function rounded(value: bigint, field: string, { notes }: DecodeContext): number {
  notes?.ignored(field.slice(0, LONGEST_NOTED), ROUNDED);
  return Number(value);
}

function readPoint(
  point: Point,
  { precision = 'auto', names = DEFAULT_NAMES, database = null }: InfluxOptions,
  context: DecodeContext,
  into: Reading[],
): DecodeError | null {
  const { received } = context;
  const time = point.timestamp === null ? received : timeOf(point.timestamp, precision, received);
  if (time instanceof DecodeError) return time;
  const { device: short, full = short } = context;
  if (full instanceof DecodeError) return full;
  if (into.length + point.fields.length > MAX_READINGS_PER_PAYLOAD)
    return tooManyReadings(into.length + point.fields.length);
  const metricOf = names.metric(point);
  const usual = deviceOfValue(context, names.device(point, database, full), ANOTHER_NAME);
  let ofLevel: string | DecodeError | null = null;
  for (const [field, raw] of point.fields) {
    const metric = metricOf(field);
    const isLevel = metric === context.metric;
    if (isLevel) ofLevel ??= deviceOfValue(context, names.device(point, database, short), metric);
    const device = isLevel ? ofLevel! : usual;
    if (device instanceof DecodeError) return device;
    const value = readValue(typeof raw === 'bigint' ? rounded(raw, field, context) : raw, field);
    if (value instanceof DecodeError) return value;
    into.push(makeReading(device, metric, time, value, received, null, null));
  }
  noteRepeated(point.fields, context);
  return null;
}

/** A payload of lines. Many short lines are joined early, because a string takes more memory than its characters. */
class Lines {
  count = 0;
  readonly #joined: string[] = [];
  #lines: string[] = [];

  add(line: string): void {
    this.count++;
    if (this.#lines.push(line) === LINES_AT_ONCE) this.#join();
  }

  /** An empty line comes before U+FEFF, which would be a byte order mark at the start of a payload. */
  toPayload(): Uint8Array {
    this.#join();
    const text = this.#joined.join('\n');
    return Buffer.from(text.startsWith('\ufeff') ? `\n${text}` : text);
  }

  #join(): void {
    if (this.#lines.length > 0) this.#joined.push(this.#lines.join('\n'));
    this.#lines = [];
  }
}

/** Microseconds since the epoch. Digits below a microsecond are cut. */
function timeOf(timestamp: string, precision: InfluxPrecision, received: number): number | DecodeError {
  const unit = precision === 'auto' ? unitOf(timestamp) : precision;
  const time = unit === 'ns' ? Number(timestamp.slice(0, -3) || '0') : Number(timestamp) * UNITS[unit];
  if (timestamp.startsWith('-') || time > MAX_TIME) {
    return new DecodeError(
      'invalid_time',
      `the timestamp ${timestamp} with the precision ${unit} is not from 1970 to June 2255`,
    );
  }
  const problem = timeProblem(time, 'timestamp', received);
  if (problem === null) return time;
  return new DecodeError(problem.reason, `${problem.message}, or the precision, which is ${unit}`);
}

/** The unit that the size of a timestamp selects: the limits are those of `parseTime`. */
function unitOf(timestamp: string): InfluxPrecision {
  const size = Number(timestamp);
  return size < 1e11 ? 's' : size < 1e14 ? 'ms' : size < 1e17 ? 'us' : 'ns';
}
