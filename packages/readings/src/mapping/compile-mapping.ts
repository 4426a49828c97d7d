import { type Decode, type DecodeContext, DecodeError } from '../codec.ts';
import { decodeForm } from '../codecs/forms/index.ts';
import { readBoot, readSeq } from '../codecs/json.ts';
import { looksLikeSenml, readSenmlJson } from '../codecs/senml-json.ts';
import {
  MAX_READINGS_PER_PAYLOAD,
  makeReading,
  recordPosition,
  timeProblem,
  tooManyReadings,
} from '../make-reading.ts';
import { ANOTHER_NAME, deviceOfValue } from '../naming.ts';
import { quote } from '../quote.ts';
import { deviceNameProblem, metricNameProblem, type Reading, unitProblem } from '../reading.ts';
import { senderField, severalSenders, withoutDevice } from '../record-senders.ts';
import { BY_PLACE, ONE_TIME, placeName } from './assumptions.ts';
import { cleanName, restoreName } from './clean-name.ts';
import { type FieldPlan, FieldPlans, type ReadKind } from './field-plans.ts';
import { readField, Skipped } from './field-values.ts';
import {
  columnWithStep,
  isTimeBelow,
  type Series,
  seriesOf,
  type TimedRecords,
  timedRecords,
} from './history.ts';
import {
  type NamedValues,
  namedRecords,
  namedValues,
  onlyValueOf,
  recordList,
  unitOfElement,
} from './named-values.ts';
import { Doubt, numberOf } from './numbers.ts';
import { type MappingOptions, timeOptions } from './options.ts';
import { type ParsedAs, parseFields } from './parsed-fields.ts';
import { isObject, isTable, type RecordAt, recordsAt, valueAt } from './paths.ts';
import { BareText, parsePayload } from './payload-tree.ts';
import { compileRecordTime, type ReadRecordTime, timePaths } from './record-time.ts';
import { type SiblingUnits, siblingUnits } from './sibling-units.ts';
import { compileTemplate, type Template, type TemplateValues } from './template.ts';
import { commonStateOf, isNoValue } from './texts.ts';
import { writtenUnit } from './units.ts';

/** Objects and arrays inside each other. Deeper ones are ignored. */
export const MAX_DEPTH = 12;
/** The longest array of values that becomes metrics by index. Longer ones, such as waveforms, are ignored. */
export const MAX_ELEMENTS = 64;
/** The longest path of a field. Longer ones are ignored. */
const MAX_PATH = 256;

/** A record, and its fields for name and value when it has both. */
interface Found extends RecordAt {
  readonly named?: NamedValues | null;
}

type Scalar = string | number | boolean;

/** Fields that name a sensor, and no message or channel. */
const SENDER_NAME = /sensor|device|node|probe|station|beacon|host/i;
const NONE: ReadonlySet<string> = new Set();

