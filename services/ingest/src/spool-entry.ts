import { crc32 } from 'node:zlib';
import { decodePart, encodePart } from './part.ts';
import { type RawMessage, SOURCES } from './raw-message.ts';

/** A message in the spool, with everything that is needed to decode it as it was received. */
export interface SpoolEntry extends RawMessage {
  /** Microseconds since the epoch. */
  readonly received: number;
}

/** Length and checksum of the body: 32 bits each, little endian. */
const HEADER = 8;
/** Receive time, length of the format name, length of the topic. */
const FIXED = 11;
/** Flag in the length of the format name (which is always shorter): source and part follow. */
const EXTENDED = 0x80;
/** Source, length of the part. */
const EXTENSION = 5;

/**
 * Encodes an entry of a segment: `length crc32(body) body`, with the body `received:f64 formatLength:u8
 * topicLength:u16 format topic payload`. The checksum is zlib's CRC-32, which Node computes natively. For a part of a
 * message, or a message that is not from the broker, bit 7 of `formatLength` is set and `source:u8 partLength:u32
 * part` precedes the format. Version 0.1.0 does not read such entries.
 */
export function encodeEntry({ source, topic, format, payload, received, part }: SpoolEntry): Buffer {
  const formatLength = Buffer.byteLength(format);
  const topicLength = Buffer.byteLength(topic);
  const places = part === null ? null : encodePart(part);
  const extended = places !== null || source !== 'mqtt';
  const extension = extended ? EXTENSION + (places?.length ?? 0) : 0;
  const length = FIXED + extension + formatLength + topicLength + payload.length;
  const entry = Buffer.allocUnsafe(HEADER + length);
  entry.writeDoubleLE(received, HEADER);
  entry.writeUInt8(extended ? formatLength | EXTENDED : formatLength, HEADER + 8);
  entry.writeUInt16LE(topicLength, HEADER + 9);
  let end = HEADER + FIXED;
  if (extended) {
    end = entry.writeUInt8(SOURCES.indexOf(source), end);
    end = entry.writeUInt32LE(places?.length ?? 0, end);
    if (places !== null) end += places.copy(entry, end);
  }
  end += entry.write(format, end);
  end += entry.write(topic, end);
  entry.set(payload, end);
  entry.writeUInt32LE(length, 0);
  entry.writeUInt32LE(crc32(entry.subarray(HEADER)), 4);
  return entry;
}

/**
 * Decodes the complete entries at the start of a segment. `sound` is their length in bytes. The bytes after them were
 * torn by a power loss or damaged, and cannot be read.
 */
export function decodeEntries(segment: Buffer): { entries: SpoolEntry[]; sound: number } {
  const entries: SpoolEntry[] = [];
  let sound = 0;
  while (sound + HEADER + FIXED <= segment.length) {
    const length = segment.readUInt32LE(sound);
    const body = segment.subarray(sound + HEADER, sound + HEADER + length);
    // The least length excludes zeros, which a file system can leave after a torn write and whose checksum matches.
    if (length < FIXED || body.length < length || crc32(body) !== segment.readUInt32LE(sound + 4)) break;
    entries.push(decodeBody(body));
    sound += HEADER + length;
  }
  return { entries, sound };
}

function decodeBody(body: Buffer): SpoolEntry {
  const formatLength = body.readUInt8(8);
  const extended = (formatLength & EXTENDED) !== 0;
  const partLength = extended ? body.readUInt32LE(FIXED + 1) : 0;
  const partAt = FIXED + (extended ? EXTENSION : 0);
  const formatAt = partAt + partLength;
  const topicAt = formatAt + (formatLength & ~EXTENDED);
  const payloadAt = topicAt + body.readUInt16LE(9);
  return {
    source: (extended ? SOURCES[body.readUInt8(FIXED)] : undefined) ?? 'mqtt',
    received: body.readDoubleLE(0),
    format: body.toString('utf8', formatAt, topicAt),
    topic: body.toString('utf8', topicAt, payloadAt),
    part: partLength === 0 ? null : decodePart(body.subarray(partAt, formatAt)),
    payload: body.subarray(payloadAt),
  };
}
