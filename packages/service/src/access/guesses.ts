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

/**
 * Throttles and logs wrong credentials per client address. The credentials of a throttled client are not checked,
 * unless that client has logged in before: behind a router or a Swarm's ingress network many clients share one address,
 * and one of them must not lock out the others.
 */
export class Guesses {
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #known = new Recent<true>(MAX_CLIENTS);
  /** The time at which a client has all its attempts again. */
  readonly #failed = new Recent<number>(MAX_CLIENTS);
  readonly #log = { from: 0, lines: 0, left: 0 };

  constructor(logger: Logger, now: () => number) {
    this.#logger = logger;
    this.#now = now;
  }

  isThrottled(client: string): boolean {
    return this.#waitMs(client) > 0 && this.#known.get(client) === undefined;
  }

  /** Seconds until a throttled client may try again, at least 1. */
  retryAfter(client: string): number {
    return Math.max(1, Math.ceil((this.#waitMs(client) + 1) / 1000));
  }

  succeeded(client: string): void {
    if (this.#known.get(client) === undefined) this.#known.set(client, true);
  }

  /** Counts a wrong credential; returns false when the client had no attempt left. */
  failed(client: string, request: { readonly method: string; readonly path: string }): boolean {
    if (this.#waitMs(client) > 0) return false;
    const from = Math.max(this.#failed.get(client) ?? 0, this.#now());
    this.#failed.set(client, from + REFILL_MS);
    this.#warn(client, request);
    return true;
  }

  #waitMs(client: string): number {
    const all = this.#failed.get(client);
    return all === undefined ? 0 : all - this.#now() - (BURST - 1) * REFILL_MS;
  }

  #warn(client: string, { method, path }: { readonly method: string; readonly path: string }): void {
    const log = this.#log;
    if (this.#now() - log.from >= MINUTE_MS) Object.assign(log, { from: this.#now(), lines: 0 });
    if (log.lines >= LOG_LINES) {
      log.left += 1;
      return;
    }
    log.lines += 1;
    const throttled = this.#waitMs(client) > 0;
    const more = log.left === 0 ? {} : { notLogged: log.left };
    this.#logger.warn({ client, method, path, throttled, ...more }, 'failed login: wrong token or key');
    log.left = 0;
  }
}
