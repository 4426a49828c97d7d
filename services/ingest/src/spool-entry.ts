import { crc32 } from 'node:zlib';

/** A message in the spool: all that is needed to decode it again as it was when it came. */
export interface SpoolEntry {
  readonly topic: string;
  /** Name of the payload format. */
  readonly format: string;
  readonly payload: Uint8Array;
  /** Microseconds since the epoch. */
  readonly received: number;
}

/** Length and checksum of the body, 32 bits each, little endian. */
const HEADER = 8;
/** Receive time, length of the format's name, length of the topic. */
const FIXED = 11;

/**
 * An entry as it lies in a segment: `length crc32(body) body`, the body `received:f64 formatLength:u8
 * topicLength:u16 format topic payload`. CRC-32 as in zlib, since node computes that one natively.
 */
export function encodeEntry({ topic, format, payload, received }: SpoolEntry): Buffer {
  const formatLength = Buffer.byteLength(format);
  const topicLength = Buffer.byteLength(topic);
  const length = FIXED + formatLength + topicLength + payload.length;
  const entry = Buffer.allocUnsafe(HEADER + length);
  entry.writeDoubleLE(received, HEADER);
  entry.writeUInt8(formatLength, HEADER + 8);
  entry.writeUInt16LE(topicLength, HEADER + 9);
  let end = HEADER + FIXED;
  end += entry.write(format, end);
  end += entry.write(topic, end);
  entry.set(payload, end);
  entry.writeUInt32LE(length, 0);
  entry.writeUInt32LE(crc32(entry.subarray(HEADER)), 4);
  return entry;
}

/**
 * The whole entries at the head of a segment, and how many bytes they take: what lies behind was torn by a
 * power loss, or damaged, and cannot be read.
 */
export function decodeEntries(segment: Buffer): { entries: SpoolEntry[]; sound: number } {
  const entries: SpoolEntry[] = [];
  let sound = 0;
  while (sound + HEADER + FIXED <= segment.length) {
    const length = segment.readUInt32LE(sound);
    const body = segment.subarray(sound + HEADER, sound + HEADER + length);
    // Zeros, as a file system leaves them behind a torn write, have a checksum that fits: hence the least length.
    if (length < FIXED || body.length < length || crc32(body) !== segment.readUInt32LE(sound + 4)) break;
    const topicAt = FIXED + body.readUInt8(8);
    const payloadAt = topicAt + body.readUInt16LE(9);
    entries.push({
      received: body.readDoubleLE(0),
      format: body.toString('utf8', FIXED, topicAt),
      topic: body.toString('utf8', topicAt, payloadAt),
      payload: body.subarray(payloadAt),
    });
    sound += HEADER + length;
  }
  return { entries, sound };
}
