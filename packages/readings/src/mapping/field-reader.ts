import { type DecodeContext, DecodeError } from '../codec.ts';
import {
  MAX_READINGS_PER_PAYLOAD,
  makeReading,
  recordPosition,
  timeProblem,
  tooManyReadings,
} from '../make-reading.ts';
import { metricNameProblem, type Reading, unitProblem } from '../reading.ts';
import { namesSender, senderField, severalSenders } from '../record-senders.ts';
import { BY_PLACE, ONE_TIME, placeName } from './assumptions.ts';
import { restoreName } from './clean-name.ts';
import type { FieldPlans } from './field-plans.ts';
import { readField, Skipped } from './field-values.ts';
import {
  columnWithStep,
  isTimeBelow,
  type Series,
  seriesOf,
  type TimedRecords,
  timedRecords,
} from './history.ts';
import { namedRecords, namedValues, onlyValueOf, unitOfElement } from './named-values.ts';
import { type MappingOptions, timeOptions } from './options.ts';
import type { RecordNames } from './record-names.ts';
import { compileRecordTime, type ReadRecordTime } from './record-time.ts';
import { type SiblingUnits, siblingUnits } from './sibling-units.ts';
import type { Template, TemplateValues } from './template.ts';
import { writtenUnit } from './units.ts';

/** Objects and arrays inside each other. Deeper ones are ignored. */
const MAX_DEPTH = 12;
/** The longest array of values that becomes metrics by index. Longer ones, such as waveforms, are ignored. */
const MAX_ELEMENTS = 64;
/** The longest path of a field. Longer ones are ignored. */
const MAX_PATH = 256;

export type Scalar = string | number | boolean;

const NONE: ReadonlySet<string> = new Set();

/** One payload that is decoded. */
export interface Payload {
  readonly context: DecodeContext;
  readonly root: unknown;
  readonly readings: Reading[];
  /** The series and times of the readings, by record. */
  readonly seen: Map<string, number>;
  /** The time of the last record that had one; null without. */
  after: number | null;
  /** Counts down for each record inside a record, which has its own number in `seen`. */
  inner: number;
}

/** The record whose fields are read. */
export interface Current {
  readonly payload: Payload;
  readonly index: number;
  readonly values: TemplateValues;
  /** Of values with a name in the payload. */
  readonly device: string | DecodeError;
  /** Of values whose name begins with the metric of the topic. */
  readonly levelDevice: string | DecodeError;
  readonly time: number;
  readonly boot: string | null;
  readonly seq: number | null;
  /** Fields of the record itself that are no metrics. */
  readonly reserved: ReadonlySet<string>;
}

/** Reads the values of a record and of everything below it, by the names, times and units of a mapping. */
export class FieldReader {
  readonly #plans: FieldPlans;
  readonly #names: RecordNames;
  /** The path of the unit of a value; false when no field is a unit; null when units are found by their names. */
  readonly unit: string | false | null;
  readonly readTime: ReadRecordTime;
  /** Whether times are found by the names of their fields, also in arrays inside a record. */
  readonly #findsTimes: boolean;

  constructor(options: MappingOptions, names: RecordNames, plans: FieldPlans) {
    this.#plans = plans;
    this.#names = names;
    this.unit = options.unit ?? null;
    this.readTime = compileRecordTime(options);
    this.#findsTimes =
      options.time === undefined || (options.time !== false && timeOptions(options.time).field === undefined);
  }

