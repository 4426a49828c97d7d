import type { Reading } from '@tidegauge/readings';

/**
 * Some of the readings of one payload: those that belong to one lane, or those that the store refused. Readings
 * are named by their place, because a payload can hold the same identity twice.
 */
export interface Part {
  /** How many readings the whole payload holds. */
  readonly of: number;
  /** Places of the readings that are meant, from 0, ascending. */
  readonly places: readonly number[];
}

const HEADER = 4;

/** A part as bytes: `of:u32`, then one bit per reading. */
export function encodePart({ of, places }: Part): Buffer {
  const bytes = Buffer.alloc(HEADER + Math.ceil(of / 8));
  bytes.writeUInt32LE(of);
  for (const place of places) bytes[HEADER + (place >> 3)]! |= 1 << (place & 7);
  return bytes;
}

/** Reads what `encodePart` wrote. Bytes that are too short name no further readings. */
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

/** Readings of a payload, and which of its readings they are. */
export interface Selected {
  readonly readings: readonly Reading[];
  /** Null for all of them. */
  readonly part: Part | null;
}

/**
 * The readings of a part. When the payload no longer decodes into as many readings as before (routes can change
 * between two starts), all readings are taken: an old value written again is a smaller fault than a lost one.
 */
export function select(readings: readonly Reading[], part: Part | null): Selected {
  if (part === null || part.of !== readings.length) return { readings, part: null };
  return { readings: part.places.map((place) => readings[place]!), part };
}
