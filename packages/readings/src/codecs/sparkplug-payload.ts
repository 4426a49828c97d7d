import protobuf from 'protobufjs/minimal.js';
import { DecodeError } from '../codec.ts';
import { MAX_READINGS_PER_PAYLOAD, tooManyReadings } from '../make-reading.ts';
import { quote } from '../quote.ts';

// The protobuf messages of Sparkplug B: Eclipse Sparkplug Specification 3.0.0, section 6.4.1. Only the fields that
// readings need are decoded. Templates, data sets and other structures are skipped as bytes, so nesting is bounded.

/** The data types of metrics: Sparkplug 3.0.0, section 6.4.16. */
export const DATA_TYPES: readonly string[] = (
  'Unknown Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Float Double Boolean String DateTime Text UUID DataSet ' +
  'Bytes File Template PropertySet PropertySetList Int8Array Int16Array Int32Array Int64Array UInt8Array UInt16Array ' +
  'UInt32Array UInt64Array FloatArray DoubleArray BooleanArray StringArray DateTimeArray'
).split(' ');

/** A value as sent. Integers are not signed yet: that depends on the data type. */
export type RawValue =
  | { readonly kind: 'integer'; readonly value: bigint }
  | { readonly kind: 'float' | 'double'; readonly value: number }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'other' };

export interface SparkplugMetric {
  readonly name: string | null;
  /** An unsigned number of 64 bits. */
  readonly alias: bigint | null;
  /** Milliseconds since the epoch. */
  readonly timestamp: number | null;
  /** Index into `DATA_TYPES`. Data messages leave it out. */
  readonly type: number | null;
  readonly isNull: boolean;
  readonly value: RawValue | null;
  /** The property `engUnit`. */
  readonly unit: string | null;
  /** The property `Quality`: 192 is good, 0 bad, 500 stale (section 6.4.9). */
  readonly quality: number | null;
}

export interface SparkplugPayload {
  /** Milliseconds since the epoch. */
  readonly timestamp: number | null;
  /** From 0 to 255. */
  readonly seq: number | null;
  readonly metrics: readonly SparkplugMetric[];
}

/** Field number and wire type of a tag. */
const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;
const tag = (field: number, wire: number) => field * 8 + wire;

const PAYLOAD = { timestamp: tag(1, VARINT), metrics: tag(2, BYTES), seq: tag(3, VARINT) };
const METRIC = {
  name: tag(1, BYTES),
  alias: tag(2, VARINT),
  timestamp: tag(3, VARINT),
  type: tag(4, VARINT),
  isNull: tag(7, VARINT),
  properties: tag(9, BYTES),
  int: tag(10, VARINT),
  long: tag(11, VARINT),
  float: tag(12, FIXED32),
  double: tag(13, FIXED64),
  boolean: tag(14, VARINT),
  string: tag(15, BYTES),
  bytes: tag(16, BYTES),
  dataset: tag(17, BYTES),
  template: tag(18, BYTES),
};
const PROPERTIES = { keys: tag(1, BYTES), values: tag(2, BYTES) };
const PROPERTY = { int: tag(3, VARINT), long: tag(4, VARINT), string: tag(8, BYTES) };

const UNIT = 'engUnit';
const QUALITY = 'Quality';
const MOST_PROPERTIES = 1000;
/** Longest name of a metric, in UTF-16 units: each message can use the names of its birth for every metric. */
const MAX_NAME = 1024;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Decodes a payload. */
export function parseSparkplug(bytes: Uint8Array): SparkplugPayload | DecodeError {
  const reader = protobuf.Reader.create(bytes);
  let timestamp: number | null = null;
  let seq: number | null = null;
  const metrics: SparkplugMetric[] = [];
  try {
    while (reader.pos < reader.len) {
      const field = reader.uint32();
      if (field === PAYLOAD.timestamp) timestamp = Number(uint64(reader));
      else if (field === PAYLOAD.seq) seq = Number(uint64(reader));
      else if (field === PAYLOAD.metrics) {
        const refusal = addMetric(reader, metrics);
        if (refusal !== null) return refusal;
      } else skip(reader, field);
    }
  } catch (error) {
    const why = (error as Error).message.slice(0, 200);
    return new DecodeError('malformed', `not a Sparkplug B payload: ${why}`, `byte ${reader.pos}`);
  }
  return { timestamp, seq, metrics };
}

function addMetric(reader: protobuf.Reader, into: SparkplugMetric[]): DecodeError | null {
  if (into.length === MAX_READINGS_PER_PAYLOAD) return tooManyReadings(into.length + 1);
  const metric = readMetric(reader.bytes());
  if (metric.name !== null && metric.name.length > MAX_NAME) return longName(metric.name);
  into.push(metric);
  return null;
}

function longName(name: string): DecodeError {
  const message = `the name ${quote(name)} has ${name.length} characters; at most ${MAX_NAME} are accepted`;
  return new DecodeError('invalid_name', message);
}

