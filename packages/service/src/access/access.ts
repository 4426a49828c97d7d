import type { IncomingMessage } from 'node:http';
import type { RequestHandler, Response } from 'express';
import { clientOf } from '../clients.ts';
import type { Logger } from '../logger.ts';
import { isSafe } from '../methods.ts';
import type { Metrics } from '../metrics.ts';
import { Problem } from '../problem.ts';
import { digest, hasDigest, keyIdOf, stateOf } from './api-key.ts';
import { credentialOf } from './credential.ts';
import { Guesses } from './guesses.ts';
import type { KeyFile, LoadedKey } from './key-file.ts';
import {
  EVERYONE,
  hasScope,
  type Principal,
  READER,
  type Rule,
  type Scope,
  tokenPrincipal,
} from './principal.ts';
import { type Session, Sessions } from './sessions.ts';

export interface AccessOptions {
  /** The service's own token, which may do everything; null when there is none. */
  readonly token: string | null;
  /** The variable of the token, for messages. */
  readonly variable: string;
  /** A token that may read the metrics only. */
  readonly metricsToken?: string | null;
  readonly keys?: KeyFile | null;
  /** Whether changes need a login even if there is no token and no key. */
  readonly required: boolean;
  /** How long a session of the live page lasts, milliseconds. Default: 12 hours. */
  readonly sessionMs?: number;
  /** Whether reads need no login. */
  readonly openReads: boolean;
  /** Whether metrics need no login, also where other reads do. */
  readonly openMetrics?: boolean;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Milliseconds; for tests. */
  readonly now?: () => number;
}

/** Why a request has no principal. */
type Refusal = 'missing' | 'wrong' | 'expired' | 'throttled' | 'csrf';

const SESSION_MS = 12 * 3600 * 1000;
const REALM = 'Bearer realm="tidegauge"';

/**
 * Decides who sent a request and whether the sender may do it. This is the only place that does: the record lane and
 * the Express app use the same object.
 */
export class Access {
  /** The visitors who have signed in on the live page. */
  readonly sessions: Sessions;
  readonly #options: AccessOptions;
  readonly #token: Buffer | null;
  readonly #metricsToken: Buffer | null;
  readonly #owner: Principal;
  readonly #now: () => number;
  readonly #guesses: Guesses;
  readonly #principals = new WeakMap<LoadedKey, Principal>();
  readonly #counts = { missing: 0, wrong: 0, expired: 0, throttled: 0, csrf: 0, scope: 0, devices: 0 };

