import { HBaseError } from './errors.ts';

/** The largest answer. It equals the server's bound on requests (hbase.ipc.max.request.size). */
const MAX_FRAME = 256 * 1024 * 1024;

/** Splits a stream into frames. Each has a length of 4 bytes before it. A frame within one chunk is a view of it. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #length = 0;

  /**
   * Returns the frames that end within this chunk.
   * @throws {HBaseError} PROTOCOL for a length that HBase does not send.
   */
  *push(chunk: Buffer): Generator<Buffer> {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    for (;;) {
      if (this.#length < 4) return;
      if (this.#chunks[0]!.length < 4) this.#join();
      const size = this.#chunks[0]!.readInt32BE(0);
      if (size < 0 || size > MAX_FRAME) {
        throw new HBaseError('PROTOCOL', `it sent a frame of ${size} bytes, which is not valid`);
      }
      const end = 4 + size;
      if (this.#length < end) return;
      if (this.#chunks[0]!.length < end) this.#join();
      const first = this.#chunks[0]!;
      if (first.length === end) this.#chunks.shift();
      else this.#chunks[0] = first.subarray(end);
      this.#length -= end;
      yield first.subarray(4, end);
    }
  }

  #join(): void {
    this.#chunks = [Buffer.concat(this.#chunks)];
  }
}
