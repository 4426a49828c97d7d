import { collectGarbage, collectNewGarbage } from './heap.ts';
import { BOUNDS } from './memory.ts';

const EVERY_BYTES = 8 * 1024 * 1024;
/** Messages from this size on are not freed by a minor collection. */
const LARGE_BYTES = 128 * 1024;
const EVERY_LARGE_BYTES = 16 * 1024 * 1024;

/**
 * Runs V8's garbage collector so that the buffers of received messages are freed. Without it V8 lets 64 MiB of
 * buffers accumulate, whatever the memory limit of the container, because large messages hardly use V8's own heap.
 * Small messages fill the heap, and trigger a collection, before this class acts.
 */
export class BufferCollector {
  readonly #mostBuffers: number;
  #received = 0;
  #large = 0;

  /** @param maxInFlightBytes bytes that messages in flight may hold */
  constructor(maxInFlightBytes: number) {
    this.#mostBuffers = maxInFlightBytes + BOUNDS.unusedBuffers;
  }

  /** Call it for each received message. */
  received(bytes: number): void {
    this.#received += bytes;
    if (bytes >= LARGE_BYTES) this.#large += bytes;
    if (this.#received < EVERY_BYTES) return;
    this.#received = 0;
    // Buffers that survived two minor collections are only freed by a major one.
    const isMajor =
      this.#large >= EVERY_LARGE_BYTES || process.memoryUsage().arrayBuffers > this.#mostBuffers;
    if (isMajor) this.#large = 0;
    (isMajor ? collectGarbage : collectNewGarbage)();
  }
}
