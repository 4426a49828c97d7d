import type { DeliveryDocument, Reading } from '@tidegauge/readings';

/** Where a delivery came from. */
export interface Origin {
  /**
   * Told once, when every reading of the delivery is stored, spooled or quarantined. `outcome` is null when the
   * delivery shared its batch with others, whose counts cannot be told apart.
   */
  settled(delivery: Delivery, outcome: DeliveryDocument | null): void;
}

/** A message on its way into the store: the unit that is acknowledged. */
export interface Delivery {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly format: string;
  readonly readings: readonly Reading[];
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
}
