import type { Reading } from '@tidegauge/readings';

/**
 * Some of the readings of one payload: those of one lane, or those that the store rejected. Readings are identified
 * by their index, because a payload can contain the same identity twice.
 */
export interface Part {
  /** The number of readings in the whole payload. */
  readonly of: number;
  /** Indexes of the selected readings, from 0, ascending. */
  readonly places: readonly number[];
}

const HEADER = 4;

/** Encodes a part: `of:u32` little endian, then one bit per reading. */
export function encodePart({ of, places }: Part): Buffer {
  const bytes = Buffer.alloc(HEADER + Math.ceil(of / 8));
  bytes.writeUInt32LE(of);
  for (const place of places) bytes[HEADER + (place >> 3)]! |= 1 << (place & 7);
  return bytes;
}

/** Decodes the bytes of `encodePart`. Missing bytes select no readings. */
export function decodePart(bytes: Uint8Array): Part {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const of = view.length < HEADER ? 0 : view.readUInt32LE();
  const places: number[] = [];
  const most = Math.min(of, (view.length - HEADER) * 8);
  for (let place = 0; place < most; place++) {
    if ((view[HEADER + (place >> 3)]! >> (place & 7)) & 1) places.push(place);
  }
  return { of, places };
}

/** Selected readings of a payload, and their indexes. */
export interface Selected {
  readonly readings: readonly Reading[];
  /** Null when all readings are selected. */
  readonly part: Part | null;
}

/**
 * Selects the readings of a part. When the payload no longer decodes into the same number of readings (routes can
 * change between two starts), all readings are selected: a value that is written again does less harm than a lost
 * value.
 */
export function select(readings: readonly Reading[], part: Part | null): Selected {
  if (part === null || part.of !== readings.length) return { readings, part: null };
  return { readings: part.places.map((place) => readings[place]!), part };
}
