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
