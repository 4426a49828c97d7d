import { crc32 } from 'node:zlib';
import { type Parcel, SOURCES } from './parcels.ts';
import { decodePart, encodePart } from './part.ts';

/** A message in the spool: all that is needed to decode it again as it was when it came. */
export interface SpoolEntry extends Parcel {
  /** Microseconds since the epoch. */
  readonly received: number;
}

/** Length and checksum of the body, 32 bits each, little endian. */
const HEADER = 8;
/** Receive time, length of the format's name, length of the topic. */
const FIXED = 11;
/** Set in the length of the format's name (which is never that long) when source and part follow. */
const EXTENDED = 0x80;
/** Source, length of the part. */
const EXTENSION = 5;

/**
 * An entry as it lies in a segment: `length crc32(body) body`, the body `received:f64 formatLength:u8
 * topicLength:u16 format topic payload`. CRC-32 as in zlib, since node computes that one natively.
 * A message that is not whole, or not from the broker, has bit 7 of `formatLength` set and
 * `source:u8 partLength:u32 part` before its format; version 0.1.0 knew none of these.
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
