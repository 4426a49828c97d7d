import { ProtocolError } from './errors.ts';
import { Reason } from './reasons.ts';

/**
 * Called for each whole packet: its first byte is at `start`, what follows the remaining length is from
 * `body` to `end`. The buffer is never written again.
 */
export type OnFrame = (buffer: Buffer, start: number, body: number, end: number) => void;

const MAX_HEADER_BYTES = 5;

/**
 * Cuts a byte stream into MQTT packets. Packets that lie whole in a chunk are passed on in place; one that
 * spans chunks is gathered in a buffer of its own size, allocated once its length is known and allowed. Work
 * is linear in the bytes, whatever the chunks.
 *
 * `paused` may be set at any time, from within `onFrame` too: nothing is passed on until `resume`.
 */
export class FrameReader {
  paused = false;
  readonly #maximumPacketSize: number;
  readonly #onFrame: OnFrame;
  // The packet under way: its header while that is incomplete (#expected 0), then all of it.
  #partial: Buffer | null = null;
  #filled = 0;
  #expected = 0;
  // What was left of a chunk when reading was paused.
  #rest: Buffer | null = null;

  constructor(maximumPacketSize: number, onFrame: OnFrame) {
    this.#maximumPacketSize = maximumPacketSize;
    this.#onFrame = onFrame;
  }

  /** Takes the next bytes. Throws ProtocolError when they cannot be MQTT; the reader is of no use then. */
  push(chunk: Buffer): void {
    if (this.#rest !== null) {
      this.#rest = Buffer.concat([this.#rest, chunk]);
      return;
    }
    this.#read(chunk);
  }

  /** Goes on with what a pause left. Check `paused` afterwards: the application may have paused again. */
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
      if (size === 0 || position + size > length) {
        position = this.#begin(chunk, position, size);
        continue;
      }
      const start = position;
      position += size;
      this.#onFrame(chunk, start, bodyOf(chunk, start), position);
    }
  }

  // Bytes of the whole packet at `position`, or 0 while its remaining length is not all there.
  #frameSize(buffer: Buffer, position: number, end: number): number {
    let remaining = 0;
    for (let i = 1; i < MAX_HEADER_BYTES; i += 1) {
      if (position + i >= end) return 0;
      const byte = buffer[position + i]!;
      remaining += (byte & 0x7f) * 2 ** (7 * (i - 1));
      if (byte < 0x80) {
        const size = 1 + i + remaining;
        if (size > this.#maximumPacketSize) {
          throw new ProtocolError(
            Reason.PACKET_TOO_LARGE,
            `a packet of ${size} bytes, maximumPacketSize is ${this.#maximumPacketSize}`,
          );
        }
        return size;
      }
    }
    throw new ProtocolError(Reason.MALFORMED_PACKET, 'a remaining length of more than four bytes');
  }

  // Keeps the start of a packet; `size` 0 when even its header is incomplete.
  #begin(chunk: Buffer, position: number, size: number): number {
    this.#expected = size;
    this.#partial = Buffer.allocUnsafe(size === 0 ? MAX_HEADER_BYTES : size);
    this.#filled = chunk.copy(this.#partial, 0, position);
    return chunk.length;
  }

  #gather(chunk: Buffer, position: number): number {
    if (this.#expected === 0) {
      this.#partial![this.#filled++] = chunk[position++]!;
      const header = this.#partial!;
      const size = this.#frameSize(header, 0, this.#filled);
      if (size === 0) return position;
      this.#expected = size;
      this.#partial = Buffer.allocUnsafe(size);
      header.copy(this.#partial, 0, 0, this.#filled);
    }
    const frame = this.#partial!;
    const copied = chunk.copy(frame, this.#filled, position, position + this.#expected - this.#filled);
    this.#filled += copied;
    if (this.#filled === this.#expected) {
      this.#partial = null;
      this.#onFrame(frame, 0, bodyOf(frame, 0), frame.length);
    }
    return position + copied;
  }
}

function bodyOf(buffer: Buffer, start: number): number {
  let position = start + 1;
  while (buffer[position]! >= 0x80) position += 1;
  return position + 1;
}
