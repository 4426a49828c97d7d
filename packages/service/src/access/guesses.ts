import type { Logger } from '../logger.ts';
import { Recent } from './recent.ts';

/** Wrong credentials that a client may send in a row, and the time after which it may send one more. */
const BURST = 10;
const REFILL_MS = 6000;
/** Users behind one address that may all use up their attempts before the address is throttled. */
const USERS = 10;
/** Clients that are remembered; then the least recently used one is removed. */
const MAX_CLIENTS = 10_000;
/** Log lines about failed logins per minute; the next minute's line has the number of omitted ones. */
const LOG_LINES = 30;
const MINUTE_MS = 60_000;

/** The request with a wrong credential. */
export interface Attempt {
  readonly method: string;
  readonly path: string;
}

/** Attempts that come back one by one, for each of many names. */
class Attempts {
  readonly #burst: number;
  readonly #refillMs: number;
  readonly #now: () => number;
  /** The time at which a name has all its attempts again. */
  readonly #fullAt = new Recent<number>(MAX_CLIENTS);

  constructor(burst: number, refillMs: number, now: () => number) {
    this.#burst = burst;
    this.#refillMs = refillMs;
    this.#now = now;
  }

  /** Milliseconds until there is an attempt; not above 0 when there is one. */
  waitMs(name: string): number {
    const fullAt = this.#fullAt.get(name);
    return fullAt === undefined ? 0 : fullAt - this.#now() - (this.#burst - 1) * this.#refillMs;
  }

  /** Returns false when there is none. */
  take(name: string): boolean {
    if (this.waitMs(name) > 0) return false;
    this.#fullAt.set(name, Math.max(this.#fullAt.get(name) ?? 0, this.#now()) + this.#refillMs);
    return true;
  }

  /** Gives an attempt back. */
  giveBack(name: string): void {
    const fullAt = this.#fullAt.get(name);
    if (fullAt !== undefined) this.#fullAt.set(name, fullAt - this.#refillMs);
  }
}

/**
 * Throttles and logs wrong credentials per client address. The credentials of a throttled client are not checked,
 * unless that client has logged in before: behind a router or a Swarm's ingress network many clients share one address,
 * and one of them must not lock out the others.
 *
 * Where credentials have a user name, each user of an address has its own attempts, whether it has logged in before or
 * not, because passwords can be guessed and keys cannot. The address has attempts for ten users.
 */
export class Guesses {
  readonly #logger: Logger;
  readonly #now: () => number;
  /** Clients that logged in, or users of clients. */
  readonly #known = new Recent<true>(MAX_CLIENTS);
  /** Of a client, or of a user of a client. */
  readonly #own: Attempts;
  /** Of a client with users. */
  readonly #shared: Attempts;
  readonly #log = { from: 0, lines: 0, left: 0 };

  constructor(logger: Logger, now: () => number) {
    this.#logger = logger;
    this.#now = now;
    this.#own = new Attempts(BURST, REFILL_MS, now);
    this.#shared = new Attempts(USERS * BURST, REFILL_MS / USERS, now);
  }

  /** @param user the user name of the credential; null when it has none */
  isThrottled(client: string, user: string | null = null): boolean {
    const isNew = this.#known.get(nameOf(client, user)) === undefined;
    if (user === null) return isNew && this.#own.waitMs(client) > 0;
    return (isNew && this.#shared.waitMs(client) > 0) || this.#own.waitMs(nameOf(client, user)) > 0;
  }

  /** Seconds until a throttled client may try again, at least 1. */
  retryAfter(client: string): number {
    return Math.max(1, Math.ceil((this.#own.waitMs(client) + 1) / 1000));
  }

  /** Whether a client without user names has logged in before. */
  isKnown(client: string): boolean {
    return this.#known.get(client) !== undefined;
  }

  succeeded(client: string, user: string | null = null): void {
    const name = nameOf(client, user);
    if (this.#known.get(name) === undefined) this.#known.set(name, true);
  }

  /** Counts a wrong credential; returns false when the client had no attempt left. */
  failed(client: string, request: Attempt, user: string | null = null): boolean {
    if (user !== null) this.#shared.take(client);
    if (!this.#own.take(nameOf(client, user))) return false;
    this.warn(client, request, user);
    return true;
  }

  /** Takes an attempt of a client without user names, before its credential is checked. False: it has none left. */
  take(client: string): boolean {
    return this.#own.take(client);
  }

  /** Gives an attempt back whose credential was not wrong. */
  giveBack(client: string): void {
    this.#own.giveBack(client);
  }

  /** Logs a wrong credential. */
  warn(client: string, { method, path }: Attempt, user: string | null = null): void {
    const log = this.#log;
    if (this.#now() - log.from >= MINUTE_MS) Object.assign(log, { from: this.#now(), lines: 0 });
    if (log.lines >= LOG_LINES) {
      log.left += 1;
      return;
    }
    log.lines += 1;
    const throttled = this.#own.waitMs(nameOf(client, user)) > 0;
    const more = log.left === 0 ? {} : { notLogged: log.left };
    this.#logger.warn({ client, method, path, throttled, ...more }, 'failed login: wrong token or key');
    log.left = 0;
  }
}

/** Addresses have no spaces. */
function nameOf(client: string, user: string | null): string {
  return user === null ? client : `${client} ${user}`;
}
