import { HBaseError } from './errors.ts';

/** Bytes, or text, which is encoded as UTF-8. */
export type Bytes = string | Uint8Array;

export const EMPTY = Buffer.alloc(0);

export function toBytes(bytes: Bytes): Buffer {
  if (typeof bytes === 'string') return Buffer.from(bytes);
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** KeyValue.Type (hbase-common 2.6.1). */
export const CELL_TYPES = {
  put: 4,
  delete: 8,
  deleteFamilyVersion: 10,
  deleteColumn: 12,
  deleteFamily: 14,
} as const;

/** A cell to write. */
export interface RawCell {
  readonly row: Buffer;
  readonly family: Buffer;
  readonly qualifier: Buffer;
  /** Milliseconds since the epoch by convention. Null: the time when the server receives the cell. */
  readonly timestamp: number | null;
  readonly type: number;
  readonly value: Buffer;
}

// KeyValue: int key length, int value length, key, value; the key: short row length, row, byte family length,
// family, qualifier, long timestamp, byte type (org.apache.hadoop.hbase.KeyValue). KeyValueCodec writes an int with
// the total length before it.
const CODEC_OVERHEAD = 4;
const LENGTHS = 8;
const KEY_OVERHEAD = 2 + 1 + 8 + 1;
const MAX_ROW = 32_767;
const MAX_FAMILY = 127;

/** @throws {TypeError} if the row or the family is too long for a KeyValue. */
export function cellSize(cell: RawCell): number {
  if (cell.row.length > MAX_ROW) throw new TypeError(`a row key has at most ${MAX_ROW} bytes`);
  if (cell.family.length > MAX_FAMILY) throw new TypeError(`a column family has at most ${MAX_FAMILY} bytes`);
  const { row, family, qualifier, value } = cell;
  const key = KEY_OVERHEAD + row.length + family.length + qualifier.length;
  return CODEC_OVERHEAD + LENGTHS + key + value.length;
}

/** Writes a cell at `offset`. Returns the offset of its end. */
export function writeCell(cell: RawCell, target: Buffer, offset: number): number {
  const { row, family, qualifier, timestamp, type, value } = cell;
  const keyLength = KEY_OVERHEAD + row.length + family.length + qualifier.length;
  let at = target.writeInt32BE(LENGTHS + keyLength + value.length, offset);
  at = target.writeInt32BE(keyLength, at);
  at = target.writeInt32BE(value.length, at);
  at = target.writeInt16BE(row.length, at);
  target.set(row, at);
  at = target.writeInt8(family.length, at + row.length);
  target.set(family, at);
  at += family.length;
  target.set(qualifier, at);
  at = writeTimestamp(timestamp, target, at + qualifier.length);
  at = target.writeUInt8(type, at);
  target.set(value, at);
  return at + value.length;
}

/** Null is HConstants.LATEST_TIMESTAMP, the largest long: the server sets its own time. */
function writeTimestamp(timestamp: number | null, target: Buffer, offset: number): number {
  if (timestamp === null) {
    const at = target.writeUInt32BE(0x7fff_ffff, offset);
    return target.writeUInt32BE(0xffff_ffff, at);
  }
  const at = target.writeInt32BE(Math.floor(timestamp / 2 ** 32), offset);
  return target.writeUInt32BE(timestamp % 2 ** 32, at);
}

/** The cells as one cell block. */
export function encodeCells(cells: readonly RawCell[]): Buffer {
  let size = 0;
  for (const cell of cells) size += cellSize(cell);
  const block = Buffer.allocUnsafe(size);
  let at = 0;
  for (const cell of cells) at = writeCell(cell, block, at);
  return block;
}

/** A cell that was read. Its parts are views of the server's answer: copy them if you keep them for long. */
export class Cell {
  readonly #block: Buffer;
  /** The offset of the key. */
  readonly #key: number;
  readonly #keyLength: number;
  readonly #valueLength: number;

  constructor(block: Buffer, offset: number) {
    this.#block = block;
    this.#keyLength = block.readInt32BE(offset);
    this.#valueLength = block.readInt32BE(offset + 4);
    this.#key = offset + LENGTHS;
  }

  get row(): Buffer {
    const start = this.#key + 2;
    return this.#block.subarray(start, start + this.#rowLength);
  }

  get family(): Buffer {
    const start = this.#familyStart;
    return this.#block.subarray(start, start + this.#block.readInt8(start - 1));
  }

  get qualifier(): Buffer {
    const start = this.#familyStart;
    return this.#block.subarray(start + this.#block.readInt8(start - 1), this.#tail);
  }

  /** Milliseconds since the epoch, unless the writer gave another number. */
  get timestamp(): number {
    return this.#block.readInt32BE(this.#tail) * 2 ** 32 + this.#block.readUInt32BE(this.#tail + 4);
  }

  get value(): Buffer {
    const start = this.#key + this.#keyLength;
    return this.#block.subarray(start, start + this.#valueLength);
  }

  /** Whether the cell is in this column. Creates no views. */
  isIn(family: Buffer, qualifier: Buffer): boolean {
    const start = this.#familyStart;
    const end = start + this.#block.readInt8(start - 1);
    return (
      end - start === family.length &&
      this.#tail - end === qualifier.length &&
      this.#block.compare(family, 0, family.length, start, end) === 0 &&
      this.#block.compare(qualifier, 0, qualifier.length, end, this.#tail) === 0
    );
  }

  get #rowLength(): number {
    return this.#block.readInt16BE(this.#key);
  }

  get #familyStart(): number {
    return this.#key + 2 + this.#rowLength + 1;
  }

  /** The offset of the timestamp and the type. */
  get #tail(): number {
    return this.#key + this.#keyLength - 9;
  }
}

/** Reads the cells of an answer one after the other. */
export class CellReader {
  readonly #block: Buffer;
  #at = 0;

  constructor(block: Buffer) {
    this.#block = block;
  }

  /** @throws {HBaseError} PROTOCOL if the block ends too early, which is an error of the server. */
  take(count: number): Cell[] {
    const cells: Cell[] = [];
    for (let index = 0; index < count; index += 1) {
      const start = this.#at + CODEC_OVERHEAD;
      const length = start <= this.#block.length ? this.#block.readInt32BE(this.#at) : -1;
      this.#at = start + length;
      if (length < LENGTHS + KEY_OVERHEAD || this.#at > this.#block.length) {
        throw new HBaseError('PROTOCOL', 'a cell block ends within a cell', { maybeApplied: true });
      }
      cells.push(new Cell(this.#block, start));
    }
    return cells;
  }
}
