import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options: { readonly type: 'minor' | 'major' }) => void;

const EVERY_BYTES = 8 * 1024 * 1024;
/** A text of this many bytes lies outside of what a minor collection looks at. */
const LARGE_BYTES = 128 * 1024;
const EVERY_LARGE_BYTES = 16 * 1024 * 1024;
/** Buffers that may be garbage at a time, besides those of what is in flight. */
const GARBAGE_BYTES = 16 * 1024 * 1024;

/**
 * Has V8 free the buffers that messages came in. By itself it lets 64 MiB of them pile up whatever the memory of the
 * container, since large messages hardly use its own heap. Small messages fill the heap faster than this acts.
 */
export class Collector {
  readonly #mostBuffers: number;
  #received = 0;
  #large = 0;

  /** @param maxInFlightBytes what messages in flight may hold */
  constructor(maxInFlightBytes: number) {
    this.#mostBuffers = maxInFlightBytes + GARBAGE_BYTES;
  }

  /** To be told of each message. */
  received(bytes: number): void {
    this.#received += bytes;
    if (bytes >= LARGE_BYTES) this.#large += bytes;
    if (this.#received < EVERY_BYTES) return;
    this.#received = 0;
    // What was in flight during two minor collections is looked at by a major one only.
    const isMajor =
      this.#large >= EVERY_LARGE_BYTES || process.memoryUsage().arrayBuffers > this.#mostBuffers;
    if (isMajor) this.#large = 0;
    collect({ type: isMajor ? 'major' : 'minor' });
  }
}