  /** Reads the columns of values of an object, each value at its time, and adds the fields that it used to `reserved`. */
  readSeries(
    current: Current,
    path: string,
    fields: Readonly<Record<string, unknown>>,
    reserved: Set<string>,
  ): DecodeError | null {
    if (!this.#findsTimes) return null;
    const { context } = current.payload;
    const series = seriesOf(fields, context.received);
    if (series instanceof DecodeError) return series;
    if (series === null) {
      this.#doubtColumn(path, fields, context);
      return null;
    }
    for (const field of series.used) reserved.add(field);
    for (const { field } of series.columns) reserved.add(field);
    return this.#readColumns(current, path, series);
  }

  #readColumns(current: Current, path: string, { columns, times, step }: Series): DecodeError | null {
    const { payload, values } = current;
    const { context } = payload;
    const nameless = path === '' && context.metric !== null ? restoreName(context.metric) : path;
    let after: number | null = null;
    let first = 0;
    for (let i = 0; i < columns[0]!.values.length; i++) {
      if (step === null || i === 0) {
        const record = { time: times[i] };
        const found = this.readTime({ ...values, record, root: record }, context, after);
        if (found instanceof DecodeError) return found;
        first = found.time;
        after = first;
      }
      const time = step === null ? first : Math.round(first + i * step);
      const problem = timeProblem(time, 'time', context.received);
      if (problem !== null) return problem;
      const own: Current = { ...current, time, index: --payload.inner };
      const error = this.#readRow(own, path, nameless, columns, i);
      if (error !== null) return error;
    }
    return null;
  }

