import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { clientOf } from './clients.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import { Problem } from './problem.ts';

/** Wrong tokens that a client may send in a row, and the time after which it may send one more. */
const BURST = 10;
const REFILL_MS = 6000;
/** Clients that are remembered; then the least recently used one is removed. */
const MAX_CLIENTS = 10_000;
/** Log lines about failed logins per minute; the next minute's line has the number of omitted ones. */
const LOG_LINES = 30;
const MINUTE_MS = 60_000;

export interface LoginOptions {
  /** With null, no login is needed. */
  readonly token: string | null;
  /** The variable of the token, for messages. */
  readonly variable: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Milliseconds; for tests. */
  readonly now?: () => number;
}

type Outcome = 'ok' | 'missing' | 'wrong' | 'throttled';

/**
 * Checks bearer tokens (RFC 6750) of requests that change something. Failed logins are logged, counted, and throttled
 * per client address. The token of a throttled client is not checked, unless that client has logged in before: behind
 * a router or a Swarm's ingress network many clients share one address, and one of them must not lock out the others.
 */
export class Logins {
  readonly #options: LoginOptions;
  readonly #expected: Buffer | null;
  readonly #now: () => number;
  readonly #known = new Recent<true>();
  /** The time at which a client has all its attempts again. */
  readonly #failed = new Recent<number>();
  readonly #counts = { missing: 0, wrong: 0, throttled: 0 };
  readonly #log = { from: 0, lines: 0, left: 0 };

  constructor(options: LoginOptions) {
    this.#options = options;
    this.#expected = options.token === null ? null : digest(options.token);
    this.#now = options.now ?? Date.now;
    options.metrics.counter(
      'tidegauge_login_failures_total',
      'Requests that were refused for their token, by what was wrong with it',
      () => Object.entries(this.#counts).map(([reason, value]) => ({ labels: { reason }, value })),
      ['reason'],
    );
  }

  /** Whether a request has the token. A failure is not counted: `guard` refuses the request. */
  passes(request: IncomingMessage): boolean {
    return this.#outcome(request) === 'ok';
  }

  /** Refuses requests without the token when their method changes something. */
  readonly guard: RequestHandler = (request, response, next) => {
    if (isSafe(request.method)) return next();
    const outcome = this.#outcome(request);
    if (outcome === 'ok') return next();
    const client = clientOf(request.socket.remoteAddress);
    this.#counts[outcome] += 1;
    if (outcome === 'wrong') {
      const from = Math.max(this.#failed.get(client) ?? 0, this.#now());
      this.#failed.set(client, from + REFILL_MS);
      this.#warn(client, request);
    }
    if (outcome === 'throttled') {
      const retryAfter = Math.max(1, Math.ceil((this.#wait(client) + 1) / 1000));
      const detail = `Too many wrong tokens came from this address: the next one is checked in ${retryAfter} s.`;
      throw new Problem(429, 'Too many failed logins', detail, { retryAfter });
    }
    response.setHeader('WWW-Authenticate', 'Bearer realm="tidegauge"');
    const { variable } = this.#options;
    const detail =
      outcome === 'missing'
        ? `This request needs the header Authorization: Bearer <${variable}>.`
        : 'The token is wrong.';
    throw new Problem(401, 'Unauthorized', detail);
  };

  #outcome({ headers, socket }: IncomingMessage): Outcome {
    if (this.#expected === null) return 'ok';
    const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
    if (given === undefined) return 'missing';
    const client = clientOf(socket.remoteAddress);
    const throttled = this.#wait(client) > 0;
    if (throttled && this.#known.get(client) === undefined) return 'throttled';
    if (timingSafeEqual(digest(given), this.#expected)) {
      this.#known.set(client, true);
      return 'ok';
    }
    return throttled ? 'throttled' : 'wrong';
  }

  /** Milliseconds until a client may try again; 0 or less means now. */
  #wait(client: string): number {
    const all = this.#failed.get(client);
    return all === undefined ? 0 : all - this.#now() - (BURST - 1) * REFILL_MS;
  }

  #warn(client: string, { method, path }: { method: string; path: string }): void {
    const log = this.#log;
    if (this.#now() - log.from >= MINUTE_MS) Object.assign(log, { from: this.#now(), lines: 0 });
    if (log.lines >= LOG_LINES) {
      log.left += 1;
      return;
    }
    log.lines += 1;
    const { logger, variable } = this.#options;
    const throttled = this.#wait(client) > 0;
    const more = log.left === 0 ? {} : { notLogged: log.left };
    logger.warn({ client, method, path, variable, throttled, ...more }, 'failed login: wrong token');
    log.left = 0;
  }
}

/** Methods that change nothing. */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

/** A hash, because the timing-safe comparison needs equal lengths. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** A map of bounded size that removes the entry that was set least recently. */
class Recent<T> {
  readonly #map = new Map<string, T>();

  get(key: string): T | undefined {
    return this.#map.get(key);
  }

  set(key: string, value: T): void {
    if (this.#map.size >= MAX_CLIENTS && !this.#map.has(key))
      this.#map.delete(this.#map.keys().next().value!);
    this.#map.delete(key);
    this.#map.set(key, value);
  }
}
