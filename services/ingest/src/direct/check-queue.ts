/** A login whose password waits for its check. */
export interface WaitingLogin {
  /** The client of its address. */
  readonly client: string;
  /** Whose turn it takes among those of its client: a user. */
  readonly user: string;
  /** Bytes that it keeps in memory. */
  readonly bytes: number;
  /** Goes before the others of its user. */
  readonly isFirst: boolean;
}

/** When a user of a client has its turn. */
export interface Order {
  /** Users with a lower rank come first. */
  readonly rank: number;
  /** Milliseconds until it may have one. */
  readonly waitMs: number;
}

interface Entry extends WaitingLogin {
  settle(hasTurn: boolean): void;
}

/** What waits for a client: the oldest login of a user is its first one. */
interface Client {
  bytes: number;
  readonly users: Map<string, Entry[]>;
}

/** Password hashes that are computed at the same time. Node has four threads for them and for files. */
const MAX_CHECKS = 2;
/** Bytes of all waiting logins, and of those of a client. Each counts with the objects of its connection. */
const MAX_BYTES = 1024 * 1024;
const MAX_CLIENT_BYTES = MAX_BYTES / 2;
const LOGIN_BYTES = 1024;
/** Waiting logins of a user whose turn is not due: more would wait for longer than a sensor does. */
const MAX_LATE = 20;

/**
 * The order in which passwords are checked, because a check takes much processor time: clients in turns, and the users
 * of a client in turns. So a client waits for the number of other clients, not for the number of their logins.
 *
 * The newest login of a user comes first. While more arrive than can be checked, the oldest one would have waited too
 * long for its sensor. At a bound the client with the most waiting bytes, and its user with the most, loses its oldest.
 */
export class CheckQueue {
  // Both maps have those with the latest turn last.
  readonly #clients = new Map<string, Client>();
  readonly #orderOf: (client: string, user: string) => Order;
  #bytes = 0;
  #checks = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(orderOf: (client: string, user: string) => Order) {
    this.#orderOf = orderOf;
  }

  /** Bytes that wait. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Resolves to true when the password may be checked now: call `end` afterwards. False: there is no room, or the signal
   * was aborted.
   */
  turn(login: WaitingLogin, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const leave = () => this.#settle(entry, false);
      const entry: Entry = {
        ...login,
        bytes: login.bytes + LOGIN_BYTES,
        settle: (hasTurn) => {
          signal.removeEventListener('abort', leave);
          resolve(hasTurn);
        },
      };
      signal.addEventListener('abort', leave);
      this.#add(entry);
      this.#next();
    });
  }

  /** Ends a check. */
  end(): void {
    this.#checks -= 1;
    this.#next();
  }

  /** Gives no more turns to those that wait. */
  close(): void {
    clearTimeout(this.#timer);
    const all = [...this.#clients.values()].flatMap(({ users }) => [...users.values()].flat());
    for (const entry of all) this.#settle(entry, false);
  }

  #add(entry: Entry): void {
    const client = this.#clients.get(entry.client) ?? { bytes: 0, users: new Map<string, Entry[]>() };
    this.#clients.set(entry.client, client);
    const entries = client.users.get(entry.user);
    if (entries === undefined) client.users.set(entry.user, [entry]);
    else entries.push(entry);
    client.bytes += entry.bytes;
    this.#bytes += entry.bytes;
    const waiting = client.users.get(entry.user)!;
    while (waiting.length > MAX_LATE && this.#orderOf(entry.client, entry.user).waitMs > 0)
      this.#settle(leastOf(waiting), false);
    while (client.bytes > MAX_CLIENT_BYTES) this.#dropOf(client);
    while (this.#bytes > MAX_BYTES) this.#dropOf(largest(this.#clients.values(), ({ bytes }) => bytes));
  }

  #dropOf(client: Client): void {
    this.#settle(leastOf(largest(client.users.values(), bytesOf)), false);
  }

  #settle(entry: Entry, hasTurn: boolean): void {
    const client = this.#clients.get(entry.client)!;
    const entries = client.users.get(entry.user)!;
    entries.splice(entries.indexOf(entry), 1);
    if (entries.length === 0) client.users.delete(entry.user);
    if (client.users.size === 0) this.#clients.delete(entry.client);
    client.bytes -= entry.bytes;
    this.#bytes -= entry.bytes;
    entry.settle(hasTurn);
  }

  #next(): void {
    clearTimeout(this.#timer);
    while (this.#checks < MAX_CHECKS && this.#clients.size > 0) {
      const found = this.#find();
      if (typeof found === 'number') {
        this.#timer = setTimeout(() => this.#next(), found);
        return;
      }
      this.#checks += 1;
      // Both come last the next time.
      const client = this.#clients.get(found.client)!;
      this.#clients.delete(found.client);
      this.#clients.set(found.client, client);
      const entries = client.users.get(found.user)!;
      client.users.delete(found.user);
      client.users.set(found.user, entries);
      this.#settle(found, true);
    }
  }

  /** The login whose turn it is, or the milliseconds until there is one. The number of logins is small. */
  #find(): Entry | number {
    let best: Entry[] | null = null;
    let bestRank = Number.POSITIVE_INFINITY;
    let wait = Number.POSITIVE_INFINITY;
    for (const [name, { users }] of this.#clients) {
      for (const [user, entries] of users) {
        const { rank, waitMs } = this.#orderOf(name, user);
        if (waitMs > 0) wait = Math.min(wait, waitMs);
        else if (rank < bestRank) {
          best = entries;
          bestRank = rank;
        }
      }
    }
    return best === null ? wait : (best.findLast(({ isFirst }) => isFirst) ?? best.at(-1)!);
  }
}

function bytesOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** The last one in the order of turns. */
function leastOf(entries: readonly Entry[]): Entry {
  return entries.find(({ isFirst }) => !isFirst) ?? entries[0]!;
}

function largest<T>(all: Iterable<T>, sizeOf: (each: T) => number): T {
  let found: T | null = null;
  for (const each of all) if (found === null || sizeOf(each) > sizeOf(found)) found = each;
  return found!;
}