  /** @param nameless the place of a column whose field is no name, unless it is empty */
  #readRow(
    current: Current,
    path: string,
    nameless: string,
    columns: Series['columns'],
    row: number,
  ): DecodeError | null {
    for (const { field, isNameless, values } of columns) {
      const place = isNameless && nameless !== '' ? nameless : join(path, field);
      const error = this.read(current, place, values[row], 1, null);
      if (error !== null) return error;
    }
    return null;
  }

  /** Notes that all values of a column have one time, when a field seems to be the time between them. */
  #doubtColumn(path: string, fields: Readonly<Record<string, unknown>>, { notes }: DecodeContext): void {
    const column = notes?.doubt === undefined ? null : columnWithStep(fields);
    if (column !== null && this.#plans.field(join(path, `${column}.0`)).name !== null)
      notes?.doubt?.(join(path, column), ONE_TIME);
  }

  /** The units that fields of an object state for its other fields. */
  siblingUnits(fields: Readonly<Record<string, unknown>>): SiblingUnits | null {
    return this.unit === false ? null : siblingUnits(fields);
  }

  /** The field with the addresses or names of the senders of an array inside a record; null without one. */
  #senderBelow(path: string, array: readonly unknown[], isTimed: boolean): string | null {
    return senderField(
      array,
      (field, isAddress) =>
        // Records with times are one series each, and others are stored by their place.
        (isTimed || !field.includes('.')) &&
        (isAddress || namesSender(field)) &&
        this.#plans.field(join(path, `0.${field}`)).name !== null,
    );
  }

  /** Reads a value and everything below it. `path` is its path in the record. */
  read(
    current: Current,
    path: string,
    value: unknown,
    depth: number,
    unit: string | null,
  ): DecodeError | null {
    const { notes } = current.payload.context;
    if (path.length > MAX_PATH) {
      notes?.ignored(`${path.slice(0, 40)}…`, `its path has more than ${MAX_PATH} characters`);
      return null;
    }
    if (typeof value !== 'object') return this.#addField(current, path, value as Scalar, unit);
    if (this.#plans.isDropped(path)) return null;
    if (value === null) return this.#ignore(current, path, 'it is null');
    if (depth >= MAX_DEPTH)
      return this.#ignore(current, path, `it is nested deeper than ${MAX_DEPTH} levels`);
    if (Array.isArray(value)) return this.readArray(current, path, value, depth);
    const fields = value as Readonly<Record<string, unknown>>;
    const measured = onlyValueOf(fields);
    if (measured !== null && (measured.unit === null || this.unit !== false))
      return this.read(current, path, measured.value, depth + 1, measured.unit);
    const reserved = new Set<string>();
    const error = this.readSeries(current, path, fields, reserved);
    return error ?? this.#readFields(current, path, fields, depth, reserved);
  }

  /** @param only a field whose value has the path of the object itself */
  #readFields(
    current: Current,
    path: string,
    fields: Readonly<Record<string, unknown>>,
    depth: number,
    reserved: ReadonlySet<string>,
    only: string | null = null,
  ): DecodeError | null {
    const units = this.siblingUnits(fields);
    let isEmpty = true;
    for (const key in fields) {
      isEmpty = false;
      if (reserved.has(key)) continue;
      if (units?.stated.has(key)) continue;
      const unit = units?.of.get(key) ?? null;
      const error = this.read(current, key === only ? path : join(path, key), fields[key], depth + 1, unit);
      if (error !== null) return error;
    }
    return isEmpty ? this.#ignore(current, path, 'it is an empty object') : null;
  }

  /** Notes that the places of elements are in the names of metrics, when a field seems to name them. */
  #doubtPlaces({ payload, device }: Current, path: string, array: readonly unknown[]): void {
    const { notes } = payload.context;
    const field = notes?.doubt === undefined ? null : placeName(array);
    if (field === null || this.#plans.field(join(path, `0.${field}`)).name === null) return;
    const text = String((array[0] as Readonly<Record<string, unknown>>)[field]);
    notes?.doubt?.(join(path, `*.${field}`), BY_PLACE, { device: String(device), text });
  }

  readArray(current: Current, path: string, array: readonly unknown[], depth: number): DecodeError | null {
    if (array.length === 0) return this.#ignore(current, path, 'it is an empty array');
    const { context } = current.payload;
    const timed = this.#findsTimes ? timedRecords(array) : null;
    if (timed !== null) {
      const sender = context.full === undefined ? null : this.#senderBelow(path, timed.records, true);
      return sender === null
        ? this.#readTimed(current, path, timed, depth)
        : severalSenders(sender, context, path);
    }
    const named = namedValues(array);
    if (named === null) return this.#readPlaces(current, path, array, depth);
    for (const element of array as readonly Readonly<Record<string, unknown>>[]) {
      const error = this.readNamed(current, path, element, named, depth);
      if (error !== null) return error;
    }
    return null;
  }

  /** Reads the elements of an array by their places in it. */
  #readPlaces(current: Current, path: string, array: readonly unknown[], depth: number): DecodeError | null {
    if (array.length > MAX_ELEMENTS) {
      return this.#ignore(current, path, `it is an array of more than ${MAX_ELEMENTS} elements: set records`);
    }
    const { context, root } = current.payload;
    // The place in an array is no name of a sender: the next message can have them in another order.
    const isOwn = context.full !== undefined && current.values.record === root;
    const sender = isOwn && path !== '' ? this.#senderBelow(path, array, false) : null;
    if (sender !== null) return severalSenders(sender, context, path);
    this.#doubtPlaces(current, path, array);
    for (const [index, element] of array.entries()) {
      const error = this.read(current, join(path, String(index)), element, depth + 1, null);
      if (error !== null) return error;
    }
    return null;
  }

  /** Reads the elements of an array as records of the same device, each at its own time. */
  #readTimed(
    current: Current,
    path: string,
    { records, only }: TimedRecords,
    depth: number,
  ): DecodeError | null {
    const { payload, values } = current;
    const named = namedRecords(records);
    let after: number | null = null;
    for (const [index, record] of records.entries()) {
      const place = recordPosition(index, records.length);
      const time = this.readTime({ ...values, record }, payload.context, after);
      if (time instanceof DecodeError) return time.at(place);
      after = time.time;
      const reserved = new Set([time.field ?? '', time.dateField ?? time.field ?? '']);
      const own: Current = {
        ...current,
        values: { ...values, record },
        time: time.time,
        index: --payload.inner,
      };
      const error =
        named === null
          ? this.#readFields(own, path, record, depth, reserved, path === '' ? null : only)
          : this.readNamed(own, path, record, named, depth, reserved);
      if (error !== null) return error.at(place);
    }
    return null;
  }

  readNamed(
    current: Current,
    path: string,
    element: Readonly<Record<string, unknown>>,
    { name, value }: { readonly name: string; readonly value: string },
    depth: number,
    reserved: ReadonlySet<string> = NONE,
  ): DecodeError | null {
    const place = join(path, element[name] as string);
    const unit = this.unit === false ? null : unitOfElement(element);
    for (const key in element) {
      if (key === name || key === unit?.field || reserved.has(key)) continue;
      const isValue = key === value;
      const below = isValue ? place : join(place, key);
      const error = this.read(current, below, element[key], depth + 1, isValue ? (unit?.unit ?? null) : null);
      if (error !== null) return error;
    }
    return null;
  }

  #ignore(current: Current, path: string, why: string): null {
    const { notes } = current.payload.context;
    if (notes !== undefined && this.#plans.field(path).name !== null) notes.ignored(path, why);
    return null;
  }

  #addField(current: Current, path: string, value: Scalar, unit: string | null): DecodeError | null {
    const plan = this.#plans.field(path);
    if (plan.name === null) {
      if (plan.ignored !== null) current.payload.context.notes?.ignored(path, plan.ignored);
      return null;
    }
    if (!this.#names.namesFields) return this.add(current, plan.name, value, path, unit);
    const metric = this.#names.metricOfField(current.values, plan.name);
    if (metric instanceof DecodeError) return metric;
    const problem = metricNameProblem(metric);
    if (problem === null) return this.add(current, metric, value, path, unit);
    current.payload.context.notes?.ignored(path, problem);
    return null;
  }

  add(
    { payload, index, values, device: named, levelDevice, time, boot, seq }: Current,
    metric: string,
    raw: Scalar,
    path: string,
    ownUnit: string | null,
  ): DecodeError | null {
    const { readings, seen, context } = payload;
    const plan = this.#plans.metric(metric);
    const found = readField(raw, plan);
    if (found instanceof Skipped) {
      context.notes?.ignored(path, found.why);
      return null;
    }
    const device = metric === context.metric ? levelDevice : named;
    if (device instanceof DecodeError) return device;
    const identity = `${device} ${metric} ${time}`;
    const before = seen.get(identity);
    if (before !== undefined) {
      if (before !== index) return overwrites(device, metric);
      context.notes?.ignored(path, `another field is also named ${metric}: rename one of them`);
      return null;
    }
    seen.set(identity, index);
    if (found.doubt !== undefined) context.notes?.ignored(path, found.doubt);
    if (this.#findsTimes && time === context.received && isTimeBelow(path, raw))
      context.notes?.doubt?.(path, TIME_BELOW);
    readings.push(makeReading(device, metric, time, found.value, context.received, boot, seq));
    if (readings.length > MAX_READINGS_PER_PAYLOAD) return tooManyReadings(readings.length);
    const planned = typeof found.value === 'number' ? unitOf(plan.unit, values) : null;
    const unit = planned ?? found.unit ?? (ownUnit === null ? null : writtenUnit(ownUnit));
    if (unit !== null) context.notes?.unit(device, metric, unit);
    return null;
  }
}

/** The unit that the mapping gives a metric; null without one, or when the payload does not have its field. */
function unitOf(unit: string | Template | null, values: TemplateValues): string | null {
  if (unit === null || typeof unit === 'string') return unit;
  const filled = unit.fill(values, (text) => text);
  return typeof filled === 'string' && unitProblem(filled) === null ? writtenUnit(filled) : null;
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

const TIME_BELOW =
  'it is a time, and is stored as a value: the time of receipt is used; set the time of the mapping, or records, if it is the time of other values';

function overwrites(device: string, metric: string): DecodeError {
  return new DecodeError(
    'invalid_time',
    `a second ${device} ${metric} of the same time would overwrite the first: give each its time, or name them ` +
      'apart with metric or device of the mapping',
  );
}
