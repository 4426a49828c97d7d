import { type Decode, type DecodeContext, DecodeError, withoutExceptions } from '../codec.ts';
import { decodeForm } from '../codecs/forms/index.ts';
import { readBoot, readSeq } from '../codecs/json.ts';
import { looksLikeSenml, readSenmlJson } from '../codecs/senml-json.ts';
import { MAX_READINGS_PER_PAYLOAD, recordPosition, tooManyReadings } from '../make-reading.ts';
import { quote } from '../quote.ts';
import { isReadingDocument, type Reading, SET_BY_INGEST } from '../reading.ts';
import { namesSender, senderField, severalSenders, withoutDevice } from '../record-senders.ts';
import { noteNames } from './assumptions.ts';
import { restoreName } from './clean-name.ts';
import { type FieldPlan, FieldPlans, type ReadKind } from './field-plans.ts';
import { type Current, FieldReader, type Payload, type Scalar } from './field-reader.ts';
import { readField, Skipped } from './field-values.ts';
import { type NamedValues, NO_FIELDS, namedRecords, namedValues, recordList } from './named-values.ts';
import { Doubt, numberOf } from './numbers.ts';
import type { MappingOptions } from './options.ts';
import { type ParsedAs, parseFields } from './parsed-fields.ts';
import { isObject, isTable, type RecordAt, recordsAt, valueAt } from './paths.ts';
import { BareText, parsePayload } from './payload-tree.ts';
import { isName, isOfTopic, RecordNames } from './record-names.ts';
import { timePaths } from './record-time.ts';
import { compileTemplate, type TemplateValues } from './template.ts';
import { commonStateOf, isNoValue } from './texts.ts';

/** A record, and its fields for name and value when it has both. */
interface Found extends RecordAt {
  readonly named?: NamedValues | null;
}

/** The field with the value that has the metric of the record. */
interface OwnValue {
  readonly field: string;
  /** The path with which it is read. */
  readonly place: string;
  readonly current: Current;
  /** The unit that the mapping finds; null without one. */
  readonly unit: string | null;
  /** Whether the field `metric` names it. */
  readonly isNamed: boolean;
  /** Whether the record is a reading of the API. */
  readonly isDocument: boolean;
}

/**
 * Compiles a mapping to a decoder. It is compiled once for each route.
 *
 * @param options as `checkMapping` accepts them
 */
export function compileMapping(options: MappingOptions): Decode {
  const mapping = new Mapping(options);
  const read = (root: unknown, context: DecodeContext) => {
    const decoded = mapping.read(root, context);
    if (!(decoded instanceof DecodeError)) mapping.noteNames(root, decoded, context);
    return decoded;
  };
  const decode: Decode = (payload, context) => {
    const root = parsePayload(payload, context.notes);
    return root instanceof DecodeError ? root : read(root, context);
  };
  return withoutExceptions((payload, context) => {
    // MQTT deletes a retained message with an empty one.
    if (payload.length === 0) {
      context.notes?.ignored('(payload)', 'it is empty');
      return [];
    }
    const decoded = decode(payload, context);
    return decoded instanceof DecodeError ? decodeForm(payload, context, decoded, decode, read) : decoded;
  });
}

/** A compiled mapping. It has no state besides caches, so a payload always becomes the same readings. */
export class Mapping {
  readonly #plans: FieldPlans;
  readonly #parse: readonly (readonly [path: string, as: ParsedAs])[];
  readonly #records: readonly string[] | null;
  readonly #names: RecordNames;
  readonly #value: string | null;
  readonly #fields: FieldReader;
  /** The fields of records that the mapping uses for names, times and values, the first part of each path. */
  readonly #used: Set<string>;

