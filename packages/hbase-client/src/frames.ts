import { HBaseError } from './errors.ts';

/** No answer is larger: the server's own bound on requests (hbase.ipc.max.request.size) is this, too. */
const MAX_FRAME = 256 * 1024 * 1024;

/** Cuts a stream into frames behind 4-byte lengths. A frame that came in one chunk is a view of it. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #length = 0;

  /**
   * The frames that end within this chunk.
   * @throws {HBaseError} PROTOCOL for a length that no server of HBase sends.
   */
  *push(chunk: Buffer): Generator<Buffer> {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    for (;;) {
      if (this.#length < 4) return;
      if (this.#chunks[0]!.length < 4) this.#join();
      const size = this.#chunks[0]!.readInt32BE(0);
      if (size < 0 || size > MAX_FRAME) {
        throw new HBaseError('PROTOCOL', `it sent a frame of ${size} bytes, as no HBase does`);
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