/** One payload that is decoded. */
interface Payload {
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
interface Current {
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

/** The field with the value that has the metric of the record. */
interface OwnValue {
  readonly field: string;
  /** The path with which it is read. */
  readonly place: string;
  readonly current: Current;
  /** The unit that the mapping finds; null without one. */
  readonly unit: string | null;
  /** Fields beside it that are no metrics. */
  readonly details: ReadonlySet<string>;
}

/** Fields that the API's documents have beside a value. */
const DETAILS: ReadonlySet<string> = new Set(['received', 'quality']);
const NAMED_DETAILS: ReadonlySet<string> = new Set([...DETAILS, 'metric']);

/**
 * Compiles a mapping to a decoder. It is compiled once for each route.
 *
 * @param options as `checkMapping` accepts them
 */
export function compileMapping(options: MappingOptions): Decode {
  const mapping = new Mapping(options);
  const read = (root: unknown, context: DecodeContext) => mapping.read(root, context);
  const decode: Decode = (payload, context) => {
    const root = parsePayload(payload, context.notes);
    return root instanceof DecodeError ? root : mapping.read(root, context);
  };
  return (payload, context) => {
    // MQTT deletes a retained message with an empty one.
    if (payload.length === 0) {
      context.notes?.ignored('(payload)', 'it is empty');
      return [];
    }
    const decoded = decode(payload, context);
    return decoded instanceof DecodeError ? decodeForm(payload, context, decoded, decode, read) : decoded;
  };
}

/** A compiled mapping. It has no state besides caches, so a payload always becomes the same readings. */
export class Mapping {
  readonly #plans: FieldPlans;
  readonly #parse: readonly (readonly [path: string, as: ParsedAs])[];
  readonly #records: readonly string[] | null;
  readonly #device: Template | null;
  readonly #metric: Template | null;
  /** Whether `metric` names every metric, not only that of `value`. */
  readonly #namesAll: boolean;
  /** Whether the templates of metrics and of the device have the metric of the topic. */
  readonly #nameHasLevel: boolean;
  readonly #deviceHasLevel: boolean;
  readonly #value: string | null;
  /** The path of the unit of a value; false when no field is a unit; null when units are found by their names. */
  readonly #unit: string | false | null;
  readonly #readTime: ReadRecordTime;
  /** Whether times are found by the names of their fields, also in arrays inside a record. */
  readonly #findsTimes: boolean;

