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
 * PUBREL, and subscriptions. It is in memory only.
 */
export class Session {
  readonly key: string;
  owner: Owner;
  connection: SessionConnection | null = null;
  expirySeconds = 0;
  /** `performance.now()` at which it ends; Infinity while it is connected. */
  expiresAt = Number.POSITIVE_INFINITY;
  /** QoS 2 messages that are not stored yet, by packet identifier. */
  readonly storing = new Map<number, Storing>();
  /** Packet identifiers of stored QoS 2 messages without PUBREL. */
  readonly unreleased = new Set<number>();
  /** The filters that it subscribed to. */
  filters: readonly string[] = [];
  will: { readonly will: Will; readonly timer: NodeJS.Timeout } | null = null;

  constructor(key: string, owner: Owner) {
    this.key = key;
    this.owner = owner;
  }
}

/** What the sessions of one client have together. */
class Owner {
  readonly name: string;
  readonly sessions = new Set<Session>();
  /** Those without a connection, in the order in which they lost it. */
  readonly left = new Set<Session>();
  unreleased = 0;
  willBytes = 0;

  constructor(name: string) {
    this.name = name;
  }
}

export interface SessionsOptions {
  /**
   * Sessions at the same time; of one client half as many. Beyond it, one of this client ends, or of the client with the
   * most: the one that has been without a connection for the longest time.
   */
  readonly maximum: number;
  readonly maximumExpirySeconds: number;
  /** Called with a will when it is due, and its client. */
  readonly onWill: (will: Will, client: string) => void;
}

/** Bytes of wills that wait for their delay, of all sessions. A client has as much as is free. */
const MAX_WILL_BYTES = 1024 * 1024;
/**
 * Stored QoS 2 messages without PUBREL, of all sessions; of one client half as many. About 32 bytes each. Beyond it, the
 * largest sessions of this client end, or of the client with the most.
 */
const MAX_UNRELEASED = 262_144;
/** The share of one client. */
const SHARE = 0.5;

