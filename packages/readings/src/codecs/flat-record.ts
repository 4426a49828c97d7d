import { type DecodeContext, DecodeError } from '../codec.ts';
import { MAX_BOOT_LENGTH, makeReading, readTime } from '../make-reading.ts';
import { FIRST_DATE } from '../mapping/short-time.ts';
import type { Reading } from '../reading.ts';
import { FAR_PAST } from '../time.ts';

// Most messages of sensors are one small object such as {"t":1795262400,"v":21.5,"boot":"a1","seq":17}. Reading it from the
// bytes takes less than half of the time of a string, JSON.parse and its object, and leaves less garbage.

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const DELETE = 0x7f;

/** A longer payload is another document: it is not read twice. */
const MAX_BYTES = 512;
/** A whole number up to this one stays exact when a digit is added. */
const MAX_MANTISSA = (Number.MAX_SAFE_INTEGER - 9) / 10;
/** Powers of ten that a double represents exactly. */
const POWERS = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));

/**
 * Reads the payload if it is one object with a value (`v`, `value`: a number, `true` or `false`) and any of a time (`t`, `time`, `ts`,
 * `timestamp`: a number), `boot` (ASCII) and `seq` (a whole number), each once, and numbers have no exponent and at most about 16 digits.
 * Returns null for every other payload, also for invalid ones: the general decoder reads these, or refuses them with the
 * reason. Both return the same for a payload that is read here.
 */
export function readFlatRecord(payload: Uint8Array, context: DecodeContext): readonly Reading[] | null {
  const { device, metric, received } = context;
  if (device === null || metric === null || payload.length > MAX_BYTES) return null;
  const scanner = new Scanner(payload);
  if (!scanner.isRecord()) return null;
  const { time: rawTime, value, boot, seq } = scanner;
  if (value === null || (seq !== null && !(Number.isSafeInteger(seq) && seq >= 0))) return null;
  // Such a `t` can be a measurement.
  if (scanner.isShort && rawTime! < FIRST_DATE && (boot === null || seq === null)) return null;
  const time = rawTime === null ? received : readTime(rawTime, '', received);
  if (time instanceof DecodeError) return null;
  // It has a note.
  if (seq === null && received - time > FAR_PAST) return null;
  return [makeReading(device, metric, time, value, received, boot, seq)];
}

class Scanner {
  time: number | null = null;
  value: number | null = null;
  boot: string | null = null;
  seq: number | null = null;
  /** Whether the time is `t`. */
  isShort = false;
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Reads the payload into the fields; false if it is something else. */
  isRecord(): boolean {
    if (this.#bytes[this.#at++] !== OPEN) return false;
    for (;;) {
      if (this.#token() !== QUOTE || !this.#member()) return false;
      const end = this.#token();
      if (end === CLOSE) break;
      if (end !== COMMA) return false;
    }
    this.#space();
    return this.#at === this.#bytes.length;
  }

  /** Reads a member from after the first quote of its name. */
  #member(): boolean {
    const from = this.#at;
    const to = this.#endOfText();
    if (to === -1 || this.#token() !== COLON) return false;
    this.#space();
    switch (to - from) {
      case 1:
        if (this.#is('t', from)) {
          this.isShort = true;
          return this.#takesTime();
        }
        return this.#is('v', from) && this.#takesValue();
      case 2:
        return this.#is('ts', from) && this.#takesTime();
      case 3:
        return this.#is('seq', from) && this.#takesSeq();
      case 4:
        if (this.#is('time', from)) return this.#takesTime();
        return this.#is('boot', from) && this.#takesBoot();
      case 5:
        return this.#is('value', from) && this.#takesValue();
      case 9:
        return this.#is('timestamp', from) && this.#takesTime();
      default:
        return false;
    }
  }

  #takesTime(): boolean {
    if (this.time !== null) return false;
    this.time = this.#number();
    return this.time !== null;
  }

  #takesSeq(): boolean {
    if (this.seq !== null) return false;
    this.seq = this.#number();
    return this.seq !== null;
  }

  #takesValue(): boolean {
    if (this.value !== null) return false;
    if (this.#skips('true')) this.value = 1;
    else if (this.#skips('false')) this.value = 0;
    else this.value = this.#number();
    return this.value !== null;
  }

  #takesBoot(): boolean {
    if (this.boot !== null || this.#bytes[this.#at++] !== QUOTE) return false;
    const from = this.#at;
    const to = this.#endOfText();
    if (to <= from || to - from > MAX_BOOT_LENGTH) return false;
    this.boot = Buffer.prototype.latin1Slice.call(this.#bytes, from, to);
    return true;
  }

  /** A number without an exponent, as `JSON.parse` reads it; null for every other one. */
  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one pass over the bytes of each number, on the hot path
  #number(): number | null {
    const bytes = this.#bytes;
    const isNegative = bytes[this.#at] === MINUS;
    if (isNegative) this.#at += 1;
    const start = this.#at;
    let mantissa = 0;
    let point = -1;
    let at = start;
    for (; ; at++) {
      const byte = bytes[at]!;
      if (byte >= ZERO && byte <= NINE) {
        if (mantissa > MAX_MANTISSA) return null;
        mantissa = mantissa * 10 + (byte - ZERO);
      } else if (byte === POINT && point === -1 && at > start) point = at;
      else break;
    }
    const whole = (point === -1 ? at : point) - start;
    if (whole === 0 || point === at - 1 || (whole > 1 && bytes[start] === ZERO)) return null;
    // The next byte must end the number: `#token` refuses an exponent.
    this.#at = at;
    const decimals = point === -1 ? 0 : at - point - 1;
    if (decimals >= POWERS.length) return null;
    // Exact operands, so one division rounds as JSON.parse does (Clinger, How to read floating point numbers accurately, 1990).
    const value = decimals === 0 ? mantissa : mantissa / POWERS[decimals]!;
    return isNegative ? -value : value;
  }

  /** The offset of the quote that ends a text of plain ASCII, or -1. Continues after it. */
  #endOfText(): number {
    for (let at = this.#at; at < this.#bytes.length; at++) {
      const byte = this.#bytes[at]!;
      if (byte === QUOTE) {
        this.#at = at + 1;
        return at;
      }
      if (byte < SPACE || byte === BACKSLASH || byte >= DELETE) return -1;
    }
    return -1;
  }

  /** The next byte that is not white space. Continues after it. */
  #token(): number | undefined {
    this.#space();
    return this.#bytes[this.#at++];
  }

  #space(): void {
    for (;;) {
      const byte = this.#bytes[this.#at];
      if (byte !== SPACE && byte !== TAB && byte !== LINE_FEED && byte !== CARRIAGE_RETURN) return;
      this.#at += 1;
    }
  }

  #skips(word: string): boolean {
    if (!this.#is(word, this.#at)) return false;
    this.#at += word.length;
    return true;
  }

  #is(word: string, from: number): boolean {
    for (let index = 0; index < word.length; index++) {
      if (this.#bytes[from + index] !== word.charCodeAt(index)) return false;
    }
    return true;
  }
}
