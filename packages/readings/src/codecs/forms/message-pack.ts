import { DecodeError } from '../../codec.ts';
import { MAX_VALUES } from '../parse-json.ts';
import { type Form, Parsed } from './form.ts';

// The usual library allocates an array of the length that its header states, before its elements arrive, and counts no
// values. Nested headers of five bytes each would take all memory.

/** Objects and arrays inside each other. Deeper ones are no payload of a sensor. */
const MAX_DEPTH = 32;
/** The type of the timestamp extension. */
const TIMESTAMP = -1;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * MessagePack (github.com/msgpack/msgpack, spec.md): a map with texts as keys, or an array of such maps. Other values are
 * not recognised: a number in MessagePack is one byte that means something in many protocols.
 */
export const messagePack: Form = {
  name: 'MessagePack',
  isGuess: true,
  read(payload) {
    if (!isContainer(payload[0])) return null;
    const reader = new Reader(payload);
    try {
      const root = reader.value(0);
      if (!reader.isAtEnd || !isRecords(root)) return null;
      return new Parsed(root);
    } catch (error) {
      if (error instanceof TooMany) {
        return new DecodeError('too_many_readings', `more than ${MAX_VALUES} values in one payload`);
      }
      if (error instanceof NotThis) return null;
      throw error;
    }
  },
};

class TooMany extends Error {}
class NotThis extends Error {}

function isContainer(first: number | undefined): boolean {
  if (first === undefined) return false;
  return (first >= 0x81 && first <= 0x9f && first !== 0x90) || (first >= 0xdc && first <= 0xdf);
}

function isRecords(root: unknown): boolean {
  const isMap = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
  return Array.isArray(root) ? root.length > 0 && root.every(isMap) : isMap(root);
}

class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;
  #values = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  value(depth: number): unknown {
    if (depth > MAX_DEPTH) throw new NotThis();
    if (++this.#values > MAX_VALUES) throw new TooMany();
    const first = this.#uint(1);
    if (first < 0x80) return first;
    if (first < 0x90) return this.#map(first & 0x0f, depth);
    if (first < 0xa0) return this.#array(first & 0x0f, depth);
    if (first < 0xc0) return this.#text(first & 0x1f);
    if (first >= 0xe0) return first - 256;
    switch (first) {
      case 0xc0:
        return null;
      case 0xc2:
      case 0xc3:
        return first === 0xc3;
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return Buffer.from(this.#take(this.#uint(2 ** (first - 0xc4)))).toString('base64url');
      case 0xc7:
      case 0xc8:
      case 0xc9:
        return this.#extension(this.#uint(2 ** (first - 0xc7)));
      case 0xca:
        return float32(this.#view.getFloat32(this.#skip(4)));
      case 0xcb:
        return this.#view.getFloat64(this.#skip(8));
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.#uint(2 ** (first - 0xcc));
      case 0xcf:
        return exact(this.#view.getBigUint64(this.#skip(8)));
      case 0xd0:
        return this.#view.getInt8(this.#skip(1));
      case 0xd1:
        return this.#view.getInt16(this.#skip(2));
      case 0xd2:
        return this.#view.getInt32(this.#skip(4));
      case 0xd3:
        return exact(this.#view.getBigInt64(this.#skip(8)));
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8:
        return this.#extension(2 ** (first - 0xd4));
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#text(this.#uint(2 ** (first - 0xd9)));
      case 0xdc:
      case 0xdd:
        return this.#array(this.#uint(first === 0xdc ? 2 : 4), depth);
      case 0xde:
      case 0xdf:
        return this.#map(this.#uint(first === 0xde ? 2 : 4), depth);
      default:
        // 0xc1 is never used.
        throw new NotThis();
    }
  }

  #array(length: number, depth: number): unknown[] {
    const array: unknown[] = [];
    // Elements are added as they are read, so a length that is not true allocates nothing.
    for (let i = 0; i < length; i++) array.push(this.value(depth + 1));
    return array;
  }

  #map(length: number, depth: number): Record<string, unknown> {
    // An object without a prototype, so that no key such as __proto__ has a meaning.
    const map: Record<string, unknown> = Object.create(null);
    for (let i = 0; i < length; i++) {
      const key = this.value(depth + 1);
      if (typeof key !== 'string' || key in map) throw new NotThis();
      map[key] = this.value(depth + 1);
    }
    return map;
  }

  #text(length: number): string {
    const bytes = this.#take(length);
    try {
      return utf8.decode(bytes);
    } catch {
      throw new NotThis();
    }
  }

  /** A timestamp as milliseconds; null for other extensions, which have no meaning here. */
  #extension(length: number): number | null {
    const type = this.#view.getInt8(this.#skip(1));
    const at = this.#skip(length);
    if (type !== TIMESTAMP) return null;
    if (length === 4) return this.#view.getUint32(at) * 1000;
    if (length === 8) {
      const both = this.#view.getBigUint64(at);
      return Number(both & 0x3_ffff_ffffn) * 1000 + Number(both >> 34n) / 1e6;
    }
    if (length !== 12) throw new NotThis();
    return Number(this.#view.getBigInt64(at + 4)) * 1000 + this.#view.getUint32(at) / 1e6;
  }

  #uint(size: number): number {
    const at = this.#skip(size);
    if (size === 1) return this.#bytes[at]!;
    return size === 2 ? this.#view.getUint16(at) : this.#view.getUint32(at);
  }

  #take(length: number): Uint8Array {
    const from = this.#skip(length);
    return this.#bytes.subarray(from, from + length);
  }

  /** The offset of the next bytes, after it was checked that the payload has them. */
  #skip(length: number): number {
    const at = this.#at;
    if (length > this.#bytes.length - at) throw new NotThis();
    this.#at = at + length;
    return at;
  }
}

/** The number, or its digits as a text when no double is this number. */
function exact(value: bigint): number | string {
  const number = Number(value);
  return BigInt(number) === value ? number : String(value);
}

/** The shortest decimal number that is this number in 32 bits: 21.6, and not 21.600000381469727. */
function float32(value: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return value;
}
