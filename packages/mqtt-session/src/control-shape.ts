import { isUtf8 } from 'node:buffer';
import { ProtocolError } from './errors.ts';
import { Reason } from './reasons.ts';

// mqtt-packet accepts control packets that are too short, too long, or whose properties end early, are repeated or belong
// to another type of packet. MQTT 5 (section 4.13.1) and 3.1.1 (section 4.8) end the connection for them.

const [CONNECT, CONNACK, PUBACK, PUBREC, PUBREL, PUBCOMP] = [1, 2, 4, 5, 6, 7] as const;
const [SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK] = [8, 9, 10, 11] as const;
const [PINGREQ, PINGRESP, DISCONNECT, AUTH] = [12, 13, 14, 15] as const;
/** The will, a part of CONNECT with its own properties. No packet has the type 0. */
const WILL = 0;

type Kind = 1 | 2 | 4 | 'varint' | 'text' | 'topic' | 'bytes' | 'pair';

/** MQTT 5, table 2-4, without the properties of PUBLISH. */
const PROPERTIES: Readonly<Record<number, readonly [kind: Kind, types: readonly number[]]>> = {
  1: [1, [WILL]],
  2: [4, [WILL]],
  3: ['text', [WILL]],
  8: ['topic', [WILL]],
  9: ['bytes', [WILL]],
  11: ['varint', [SUBSCRIBE]],
  17: [4, [CONNECT, CONNACK, DISCONNECT]],
  18: ['text', [CONNACK]],
  19: [2, [CONNACK]],
  21: ['text', [CONNECT, CONNACK, AUTH]],
  22: ['bytes', [CONNECT, CONNACK, AUTH]],
  23: [1, [CONNECT]],
  24: [4, [WILL]],
  25: [1, [CONNECT]],
  26: ['text', [CONNACK]],
  28: ['text', [CONNACK, DISCONNECT]],
  31: ['text', [CONNACK, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBACK, UNSUBACK, DISCONNECT, AUTH]],
  33: [2, [CONNECT, CONNACK]],
  34: [2, [CONNECT, CONNACK]],
  36: [1, [CONNACK]],
  37: [1, [CONNACK]],
  39: [4, [CONNECT, CONNACK]],
  40: [1, [CONNACK]],
  41: [1, [CONNACK]],
  42: [1, [CONNACK]],
};
const USER_PROPERTY = 0x26;
/** Receive Maximum, Maximum Packet Size and Subscription Identifier: 0 is a Protocol Error. */
const NOT_ZERO = [0x0b, 0x21, 0x27];
const AUTHENTICATION_METHOD = 0x15;
const AUTHENTICATION_DATA = 0x16;
/** Properties with the values 0 and 1 only. Maximum QoS is not one of them: a 2 does no harm. */
const FLAGS = [0x01, 0x17, 0x19, 0x25, 0x28, 0x29, 0x2a];

/** Bytes before the properties, after the header. The others have a payload after the properties. */
const PROPERTIES_AT: Readonly<Record<number, number>> = {
  [CONNACK]: 2,
  [PUBACK]: 3,
  [PUBREC]: 3,
  [PUBREL]: 3,
  [PUBCOMP]: 3,
  [SUBSCRIBE]: 2,
  [SUBACK]: 2,
  [UNSUBSCRIBE]: 2,
  [UNSUBACK]: 2,
  [DISCONNECT]: 1,
  [AUTH]: 1,
};
const WITH_PAYLOAD: readonly number[] = [SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK];
/** The reason code and the properties of these can be left out. */
const MAY_BE_SHORT: readonly number[] = [PUBACK, PUBREC, PUBREL, PUBCOMP, DISCONNECT, AUTH];
/** Remaining length in MQTT 3.1.1. */
const LENGTHS_3: Readonly<Record<number, number>> = {
  [CONNACK]: 2,
  [PUBACK]: 2,
  [PUBREC]: 2,
  [PUBREL]: 2,
  [PUBCOMP]: 2,
  [UNSUBACK]: 2,
  [DISCONNECT]: 0,
};
/** Bits of the flags of CONNECT: MQTT 5, section 3.1.2.3. */
const CONNECT_RESERVED = 0x01;
const WILL_FLAG = 0x04;
const WILL_BITS = 0x38;
const WILL_QOS_3 = 0x18;
const PASSWORD_FLAG = 0x40;
const USER_NAME_FLAG = 0x80;
/** Bits of the options of a subscription that must be 0. */
const OPTIONS_RESERVED = { 4: 0xfc, 5: 0xc0 };
/** Of PUBREL, SUBSCRIBE and UNSUBSCRIBE: MQTT 5, table 2-2. */
const FLAGS_2: readonly number[] = [PUBREL, SUBSCRIBE, UNSUBSCRIBE];