  /** @param otherwise how metrics are read that `values` does not have */
  constructor(options: MappingOptions, otherwise: ReadKind = 'auto') {
    this.#parse = Object.entries(options.parse ?? {});
    this.#records = options.records === undefined ? null : [options.records].flat();
    this.#device = options.device === undefined ? null : compileTemplate(options.device);
    this.#metric = options.metric === undefined ? null : compileTemplate(options.metric);
    this.#namesAll = this.#metric?.names.includes('field') ?? false;
    this.#nameHasLevel = this.#metric?.names.includes('metric') ?? false;
    this.#deviceHasLevel = this.#device?.names.includes('metric') ?? false;
    this.#value = options.value ?? null;
    this.#unit = options.unit ?? null;
    this.#readTime = compileRecordTime(options);
    this.#findsTimes =
      options.time === undefined || (options.time !== false && timeOptions(options.time).field === undefined);
    const names = [...(this.#device?.names ?? []), ...(this.#metric?.names ?? []), ...timePaths(options)];
    this.#plans = new FieldPlans(options, new Set([...names, ...unitPaths(options)]), otherwise);
  }

  /**
   * Reads a parsed payload. The result is empty when it has no value.
   *
   * @param root is changed when the mapping parses texts
   */
  read(root: unknown, context: DecodeContext): readonly Reading[] | DecodeError {
    if (root instanceof BareText) return this.#readBare(root.text, context);
    if (!isObject(root)) return this.#readScalar(root as Scalar | null, context);
    if (this.#parse.length > 0) parseFields(root, this.#parse, context.notes);
    if (this.#records === null && this.#metric === null && looksLikeSenml(root))
      return readSenmlJson(root, context);
    const payload: Payload = { context, root, readings: [], seen: new Map(), after: null, inner: 0 };
    const records = this.#recordsOf(root, context);
    if (records.length > MAX_READINGS_PER_PAYLOAD) return tooManyReadings(records.length);
    const sender = this.#senderOf(records, context);
    if (sender !== null) return severalSenders(sender, context);
    for (const [index, record] of records.entries()) {
      const error = this.#readRecord(payload, record, index);
      if (error !== null)
        return records.length === 1 ? error : error.at(recordPosition(index, records.length));
      if (payload.readings.length > MAX_READINGS_PER_PAYLOAD) return tooManyReadings(payload.readings.length);
    }
    return payload.readings;
  }

  /** The field that names the senders of records when nothing of the mapping names them; null otherwise. */
  #senderOf(records: readonly Found[], { full }: DecodeContext): string | null {
    if (records.length < 2 || full === undefined || this.#device !== null) return null;
    if (this.#metric?.names.includes('key')) return null;
    const name = records[0]!.named?.name;
    return senderField(
      withoutDevice(records.map(({ value }) => value)),
      (field, isAddress) =>
        field !== name &&
        // In an object of a record, `id` or `name` is of something else.
        (!field.includes('.') || isAddress || SENDER_NAME.test(lastOf(field))) &&
        this.#plans.field(field).name !== null,
    );
  }

  /** The field with the addresses or names of the senders of an array inside a record; null without one. */
  #senderBelow(path: string, array: readonly unknown[], isTimed: boolean): string | null {
    return senderField(
      array,
      (field, isAddress) =>
        // Records with times are one series each, and others are stored by their place.
        (isTimed || !field.includes('.')) &&
        (isAddress || SENDER_NAME.test(lastOf(field))) &&
        this.#plans.field(join(path, `0.${field}`)).name !== null,
    );
  }

  #recordsOf(root: Readonly<Record<string, unknown>>, { notes }: DecodeContext): readonly Found[] {
    if (this.#records !== null) return allRecordsAt(root, this.#records, notes);
    const list = recordList(root);
    const isList = list.length > 0 && list.every(isTable);
    const named = this.#metric === null && this.#value === null ? namedRecords(list) : null;
    if (!isList || (named === null && namedValues(list) !== null && namedValues(list)?.name !== 'metric'))
      return [{ key: '', value: root }];
    return list.map((value, index) => ({ key: String(index), value, named }));
  }

  /** Reads a payload that is not JSON: a number, also with a unit, or a word for a state. */
  #readBare(text: string, context: DecodeContext): readonly Reading[] | DecodeError {
    if (text === '') return new DecodeError('empty_payload', 'the payload is white space only');
    return this.#readScalar(text, context, true);
  }

  #readScalar(
    value: Scalar | null,
    context: DecodeContext,
    isBare = false,
  ): readonly Reading[] | DecodeError {
    const payload: Payload = { context, root: value, readings: [], seen: new Map(), after: null, inner: 0 };
    const values = this.#values(payload, { key: '', value: {} });
    const metric = this.#metricOf(values, context);
    if (metric instanceof DecodeError) return metric;
    const device = this.#deviceOf(values, context, this.#hasLevel(values));
    if (device instanceof DecodeError) return device;
    if (metric === null)
      return new DecodeError('invalid_name', 'neither the topic nor the mapping names a metric');
    const place = restoreName(metric);
    const plan = this.#plans.field(place);
    if (value === null) return this.#skip(payload, plan, place, 'it is null');
    if (plan.name === null) return this.#skip(payload, plan, place, null);
    const { kind, decimal } = this.#plans.metric(metric);
    if (isBare && kind === 'auto' && typeof value === 'string') {
      const state = commonStateOf(value);
      const isKnown = state !== null || isNoValue(value) || this.#isNumber(value, metric);
      if (!isKnown) return unknownWord(value, metric, numberOf(value, decimal));
      if (state !== null) value = state;
    }
    const current: Current = {
      ...{
        payload,
        index: 0,
        values,
        device,
        levelDevice: device,
        time: context.received,
        boot: null,
        seq: null,
      },
      reserved: new Set(),
    };
    return this.#add(current, plan.name, value, place, null) ?? payload.readings;
  }

  /** No readings, with a note unless the field is not used on purpose. */
  #skip(
    { context, readings }: Payload,
    plan: FieldPlan,
    path: string,
    why: string | null,
  ): readonly Reading[] {
    const reason = plan.name === null ? plan.ignored : why;
    if (reason !== null) context.notes?.ignored(path, reason);
    return readings;
  }

  #isNumber(text: string, metric: string): boolean {
    const found = readField(text, this.#plans.metric(metric));
    return !(found instanceof Skipped) && typeof found.value === 'number';
  }

  #readRecord(payload: Payload, record: Found, index: number): DecodeError | null {
    const { context } = payload;
    const values = this.#values(payload, record);
    const time = this.#readTime(values, context, payload.after);
    if (time instanceof DecodeError) return time;
    if (time.field !== null) payload.after = time.time;
    const levelDevice = this.#deviceOf(values, context, true);
    const isOne = this.#namesAll && this.#nameHasLevel;
    const device = isOne ? levelDevice : this.#deviceOf(values, context, false);
    if (device instanceof DecodeError && levelDevice instanceof DecodeError) return device;
    const fields = isObject(record.value) && !Array.isArray(record.value) ? record.value : {};
    const reserved = new Set<string>();
    if (time.field !== null) reserved.add(time.field);
    if (time.dateField !== undefined) reserved.add(time.dateField);
    if (this.#device === null && isName(fields.device)) reserved.add('device');
    const boot = sequenceField(fields, 'boot', readBoot, reserved, context);
    const seq = sequenceField(fields, 'seq', readSeq, reserved, context);
    const names = { device, levelDevice };
    const current: Current = { payload, index, values, ...names, time: time.time, boot, seq, reserved };
    if (this.#value !== null) return this.#readValue(current, this.#value);
    if (record.named) return this.#walkNamed(current, '', fields, record.named, 0, reserved);
    return this.#readSeriesAndFields(current, fields, reserved);
  }

  #readSeriesAndFields(
    current: Current,
    fields: Readonly<Record<string, unknown>>,
    reserved: Set<string>,
  ): DecodeError | null {
    const { payload, values } = current;
    const count = payload.readings.length;
    const error = this.#readSeries(current, '', fields, reserved);
    if (error !== null) return error;
    const isDone =
      payload.readings.length > count && Object.keys(fields).every((field) => reserved.has(field));
    if (isDone) return null;
    if (values.record !== null && !isObject(values.record)) return this.#readScalarRecord(current);
    if (Array.isArray(values.record)) return this.#readArrayRecord(current, values.record);
    return this.#readFields(current, fields);
  }

  /** Reads the columns of values of an object, each value at its time, and adds the fields that it used to `reserved`. */
  #readSeries(
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
        const found = this.#readTime({ ...values, record, root: record }, context, after);
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
      const error = this.#walk(current, place, values[row], 1, null);
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

  /** Reads the field that `value` of the mapping names, and no other. */
  #readValue(current: Current, path: string): DecodeError | null {
    const { values, payload } = current;
    const value = isObject(values.record) ? valueAt(values.record, path) : values.record;
    if (value === undefined) {
      payload.context.notes?.ignored(path, 'the record does not have this value');
      return null;
    }
    const metric = this.#namesAll ? path : this.#metricOf(values, payload.context);
    if (metric instanceof DecodeError) return metric;
    const unit = typeof this.#unit === 'string' ? valueAt(values.record, this.#unit) : null;
    const place = metric === null || this.#namesAll ? path : restoreName(metric);
    const own = metric !== null && !this.#namesAll && this.#hasLevel(values) ? atLevel(current) : current;
    return this.#walk(own, place, value, 0, typeof unit === 'string' ? unit : null);
  }

