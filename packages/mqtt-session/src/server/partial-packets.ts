/** The part of a connection that the bound on its packets uses. */
export interface Collector {
  /** Several connections can be of one client. */
  readonly client: { readonly name: string };
  /** Ends, because its client collects the most. It calls `collect` with 0. */
  exceed(): void;
}

/**
 * A bound on the bytes of all packets that have arrived in part. A client that leaves packets unfinished must not take
 * the room of others. So at the bound a connection of the client that collects the most ends: the one with the largest
 * packet, and of several the one that began first.
 */
export class PartialPackets<C extends Collector> {
  readonly #most: number;
  // In the order in which the packets began.
  readonly #byConnection = new Map<C, number>();
  #total = 0;

  /** @param most bytes */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Sets the bytes that a connection collects for a packet; 0: none. Returns false when it is this connection that has
   * to end.
   */
  collect(connection: C, bytes: number): boolean {
    this.#total += bytes - (this.#byConnection.get(connection) ?? 0);
    this.#byConnection.delete(connection);
    if (bytes === 0) return true;
    this.#byConnection.set(connection, bytes);
    while (this.#total > this.#most) {
      const largest = this.#largest();
      if (largest === connection) return false;
      largest.exceed();
    }
    return true;
  }

  #largest(): C {
    const byClient = new Map<string, number>();
    let most = 0;
    for (const [{ client }, bytes] of this.#byConnection) {
      const ofClient = (byClient.get(client.name) ?? 0) + bytes;
      byClient.set(client.name, ofClient);
      most = Math.max(most, ofClient);
    }
    let largest: C | null = null;
    let largestBytes = 0;
    for (const [connection, bytes] of this.#byConnection) {
      if (byClient.get(connection.client.name) !== most || bytes <= largestBytes) continue;
      largest = connection;
      largestBytes = bytes;
    }
    return largest!;
  }
}
