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

/** How long the packets of a client are read in one turn of the event loop, milliseconds. */
const READ_MS = 25;
/** Bytes of a client that are read in one turn. Each chunk takes memory until the next collection of garbage. */
const READ_BYTES = 2 ** 20;
/** Turns of the event loop in which others come first after that. */
const REST_TURNS = 8;
/**
 * Bytes that may arrive from a client that rests. Until then each connection is paused when it sends, because pausing
 * all and continuing takes a millisecond for 100 of them, and most send nothing meanwhile.
 */
const REST_BYTES = 2 ** 20;

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
  /** Messages and wills that the application has not acknowledged. */
  unacknowledged = 0;
  readonly #onResume: () => void;
  #paused = false;
  /** Whether others come first now, because its packets took long. */
  #isResting = false;
  /** Connections that have something to read after the rest. */
  readonly #waiting = new Set<C>();
  #restBytes = 0;
  /** The end of its time in this turn of the event loop, of `performance.now()`. Null: nothing was read. */
  #readUntil: number | null = null;
  /** Bytes that arrived in this turn. */
  #readBytes = 0;
  #controls = 0;
  #controlBytes = 0;

  /** @param onResume called when it may be read again */
  constructor(name: string, onResume: () => void = () => {}) {
    this.name = name;
    this.#onResume = onResume;
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  /** Whether nothing is read from the connection now. */
  holds(connection: C): boolean {
    return this.#paused || this.#restBytes > REST_BYTES || this.#waiting.has(connection);
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
    this.#onResume();
  }

  refreshHold(): void {
    for (const connection of [...this.connections]) connection.refreshHold();
  }

  /**
   * Call it for the bytes that arrived on the connection, and before each packet. When the client has used up its share
   * of this turn of the event loop, nothing is read from it until others had their turns.
   */
  take(connection: C, bytes: number): void {
    if (this.defer(connection, bytes)) return;
    const now = performance.now();
    if (this.#readUntil === null) {
      this.#readUntil = now + READ_MS;
      this.#readBytes = 0;
      setImmediate(() => {
        this.#readUntil = null;
      });
    }
    this.#readBytes += bytes;
    if (now <= this.#readUntil && this.#readBytes <= READ_BYTES) return;
    this.#isResting = true;
    this.defer(connection, 0);
    afterTurns(REST_TURNS, () => this.#endRest());
  }

  /** Holds the connection until the end of the rest. Returns false when the client does not rest. */
  defer(connection: C, bytes: number): boolean {
    if (!this.#isResting) return false;
    const wereAllRead = this.#restBytes <= REST_BYTES;
    this.#restBytes += bytes;
    this.#waiting.add(connection);
    if (wereAllRead && this.#restBytes > REST_BYTES) this.refreshHold();
    else connection.refreshHold();
    return true;
  }

  #endRest(): void {
    const wereAllRead = this.#restBytes <= REST_BYTES;
    const held = [...this.connections].filter((each) => !wereAllRead || this.#waiting.has(each));
    this.#isResting = false;
    this.#readUntil = null;
    this.#restBytes = 0;
    this.#waiting.clear();
    for (const connection of held) connection.refreshHold();
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

function afterTurns(turns: number, then: () => void): void {
  setImmediate(() => (turns === 1 ? then() : afterTurns(turns - 1, then)));
}