  constructor(options: AccessOptions) {
    const { token, metricsToken = null, variable, logger, metrics, now = Date.now } = options;
    this.#options = options;
    this.#token = token === null ? null : digest(token);
    this.#metricsToken = metricsToken === null ? null : digest(metricsToken);
    this.#owner = tokenPrincipal(variable);
    this.#now = now;
    this.#guesses = new Guesses(logger, now);
    this.sessions = new Sessions(options.sessionMs ?? SESSION_MS, now);
    metrics.counter(
      'tidegauge_login_failures_total',
      'Requests that were refused for their token or key, by what was wrong with it',
      () => Object.entries(this.#counts).map(([reason, value]) => ({ labels: { reason }, value })),
      ['reason'],
    );
  }

  /** Whether changes need a login. On loopback they do as soon as there is a token or a file of keys. */
  get isRequired(): boolean {
    const { required, keys } = this.#options;
    return required || this.#token !== null || keys?.existed === true;
  }

  /**
   * Whether a request may do something with all devices. A refusal is not counted: `guard` answers it. It costs a
   * SHA-256 and a look-up.
   */
  passes(request: IncomingMessage, scope: Scope): boolean {
    const found = this.#identify(request, scope);
    return typeof found !== 'string' && found.devices === null && hasScope(found, scope);
  }

  /**
   * Refuses requests that may not do what they are for, with 401, 403 or 429, and keeps the principal of the others
   * for `principalOf`.
   */
  guard(ruleOf: (request: IncomingMessage) => Rule): RequestHandler {
    return (request, response, next) => {
      const rule = ruleOf(request);
      if (rule.scope === 'public') return next();
      const found = this.#identify(request, rule.scope);
      if (typeof found === 'string') throw this.#unknown(found, request, response);
      const scope = rule.scope === 'metrics' ? 'read' : rule.scope;
      if (!hasScope(found, scope)) throw this.#lacksScope(found, scope, response);
      if (found.devices !== null && !rule.limitsDevices) throw this.#isLimited(found.devices);
      response.locals.principal = found;
      next();
    };
  }

  /** What the sender of a request may do, also without a login. With a session, its text for changes. */
  describe(request: IncomingMessage): Partial<Session> {
    const session = request.headers.authorization === undefined ? this.sessions.find(request) : null;
    if (session !== null) return session;
    const found = this.#identify(request, 'read');
    return typeof found === 'string' ? {} : { principal: found };
  }

  close(): void {
    this.#options.keys?.close();
  }

  #identify(request: IncomingMessage, scope: Rule['scope']): Principal | Refusal {
    if (!this.isRequired) return EVERYONE;
    const credential = credentialOf(request.headers);
    if (credential === null) return this.#ofSession(request) ?? this.#withoutLogin(scope);
    const client = clientOf(request.socket.remoteAddress);
    if (this.#guesses.isThrottled(client)) return 'throttled';
    if (scope === 'metrics' && hasDigest(credential, this.#metricsToken)) return READER;
    const found = this.#check(credential);
    if (typeof found !== 'string') this.#guesses.succeeded(client);
    return found;
  }

  #ofSession(request: IncomingMessage): Principal | Refusal | null {
    if (request.headers.cookie === undefined) return null;
    const session = this.sessions.find(request);
    if (session === null) return null;
    return isSafe(request.method!) || this.sessions.isFromPage(request) ? session.principal : 'csrf';
  }

  #withoutLogin(scope: Rule['scope']): Principal | Refusal {
    const { openReads, openMetrics = false } = this.#options;
    if (scope === 'metrics' && openMetrics) return READER;
    return openReads && (scope === 'read' || scope === 'metrics') ? READER : 'missing';
  }

  #check(credential: string): Principal | Refusal {
    const id = keyIdOf(credential);
    if (id === null) return hasDigest(credential, this.#token) ? this.#owner : 'wrong';
    const loaded = this.#options.keys?.find(id);
    if (!hasDigest(credential, loaded?.sha256 ?? null)) return 'wrong';
    return stateOf(loaded!.key, this.#now()) === 'valid' ? this.#principalOf(loaded!) : 'expired';
  }

  #principalOf(loaded: LoadedKey): Principal {
    const known = this.#principals.get(loaded);
    if (known !== undefined) return known;
    const { id, scopes, devices } = loaded.key;
    const isCurrent = () => {
      const now = this.#options.keys?.find(id);
      return now?.sha256.equals(loaded.sha256) === true && stateOf(now.key, this.#now()) === 'valid';
    };
    const principal: Principal = { kind: 'key', id, scopes, devices, isCurrent };
    this.#principals.set(loaded, principal);
    return principal;
  }

  #unknown(refusal: Refusal, request: Parameters<RequestHandler>[0], response: Response): Problem {
    const client = clientOf(request.socket.remoteAddress);
    const isThrottled =
      refusal === 'throttled' || (refusal === 'wrong' && !this.#guesses.failed(client, request));
    this.#counts[isThrottled ? 'throttled' : refusal] += 1;
    if (isThrottled) {
      const retryAfter = this.#guesses.retryAfter(client);
      const detail = `Too many wrong tokens came from this address: the next one is checked in ${retryAfter} s.`;
      return new Problem(429, 'Too many failed logins', detail, { retryAfter });
    }
    if (refusal === 'csrf') {
      const detail = 'A change with the cookie of a session needs the header X-CSRF-Token with its text.';
      return new Problem(403, 'Forbidden', detail);
    }
    response.setHeader('WWW-Authenticate', refusal === 'missing' ? REALM : `${REALM}, error="invalid_token"`);
    return new Problem(401, 'Unauthorized', this.#reason(refusal));
  }

  #reason(refusal: Refusal): string {
    const { variable, keys } = this.#options;
    if (refusal === 'expired') return 'The key has expired or was revoked.';
    if (refusal === 'wrong') return 'The token or key is wrong.';
    const credential = keys ? `API key or ${variable}` : variable;
    return `This request needs the header Authorization: Bearer <${credential}>.`;
  }

  #lacksScope({ scopes }: Principal, scope: Scope, response: Response): Problem {
    this.#counts.scope += 1;
    response.setHeader('WWW-Authenticate', `${REALM}, error="insufficient_scope", scope="${scope}"`);
    const detail = `This needs a key with the scope ${scope}. The scope of this one is ${scopes.join(' and ')}.`;
    return new Problem(403, 'Forbidden', detail);
  }

  #isLimited(devices: string): Problem {
    this.#counts.devices += 1;
    const detail = `The key is limited to ${devices} and the devices below it, and this request concerns other devices too.`;
    return new Problem(403, 'Forbidden', detail);
  }
}

/** The sender of a request that `guard` has accepted. */
export function principalOf(response: Response): Principal {
  return (response.locals.principal as Principal | undefined) ?? READER;
}