/**
 * Checks flags, length and properties of a complete packet other than PUBLISH, and every field of CONNECT, SUBSCRIBE and
 * UNSUBSCRIBE.
 *
 * @throws {ProtocolError}
 */
export function checkShape(frame: Buffer, version: 4 | 5): void {
  const type = frame[0]! >> 4;
  const body = bodyOf(frame);
  const length = frame.length - body;
  if ((frame[0]! & 0x0f) !== (FLAGS_2.includes(type) ? 2 : 0)) throw malformed(type, 'reserved bits');
  if (type === CONNACK && length > 0 && frame[body]! > 1) throw malformed(type, 'reserved flags');
  if (type === PINGREQ || type === PINGRESP) {
    if (length !== 0) throw malformed(type, 'a body');
  } else if (type === CONNECT) checkConnect(frame, body);
  else if (version === 4) checkLength(length, type);
  else checkProperties(frame, body, type);
  if (type === SUBSCRIBE || type === UNSUBSCRIBE) checkFilters(frame, body, type, version);
}

function checkLength(length: number, type: number): void {
  const expected = LENGTHS_3[type];
  if (expected !== undefined && length !== expected) throw malformed(type, `${length} bytes`);
}

/** CONNECT with its payload, which ends with the packet: MQTT 5 and 3.1.1, section 3.1. */
function checkConnect(frame: Buffer, body: number): void {
  const end = frame.length;
  const reader = new Reader(frame, body, CONNECT);
  reader.take('text', end);
  const isVersion5 = reader.take(1, end) === 5;
  const flags = reader.take(1, end);
  reader.take(2, end);
  const hasWill = (flags & WILL_FLAG) !== 0;
  if ((flags & CONNECT_RESERVED) !== 0 || (flags & WILL_QOS_3) === WILL_QOS_3)
    throw malformed(CONNECT, 'reserved flags');
  if (!hasWill && (flags & WILL_BITS) !== 0) throw malformed(CONNECT, 'flags of a will that is not there');
  if (!isVersion5 && (flags & (PASSWORD_FLAG | USER_NAME_FLAG)) === PASSWORD_FLAG)
    throw malformed(CONNECT, 'a password and no user name');
  if (isVersion5) checkList(reader, CONNECT);
  reader.take('text', end);
  if (hasWill) {
    if (isVersion5) checkList(reader, WILL);
    reader.take('text', end);
    reader.take('bytes', end);
  }
  if ((flags & USER_NAME_FLAG) !== 0) reader.take('text', end);
  if ((flags & PASSWORD_FLAG) !== 0) reader.take('bytes', end);
  if (reader.position !== end) throw malformed(CONNECT, 'bytes after its end');
}

/** The filters of SUBSCRIBE and UNSUBSCRIBE: MQTT 5, sections 3.8.3 and 3.10.3. */
function checkFilters(frame: Buffer, body: number, type: number, version: 4 | 5): void {
  const end = frame.length;
  const reader = new Reader(frame, body, type);
  if (reader.take(2, end) === 0) throw problem(type, 'packet identifier 0');
  const properties = version === 5 ? reader.varint() : 0;
  reader.position += properties;
  if (reader.position === end) throw problem(type, 'no filter');
  while (reader.position < end) {
    if (reader.take('text', end) === 0) throw problem(type, 'an empty filter');
    const options = type === SUBSCRIBE ? reader.take(1, end) : 0;
    if ((options & OPTIONS_RESERVED[version]) !== 0 || (options & 3) === 3)
      throw malformed(type, 'reserved options');
    if ((options & 0x30) === 0x30) throw problem(type, 'Retain Handling 3');
  }
}

