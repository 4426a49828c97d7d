// Arrays as PostgreSQL receives them in binary (array_recv): neither side formats or parses a number.

const HEADER = 20;
const INT2 = 21;
const INT8 = 20;
const FLOAT8 = 701;
const TEXT = 25;
const HALF = 0x1_0000_0000;

/** `smallint[]` */
export function int2Array(values: readonly number[]): Buffer {
  const buffer = allocate(INT2, values.length, 6 * values.length, false);
  const view = new DataView(buffer.buffer, buffer.byteOffset);
  let at = HEADER;
  for (const value of values) {
    view.setInt32(at, 2);
    view.setInt16(at + 4, value);
    at += 6;
  }
  return buffer;
}

/** `bigint[]` of whole numbers from 0 to 2^53. Null if all values are null. */
export function int8Array(values: readonly (number | null)[]): Buffer | null {
  const nulls = count(values);
  if (nulls === values.length) return null;
  const buffer = allocate(INT8, values.length, 12 * values.length - 8 * nulls, nulls > 0);
  const view = new DataView(buffer.buffer, buffer.byteOffset);
  let at = HEADER;
  for (const value of values) {
    if (value === null) {
      view.setInt32(at, -1);
      at += 4;
      continue;
    }
    at = writeInt8(view, at, value);
  }
  return buffer;
}

/** Writes the length and the bytes of a `bigint`, a whole number from 0 to 2^53. Returns the offset after them. */
export function writeInt8(view: DataView, at: number, value: number): number {
  // Halves by subtraction: a BigInt would be allocated, and % of doubles is slow.
  const high = Math.floor(value / HALF);
  view.setInt32(at, 8);
  view.setUint32(at + 4, high);
  view.setUint32(at + 8, value - high * HALF);
  return at + 12;
}

/** `double precision[]`, with null for values that are not numbers. Null if no value is a number. */
export function float8Array(values: readonly unknown[]): Buffer | null {
  let nulls = 0;
  for (const value of values) if (typeof value !== 'number') nulls += 1;
  if (nulls === values.length) return null;
  const buffer = allocate(FLOAT8, values.length, 12 * values.length - 8 * nulls, nulls > 0);
  const view = new DataView(buffer.buffer, buffer.byteOffset);
  let at = HEADER;
  for (const value of values) {
    if (typeof value !== 'number') {
      view.setInt32(at, -1);
      at += 4;
      continue;
    }
    view.setInt32(at, 8);
    view.setFloat64(at + 4, value);
    at += 12;
  }
  return buffer;
}

/** `text[]`, with null for values that are not text. Null if no value is text. */
export function textArray(values: readonly unknown[]): Buffer | null {
  let nulls = 0;
  let bytes = 0;
  let last: unknown = null;
  let encoded: Buffer | null = null;
  // Neighbours are often equal: rows are ordered by series, and the boot of a series rarely changes.
  const parts = values.map((value) => {
    if (value !== last) {
      last = value;
      encoded = typeof value === 'string' ? Buffer.from(value) : null;
    }
    if (encoded === null) nulls += 1;
    else bytes += encoded.length;
    return encoded;
  });
  if (nulls === values.length) return null;
  const buffer = allocate(TEXT, values.length, 4 * values.length + bytes, nulls > 0);
  const view = new DataView(buffer.buffer, buffer.byteOffset);
  let at = HEADER;
  for (const part of parts) {
    view.setInt32(at, part === null ? -1 : part.length);
    at += 4;
    if (part === null) continue;
    buffer.set(part, at);
    at += part.length;
  }
  return buffer;
}

function count(values: readonly unknown[]): number {
  let nulls = 0;
  for (const value of values) if (value === null) nulls += 1;
  return nulls;
}

/** One dimension that starts at 1, and space for the elements, each after its length. */
function allocate(type: number, length: number, bytes: number, nulls: boolean): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER + bytes);
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(nulls ? 1 : 0, 4);
  buffer.writeInt32BE(type, 8);
  buffer.writeInt32BE(length, 12);
  buffer.writeInt32BE(1, 16);
  return buffer;
}
