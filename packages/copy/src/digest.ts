import { createHash, type Hash, hash } from 'node:crypto';
import { QUALITIES, type Reading } from '@tidegauge/readings';

/** Microseconds of a UTC day. */
export const DAY_US = 86_400_000_000;

/** The number and digest of the readings of one device on one UTC day. */
export interface DayDigest {
  readonly count: number;
  /** SHA-256, 32 bytes. */
  readonly digest: Buffer;
}

const DIGEST_BYTES = 32;
const NO_DIGEST = Buffer.alloc(DIGEST_BYTES);
const PART_BYTES = 32 * 1024;
// Without texts: time, received, seq, shape, lengths and value. A boot has at most 200 UTF-16 code units, a text 4096.
const MAX_READING_BYTES = 48 + 3 * 200 + 3 * 4096;
const HAS_TEXT = 0b100;
const HAS_BOOT = 0b1000;

/**
 * The digests of the days of one device. Readings come by metric, ascending, and within a metric by time, ascending.
 * docs/copy.md has the definition. Only one number and one digest for each day are in memory.
 */
export class DeviceDigest {
  readonly #days = new Map<number, { count: number; digest: Buffer }>();
  readonly #part = Buffer.allocUnsafe(PART_BYTES);
  #used = 0;
  #hash: Hash | null = null;
  #metric = '';
  #day = -1;
  #count = 0;

  add(reading: Reading): void {
    const { metric, time } = reading;
    const day = Math.floor(time / DAY_US);
    if (day !== this.#day || metric !== this.#metric || this.#hash === null) {
      this.#endSeriesDay();
      this.#hash = createHash('sha256');
      this.#metric = metric;
      this.#day = day;
    }
    if (this.#used + MAX_READING_BYTES > PART_BYTES) this.#flush(this.#hash);
    this.#used = encode(reading, this.#part, this.#used);
    this.#count += 1;
  }

  /** The days with readings, ascending. Call it after the last reading. */
  days(): ReadonlyMap<number, DayDigest> {
    this.#endSeriesDay();
    return new Map([...this.#days].sort(([a], [b]) => a - b));
  }

  #flush(hash: Hash): void {
    hash.update(this.#part.subarray(0, this.#used));
    this.#used = 0;
  }

  #endSeriesDay(): void {
    if (this.#hash === null) return;
    this.#flush(this.#hash);
    const known = this.#days.get(this.#day);
    const chain = createHash('sha256').update(known?.digest ?? NO_DIGEST);
    chain.update(lengthAndText(this.#metric)).update(double(this.#count)).update(this.#hash.digest());
    this.#days.set(this.#day, { count: (known?.count ?? 0) + this.#count, digest: chain.digest() });
    this.#hash = null;
    this.#count = 0;
  }
}

/** Writes one reading: doubles are big-endian, a text follows its length in bytes. Returns the end. */
function encode(
  { time, value, received, boot, seq, quality }: Reading,
  bytes: Buffer,
  start: number,
): number {
  const isText = typeof value === 'string';
  let at = bytes.writeDoubleBE(time, start);
  at = bytes.writeDoubleBE(received, at);
  at = bytes.writeDoubleBE(seq ?? -1, at);
  at = bytes.writeUInt8(
    QUALITIES.indexOf(quality) | (isText ? HAS_TEXT : 0) | (boot === null ? 0 : HAS_BOOT),
    at,
  );
  if (boot !== null) at = writeText(boot, bytes, at);
  return isText ? writeText(value, bytes, at) : bytes.writeDoubleBE(value, at);
}

function writeText(text: string, bytes: Buffer, at: number): number {
  const length = bytes.write(text, at + 4);
  bytes.writeUInt32BE(length, at);
  return at + 4 + length;
}

function lengthAndText(text: string): Buffer {
  const bytes = Buffer.alloc(4 + Buffer.byteLength(text));
  writeText(text, bytes, 0);
  return bytes;
}

function double(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeDoubleBE(value);
  return bytes;
}

const MODULUS = 2n ** 256n;

/** The digest of many items in any order: the sum modulo 2^256 of the SHA-256 digests of the items. */
export class SumDigest {
  #sum: bigint;
  #count: number;

  /** @param start what another one had before, to continue it */
  constructor(start: { readonly count: number; readonly hex: string } = { count: 0, hex: '0' }) {
    this.#sum = BigInt(`0x${start.hex}`);
    this.#count = start.count;
  }

  get count(): number {
    return this.#count;
  }

  /** 64 hexadecimal digits. */
  get hex(): string {
    return this.#sum.toString(16).padStart(64, '0');
  }

  addText(text: string): void {
    this.#add(hash('sha256', text, 'hex'), 1);
  }

  addDay(device: string, day: number, { count, digest }: DayDigest): void {
    const item = Buffer.concat([lengthAndText(device), double(day), double(count), digest]);
    this.#add(hash('sha256', item, 'hex'), count);
  }

  #add(hex: string, count: number): void {
    this.#sum = (this.#sum + BigInt(`0x${hex}`)) % MODULUS;
    this.#count += count;
  }
}

/** The name of a day, such as 2026-11-23. @param day days since the epoch */
export function dayName(day: number): string {
  return new Date((day * DAY_US) / 1000).toISOString().slice(0, 10);
}
