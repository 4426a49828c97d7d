import { ProtocolError } from './errors.ts';
import { Reason } from './reasons.ts';

/**
 * Called for each complete packet. Its first byte is at `start`; the part after the remaining length is from `body`
 * to `end`. The buffer is not written again.
 */
export type OnFrame = (buffer: Buffer, start: number, body: number, end: number) => void;

/**
 * Called after the last byte of a PUBLISH above the maximum, with its first bytes as in OnFrame and its full size.
 */
export type OnOversized = (head: Buffer, body: number, size: number) => void;

const MAX_HEADER_BYTES = 5;
/** Bytes that are kept of a PUBLISH above the maximum: header, the longest topic and packet identifier. */
const HEAD_BYTES = MAX_HEADER_BYTES + 2 + 65_535 + 2;
const PUBLISH = 3;

/**
 * Splits a byte stream into MQTT packets. A packet that is complete in a chunk is passed on in place. A packet that
 * spans chunks is collected in a buffer of its size, which is allocated when its length is known and allowed. The
 * work is linear in the bytes, for any chunks.
 *
 * A PUBLISH above the maximum is skipped: its first bytes are kept, the rest is dropped on arrival, and the following
 * packets are read as usual. Any other packet above the maximum is a ProtocolError.
 *
 * `paused` may be set at any time, also within `onFrame`: nothing is passed on until `resume`.
 */
export class FrameReader {
  paused = false;
  /** Bytes. A change applies to packets that begin after it. */
  maximumPacketSize: number;
  /** Bytes of a packet that is not a PUBLISH, if that is less. */
  maximumControlSize = Number.POSITIVE_INFINITY;
  readonly #onFrame: OnFrame;
  readonly #onOversized: OnOversized;
  readonly #onCollect: (bytes: number) => void;
  // The current packet: its header while that is incomplete (#expected is 0), then the kept bytes.
  #partial: Buffer | null = null;
  #filled = 0;
  #expected = 0;
  // For a packet above the maximum: its full size, and the number of bytes still to drop.
  #oversized = 0;
  #toDrop = 0;
  // The rest of a chunk when reading was paused.
  #rest: Buffer | null = null;

  /**
   * @param onCollect called with the bytes of the buffer of a packet that spans chunks, before it is allocated, and
   * with 0 when it is no longer needed. It may throw
   */
  constructor(
    maximumPacketSize: number,
    onFrame: OnFrame,
    onOversized: OnOversized,
    onCollect: (bytes: number) => void = () => {},
  ) {
    this.maximumPacketSize = maximumPacketSize;
    this.#onFrame = onFrame;
    this.#onOversized = onOversized;
    this.#onCollect = onCollect;
  }

  /** Whether a pause left bytes. */
  get hasRest(): boolean {
    return this.#rest !== null;
  }

  /** Reads the next bytes. Throws ProtocolError when they cannot be MQTT; the reader cannot be used after that. */
  push(chunk: Buffer): void {
    if (this.#rest !== null) {
      this.#rest = Buffer.concat([this.#rest, chunk]);
      return;
    }
    this.#read(chunk);
  }

  /** Continues with the data that a pause left. Check `paused` afterwards: the application may have paused again. */
  resume(): void {
    this.paused = false;
    const rest = this.#rest;
    this.#rest = null;
    if (rest !== null) this.#read(rest);
  }

  #read(chunk: Buffer): void {
    const length = chunk.length;
    let position = 0;
    while (position < length) {
      if (this.paused) {
        this.#rest = chunk.subarray(position);
        return;
      }
      if (this.#partial !== null) {
        position = this.#gather(chunk, position);
        continue;
      }
      const size = this.#frameSize(chunk, position, length);
      if (size <= 0 || position + size > length) {
        position = this.#begin(chunk, position, size);
        continue;
      }
      const start = position;
      position += size;
      this.#onFrame(chunk, start, bodyOf(chunk, start), position);
    }
  }

  // The size of the packet at `position`; 0 while its remaining length is incomplete; negative for a PUBLISH above
  // the maximum.
  #frameSize(buffer: Buffer, position: number, end: number): number {
    let remaining = 0;
    for (let i = 1; i < MAX_HEADER_BYTES; i += 1) {
      if (position + i >= end) return 0;
      const byte = buffer[position + i]!;
      remaining += (byte & 0x7f) * 2 ** (7 * (i - 1));
      if (byte < 0x80) {
        if (byte === 0 && i > 1) break;
        return this.#boundedSize(buffer[position]! >> 4, 1 + i + remaining);
      }
    }
    throw new ProtocolError(Reason.MALFORMED_PACKET, 'a remaining length that is too long');
  }

  #boundedSize(type: number, size: number): number {
    const most = Math.min(this.maximumPacketSize, this.maximumControlSize);
    if (size <= most) return size;
    if (type === PUBLISH) return size <= this.maximumPacketSize ? size : -size;
    const limit = most === this.maximumPacketSize ? 'maximumPacketSize' : 'the limit of such packets';
    throw new ProtocolError(
      Reason.PACKET_TOO_LARGE,
      `a packet of type ${type} and ${size} bytes, ${limit} is ${most}`,
    );
  }

  // Starts to collect a packet that is not complete in `chunk`; `size` is the result of #frameSize.
  #begin(chunk: Buffer, position: number, size: number): number {
    this.#filled = 0;
    if (size === 0) {
      this.#expected = 0;
      this.#partial = Buffer.allocUnsafe(MAX_HEADER_BYTES);
      this.#filled = chunk.copy(this.#partial, 0, position);
      return chunk.length;
    }
    this.#allocate(size);
    return this.#gather(chunk, position);
  }

  #allocate(size: number): void {
    this.#oversized = size < 0 ? -size : 0;
    this.#expected = size < 0 ? Math.min(-size, HEAD_BYTES) : size;
    this.#toDrop = Math.abs(size) - this.#expected;
    this.#onCollect(this.#expected);
    this.#partial = Buffer.allocUnsafe(this.#expected);
  }

  #gather(chunk: Buffer, position: number): number {
    if (this.#expected === 0) {
      const header = this.#partial!;
      header[this.#filled++] = chunk[position++]!;
      const size = this.#frameSize(header, 0, this.#filled);
      if (size === 0) return position;
      this.#allocate(size);
      header.copy(this.#partial!, 0, 0, this.#filled);
    }
    const frame = this.#partial!;
    const copied = chunk.copy(frame, this.#filled, position, position + this.#expected - this.#filled);
    this.#filled += copied;
    position += copied;
    if (this.#filled < this.#expected) return position;
    const dropped = Math.min(this.#toDrop, chunk.length - position);
    this.#toDrop -= dropped;
    if (this.#toDrop === 0) {
      this.#partial = null;
      this.#onCollect(0);
      if (this.#oversized === 0) this.#onFrame(frame, 0, bodyOf(frame, 0), frame.length);
      else this.#onOversized(frame, bodyOf(frame, 0), this.#oversized);
    }
    return position + dropped;
  }
}

function bodyOf(buffer: Buffer, start: number): number {
  let position = start + 1;
  while (buffer[position]! >= 0x80) position += 1;
  return position + 1;
}
