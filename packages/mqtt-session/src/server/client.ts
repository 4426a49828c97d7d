/** The part of a connection that its client uses. */
export interface ClientMember {
  /** `performance.now()` when something arrived last. */
  readonly receivedAt: number;
  /** Decides again whether to read. */
  refreshHold(): void;
}

/** A client, as the application sees it. */
export interface ClientHandle {
  /** `user` and its name; without a login `address` and the client of the address. */
  readonly name: string;
  /** Stops reading from all connections of the client, also from those that it opens later. */
  pause(): void;
  resume(): void;
}

/**
 * Packets other than PUBLISH in about a second. Each costs as much time as a message, and no client needs many of them.
 */
const MAX_CONTROL_PACKETS = 1000;
/** Bytes of these packets. A list of filters takes a millisecond for 16 KiB. */
const MAX_CONTROL_BYTES = 64 * 1024;

/** What the connections of one client have together. */
export class Client<C extends ClientMember> implements ClientHandle {
  readonly name: string;
  /** Open connections; those that were read after a hold come last. */
  readonly connections = new Set<C>();
  /** Messages that the application has not acknowledged. */
  unacknowledged = 0;
  #paused = false;
  #controls = 0;
  #controlBytes = 0;

  constructor(name: string) {
    this.name = name;
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  /** Whether it has no state, so that it can be removed. */
  get isGone(): boolean {
    return this.connections.size === 0 && this.unacknowledged === 0 && !this.#paused;
  }

  pause(): void {
    this.#paused = true;
    this.refreshHold();
  }

  resume(): void {
    this.#paused = false;
    this.refreshHold();
  }

  refreshHold(): void {
    for (const connection of [...this.connections]) connection.refreshHold();
  }

  /** Counts a packet that is not a message. Returns false when the client sends more of them than it may. */
  control(bytes: number): boolean {
    this.#controls += 1;
    this.#controlBytes += bytes;
    return this.#controls <= MAX_CONTROL_PACKETS && this.#controlBytes <= MAX_CONTROL_BYTES;
  }

  /** Called about once a second. */
  nextSecond(): void {
    this.#controls = 0;
    this.#controlBytes = 0;
  }

  /** The connection from which nothing has arrived for the longest time. */
  get idlest(): C | undefined {
    let idlest: C | undefined;
    for (const connection of this.connections)
      if (idlest === undefined || connection.receivedAt < idlest.receivedAt) idlest = connection;
    return idlest;
  }
}