function checkProperties(frame: Buffer, body: number, type: number): void {
  const before = PROPERTIES_AT[type];
  if (before === undefined) return;
  // A server of MQTT 3.1.1 refuses MQTT 5 in its own format.
  if (type === CONNACK && frame.length === body + 2 && frame[body + 1] !== 0) return;
  const from = body + before;
  if (MAY_BE_SHORT.includes(type)) {
    const least = before === 3 ? 2 : 0;
    if (frame.length < body + least) throw malformed(type, `${frame.length - body} bytes`);
    if (frame.length <= from) return;
  }
  const reader = new Reader(frame, from, type);
  checkList(reader, type);
  if (reader.position < frame.length && !WITH_PAYLOAD.includes(type))
    throw malformed(type, 'a wrong length of its properties');
}

function checkValue(id: number, value: number, type: number): void {
  if ((NOT_ZERO.includes(id) && value === 0) || (FLAGS.includes(id) && value > 1))
    throw problem(type, `${value} as property 0x${id.toString(16)}`);
}

/** Properties, their length first. */
function checkList(reader: Reader, type: number): void {
  const end = reader.varint() + reader.position;
  if (end > reader.end) throw malformed(type, 'a wrong length of its properties');
  const seen = new Set<number>();
  while (reader.position < end) {
    const id = reader.varint();
    if (id === USER_PROPERTY) {
      reader.take('pair', end);
      continue;
    }
    const [kind, types] = PROPERTIES[id] ?? [1, []];
    if (!types.includes(type)) throw malformed(type, `property 0x${id.toString(16).padStart(2, '0')}`);
    if (seen.has(id)) throw problem(type, 'a repeated property');
    seen.add(id);
    checkValue(id, reader.take(kind, end), type);
  }
  if (seen.has(AUTHENTICATION_DATA) && !seen.has(AUTHENTICATION_METHOD))
    throw problem(type, 'authentication data without a method');
}

class Reader {
  position: number;
  readonly #frame: Buffer;
  readonly #type: number;

  constructor(frame: Buffer, position: number, type: number) {
    this.#frame = frame;
    this.position = position;
    this.#type = type;
  }

  varint(end = this.end): number {
    let value = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#uint(1, end);
      value += (byte & 0x7f) * 2 ** shift;
      if (byte === 0 && shift > 0) break;
      if (byte < 0x80) return value;
    }
    throw malformed(this.#type, 'a variable byte integer that is too long');
  }

  get end(): number {
    return this.#frame.length;
  }

  /** Skips a value. Returns that of a number, and the number of bytes of others. */
  take(kind: Kind, end: number): number {
    if (typeof kind === 'number') return this.#uint(kind, end);
    if (kind === 'varint') return this.varint(end);
    const bytes = this.#bytes(end, kind !== 'bytes');
    if (kind === 'pair') this.#bytes(end, true);
    if (kind === 'topic' && !isTopicName(bytes))
      throw problem(this.#type, 'a Response Topic that is no topic');
    return bytes.length;
  }

  #uint(bytes: number, end: number): number {
    const from = this.position;
    this.position += bytes;
    if (this.position > end) throw malformed(this.#type, 'a field that ends early');
    return this.#frame.readUIntBE(from, bytes);
  }

  #bytes(end: number, isText: boolean): Buffer {
    const length = this.#uint(2, end);
    const from = this.position;
    this.position += length;
    if (this.position > end) throw malformed(this.#type, 'a field that ends early');
    const bytes = this.#frame.subarray(from, this.position);
    if (isText && (bytes.includes(0) || !isUtf8(bytes)))
      throw malformed(this.#type, 'a field that is not well-formed UTF-8');
    return bytes;
  }
}

function bodyOf(frame: Buffer): number {
  let position = 1;
  while (frame[position]! >= 0x80) position += 1;
  return position + 1;
}

/** Whether bytes can be the name of a topic: MQTT 5, section 4.7. */
export function isTopicName(bytes: Buffer): boolean {
  return bytes.length > 0 && !bytes.includes('+') && !bytes.includes('#');
}

function problem(type: number, what: string): ProtocolError {
  return new ProtocolError(Reason.PROTOCOL_ERROR, `a packet of type ${type} with ${what}`);
}

function malformed(type: number, what: string): ProtocolError {
  return new ProtocolError(Reason.MALFORMED_PACKET, `a malformed packet of type ${type}, with ${what}`);
}