  #readFields(current: Current, fields: Readonly<Record<string, unknown>>): DecodeError | null {
    const { payload, reserved } = current;
    const own = this.#ownValue(current, fields);
    if (own instanceof DecodeError) return own;
    const units = this.#siblingUnits(fields);
    let isEmpty = true;
    for (const key in fields) {
      if (reserved.has(key) || units?.stated.has(key)) continue;
      isEmpty = false;
      if (own?.details.has(key)) continue;
      const unit = units?.of.get(key) ?? null;
      const error =
        key === own?.field
          ? this.#walk(own.current, own.place, fields[key], 0, own.unit ?? unit)
          : this.#walk(current, key, fields[key], 0, unit);
      if (error !== null) return error;
    }
    if (isEmpty) payload.context.notes?.ignored('(payload)', 'it has no value');
    return null;
  }

  #readScalarRecord(current: Current): DecodeError | null {
    const { values, payload } = current;
    const metric = this.#metricOf(values, payload.context);
    if (metric instanceof DecodeError) return metric;
    const place = metric === null ? values.key || 'value' : restoreName(metric);
    const own = metric !== null && this.#hasLevel(values) ? atLevel(current) : current;
    return this.#walk(own, place, values.record, 0, null);
  }

  #readArrayRecord(current: Current, record: readonly unknown[]): DecodeError | null {
    const isNamed = this.#namesAll || namedValues(record) !== null;
    const place = isNamed ? '' : restoreName(current.payload.context.metric ?? '');
    return this.#walkArray(isNamed ? current : atLevel(current), place, record, 0);
  }

  /** The field `v` or `value` of a record, when it has the metric of the record. Null without one. */
  #ownValue(current: Current, fields: Readonly<Record<string, unknown>>): OwnValue | null | DecodeError {
    const { values, payload } = current;
    const field = ['v', 'value'].find((name) => isScalarOrNull(fields[name]) && Object.hasOwn(fields, name));
    if (field === undefined || this.#namesAll) return null;
    const metric = this.#metricOf(values, payload.context);
    if (metric === null || metric instanceof DecodeError) return metric;
    const unit = typeof this.#unit === 'string' ? valueAt(fields, this.#unit) : null;
    const isNamed = this.#metric === null && isName(fields.metric);
    return {
      field,
      place: restoreName(metric),
      current: this.#hasLevel(values) ? atLevel(current) : current,
      unit: typeof unit === 'string' ? unit : null,
      details: isNamed ? NAMED_DETAILS : DETAILS,
    };
  }

  /** The units that fields of an object state for its other fields. */
  #siblingUnits(fields: Readonly<Record<string, unknown>>): SiblingUnits | null {
    return this.#unit === false ? null : siblingUnits(fields);
  }

  /** Reads a value and everything below it. `path` is its path in the record. */
  #walk(
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
    if (Array.isArray(value)) return this.#walkArray(current, path, value, depth);
    const fields = value as Readonly<Record<string, unknown>>;
    const measured = onlyValueOf(fields);
    if (measured !== null && (measured.unit === null || this.#unit !== false))
      return this.#walk(current, path, measured.value, depth + 1, measured.unit);
    const reserved = new Set<string>();
    const error = this.#readSeries(current, path, fields, reserved);
    return error ?? this.#walkFields(current, path, fields, depth, reserved);
  }

  /** @param only a field whose value has the path of the object itself */
  #walkFields(
    current: Current,
    path: string,
    fields: Readonly<Record<string, unknown>>,
    depth: number,
    reserved: ReadonlySet<string>,
    only: string | null = null,
  ): DecodeError | null {
    const units = this.#siblingUnits(fields);
    let isEmpty = true;
    for (const key in fields) {
      isEmpty = false;
      if (reserved.has(key)) continue;
      if (units?.stated.has(key)) continue;
      const unit = units?.of.get(key) ?? null;
      const error = this.#walk(current, key === only ? path : join(path, key), fields[key], depth + 1, unit);
      if (error !== null) return error;
    }
    return isEmpty ? this.#ignore(current, path, 'it is an empty object') : null;
  }

  /** Notes that the places of elements are in the names of metrics, when a field seems to name them. */
  #doubtPlaces({ payload }: Current, path: string, array: readonly unknown[]): void {
    const { notes } = payload.context;
    const field = notes?.doubt === undefined ? null : placeName(array);
    if (field !== null && this.#plans.field(join(path, `0.${field}`)).name !== null)
      notes?.doubt?.(join(path, `*.${field}`), BY_PLACE);
  }

  #walkArray(current: Current, path: string, array: readonly unknown[], depth: number): DecodeError | null {
    if (array.length === 0) return this.#ignore(current, path, 'it is an empty array');
    const { context } = current.payload;
    const timed = this.#findsTimes ? timedRecords(array) : null;
    if (timed !== null) {
      const sender = context.full === undefined ? null : this.#senderBelow(path, timed.records, true);
      return sender === null
        ? this.#walkTimed(current, path, timed, depth)
        : severalSenders(sender, context, path);
    }
    const named = namedValues(array);
    if (named === null) return this.#walkPlaces(current, path, array, depth);
    for (const element of array as readonly Readonly<Record<string, unknown>>[]) {
      const error = this.#walkNamed(current, path, element, named, depth);
      if (error !== null) return error;
    }
    return null;
  }

  /** Reads the elements of an array by their places in it. */
  #walkPlaces(current: Current, path: string, array: readonly unknown[], depth: number): DecodeError | null {
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
      const error = this.#walk(current, join(path, String(index)), element, depth + 1, null);
      if (error !== null) return error;
    }
    return null;
  }

  /** Reads the elements of an array as records of the same device, each at its own time. */
  #walkTimed(
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
      const time = this.#readTime({ ...values, record }, payload.context, after);
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
          ? this.#walkFields(own, path, record, depth, reserved, path === '' ? null : only)
          : this.#walkNamed(own, path, record, named, depth, reserved);
      if (error !== null) return error.at(place);
    }
    return null;
  }

  #walkNamed(
    current: Current,
    path: string,
    element: Readonly<Record<string, unknown>>,
    { name, value }: { readonly name: string; readonly value: string },
    depth: number,
    reserved: ReadonlySet<string> = NONE,
  ): DecodeError | null {
    const place = join(path, element[name] as string);
    const unit = this.#unit === false ? null : unitOfElement(element);
    for (const key in element) {
      if (key === name || key === unit?.field || reserved.has(key)) continue;
      const isValue = key === value;
      const below = isValue ? place : join(place, key);
      const error = this.#walk(
        current,
        below,
        element[key],
        depth + 1,
        isValue ? (unit?.unit ?? null) : null,
      );
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
    if (!this.#namesAll) return this.#add(current, plan.name, value, path, unit);
    const filled = this.#metric!.fill({ ...current.values, field: plan.name }, cleanName, oneWord);
    if (typeof filled !== 'string') return missing(filled.missing, 'metric');
    const problem = metricNameProblem(filled);
    if (problem === null) return this.#add(current, filled, value, path, unit);
    current.payload.context.notes?.ignored(path, problem);
    return null;
  }

  #add(
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

  #values({ context, root }: Payload, { key, value }: RecordAt): TemplateValues {
    const { device, metric, captured } = context;
    return { topic: { ...captured, device, metric }, record: value, root, key, field: null };
  }

  /** @param hasLevel whether the metric of the topic is a part of the name of the value */
  #deviceOf(values: TemplateValues, context: DecodeContext, hasLevel: boolean): string | DecodeError {
    if (this.#device === null) {
      const own = isObject(values.record) && !Array.isArray(values.record) ? values.record.device : undefined;
      const named = isName(own) ? cleanDevice(String(own)) : null;
      return deviceOfValue(context, named, hasLevel ? null : ANOTHER_NAME);
    }
    const isShort = hasLevel || this.#deviceHasLevel || context.device === null;
    const full = isShort ? undefined : context.full;
    if (full instanceof DecodeError && this.#device.names.includes('device')) return full;
    const topic = typeof full === 'string' ? { ...values.topic, device: full } : values.topic;
    const device = this.#device.fill({ ...values, topic }, cleanDevice);
    if (typeof device !== 'string') return missing(device.missing, 'device');
    const problem = deviceNameProblem(device);
    return problem === null ? device : new DecodeError('invalid_name', `device ${quote(device)}: ${problem}`);
  }

  /** Whether the name of the value of a record has the metric of the topic, which is in the device otherwise. */
  #hasLevel({ record }: TemplateValues): boolean {
    if (this.#metric !== null) return this.#namesAll || this.#nameHasLevel;
    return !isObject(record) || !isName(record.metric);
  }

  /** The metric of the value of a record; null when nothing names it. */
  #metricOf(values: TemplateValues, context: DecodeContext): string | null | DecodeError {
    let metric = context.metric;
    if (this.#metric !== null && !this.#namesAll) {
      const filled = this.#metric.fill(values, cleanName, oneWord);
      if (typeof filled !== 'string') return missing(filled.missing, 'metric');
      metric = filled;
    } else if (this.#metric === null && isObject(values.record) && isName(values.record.metric)) {
      metric = cleanName(String(values.record.metric));
    }
    const problem = metric === null ? null : metricNameProblem(metric);
    return problem === null ? metric : new DecodeError('invalid_name', problem);
  }
}