/** The sessions of a server, by user and client id. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #owners = new Map<string, Owner>();
  #unreleased = 0;
  #willBytes = 0;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Ends the connection that has the session now, because another one will continue it. */
  takeOver(key: string): void {
    this.#sessions.get(key)?.connection?.takeOver();
  }

  /**
   * The session of a new connection. A connection that has it ends first: it is taken over.
   *
   * @param client whose bounds it counts for
   * @returns whether it continues an earlier session
   */
  open(
    key: string,
    client: string,
    connection: SessionConnection,
    cleanStart: boolean,
    expirySeconds: number,
  ): { session: Session; isPresent: boolean } {
    this.takeOver(key);
    const earlier = this.#sessions.get(key);
    if (earlier !== undefined && cleanStart) this.#end(earlier);
    const isPresent = earlier !== undefined && !cleanStart;
    const session = isPresent ? this.#passOn(earlier, client) : this.#create(key, client);
    this.#takeWill(session);
    session.connection = connection;
    session.expirySeconds = Math.min(expirySeconds, this.#options.maximumExpirySeconds);
    session.expiresAt = Number.POSITIVE_INFINITY;
    session.owner.left.delete(session);
    this.#evict(session.owner);
    return { session, isPresent };
  }

  /** The connection of a session ended. `will` is null after an orderly end. */
  closed(session: Session, will: Will | null): void {
    session.connection = null;
    const seconds = session.expirySeconds;
    const hasRoom = will === null || this.#hasRoomFor(session.owner, will);
    const delaySeconds = hasRoom ? Math.min(will?.delaySeconds ?? 0, seconds) : 0;
    if (will !== null && delaySeconds === 0) this.#options.onWill(will, session.owner.name);
    if (this.#sessions.get(session.key) !== session) return;
    if (seconds === 0) {
      this.#remove(session);
      return;
    }
    session.owner.left.add(session);
    session.expiresAt = performance.now() + seconds * 1000;
    if (will !== null && delaySeconds > 0) {
      // setTimeout takes at most 2^31 - 1 ms, and the session ends it in any case.
      const timer = setTimeout(() => this.#publishWill(session), Math.min(delaySeconds * 1000, 2 ** 31 - 1));
      session.will = { will, timer: timer.unref() };
      this.#addWillBytes(session.owner, bytesOf(will));
    }
  }

  /**
   * Makes room for another QoS 2 message without PUBREL of a session. This and other sessions can end for it, with their
   * connections.
   */
  makeRoom({ owner }: Session): void {
    const isAtShare = owner.unreleased >= MAX_UNRELEASED * SHARE;
    if (!isAtShare && this.#unreleased < MAX_UNRELEASED) return;
    const most = isAtShare ? owner : this.#most((each) => each.unreleased);
    const target = most.unreleased / 2;
    // Many at once, because each sort looks at all of them.
    const largest = [...most.sessions].sort((a, b) => b.unreleased.size - a.unreleased.size);
    for (const session of largest) {
      if (most.unreleased <= target) return;
      session.connection?.exceed();
      if (this.#sessions.get(session.key) === session) this.#end(session);
    }
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
      this.#count(session.owner, 1);
    }
    return storing;
  }

  /** Whether the message was stored and not released. */
  release(session: Session, packetId: number): boolean {
    const known = session.unreleased.delete(packetId);
    if (known) this.#count(session.owner, -1);
    return known;
  }

  /** Ends all sessions without their wills: the server stops. */
  clear(): void {
    for (const session of this.#sessions.values()) this.#takeWill(session);
    this.#sessions.clear();
    this.#owners.clear();
  }

  #evict(owner: Owner): void {
    const { maximum } = this.#options;
    const isAtShare = owner.sessions.size > Math.ceil(maximum * SHARE);
    if (!isAtShare && this.#sessions.size <= maximum) return;
    const most = isAtShare ? owner : this.#most(({ left }) => left.size);
    const [oldest] = most.left;
    if (oldest !== undefined) this.#end(oldest);
  }

  /** The owner with the most of something. There is one. */
  #most(amount: (owner: Owner) => number): Owner {
    let most: Owner | undefined;
    for (const owner of this.#owners.values())
      if (most === undefined || amount(owner) > amount(most)) most = owner;
    return most!;
  }

  #create(key: string, client: string): Session {
    const session = new Session(key, this.#owner(client));
    session.owner.sessions.add(session);
    this.#sessions.set(key, session);
    return session;
  }

  #owner(client: string): Owner {
    const owner = this.#owners.get(client) ?? new Owner(client);
    this.#owners.set(client, owner);
    return owner;
  }

  /** Without a login the next client of a session can have another address. */
  #passOn(session: Session, client: string): Session {
    if (session.owner.name === client) return session;
    this.#takeWill(session);
    const count = session.unreleased.size;
    this.#count(session.owner, -count);
    this.#leave(session);
    session.owner = this.#owner(client);
    session.owner.sessions.add(session);
    this.#count(session.owner, count);
    return session;
  }

  #leave(session: Session): void {
    const { owner } = session;
    owner.sessions.delete(session);
    owner.left.delete(session);
    if (owner.sessions.size === 0) this.#owners.delete(owner.name);
  }

  #end(session: Session): void {
    this.#remove(session);
    this.#publishWill(session);
  }

  #remove(session: Session): void {
    this.#sessions.delete(session.key);
    this.#count(session.owner, -session.unreleased.size);
    session.unreleased.clear();
    this.#leave(session);
  }

  #count(owner: Owner, unreleased: number): void {
    owner.unreleased += unreleased;
    this.#unreleased += unreleased;
  }

  #addWillBytes(owner: Owner, bytes: number): void {
    owner.willBytes += bytes;
    this.#willBytes += bytes;
  }

  #publishWill(session: Session): void {
    const will = this.#takeWill(session);
    if (will !== null) this.#options.onWill(will, session.owner.name);
  }

  /** The will that waits, which then waits no longer. */
  #takeWill(session: Session): Will | null {
    const due = session.will;
    if (due === null) return null;
    clearTimeout(due.timer);
    session.will = null;
    this.#addWillBytes(session.owner, -bytesOf(due.will));
    return due.will;
  }

  /** A will without room is published at once. A client could otherwise fill the memory with sessions. */
  #hasRoomFor(owner: Owner, will: Will): boolean {
    const bytes = bytesOf(will);
    return owner.willBytes + bytes <= MAX_WILL_BYTES - this.#willBytes;
  }
}

function bytesOf({ topic, payload }: Will): number {
  return 2 * topic.length + payload.length;
}