function readMetric(bytes: Uint8Array): SparkplugMetric {
  const reader = protobuf.Reader.create(bytes);
  let name: string | null = null;
  let alias: bigint | null = null;
  let timestamp: number | null = null;
  let type: number | null = null;
  let isNull = false;
  let value: RawValue | null = null;
  let properties: Properties = { unit: null, quality: null };
  while (reader.pos < reader.len) {
    const field = reader.uint32();
    switch (field) {
      case METRIC.name:
        // Some encoders write an empty name beside an alias.
        name = text(reader) || null;
        break;
      case METRIC.alias:
        alias = uint64(reader);
        break;
      case METRIC.timestamp:
        timestamp = Number(uint64(reader));
        break;
      case METRIC.type:
        type = reader.uint32();
        break;
      case METRIC.isNull:
        isNull = reader.bool();
        break;
      case METRIC.properties:
        properties = readProperties(reader.bytes());
        break;
      case METRIC.int:
      case METRIC.long:
        value = { kind: 'integer', value: uint64(reader) };
        break;
      case METRIC.float:
        value = { kind: 'float', value: reader.float() };
        break;
      case METRIC.double:
        value = { kind: 'double', value: reader.double() };
        break;
      case METRIC.boolean:
        value = { kind: 'boolean', value: reader.bool() };
        break;
      case METRIC.string:
        value = { kind: 'string', value: text(reader) };
        break;
      case METRIC.bytes:
      case METRIC.dataset:
      case METRIC.template:
        value = { kind: 'other' };
        skip(reader, field);
        break;
      default:
        skip(reader, field);
    }
  }
  return { name, alias, timestamp, type, isNull, value, ...properties };
}

type Properties = Pick<SparkplugMetric, 'unit' | 'quality'>;

/** The properties that readings need. Keys and values are two lists in the same order. */
function readProperties(bytes: Uint8Array): Properties {
  const reader = protobuf.Reader.create(bytes);
  const keys: string[] = [];
  const values: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const field = reader.uint32();
    if (field === PROPERTIES.keys) keys.push(text(reader));
    else if (field === PROPERTIES.values) values.push(reader.bytes());
    else skip(reader, field);
    if (keys.length > MOST_PROPERTIES || values.length > MOST_PROPERTIES)
      throw new Error('a metric has too many properties');
  }
  const unit = readProperty(values[keys.indexOf(UNIT)]);
  const quality = readProperty(values[keys.indexOf(QUALITY)]);
  return {
    unit: typeof unit === 'string' ? unit : null,
    quality: typeof quality === 'number' ? quality : null,
  };
}

/** The value of a property that is a text or a whole number; null for others. */
function readProperty(bytes: Uint8Array | undefined): string | number | null {
  if (bytes === undefined) return null;
  const reader = protobuf.Reader.create(bytes);
  while (reader.pos < reader.len) {
    const field = reader.uint32();
    if (field === PROPERTY.string) return text(reader);
    if (field === PROPERTY.int || field === PROPERTY.long) return Number(BigInt.asIntN(32, uint64(reader)));
    skip(reader, field);
  }
  return null;
}

/** Skips an unknown field. Groups are not part of proto2 payloads of Sparkplug, and could nest without bound. */
function skip(reader: protobuf.Reader, field: number): void {
  const wire = field & 7;
  if (field < 8 || (wire !== VARINT && wire !== FIXED64 && wire !== BYTES && wire !== FIXED32))
    throw new Error(`invalid wire type ${wire}`);
  reader.skipType(wire);
}

function text(reader: protobuf.Reader): string {
  const bytes = reader.bytes();
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Error('a text is not UTF-8');
  }
}

function uint64(reader: protobuf.Reader): bigint {
  const value = reader.uint64() as unknown;
  if (typeof value === 'number') return BigInt(value);
  const { low, high } = value as { low: number; high: number };
  return (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
}

/** What a metric of a data message leaves out, from the birth. */
export interface BirthNames {
  readonly name: string;
  readonly type: number | null;
}

/**
 * Adds names and data types to the metrics of a payload, so that it can be decoded without its birth.
 *
 * @param names one entry for each metric, null for a metric that stays as it is
 */
export function addNames(bytes: Uint8Array, names: readonly (BirthNames | null)[]): Uint8Array {
  const reader = protobuf.Reader.create(bytes);
  const parts: Uint8Array[] = [];
  let metric = 0;
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const field = reader.uint32();
    if (field !== PAYLOAD.metrics) {
      skip(reader, field);
      parts.push(bytes.subarray(start, reader.pos));
      continue;
    }
    const body = reader.bytes();
    const birth = names[metric++];
    if (birth === null || birth === undefined) {
      parts.push(bytes.subarray(start, reader.pos));
      continue;
    }
    const writer = protobuf.Writer.create().uint32(METRIC.name).string(birth.name);
    if (birth.type !== null) writer.uint32(METRIC.type).uint32(birth.type);
    // After the metric, because the last value of a field counts, and an encoder can have written an empty name.
    const added = writer.finish();
    const length = body.length + added.length;
    parts.push(protobuf.Writer.create().uint32(PAYLOAD.metrics).uint32(length).finish(), body, added);
  }
  return Buffer.concat(parts);
}

/** The command that requests the births of an edge node: Sparkplug 3.0.0, section 6.4.21. */
export function rebirthCommand(timestampMs: number): Uint8Array {
  const metric = protobuf.Writer.create()
    .uint32(METRIC.name)
    .string('Node Control/Rebirth')
    .uint32(METRIC.type)
    .uint32(DATA_TYPES.indexOf('Boolean'))
    .uint32(METRIC.boolean)
    .bool(true)
    .finish();
  return protobuf.Writer.create()
    .uint32(PAYLOAD.timestamp)
    .uint64(timestampMs)
    .uint32(PAYLOAD.metrics)
    .bytes(metric)
    .finish();
}
