import { FRAME_HEADER, readFrames, sealFrame, splitFrames } from './frames.ts';
import { decodePart, encodePart } from './part.ts';
import { type RawMessage, SOURCES } from './raw-message.ts';

/** A message in the spool, with everything that is needed to decode it as it was received. */
export interface SpoolEntry extends RawMessage {
  /** Microseconds since the epoch. */
  readonly received: number;
}

/** Receive time, length of the format name, length of the topic. */
const FIXED = 11;
/** Flag in the length of the format name (which is always shorter): source and part follow. */
const EXTENDED = 0x80;
/** Source, length of the part. */
const EXTENSION = 5;

/**
 * Encodes an entry of a segment: a frame with the body `received:f64 formatLength:u8 topicLength:u16 format topic
 * payload`. For a part of a message, or a message that is not from the broker, bit 7 of `formatLength` is set and `source:u8 partLength:u32
 * part` precedes the format. Version 0.1.0 does not read such entries.
 */
export function encodeEntry({ source, topic, format, payload, received, part }: SpoolEntry): Buffer {
  const formatLength = Buffer.byteLength(format);
  const topicLength = Buffer.byteLength(topic);
  const places = part === null ? null : encodePart(part);
  const extended = places !== null || source !== 'mqtt';
  const extension = extended ? EXTENSION + (places?.length ?? 0) : 0;
  const length = FIXED + extension + formatLength + topicLength + payload.length;
  const entry = Buffer.allocUnsafe(FRAME_HEADER + length);
  entry.writeDoubleLE(received, FRAME_HEADER);
  entry.writeUInt8(extended ? formatLength | EXTENDED : formatLength, FRAME_HEADER + 8);
  entry.writeUInt16LE(topicLength, FRAME_HEADER + 9);
  let end = FRAME_HEADER + FIXED;
  if (extended) {
    end = entry.writeUInt8(SOURCES.indexOf(source), end);
    end = entry.writeUInt32LE(places?.length ?? 0, end);
    if (places !== null) end += places.copy(entry, end);
  }
  end += entry.write(format, end);
  end += entry.write(topic, end);
  entry.set(payload, end);
  return sealFrame(entry);
}

/** Decodes the complete entries at the start of a segment one after the other, so that only those in use are in memory. */
export function* eachEntry(segment: Buffer): Generator<SpoolEntry> {
  for (const { body } of readFrames(segment, FIXED)) yield decodeBody(body);
}

/** The complete entries of a segment as runs of bytes, and the bytes that cannot be read. */
export function splitEntries(segment: Buffer): { sound: Buffer[]; damaged: Buffer[] } {
  return splitFrames(segment, FIXED);
}

/** The length of the complete entries at the start of a segment, bytes. */
export function soundBytes(segment: Buffer): number {
  let sound = 0;
  for (const { end } of readFrames(segment, FIXED)) sound = end;
  return sound;
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
