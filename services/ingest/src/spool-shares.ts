import type { Delivery } from './delivery.ts';

/** Bytes of a message in the spool besides its topic and its payload. */
const ENTRY_BYTES = 32;
/** A client has so many times what is free in the spool: alone three quarters of it. */
const SHARE = 3;

/** Bytes by client. */
type Counts = Map<string, number>;

/** What each client that connects to ingest itself has in the spool. Behind a broker the clients are not known. */
export class SpoolShares {
  readonly #bytes: Counts = new Map();
  readonly #bySegment = new Map<number, Counts>();

  /**
   * Whether the client of a delivery may spool it.
   *
   * @param free bytes
   */
  hasRoom(delivery: Delivery, free: number): boolean {
    const client = clientOf(delivery);
    return client === null || (this.#bytes.get(client) ?? 0) <= SHARE * free;
  }

  /** Counts deliveries that are in the spool now, in this segment or an earlier one. */
  add(deliveries: readonly Delivery[], segment: number): void {
    const ofSegment = this.#bySegment.get(segment) ?? (new Map() as Counts);
    for (const delivery of deliveries) {
      const client = clientOf(delivery);
      if (client === null) continue;
      const bytes = ENTRY_BYTES + delivery.topic.length + delivery.payload.length;
      for (const counts of [ofSegment, this.#bytes]) counts.set(client, (counts.get(client) ?? 0) + bytes);
    }
    if (ofSegment.size > 0) this.#bySegment.set(segment, ofSegment);
  }

  /** The segment was removed. */
  remove(segment: number): void {
    for (const [client, bytes] of this.#bySegment.get(segment) ?? []) {
      const left = this.#bytes.get(client)! - bytes;
      if (left === 0) this.#bytes.delete(client);
      else this.#bytes.set(client, left);
    }
    this.#bySegment.delete(segment);
  }

  /** The spool is empty. */
  clear(): void {
    this.#bytes.clear();
    this.#bySegment.clear();
  }
}

function clientOf({ origin: { share, client } }: Delivery): string | null {
  return share === undefined ? null : (client ?? null);
}
