import { crc32 } from 'node:zlib';
import { ByteReader, ByteWriter } from './bytes.ts';
import { decodeIntegers, encodeIntegers, estimateBits } from './integers.ts';
import { decodeOptional, decodeValues, encodeOptional, encodeValues } from './values.ts';

// A block of readings of one series as compressed columns. docs/adr/0019-compact-history.md has the measurements.
//
//   4 bytes  CRC-32 of all that follows, little-endian
//   byte     version
//   varint   number of readings
//   varint   for each column its length
//   bytes    the columns: times, values, received, boots, sequence numbers, qualities

const VERSION = 1;
const CHECKSUM_BYTES = 4;
const COLUMNS = 6;
/** A column of receive times begins with one of these. */
const DELAYS = 0;
const TIMES = 1;

/** The most readings of a block. */
export const MAX_READINGS = 65_535;
/** Readings of one series, in columns of the same length. */
export interface Columns {
  /** Microseconds from 0 to 2^53 - 1, ascending. */
  readonly times: readonly number[];
  /** Numbers keep all their bits. */
  readonly values: readonly (number | string)[];
  /** Microseconds from 0 to 2^53 - 1. */
  readonly received: readonly number[];
  /** Whole numbers that the caller assigns to boots. */
  readonly boots: readonly (number | null)[];
  readonly seqs: readonly (number | null)[];
  /** Whole numbers that the caller assigns to qualities. */
  readonly qualities: readonly number[];
}

/** The bytes are not those of a block, or not those that were written, or a later version wrote them. */
export class DamagedBlock extends Error {}

/**
 * Encodes 1 to `MAX_READINGS` readings.
 * @throws {TypeError} if there are none or too many
 */
export function encodeBlock(columns: Columns): Buffer {
  const { times, values, received, boots, seqs, qualities } = columns;
  const count = times.length;
  if (count === 0 || count > MAX_READINGS) throw new TypeError(`a block cannot have ${count} readings`);
  const parts = [
    written((out) => encodeIntegers(out, Float64Array.from(times))),
    written((out) => encodeValues(out, values)),
    written((out) => encodeReceived(out, times, received)),
    written((out) => encodeOptional(out, boots)),
    written((out) => encodeOptional(out, seqs)),
    written((out) => encodeIntegers(out, Float64Array.from(qualities))),
  ];
  const block = new ByteWriter();
  block.bytes(Buffer.alloc(CHECKSUM_BYTES));
  block.byte(VERSION);
  block.varint(count);
  for (const { length } of parts) block.varint(length);
  for (const part of parts) block.bytes(part);
  // A copy, so that the larger buffer is not kept.
  const bytes = Buffer.from(block.written());
  bytes.writeUInt32LE(crc32(bytes.subarray(CHECKSUM_BYTES)));
  return bytes;
}

/** Reads a block. Each column is decoded when it is first read, and kept. */
export class Block {
  readonly count: number;
  readonly #columns: readonly Buffer[];
  #times: Float64Array | null = null;
  #values: ArrayLike<number | string> | null = null;
  #received: Float64Array | null = null;
  #boots: ArrayLike<number | null> | null = null;
  #seqs: ArrayLike<number | null> | null = null;
  #qualities: Float64Array | null = null;

  /** @throws {DamagedBlock} unless the bytes are exactly those that `encodeBlock` returned */
  constructor(given: Uint8Array) {
    const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
    if (bytes.length < CHECKSUM_BYTES || crc32(bytes.subarray(CHECKSUM_BYTES)) !== bytes.readUInt32LE())
      throw new DamagedBlock('its checksum differs');
    const { count, columns } = intact(() => {
      const reader = new ByteReader(bytes.subarray(CHECKSUM_BYTES));
      const version = reader.byte();
      if (version !== VERSION)
        throw new RangeError(`it has version ${version}, this program reads ${VERSION}`);
      const readings = reader.varint();
      const lengths = Array.from({ length: COLUMNS }, () => reader.varint());
      return { count: readings, columns: lengths.map((length) => reader.bytes(length)) };
    });
    this.count = count;
    this.#columns = columns;
  }

  /** @throws {DamagedBlock} as the other columns do, if a later version wrote them */
  get times(): Float64Array {
    this.#times ??= intact(() => decodeIntegers(this.#reader(0), this.count));
    return this.#times;
  }

  get values(): ArrayLike<number | string> {
    this.#values ??= intact(() => decodeValues(this.#reader(1), this.count));
    return this.#values;
  }

  get received(): Float64Array {
    this.#received ??= intact(() => decodeReceived(this.#reader(2), this.times));
    return this.#received;
  }

  get boots(): ArrayLike<number | null> {
    this.#boots ??= intact(() => decodeOptional(this.#reader(3), this.count));
    return this.#boots;
  }

  get seqs(): ArrayLike<number | null> {
    this.#seqs ??= intact(() => decodeOptional(this.#reader(4), this.count));
    return this.#seqs;
  }

  get qualities(): Float64Array {
    this.#qualities ??= intact(() => decodeIntegers(this.#reader(5), this.count));
    return this.#qualities;
  }

  #reader(column: number): ByteReader {
    return new ByteReader(this.#columns[column]!);
  }
}

/** As delays after the times of the readings, or as times themselves: many readings of one message have one. */
function encodeReceived(out: ByteWriter, times: readonly number[], received: readonly number[]): void {
  const absolute = Float64Array.from(received);
  const delays = absolute.map((time, index) => time - times[index]!);
  const isDelays = estimateBits(delays) <= estimateBits(absolute);
  out.byte(isDelays ? DELAYS : TIMES);
  encodeIntegers(out, isDelays ? delays : absolute);
}

function decodeReceived(bytes: ByteReader, times: Float64Array): Float64Array {
  const form = bytes.byte();
  if (form !== DELAYS && form !== TIMES) throw new RangeError(`receive times have an unknown form ${form}`);
  const numbers = decodeIntegers(bytes, times.length);
  if (form === DELAYS)
    for (let index = 0; index < numbers.length; index += 1) numbers[index]! += times[index]!;
  return numbers;
}

function written(write: (out: ByteWriter) => void): Buffer {
  const out = new ByteWriter();
  write(out);
  return out.written();
}

function intact<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new DamagedBlock((cause as Error).message, { cause });
  }
}