/** The paths that are read for units. */
function unitPaths({ unit, units = {} }: MappingOptions): readonly string[] {
  const templates = Object.values(units).filter((each) => each.includes('{'));
  const names = templates.flatMap((each) => compileTemplate(each).names);
  return typeof unit === 'string' ? [unit, ...names] : names;
}

function allRecordsAt(
  root: Readonly<Record<string, unknown>>,
  paths: readonly string[],
  notes: DecodeContext['notes'],
): readonly Found[] {
  const found: Found[] = [];
  for (const path of paths) {
    for (const record of recordsAt(root, path)) found.push(record);
    if (found.length > MAX_READINGS_PER_PAYLOAD) break;
  }
  if (found.length === 0) notes?.ignored(paths.join(', '), 'the payload does not have these records');
  return found;
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

/** For the values whose name begins with the metric of the topic. */
function atLevel(current: Current): Current {
  return current.device === current.levelDevice ? current : { ...current, device: current.levelDevice };
}

/** The unit that the mapping gives a metric; null without one, or when the payload does not have its field. */
function unitOf(unit: string | Template | null, values: TemplateValues): string | null {
  if (unit === null || typeof unit === 'string') return unit;
  const filled = unit.fill(values, (text) => text);
  return typeof filled === 'string' && unitProblem(filled) === null ? writtenUnit(filled) : null;
}

/** A device of a payload: a path, of which each segment is cleaned. */
function cleanDevice(name: string): string {
  return name.split('/').map(cleanName).join('/');
}

/**
 * Reads `boot` or `seq`. A value that cannot be one is ignored with a note, and an object or array is an ordinary field.
 */
function sequenceField<T>(
  fields: Readonly<Record<string, unknown>>,
  name: string,
  read: (value: unknown) => T | null | DecodeError,
  reserved: Set<string>,
  { notes }: DecodeContext,
): T | null {
  const raw = fields[name];
  if (raw === undefined || (isObject(raw) && raw !== null)) return null;
  reserved.add(name);
  const value = read(raw);
  if (!(value instanceof DecodeError)) return value;
  notes?.ignored(name, `it is no valid ${name}, so the message is not checked for gaps`);
  return null;
}

/** A name as a part of a metric: the path of a device becomes one word. */
function oneWord(name: string): string {
  return name.replaceAll('/', '~2F');
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

function isName(value: unknown): value is string | number {
  return (typeof value === 'string' && value !== '') || typeof value === 'number';
}

function isScalarOrNull(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

function missing(name: string, key: string): DecodeError {
  return new DecodeError('invalid_name', `the payload has no "${name}", which ${key} of the mapping uses`);
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

function unknownWord(text: string, metric: string, number: unknown): DecodeError {
  if (number instanceof Doubt) return new DecodeError('malformed', `${quote(text)}: ${number.why}`);
  return new DecodeError(
    'malformed',
    `${quote(text)} is not a number and not a word for a state: set values of the mapping, such as ` +
      `${metric}: text, or ${metric}: { ${text.length <= 20 && /^\w+$/.test(text) ? text : 'word'}: 1 }`,
  );
}
