import type { DeliveryDocument, Reading } from '@tidegauge/readings';
import type { Parcel } from './parcels.ts';

/** Where a delivery came from. */
export interface Origin {
  /**
   * Told once, when every reading of the delivery is stored, spooled or quarantined. `outcome` is null when the
   * delivery shared its batch with others, whose counts cannot be told apart.
   */
  settled(delivery: Delivery, outcome: DeliveryDocument | null): void;
  /** A token that does the same, but does not hold the message's bytes. */
  slim?(token: unknown): unknown;
}

/** A message on its way into the store: the unit that is acknowledged, or a part of one. */
export interface Delivery extends Parcel {
  readonly readings: readonly Reading[];
  /** Bytes it holds in memory until it is settled; 0 for a part, whose message counts, and out of the spool. */
  readonly bytes: number;
  /** `performance.now()` when it came in. */
  readonly arrived: number;
  readonly origin: Origin;
  /** The origin's own handle: the MQTT message it acknowledges. */
  readonly token: unknown;
  /** Written in a batch of its own, because its origin wants its own counts. */
  readonly alone: boolean;
  /** May be acknowledged once it is in the spool. */
  readonly spoolable: boolean;
  /** Comes out of the spool: its sequence numbers were seen when it went in. */
  readonly revived: boolean;
  /** Comes out of quarantine: must not replace what was received after it. */
  readonly replayed: boolean;
}

/** What a message takes in memory besides its bytes, and what each of its readings takes; both about. */
const MESSAGE_BYTES = 400;
const READING_BYTES = 200;

/**
 * Bytes that a message holds in memory until it is settled: the bytes that came in, its topic as a text, and what is
 * made of them.
 */
export function bytesInMemory(received: number, topic: string, readings: number): number {
  return received + 2 * topic.length + MESSAGE_BYTES + READING_BYTES * readings;
}

/**
 * The same delivery, for a wait that can be long. A payload is a view of what was read from the socket: a few bytes
 * would hold 64 KiB while their neighbours are long settled.
 */
export function slimmed(delivery: Delivery): Delivery {
  const { payload, origin, token } = delivery;
  if (payload.buffer.byteLength <= 2 * payload.length) return delivery;
  return { ...delivery, payload: Uint8Array.from(payload), token: origin.slim?.(token) ?? token };
}

const NOTHING: DeliveryDocument = { received: 0, stored: 0, duplicate: 0, quarantined: 0 };

/** The origin of a message's parts: settles the message when the last of them is settled. */
export class Joint implements Origin {
  readonly #settled: (outcome: DeliveryDocument) => void;
  #open: number;
  #total = NOTHING;

  constructor(parts: number, settled: (outcome: DeliveryDocument) => void) {
    this.#open = parts;
    this.#settled = settled;
  }

  settled(_part: Delivery, outcome: DeliveryDocument | null): void {
    if (outcome !== null) {
      const { received, stored, duplicate, quarantined } = this.#total;
      this.#total = {
        received: received + outcome.received,
        stored: stored + outcome.stored,
        duplicate: duplicate + outcome.duplicate,
        quarantined: quarantined + outcome.quarantined,
      };
    }
    if (--this.#open === 0) this.#settled(this.#total);
  }
}
