import { crc32 } from 'node:zlib';

/** Bytes before the body of a frame: its length and its checksum, 32 bits each, little endian. */
export const FRAME_HEADER = 8;

/**
 * Completes a frame `length crc32(body) body`, whose body is written already. The checksum is zlib's CRC-32, which
 * Node computes natively.
 */
export function sealFrame(frame: Buffer): Buffer {
  frame.writeUInt32LE(frame.length - FRAME_HEADER, 0);
  frame.writeUInt32LE(crc32(frame.subarray(FRAME_HEADER)), 4);
  return frame;
}

/**
 * Yields the bodies of the complete frames at the start of `data`, each with the position after it. It ends at the
 * first bytes that are no complete frame: they were torn by a power loss or damaged.
 *
 * @param least the shortest body, at least 1. It excludes zeros, which a file system can leave after a torn write and
 *   whose checksum matches
 */
export function* readFrames(data: Buffer, least: number): Generator<{ body: Buffer; end: number }> {
  for (let at = 0; at + FRAME_HEADER + least <= data.length; ) {
    const length = data.readUInt32LE(at);
    const end = at + FRAME_HEADER + length;
    const body = data.subarray(at + FRAME_HEADER, end);
    if (length < least || body.length < length || crc32(body) !== data.readUInt32LE(at + 4)) return;
    yield { body, end };
    at = end;
  }
}

/**
 * Separates the complete frames of `data` from the bytes that cannot be read. Damaged frames are skipped by their lengths
 * when a complete one follows. A complete frame is not searched elsewhere: a sender could have put one in a payload.
 *
 * @param least as for `readFrames`
 * @returns runs of complete frames, and what is between and after them
 */
export function splitFrames(data: Buffer, least: number): { sound: Buffer[]; damaged: Buffer[] } {
  const sound: Buffer[] = [];
  const damaged: Buffer[] = [];
  for (let rest = data; rest.length > 0; ) {
    let end = 0;
    for (const frame of readFrames(rest, least)) end = frame.end;
    if (end > 0) sound.push(rest.subarray(0, end));
    rest = rest.subarray(end);
    const skipped = damagedBytes(rest, least);
    if (skipped > 0) damaged.push(rest.subarray(0, skipped));
    rest = rest.subarray(skipped);
  }
  return { sound, damaged };
}

/** The bytes before the next complete frame. The first one is not complete. */
function damagedBytes(data: Buffer, least: number): number {
  for (let at = 0; at + FRAME_HEADER + least <= data.length; ) {
    const length = data.readUInt32LE(at);
    if (length < least) break;
    at += FRAME_HEADER + length;
    if (readFrames(data.subarray(at), least).next().done !== true) return at;
  }
  return data.length;
}