  /** @param otherwise how metrics are read that `values` does not have */
  constructor(options: MappingOptions, otherwise: ReadKind = 'auto') {
    this.#parse = Object.entries(options.parse ?? {});
    this.#records = options.records === undefined ? null : [options.records].flat();
    this.#names = new RecordNames(options);
    this.#value = options.value ?? null;
    const paths = [...this.#names.fields, ...timePaths(options)];
    this.#plans = new FieldPlans(options, new Set([...paths, ...unitPaths(options)]), otherwise);
    this.#fields = new FieldReader(options, this.#names, this.#plans);
    if (this.#value !== null) paths.push(this.#value);
    this.#used = new Set(paths.map((path) => path.split('.', 1)[0]!));
    // In a template it is the name of the record itself.
    this.#used.delete('key');
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
    if (this.#records === null && !this.#names.hasMetric && looksLikeSenml(root))
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

  /** Notes fields that can name the senders of readings, when nothing of the mapping names them. */
  noteNames(root: unknown, readings: readonly Reading[], context: DecodeContext): void {
    if (!this.#names.tellsApart(context)) noteNames(root, readings, context, this.#names.hasDevice);
  }

  /** The field that names the senders of records when nothing of the mapping names them; null otherwise. */
  #senderOf(records: readonly Found[], { full }: DecodeContext): string | null {
    if (records.length < 2 || full === undefined || this.#names.hasDevice) return null;
    if (this.#names.hasKeyInName) return null;
    const name = records[0]!.named?.name;
    const all = records.map(({ value }) => value);
    return senderField(
      this.#names.readsDevice ? withoutDevice(all) : all,
      (field, isAddress) =>
        field !== name &&
        // In an object of a record, `id` or `name` is of something else.
        (!field.includes('.') || isAddress || namesSender(field)) &&
        this.#plans.field(field).name !== null,
    );
  }

  #recordsOf(root: Readonly<Record<string, unknown>>, context: DecodeContext): readonly Found[] {
    if (this.#records !== null) return allRecordsAt(root, this.#records, context.notes);
    const list = recordList(root);
    if (list.length === 0 || !list.every(isTable)) return [{ key: '', value: root }];
    const used = this.#usedOf(list[0], context);
    const namesMetrics = this.#names.hasMetric || this.#value !== null;
    let named = namesMetrics ? null : namedRecords(list);
    if (!namesMetrics && used.size > 0) named ??= namedRecords(list, used);
    const isOne = named === null && used.size === 0 && (namedValues(list)?.name ?? 'metric') !== 'metric';
    if (isOne) return [{ key: '', value: root }];
    return list.map((value, index) => ({ key: String(index), value, named }));
  }

  /** The fields of a record that the mapping uses. What the topic has counts before them. */
  #usedOf(record: unknown, context: DecodeContext): ReadonlySet<string> {
    if (this.#used.size === 0 || !isTable(record)) return NO_FIELDS;
    return new Set(
      Object.keys(record).filter((field) => this.#used.has(field) && !isOfTopic(field, context)),
    );
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
    const metric = this.#names.metricOf(values, context, true);
    if (metric instanceof DecodeError) return metric;
    const device = this.#names.deviceOf(values, context, this.#names.hasLevel(values));
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
    return this.#fields.add(current, plan.name, value, place, null) ?? payload.readings;
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
    const time = this.#fields.readTime(values, context, payload.after);
    if (time instanceof DecodeError) return time;
    if (time.field !== null) payload.after = time.time;
    const levelDevice = this.#names.deviceOf(values, context, true);
    const isOne = this.#names.namesFields && this.#names.hasLevelInName;
    const device = isOne ? levelDevice : this.#names.deviceOf(values, context, false);
    if (device instanceof DecodeError && levelDevice instanceof DecodeError) return device;
    const fields = isObject(record.value) && !Array.isArray(record.value) ? record.value : {};
    const reserved = new Set<string>();
    if (time.field !== null) reserved.add(time.field);
    if (time.dateField !== undefined) reserved.add(time.dateField);
    if (this.#names.readsDevice && isName(fields.device)) reserved.add('device');
    const boot = sequenceField(fields, 'boot', readBoot, reserved, context);
    const seq = sequenceField(fields, 'seq', readSeq, reserved, context);
    const names = { device, levelDevice };
    const current: Current = { payload, index, values, ...names, time: time.time, boot, seq, reserved };
    if (this.#value !== null) return this.#readValue(current, this.#value);
    if (record.named) {
      const unread = new Set([...reserved, ...this.#usedOf(fields, context)]);
      return this.#fields.readNamed(current, '', fields, record.named, 0, unread);
    }
    return this.#readSeriesAndFields(current, fields, reserved);
  }

  #readSeriesAndFields(
    current: Current,
    fields: Readonly<Record<string, unknown>>,
    reserved: Set<string>,
  ): DecodeError | null {
    const { payload, values } = current;
    const count = payload.readings.length;
    const error = this.#fields.readSeries(current, '', fields, reserved);
    if (error !== null) return error;
    const isDone =
      payload.readings.length > count && Object.keys(fields).every((field) => reserved.has(field));
    if (isDone) return null;
    if (values.record !== null && !isObject(values.record)) return this.#readScalarRecord(current);
    if (Array.isArray(values.record)) return this.#readArrayRecord(current, values.record);
    return this.#readFields(current, fields);
  }

  /** Reads the field that `value` of the mapping names, and no other. */
  #readValue(current: Current, path: string): DecodeError | null {
    const { values, payload } = current;
    const value = isObject(values.record) ? valueAt(values.record, path) : values.record;
    if (value === undefined) {
      payload.context.notes?.ignored(path, 'the record does not have this value');
      return null;
    }
    const metric = this.#names.namesFields ? path : this.#names.metricOf(values, payload.context);
    if (metric instanceof DecodeError) return metric;
    const unit = typeof this.#fields.unit === 'string' ? valueAt(values.record, this.#fields.unit) : null;
    const place = metric === null || this.#names.namesFields ? path : restoreName(metric);
    const own =
      metric !== null && !this.#names.namesFields && this.#names.hasLevel(values)
        ? atLevel(current)
        : current;
    return this.#fields.read(own, place, value, 0, typeof unit === 'string' ? unit : null);
  }

  #readFields(current: Current, fields: Readonly<Record<string, unknown>>): DecodeError | null {
    const { payload, reserved } = current;
    const own = this.#ownValue(current, fields);
    if (own instanceof DecodeError) return own;
    const units = this.#fields.siblingUnits(fields);
    let isEmpty = true;
    for (const key in fields) {
      if (reserved.has(key) || units?.stated.has(key)) continue;
      isEmpty = false;
      if (own !== null && isDetail(key, own)) continue;
      const unit = units?.of.get(key) ?? null;
      const error =
        key === own?.field
          ? this.#fields.read(own.current, own.place, fields[key], 0, own.unit ?? unit)
          : this.#fields.read(current, key, fields[key], 0, unit);
      if (error !== null) return error;
    }
    if (isEmpty) payload.context.notes?.ignored('(payload)', 'it has no value');
    return null;
  }

  #readScalarRecord(current: Current): DecodeError | null {
    const { values, payload } = current;
    const metric = this.#names.metricOf(values, payload.context);
    if (metric instanceof DecodeError) return metric;
    const place = metric === null ? values.key || 'value' : restoreName(metric);
    const own = metric !== null && this.#names.hasLevel(values) ? atLevel(current) : current;
    return this.#fields.read(own, place, values.record, 0, null);
  }

  #readArrayRecord(current: Current, record: readonly unknown[]): DecodeError | null {
    const isNamed = this.#names.namesFields || namedValues(record) !== null;
    const place = isNamed ? '' : restoreName(current.payload.context.metric ?? '');
    return this.#fields.readArray(isNamed ? current : atLevel(current), place, record, 0);
  }

  /** The field `v` or `value` of a record, when it has the metric of the record. Null without one. */
  #ownValue(current: Current, fields: Readonly<Record<string, unknown>>): OwnValue | null | DecodeError {
    const { values, payload } = current;
    const field = ['v', 'value'].find((name) => isScalarOrNull(fields[name]) && Object.hasOwn(fields, name));
    if (field === undefined || this.#names.namesFields) return null;
    const metric = this.#names.metricOf(values, payload.context);
    if (metric === null || metric instanceof DecodeError) return metric;
    const unit = typeof this.#fields.unit === 'string' ? valueAt(fields, this.#fields.unit) : null;
    return {
      field,
      place: restoreName(metric),
      current: this.#names.hasLevel(values) ? atLevel(current) : current,
      unit: typeof unit === 'string' ? unit : null,
      isNamed: !this.#names.hasMetric && isName(fields.metric),
      isDocument: isReadingDocument(fields),
    };
  }

  #values({ context, root }: Payload, { key, value }: RecordAt): TemplateValues {
    const { device, metric, captured } = context;
    return { topic: { ...captured, device, metric }, record: value, root, key, field: null };
  }
}

/** Whether a field beside a value is no metric. */
function isDetail(field: string, { isNamed, isDocument }: OwnValue): boolean {
  return (isNamed && field === 'metric') || (isDocument && SET_BY_INGEST.has(field));
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

/** For the values whose name begins with the metric of the topic. */
function atLevel(current: Current): Current {
  return current.device === current.levelDevice ? current : { ...current, device: current.levelDevice };
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

function isScalarOrNull(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

function unknownWord(text: string, metric: string, number: unknown): DecodeError {
  if (number instanceof Doubt) return new DecodeError('malformed', `${quote(text)}: ${number.why}`);
  return new DecodeError(
    'malformed',
    `${quote(text)} is not a number and not a word for a state: set values of the mapping, such as ` +
      `${metric}: text, or ${metric}: { ${text.length <= 20 && /^\w+$/.test(text) ? text : 'word'}: 1 }`,
  );
}
