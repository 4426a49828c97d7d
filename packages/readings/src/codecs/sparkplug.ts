import {
  type Decode,
  type DecodeContext,
  DecodeError,
  decoderFailed,
  type StatefulDecoder,
  type StatefulResult,
  withoutExceptions,
} from '../codec.ts';
import {
  MAX_READINGS_PER_PAYLOAD,
  makeReading,
  readText,
  replacedIn,
  timeProblem,
  tooManyReadings,
} from '../make-reading.ts';
import { resolveDevice } from '../naming.ts';
import { quote } from '../quote.ts';
import { MAX_METRIC_LENGTH, type Reading, type ReadingValue } from '../reading.ts';
import { MAX_TIME } from '../time.ts';
import { escapeName, fitName } from './escape-name.ts';
import { SparkplugNodes } from './sparkplug-nodes.ts';
import {
  addNames,
  type BirthNames,
  DATA_TYPES,
  parseSparkplug,
  type RawValue,
  rebirthCommand,
  type SparkplugMetric,
  type SparkplugPayload,
} from './sparkplug-payload.ts';
import { ROUNDED } from './whole-numbers.ts';

/** Least time between two requests to one node, and between two requests to any nodes, microseconds. */
const REBIRTH_EVERY = 30_000_000;
const REBIRTHS_SPACED = 50_000;

/**
 * The names that births add to one message at most, in UTF-16 units. A message has few bytes for each alias, and its names
 * are kept with it.
 */
const MAX_ADDED_NAMES = 1 << 20;

const NAMESPACE = 'spBv1.0';
const KINDS = ['NBIRTH', 'NDEATH', 'DBIRTH', 'DDEATH', 'NDATA', 'DDATA', 'NCMD', 'DCMD'] as const;
type Kind = (typeof KINDS)[number];

/** Bits of each signed integer type. */
const SIGNED: ReadonlyMap<string, number> = new Map([
  ['Int8', 8],
  ['Int16', 16],
  ['Int32', 32],
  ['Int64', 64],
]);
const UNSIGNED = new Set(['UInt8', 'UInt16', 'UInt32', 'UInt64', 'DateTime']);
const TEXTS = new Set(['String', 'Text', 'UUID']);
/** Metrics that are added. Those of senders hardly begin or go on with a tilde. */
const ONLINE = '~online';
const QUALITY = '~quality';
/** Metrics that control a session and measure nothing. */
const CONTROL = /^(?:bdSeq$|Node Control\/|Device Control\/)/;

interface Address {
  readonly group: string;
  readonly kind: Kind;
  readonly node: string;
  /** Empty for the node itself. */
  readonly device: string;
}

/**
 * Decodes Sparkplug B (Eclipse Sparkplug Specification 3.0.0) as a host application. A birth gives the names and data
 * types of metrics, and later messages use their aliases, so messages must be decoded in the order of their arrival,
 * and all of them by one decoder.
 *
 *     no birth --NBIRTH--> born --NDEATH of this birth--> no birth
 *
 * It requests a rebirth (NCMD with `Node Control/Rebirth`) when a node has no birth here, an alias is unknown or
 * sequence numbers are missing: at most once in 30 s for each node, and 20 times in a second for all. Births before missing
 * numbers are not used. The births are bounded in bytes; those of the least recently used nodes are removed.
 */
export class SparkplugDecoder implements StatefulDecoder {
  readonly #nodes: SparkplugNodes;
  #lastRebirth = Number.NEGATIVE_INFINITY;

  /** @param maxBytes memory for births */
  constructor(maxBytes?: number) {
    this.#nodes = new SparkplugNodes(maxBytes);
  }

  /** Decodes a message that has just arrived, and follows births, deaths and sequence numbers. */
  decode(payload: Uint8Array, context: DecodeContext): StatefulResult {
    try {
      return this.#decode(payload, context);
    } catch (error) {
      return { decoded: decoderFailed(error), payload, reply: null };
    }
  }

  #decode(payload: Uint8Array, context: DecodeContext): StatefulResult {
    const address = addressOf(context.topic ?? '');
    if (address === null) return { decoded: [], payload, reply: null };
    if (address instanceof DecodeError) return { decoded: address, payload, reply: null };
    const { kind, group, node, device } = address;
    const parsed = parseSparkplug(payload);
    if (parsed instanceof DecodeError) return { decoded: parsed, payload, reply: null };
    const key = `${group}/${node}`;
    if (kind === 'NDEATH') {
      const isOffline = this.#nodes.end(key, bdSeqOf(parsed));
      return { decoded: isOffline ? this.#read(address, parsed, context) : [], payload, reply: null };
    }
    let reason = this.#follow(kind, key, device, parsed);
    const decoded = this.#read(address, parsed, context);
    if (decoded instanceof DecodeError && decoded.reason === 'no_birth') reason ??= decoded.message;
    const reply = reason === null ? null : this.#rebirth(key, address, context.received);
    const isRefused = decoded instanceof DecodeError;
    return { decoded, payload: isRefused ? payload : this.#complete(address, parsed, payload), reply };
  }

  /** Follows births, sequence numbers and deaths of devices. Returns why a rebirth is needed, or null. */
  #follow(
    kind: Address['kind'],
    key: string,
    device: Address['device'],
    parsed: SparkplugPayload,
  ): string | null {
    let reason: string | null = null;
    if (kind === 'NBIRTH') this.#nodes.begin(key, parsed.seq ?? 0, bdSeqOf(parsed));
    else reason = this.#nodes.follow(key, parsed.seq);
    if (kind === 'NBIRTH' || kind === 'DBIRTH') this.#nodes.addBirth(key, device, parsed.metrics);
    if (kind === 'DDEATH') this.#nodes.endDevice(key, device);
    return reason;
  }

