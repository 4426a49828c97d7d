import type { DeliveryDocument, Reading } from '@tidegauge/readings';
import type { Accounts } from './accounts.ts';
import type { Delivery } from './delivery.ts';

export interface InFlightBounds {
  /** Readings in flight from which the source is paused. */
  readonly maxInFlight: number;
  /** Bytes in flight from which the source is paused: packets, and the memory of their readings. */
  readonly maxInFlightBytes: number;
  /**
   * Called with true when a bound is reached, and with false when half of the room for the source is free again, except
   * during a stop.
   */
  readonly onFull: (full: boolean) => void;
}

/** The room beside what requests have in flight. They take turns and are not paused, so they get half of it at most. */
function roomBeside(requested: number, most: number): number {
  return most - Math.min(requested, most / 2);
}

/** The messages that are neither stored nor in quarantine, their bounds, and the share of each client. */
export class InFlight {
  readonly #bounds: InFlightBounds;
  readonly #accounts: Accounts;
  #bytes = 0;
  /** Of requests over HTTP. */
  readonly #requested = { readings: 0, bytes: 0 };
  /** The buffer of the socket that was counted last. */
  #counted: ArrayBufferLike | null = null;
  #full = false;
  #fullSince = 0;
  #stopping = false;
  /** Messages that are settled later. */
  readonly #waiting = new Map<NodeJS.Timeout, () => void>();

  constructor(bounds: InFlightBounds, accounts: Accounts) {
    this.#bounds = bounds;
    this.#accounts = accounts;
  }

  /** Whether a bound is reached. */
  get full(): boolean {
    return this.#full;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Whether a bound has been reached for so long, milliseconds. */
  isFullFor(ms: number): boolean {
    return this.#full && performance.now() - this.#fullSince > ms;
  }

  /**
   * Bytes that a message keeps in memory beside itself: its payload is a view of a buffer of the socket. The first one of
   * a buffer counts all of it, because the others can have left nothing behind.
   */
  surroundings({ buffer }: Uint8Array, size: number): number {
    if (buffer === this.#counted || buffer.byteLength <= 2 * size) return 0;
    this.#counted = buffer;
    return buffer.byteLength - size;
  }

  /** Counts the message of a request over HTTP before it is added, or when it is settled (negative). */
  request(readings: number, bytes: number): void {
    this.#requested.readings += readings;
    this.#requested.bytes += bytes;
  }

  /** Counts a message that arrived, whose readings are in the accounts. */
  add(delivery: Delivery): void {
    this.#bytes += delivery.bytes;
    this.#count(delivery, 1);
    if (!this.#full && (this.#sourceReadings >= this.#readingsRoom || this.#sourceBytes >= this.#bytesRoom)) {
      this.#full = true;
      this.#fullSince = performance.now();
      this.#bounds.onFull(true);
    }
  }

  /**
   * Reports to its origin that a message is settled, and counts it no longer.
   *
   * @param waitMs later, unless `stop` is called, milliseconds
   */
  settle(delivery: Delivery, outcome: DeliveryDocument | null, waitMs = 0): void {
    if (waitMs > 0 && !this.#stopping) {
      const settle = () => {
        this.#waiting.delete(timer);
        this.settle(delivery, outcome);
      };
      const timer = setTimeout(settle, waitMs).unref();
      this.#waiting.set(timer, settle);
      return;
    }
    this.#bytes -= delivery.bytes;
    delivery.origin.settled(delivery, outcome);
    this.#count(delivery, -1);
    if (
      this.#full &&
      this.#sourceReadings <= this.#readingsRoom / 2 &&
      this.#sourceBytes <= this.#bytesRoom / 2
    ) {
      this.#full = false;
      if (!this.#stopping) this.#bounds.onFull(false);
    }
  }

  /** Pauses the source for good. */
  stop(): void {
    this.#stopping = true;
    this.#bounds.onFull(true);
    for (const [timer, settle] of this.#waiting) {
      clearTimeout(timer);
      settle();
    }
  }

  /** @param sign 1: it arrived; -1: it is settled */
  #count({ readings, bytes, origin }: Delivery, sign: 1 | -1): void {
    origin.share?.count(
      sign * countOf(readings),
      sign * bytes,
      this.#readingsRoom - this.#sourceReadings,
      this.#bytesRoom - this.#sourceBytes,
    );
  }

  /** Of the source. */
  get #sourceReadings(): number {
    return this.#accounts.inFlight - this.#requested.readings;
  }

  get #sourceBytes(): number {
    return this.#bytes - this.#requested.bytes;
  }

  get #readingsRoom(): number {
    return roomBeside(this.#requested.readings, this.#bounds.maxInFlight);
  }

  get #bytesRoom(): number {
    return roomBeside(this.#requested.bytes, this.#bounds.maxInFlightBytes);
  }
}

/** The readings for which a message counts. What cannot be decoded counts as one. */
export function countOf(readings: readonly Reading[]): number {
  return Math.max(1, readings.length);
}
