import { isUtf8 } from 'node:buffer';
import { ProtocolError } from './errors.ts';
import { Reason } from './reasons.ts';

// mqtt-packet accepts control packets that are too short, too long, or whose properties end early, are repeated or belong
// to another type of packet. MQTT 5 (section 4.13.1) and 3.1.1 (section 4.8) end the connection for them.

const [CONNECT, CONNACK, PUBACK, PUBREC, PUBREL, PUBCOMP] = [1, 2, 4, 5, 6, 7] as const;
const [SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK] = [8, 9, 10, 11] as const;
const [PINGREQ, PINGRESP, DISCONNECT, AUTH] = [12, 13, 14, 15] as const;
/** Where CONNECT has the version of the protocol, after the header. */
const VERSION_AT = 6;

type Kind = 1 | 2 | 4 | 'varint' | 'text' | 'bytes' | 'pair';

/** MQTT 5, table 2-4, without the properties of PUBLISH and of a will. */
const PROPERTIES: Readonly<Record<number, readonly [kind: Kind, types: readonly number[]]>> = {
  11: ['varint', [SUBSCRIBE]],
  17: [4, [CONNECT, CONNACK, DISCONNECT]],
  18: ['text', [CONNACK]],
  19: [2, [CONNACK]],
  21: ['text', [CONNECT, CONNACK, AUTH]],
  22: ['bytes', [CONNECT, CONNACK, AUTH]],
  23: [1, [CONNECT]],
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
/** Receive Maximum and Maximum Packet Size: 0 is a Protocol Error. */
const NOT_ZERO = [0x21, 0x27];
/** Properties with the values 0 and 1 only. Maximum QoS is not one of them: a 2 does no harm. */
const FLAGS = [0x17, 0x19, 0x25, 0x28, 0x29, 0x2a];

/** Bytes before the properties, after the header. The others have a payload after the properties. */
const PROPERTIES_AT: Readonly<Record<number, number>> = {
  [CONNECT]: 10,
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
const WITH_PAYLOAD: readonly number[] = [CONNECT, SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK];
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
/** Of PUBREL, SUBSCRIBE and UNSUBSCRIBE: MQTT 5, table 2-2. */
const FLAGS_2: readonly number[] = [PUBREL, SUBSCRIBE, UNSUBSCRIBE];

/**
 * Checks flags, length and properties of a complete packet other than PUBLISH.
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
  } else if (version === 4) {
    const expected = LENGTHS_3[type];
    if (expected !== undefined && length !== expected) throw malformed(type, `${length} bytes`);
  } else checkProperties(frame, body, type);
}

function checkProperties(frame: Buffer, body: number, type: number): void {
  const before = PROPERTIES_AT[type];
  if (before === undefined) return;
  if (type === CONNECT && frame[body + VERSION_AT] !== 5) return;
  // A server of MQTT 3.1.1 refuses MQTT 5 in its own format.
  if (type === CONNACK && frame.length === body + 2 && frame[body + 1] !== 0) return;
  const from = body + before;
  if (MAY_BE_SHORT.includes(type)) {
    const least = before === 3 ? 2 : 0;
    if (frame.length < body + least) throw malformed(type, `${frame.length - body} bytes`);
    if (frame.length <= from) return;
  }
  const reader = new Reader(frame, from, type);
  const end = reader.varint() + reader.position;
  if (end > frame.length || (end < frame.length && !WITH_PAYLOAD.includes(type)))
    throw malformed(type, 'a wrong length of its properties');
  const seen = new Set<number>();
  while (reader.position < end) {
    const id = reader.varint();
    if (id === USER_PROPERTY) {
      reader.take('pair', end);
      continue;
    }
    const [kind, types] = PROPERTIES[id] ?? [1, []];
    if (!types.includes(type)) throw malformed(type, `property 0x${id.toString(16).padStart(2, '0')}`);
    if (seen.has(id))
      throw new ProtocolError(Reason.PROTOCOL_ERROR, `a packet of type ${type} that repeats a property`);
    seen.add(id);
    const value = reader.take(kind, end);
    if ((NOT_ZERO.includes(id) && value === 0) || (FLAGS.includes(id) && value > 1))
      throw new ProtocolError(
        Reason.PROTOCOL_ERROR,
        `a packet of type ${type} with ${value} as property 0x${id.toString(16)}`,
      );
  }
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

  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#uint(1, this.#frame.length);
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw malformed(this.#type, 'a variable byte integer of more than four bytes');
  }

  /** Skips a value. Returns that of a number, and 0 of others. */
  take(kind: Kind, end: number): number {
    if (typeof kind === 'number') return this.#uint(kind, end);
    if (kind === 'varint') return this.varint();
    this.#bytes(end, kind !== 'bytes');
    if (kind === 'pair') this.#bytes(end, true);
    return 0;
  }

  #uint(bytes: number, end: number): number {
    const from = this.position;
    this.position += bytes;
    if (this.position > end) throw malformed(this.#type, 'a property that ends early');
    return this.#frame.readUIntBE(from, bytes);
  }

  #bytes(end: number, isText: boolean): void {
    const length = this.#uint(2, end);
    const from = this.position;
    this.position += length;
    if (this.position > end) throw malformed(this.#type, 'a property that ends early');
    const bytes = this.#frame.subarray(from, this.position);
    if (isText && (bytes.includes(0) || !isUtf8(bytes)))
      throw malformed(this.#type, 'a property that is not well-formed UTF-8');
  }
}

function bodyOf(frame: Buffer): number {
  let position = 1;
  while (frame[position]! >= 0x80) position += 1;
  return position + 1;
}

function malformed(type: number, what: string): ProtocolError {
  return new ProtocolError(Reason.MALFORMED_PACKET, `a malformed packet of type ${type}, with ${what}`);
}