  forget(): void {
    this.#nodes.forget();
  }

  /** Decodes a message that was kept, with the current births, and changes nothing. */
  readonly replay: Decode = withoutExceptions((payload, context) => {
    const address = addressOf(context.topic ?? '');
    if (address === null || address instanceof DecodeError) return address ?? [];
    const parsed = parseSparkplug(payload);
    return parsed instanceof DecodeError ? parsed : this.#read(address, parsed, context);
  });

  #birthOf({ group, node, device }: Address, metric: SparkplugMetric): BirthNames | null {
    if (metric.name !== null && metric.type !== null) return null;
    return this.#nodes.find(`${group}/${node}`, device, metric);
  }

  /** The payload with the names and data types of its births. */
  #complete(address: Address, { metrics }: SparkplugPayload, payload: Uint8Array): Uint8Array {
    const names = metrics.map((metric) => {
      const birth = this.#birthOf(address, metric);
      return birth === null ? null : { name: metric.name ?? birth.name, type: metric.type ?? birth.type };
    });
    return names.every((each) => each === null) ? payload : addNames(payload, names);
  }

  #read(
    address: Address,
    parsed: SparkplugPayload,
    context: DecodeContext,
  ): readonly Reading[] | DecodeError {
    const device = deviceOf(address, context);
    if (device instanceof DecodeError) return device;
    const readings = onlineOf(address.kind, device, parsed, context);
    if (address.kind.endsWith('DEATH')) return readings;
    const most = MAX_READINGS_PER_PAYLOAD + readings.length;
    let added = 0;
    for (const [index, metric] of parsed.metrics.entries()) {
      const position = `metric ${index + 1} of ${parsed.metrics.length}`;
      const birth = this.#birthOf(address, metric);
      const name = metric.name ?? birth?.name;
      const type = metric.type ?? birth?.type ?? null;
      if (name === undefined || type === null) return noBirth(address, metric).at(position);
      if (birth !== null) added += birth.name.length;
      if (added > MAX_ADDED_NAMES) return namesTooLong().at(position);
      const found = readingsOf(metric, name, type, device, parsed.timestamp, context);
      if (found instanceof DecodeError) return found.at(position);
      readings.push(...found);
    }
    return checked(readings, most);
  }

  #rebirth(key: string, { group, node }: Address, received: number): StatefulResult['reply'] {
    if (received - this.#lastRebirth < REBIRTHS_SPACED) return null;
    if (!this.#nodes.mayRequest(key, received, REBIRTH_EVERY)) return null;
    this.#lastRebirth = received;
    return {
      topic: `${NAMESPACE}/${group}/NCMD/${node}`,
      payload: rebirthCommand(Math.floor(received / 1000)),
    };
  }
}

function checked(readings: readonly Reading[], most: number): readonly Reading[] | DecodeError {
  return readings.length > most ? tooManyReadings(readings.length) : (replacedIn(readings) ?? readings);
}

/** The parts of a topic: section 4.1. Null for STATE messages and commands, which have no readings. */
function addressOf(topic: string): Address | null | DecodeError {
  const [namespace, group = '', kind = '', node = '', device = '', ...rest] = topic.split('/');
  if (namespace === NAMESPACE && group === 'STATE') return null;
  const isKnown = (KINDS as readonly string[]).includes(kind);
  const hasDevice = kind.startsWith('D');
  const isWhole = group !== '' && node !== '' && rest.length === 0 && hasDevice === (device !== '');
  if (namespace === NAMESPACE && isKnown && isWhole)
    return kind.endsWith('CMD') ? null : { group, kind: kind as Kind, node, device };
  return new DecodeError(
    'unsupported',
    `topic ${quote(topic)} is not of Sparkplug B: spBv1.0/<group>/<NBIRTH, NDATA, DBIRTH, …>/<node>[/<device>]`,
  );
}

function deviceOf({ group, node, device }: Address, context: DecodeContext): string | DecodeError {
  const parts = [group, node, ...(device === '' ? [] : [device])].map((part) => escapeName(part));
  return resolveDevice(context.device, parts.join('/'));
}

/** A name is a path. Its slashes become dots, and its dots `~2E`, so that different names stay different. */
function metricWord(name: string): string {
  const word = name
    .split('/')
    .map((part) => escapeName(part, '.'))
    .join('.');
  return fitName(word, MAX_METRIC_LENGTH);
}

