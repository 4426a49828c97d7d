const INITIAL_CAPACITY = 1024;

/** First byte of the packet that answers a QoS 1 message. */
export const PUBACK = 0x40;
/** First byte of the packet that answers a QoS 2 message. */
export const PUBREC = 0x50;

/** Bytes of one acknowledgement on the wire: type, remaining length 2, packet id. */
export const ACK_BYTES = 4;

/**
 * The acknowledgements of one connection: added in receive order, released in any order, written in receive order
 * [MQTT-4.6.0-2, MQTT-4.6.0-3]. QoS 1 and 2 share the order, which is stricter than the standard requires.
 *
 *     head <= front <= tail
 *     head .. front   released and contiguous: may be written
 *     front .. tail   waiting for the application; some may be released already
 *
 * A ticket is the number of a message since the start of the connection, so it is unique. Memory is 4 bytes per
 * entry, in circular arrays that double up to `limit`.
 */
export class AckQueue {
  readonly limit: number;
  #ids: Uint16Array;
  #types: Uint8Array;
  #released: Uint8Array;
  // MQTT 5 reason codes other than success, by ticket; null until there is one. Only a server sends them.
  #reasons: Map<number, number> | null = null;
  #mask: number;
  #head = 0;
  #front = 0;
  #tail = 0;

  /** @param limit messages that may wait at the same time, 1 to 65535 */
  constructor(limit: number) {
    this.limit = limit;
    const capacity = 2 ** Math.ceil(Math.log2(Math.min(limit, INITIAL_CAPACITY)));
    this.#ids = new Uint16Array(capacity);
    this.#types = new Uint8Array(capacity);
    this.#released = new Uint8Array(capacity);
    this.#mask = capacity - 1;
  }

  /** Messages added and not yet written, released or not. */
  get size(): number {
    return this.#tail - this.#head;
  }

  /** Messages that may be written now. */
  get ready(): number {
    return this.#front - this.#head;
  }

  /** Bytes that `take` writes at most. */
  get readyBytes(): number {
    return this.ready * ACK_BYTES + (this.#reasons?.size ?? 0);
  }

  /** Adds the next message; `type` is PUBACK or PUBREC. Returns its ticket, or -1 when the queue is full. */
  push(type: number, packetId: number): number {
    const size = this.#tail - this.#head;
    if (size >= this.limit) return -1;
    if (size > this.#mask) this.#grow();
    const ticket = this.#tail++;
    const index = ticket & this.#mask;
    this.#ids[index] = packetId;
    this.#types[index] = type;
    this.#released[index] = 0;
    return ticket;
  }

  /**
   * Releases a message for writing. Returns false for a ticket that was released before or never issued.
   *
   * @param reason an MQTT 5 reason code; 0 is success and is not written
   */
  release(ticket: number, reason = 0): boolean {
    if (ticket < this.#front || ticket >= this.#tail) return false;
    const index = ticket & this.#mask;
    if (this.#released[index] === 1) return false;
    this.#released[index] = 1;
    if (reason !== 0) {
      this.#reasons ??= new Map();
      this.#reasons.set(ticket, reason);
    }
    if (ticket === this.#front) {
      do this.#front += 1;
      while (this.#front < this.#tail && this.#released[this.#front & this.#mask] === 1);
    }
    return true;
  }

  /**
   * Writes all ready acknowledgements into `target` as MQTT packets and removes them. Returns the offset after them.
   */
  take(target: Uint8Array, offset: number): number {
    for (; this.#head < this.#front; this.#head += 1) {
      const index = this.#head & this.#mask;
      const id = this.#ids[index]!;
      target[offset] = this.#types[index]!;
      target[offset + 1] = 2;
      target[offset + 2] = id >>> 8;
      target[offset + 3] = id & 0xff;
      const reason = this.#reasons === null ? undefined : this.#reasons.get(this.#head);
      if (reason !== undefined) {
        target[offset + 1] = 3;
        target[offset + ACK_BYTES] = reason;
        offset += 1;
        this.#reasons!.delete(this.#head);
      }
      offset += ACK_BYTES;
    }
    return offset;
  }

  #grow(): void {
    const mask = this.#mask * 2 + 1;
    const ids = new Uint16Array(mask + 1);
    const types = new Uint8Array(mask + 1);
    const released = new Uint8Array(mask + 1);
    for (let ticket = this.#head; ticket < this.#tail; ticket += 1) {
      const from = ticket & this.#mask;
      const to = ticket & mask;
      ids[to] = this.#ids[from]!;
      types[to] = this.#types[from]!;
      released[to] = this.#released[from]!;
    }
    this.#ids = ids;
    this.#types = types;
    this.#released = released;
    this.#mask = mask;
  }
}
