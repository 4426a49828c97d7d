import type { Will } from './connect.ts';

/** The part of a connection that its session uses. */
export interface SessionConnection {
  /** Ends, because another connection continues the session. */
  takeOver(): void;
  /** Ends, because its session has the most messages without PUBREL. */
  exceed(): void;
  /** Sends the PUBRECs of a QoS 2 message, which an earlier connection of the session may have received. */
  release(tickets: readonly number[]): void;
}

/** A QoS 2 message that is not stored yet, and the tickets of its PUBRECs in the present connection. */
interface Storing {
  connection: SessionConnection;
  tickets: number[];
}

/**
 * The state that outlives a connection (MQTT 5, section 4.1): QoS 2 messages that were received and not released with
 * PUBREL. It is in memory only.
 */
export class Session {
  readonly key: string;
  connection: SessionConnection | null = null;
  expirySeconds = 0;
  /** `performance.now()` at which it ends; Infinity while it is connected. */
  expiresAt = Number.POSITIVE_INFINITY;
  /** QoS 2 messages that are not stored yet, by packet identifier. */
  readonly storing = new Map<number, Storing>();
  /** Packet identifiers of stored QoS 2 messages without PUBREL. */
  readonly unreleased = new Set<number>();
  will: { readonly will: Will; readonly timer: NodeJS.Timeout } | null = null;

  constructor(key: string) {
    this.key = key;
  }
}

export interface SessionsOptions {
  /** Sessions at the same time; then the one that has been without a connection for the longest time ends. */
  readonly maximum: number;
  readonly maximumExpirySeconds: number;
  /** Called with a will when it is due. */
  readonly onWill: (will: Will) => void;
}

/** Bytes of wills that wait for their delay, of all sessions. */
const MAX_WILL_BYTES = 4 * 1024 * 1024;
/** Stored QoS 2 messages without PUBREL, of all sessions. About 16 bytes each. Then the session with the most ends. */
const MAX_UNRELEASED = 262_144;

/** The sessions of a server, by user and client id. */
export class Sessions {
  readonly #options: SessionsOptions;
  // In the order in which they lost their connections.
  readonly #sessions = new Map<string, Session>();
  #unreleased = 0;
  #willBytes = 0;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Whether there is no room for another QoS 2 message without PUBREL. */
  get isFull(): boolean {
    return this.#unreleased >= MAX_UNRELEASED;
  }

  /**
   * The session of a new connection. A connection that has it ends first: it is taken over.
   *
   * @returns whether it continues an earlier session
   */
  open(
    key: string,
    connection: SessionConnection,
    cleanStart: boolean,
    expirySeconds: number,
  ): { session: Session; isPresent: boolean } {
    this.#sessions.get(key)?.connection?.takeOver();
    const earlier = this.#sessions.get(key);
    if (earlier !== undefined && cleanStart) this.#end(earlier);
    const isPresent = earlier !== undefined && !cleanStart;
    const session = isPresent ? earlier : new Session(key);
    this.#takeWill(session);
    session.connection = connection;
    session.expirySeconds = Math.min(expirySeconds, this.#options.maximumExpirySeconds);
    session.expiresAt = Number.POSITIVE_INFINITY;
    this.#sessions.set(key, session);
    this.#evict();
    return { session, isPresent };
  }

  /** The connection of a session ended. `will` is null after an orderly end. */
  closed(session: Session, will: Will | null): void {
    session.connection = null;
    const seconds = session.expirySeconds;
    const delaySeconds = this.#hasRoomFor(will) ? Math.min(will?.delaySeconds ?? 0, seconds) : 0;
    if (will !== null && delaySeconds === 0) this.#options.onWill(will);
    if (this.#sessions.get(session.key) !== session) return;
    this.#sessions.delete(session.key);
    if (seconds === 0) {
      this.#release(session);
      return;
    }
    this.#sessions.set(session.key, session);
    session.expiresAt = performance.now() + seconds * 1000;
    if (will !== null && delaySeconds > 0) {
      // setTimeout takes at most 2^31 - 1 ms, and the session ends it in any case.
      const timer = setTimeout(() => this.#publishWill(session), Math.min(delaySeconds * 1000, 2 ** 31 - 1));
      session.will = { will, timer: timer.unref() };
      this.#willBytes += bytesOf(will);
    }
  }

  /** Ends the session with the most QoS 2 messages without PUBREL, and its connection. */
  endLargest(): void {
    let largest: Session | null = null;
    for (const session of this.#sessions.values())
      if (session.unreleased.size > (largest?.unreleased.size ?? 0)) largest = session;
    if (largest === null) return;
    largest.connection?.exceed();
    if (this.#sessions.get(largest.key) === largest) this.#end(largest);
  }

  /** Ends sessions whose time is over. Called about once a second. */
  sweep(now: number): void {
    for (const session of this.#sessions.values()) if (session.expiresAt <= now) this.#end(session);
  }

  /** Marks a QoS 2 message as stored, so that PUBREL is awaited. */
  stored(session: Session, packetId: number): Storing | undefined {
    const storing = session.storing.get(packetId);
    session.storing.delete(packetId);
    // A session that ended needs no state.
    if (this.#sessions.get(session.key) === session) {
      session.unreleased.add(packetId);
      this.#unreleased += 1;
    }
    return storing;
  }

  /** Whether the message was stored and not released. */
  release(session: Session, packetId: number): boolean {
    const known = session.unreleased.delete(packetId);
    if (known) this.#unreleased -= 1;
    return known;
  }

  /** Ends all sessions without their wills: the server stops. */
  clear(): void {
    for (const session of this.#sessions.values()) this.#takeWill(session);
    this.#sessions.clear();
  }

  #evict(): void {
    if (this.#sessions.size <= this.#options.maximum) return;
    for (const session of this.#sessions.values()) {
      if (session.connection !== null) continue;
      this.#end(session);
      return;
    }
  }

  #end(session: Session): void {
    this.#sessions.delete(session.key);
    this.#release(session);
    this.#publishWill(session);
  }

  #release(session: Session): void {
    this.#unreleased -= session.unreleased.size;
    session.unreleased.clear();
  }

  #publishWill(session: Session): void {
    const will = this.#takeWill(session);
    if (will !== null) this.#options.onWill(will);
  }

  /** The will that waits, which then waits no longer. */
  #takeWill(session: Session): Will | null {
    const due = session.will;
    if (due === null) return null;
    clearTimeout(due.timer);
    session.will = null;
    this.#willBytes -= bytesOf(due.will);
    return due.will;
  }

  /** A will without room is published at once. A client could otherwise fill the memory with sessions. */
  #hasRoomFor(will: Will | null): boolean {
    return will === null || this.#willBytes + bytesOf(will) <= MAX_WILL_BYTES;
  }
}

function bytesOf({ topic, payload }: Will): number {
  return 2 * topic.length + payload.length;
}