function bdSeqOf({ metrics }: SparkplugPayload): number | null {
  const value = metrics.find(({ name }) => name === 'bdSeq')?.value;
  return value?.kind === 'integer' ? Number(value.value) : null;
}

function namesTooLong(): DecodeError {
  return new DecodeError(
    'too_many_readings',
    `the names of its aliases have more than ${MAX_ADDED_NAMES} characters together: send fewer metrics in one message`,
  );
}

function noBirth({ group, node, device }: Address, { name, alias }: SparkplugMetric): DecodeError {
  const what = name === null ? `alias ${alias ?? 'none'}` : `the data type of ${quote(name)}`;
  const of = quote(device === '' ? `${group}/${node}` : `${group}/${node}/${device}`);
  return new DecodeError(
    'no_birth',
    `${what} is unknown, because no birth of ${of} was received, or messages after it were missed: a rebirth is requested; replay this message after it`,
  );
}

/** Microseconds of a timestamp in milliseconds. */
function timeOf(timestamp: number | null, received: number): number | DecodeError {
  if (timestamp === null) return received;
  const time = timestamp * 1000;
  if (time <= MAX_TIME) return timeProblem(time, 'timestamp', received) ?? time;
  return new DecodeError('invalid_time', `the timestamp ${timestamp} ms is after June 2255`);
}

/** Whether a node or a device is online, from its births and deaths: sections 5.5 and 5.7. */
function onlineOf(
  kind: Kind,
  device: string,
  { timestamp }: SparkplugPayload,
  { received }: DecodeContext,
): Reading[] {
  if (!kind.endsWith('BIRTH') && !kind.endsWith('DEATH')) return [];
  // A node writes its death when it connects.
  const sent = kind === 'NDEATH' ? received : timeOf(timestamp, received);
  const time = sent instanceof DecodeError ? received : sent;
  return [makeReading(device, ONLINE, time, kind.endsWith('BIRTH') ? 1 : 0, received, null, null)];
}

/** The readings of a metric: its value, which is noted when it has none, and its quality. */
function readingsOf(
  metric: SparkplugMetric,
  name: string,
  type: number,
  device: string,
  timestamp: number | null,
  { received, notes }: DecodeContext,
): readonly Reading[] | DecodeError {
  if (CONTROL.test(name)) {
    notes?.ignored(name, 'it controls the session');
    return [];
  }
  const time = timeOf(metric.timestamp ?? timestamp, received);
  if (time instanceof DecodeError) return time;
  const value = readingValue(metric, DATA_TYPES[type] ?? `type ${type}`);
  const word = metricWord(name);
  const readings: Reading[] = [];
  if (typeof value === 'object') notes?.ignored(name, value.ignored);
  else readings.push(makeReading(device, word, time, value, received, null, null));
  if (metric.value?.kind === 'integer' && isRounded(metric.value.value, value)) notes?.ignored(name, ROUNDED);
  if (metric.unit !== null) notes?.unit(device, word, metric.unit);
  if (metric.quality !== null) {
    const its = fitName(word + QUALITY, MAX_METRIC_LENGTH);
    readings.push(makeReading(device, its, time, metric.quality, received, null, null));
  }
  return readings;
}

/** The value of a metric, or why it has none. */
function readingValue(
  { isNull, value }: SparkplugMetric,
  type: string,
): ReadingValue | { readonly ignored: string } {
  if (isNull || value === null) return { ignored: 'it is null' };
  if (value.kind === 'other') return { ignored: `the data type ${type} is not supported` };
  const found = valueOfType(value, type);
  if (found === null) return { ignored: `its value does not have its data type, ${type}` };
  if (found instanceof DecodeError) return { ignored: 'it is a text that cannot be stored' };
  if (typeof found === 'number' && !Number.isFinite(found)) return { ignored: 'it is not a finite number' };
  return found;
}

/** The value of a data type, which may be infinite or NaN; null when it has another one. */
function valueOfType(
  value: Exclude<RawValue, { readonly kind: 'other' }>,
  type: string,
): ReadingValue | DecodeError | null {
  switch (value.kind) {
    case 'integer':
      return integerOf(value.value, type);
    case 'boolean':
      return type === 'Boolean' ? Number(value.value) : null;
    case 'string':
      return TEXTS.has(type) ? readText(value.value, null) : null;
    case 'float':
      return type === 'Float' ? shortest(value.value) : null;
    case 'double':
      return type === 'Double' ? value.value : null;
  }
}

function integerOf(value: bigint, type: string): number | null {
  const bits = SIGNED.get(type);
  if (bits !== undefined) return Number(BigInt.asIntN(bits, value));
  return UNSIGNED.has(type) ? Number(value) : null;
}

/** Whether a number is not exactly that of its 64 bits, signed or unsigned. */
function isRounded(bits: bigint, value: ReadingValue | object): boolean {
  if (typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return false;
  return BigInt.asUintN(64, BigInt(value)) !== bits;
}

/** The number with the fewest digits that is this value as a 32-bit float: 21.3, not 21.299999237060547. */
function shortest(value: number): number {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return value;
}
