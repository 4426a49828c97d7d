import type { FileHandle } from 'node:fs/promises';
import { forEach } from '@tidegauge/parallel';

/**
 * The position of a line in its file as one number: byte offset (37 bits) x 2^16 + a code for its length. Lengths
 * below 2^15 are exact. Longer ones are rounded up to 4 KiB, and a reader cuts at the end of the line.
 */
export type Place = number;

/** The longest file and the longest line that a position can express, in bytes. */
export const MAX_FILE = 2 ** 37;
export const MAX_LINE = 64 * 1024 * 1024;
const EXACT = 32_768;
const STEP = 4096;

// Reading a gap of this size costs about as much as another system call and a seek of an SD card.
const GAP = 32 * 1024;
const MAX_READ = 1024 * 1024;
const READS_AT_ONCE = 8;

export function placeOf(offset: number, length: number): Place {
  return offset * 65_536 + (length < EXACT ? length : EXACT + Math.ceil(length / STEP));
}

export function offsetOf(place: Place): number {
  return Math.floor(place / 65_536);
}

/** The length of the line, possibly rounded up. */
export function lengthOf(place: Place): number {
  const code = place % 65_536;
  return code < EXACT ? code : (code - EXACT) * STEP;
}

/** The lines at `places`, in that order. Neighbouring lines are read together. */
export async function readLines(handle: FileHandle, places: readonly Place[]): Promise<string[]> {
  const order = places.map((_, index) => index).sort((a, b) => places[a]! - places[b]!);
  const lines = new Array<string>(places.length);
  await forEach(runsOf(places, order), READS_AT_ONCE, async (run) => {
    const start = offsetOf(places[run[0]!]!);
    const last = places[run.at(-1)!]!;
    const buffer = Buffer.allocUnsafe(offsetOf(last) + lengthOf(last) - start);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, start);
    for (const index of run) {
      const from = offsetOf(places[index]!) - start;
      const limit = Math.min(from + lengthOf(places[index]!), bytesRead);
      const end = buffer.subarray(0, limit).indexOf(10, from);
      lines[index] = buffer.toString('utf8', from, end === -1 ? limit : end);
    }
  });
  return lines;
}

/** Indexes of positions by offset, split at large gaps. */
function runsOf(places: readonly Place[], order: readonly number[]): number[][] {
  const runs: number[][] = [];
  let start = 0;
  let end = Number.NEGATIVE_INFINITY;
  for (const index of order) {
    const offset = offsetOf(places[index]!);
    if (offset - end > GAP || offset - start > MAX_READ) {
      runs.push([]);
      start = offset;
    }
    runs.at(-1)!.push(index);
    end = Math.max(end, offset + lengthOf(places[index]!));
  }
  return runs;
}
