import type { Logger } from '../logger.ts';
import { Recent } from './recent.ts';

/** Wrong credentials that a client may send in a row, and the time after which it may send one more. */
const BURST = 10;
const REFILL_MS = 6000;
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

/**
 * Counts and logs wrong credentials. Each client has attempts, which come back one by one, and where credentials have
 * user names, each user of a client has its own.
 *
 * Behind a router or a Swarm's ingress network many clients share one address, and one of them must not lock out the
 * others. So keys and tokens are always checked: they are long and random, and a check is a SHA-256. A client without
 * attempts only gets another answer to a wrong one. Passwords can be guessed: see ingest's logins.
 */
export class Guesses {
  readonly #logger: Logger;
  readonly #now: () => number;
  /** The time at which a client, or a user of a client, has all its attempts again. */
  readonly #fullAt = new Recent<number>(MAX_CLIENTS);
  readonly #log = { from: 0, lines: 0, left: 0 };

  /** @param now milliseconds */
  constructor(logger: Logger, now: () => number) {
    this.#logger = logger;
    this.#now = now;
  }

  /** @param user the user name of the credential; null when it has none */
  hasAttempt(client: string, user: string | null = null): boolean {
    return this.#waitMs(nameOf(client, user)) <= 0;
  }

  /** Seconds until a client without user names has an attempt, at least 1. */
  retryAfter(client: string): number {
    return Math.max(1, Math.ceil((this.#waitMs(client) + 1) / 1000));
  }

  /** Counts a wrong credential; returns false when there was no attempt left. */
  failed(client: string, request: Attempt, user: string | null = null): boolean {
    const name = nameOf(client, user);
    if (this.#waitMs(name) > 0) return false;
    this.#fullAt.set(name, Math.max(this.#fullAt.get(name) ?? 0, this.#now()) + REFILL_MS);
    this.#warn(client, request, name);
    return true;
  }

  #waitMs(name: string): number {
    const fullAt = this.#fullAt.get(name);
    return fullAt === undefined ? 0 : fullAt - this.#now() - (BURST - 1) * REFILL_MS;
  }

  #warn(client: string, { method, path }: Attempt, name: string): void {
    const log = this.#log;
    if (this.#now() - log.from >= MINUTE_MS) Object.assign(log, { from: this.#now(), lines: 0 });
    if (log.lines >= LOG_LINES) {
      log.left += 1;
      return;
    }
    log.lines += 1;
    const throttled = this.#waitMs(name) > 0;
    const more = log.left === 0 ? {} : { notLogged: log.left };
    this.#logger.warn({ client, method, path, throttled, ...more }, 'failed login: wrong token or key');
    log.left = 0;
  }
}

/** Addresses have no spaces. */
function nameOf(client: string, user: string | null): string {
  return user === null ? client : `${client} ${user}`;
}
