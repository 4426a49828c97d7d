import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestHandler, Response } from 'express';
import { clientOf } from '../clients.ts';
import { SECURITY_HEADERS } from '../guards.ts';
import { isLoopback } from '../http.ts';
import type { Logger } from '../logger.ts';
import { isSafe } from '../methods.ts';
import type { Metrics } from '../metrics.ts';
import { Problem } from '../problem.ts';
import type { SharedAccess } from '../workers/access-desk.ts';
import { digest, hasDigest, keyIdOf, stateOf } from './api-key.ts';
import { Audit, type AuditLog } from './audit.ts';
import type { Begun, ClientLimits } from './client-limits.ts';
import { credentialOf } from './credential.ts';
import { demandUnlimited } from './device-limit.ts';
import { type Attempt, Guesses } from './guesses.ts';
import type { KeyFile, LoadedKey } from './key-file.ts';
import type { Oidc } from './oidc.ts';
import {
  clientName,
  EVERYONE,
  hasScope,
  type Principal,
  READER,
  type Rule,
  type Scope,
  tokenPrincipal,
} from './principal.ts';
import { type Session, Sessions, type SharedSession } from './sessions.ts';

export interface AccessOptions {
  /** The service's own token, which may do everything; null when there is none. */
  readonly token: string | null;
  /** The variable of the token, for messages. */
  readonly variable: string;
  /** A token that may read the metrics only. */
  readonly metricsToken?: string | null;
  /** A token that may read, and do nothing else. */
  readonly readToken?: string | null;
  readonly keys?: KeyFile | null;
  /** Verifies tokens of an OpenID Connect provider. */
  readonly oidc?: Oidc | null;
  /** What one client may use. Clients on this machine without a login, and the token, have no limit. */
  readonly limits?: ClientLimits | null;
  /** Counts for all worker processes of the service. Null: this process is the only one. */
  readonly shared?: SharedAccess | null;
  /** Whether changes need a login even if there is no token and no key. */
  readonly required: boolean;
  /** The credential in the URL of a request without the header Authorization. Default: none is accepted there. */
  readonly credentialInUrl?: ((url: string) => string | null) | undefined;
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
type Refusal = 'missing' | 'wrong' | 'expired' | 'csrf' | 'unavailable';

/** A token of the provider that must be verified first. */
class Unverified {
  readonly token: string;

  constructor(token: string) {
    this.token = token;
  }
}

/** A refusal that was counted in another process. */
class Throttled {
  readonly retryAfter: number;

  constructor(retryAfter: number) {
    this.retryAfter = retryAfter;
  }
}

type Decided = Principal | Refusal | Throttled;

const SESSION_MS = 12 * 3600 * 1000;
/** When the keys of the provider cannot be read, seconds. */
const RETRY_AFTER = 10;
const REALM = 'Bearer realm="tidegauge"';

/**
 * Decides who sent a request and whether the sender may do it. This is the only place that does: the fast lane and
 * the Express app use the same object.
 */
export class Access {
  /** The visitors who have signed in on the live page. */
  readonly sessions: Sessions;
  /** Who changed what. */
  readonly audit: AuditLog;
  readonly #options: AccessOptions;
  readonly #token: Buffer | null;
  readonly #metricsToken: Buffer | null;
  readonly #readToken: Buffer | null;
  readonly #owner: Principal;
  readonly #reader = tokenPrincipal('READ_TOKEN', ['read']);
  readonly #now: () => number;
  readonly #guesses: Guesses;
  readonly #shared: SharedAccess | null;
  readonly #principals = new WeakMap<LoadedKey, Principal>();
  /**
   * The last login of each connection. A client on a connection that stays open sends the same header again, which is
   * then compared with the client's own one only.
   */
  readonly #connections = new WeakMap<Socket, { readonly header: string; readonly principal: Principal }>();
  readonly #counts = {
    missing: 0,
    wrong: 0,
    expired: 0,
    throttled: 0,
    csrf: 0,
    unavailable: 0,
    scope: 0,
    devices: 0,
    limit: 0,
  };

  constructor(options: AccessOptions) {
    const {
      token,
      metricsToken = null,
      readToken = null,
      variable,
      logger,
      metrics,
      now = Date.now,
    } = options;
    this.#options = options;
    this.#token = token === null ? null : digest(token);
    this.#metricsToken = metricsToken === null ? null : digest(metricsToken);
    this.#readToken = readToken === null ? null : digest(readToken);
    this.#owner = tokenPrincipal(variable);
    this.#now = now;
    this.#guesses = new Guesses(logger, now);
    this.#shared = options.shared ?? null;
    this.audit = this.#shared?.audit ?? new Audit(logger, now);
    this.sessions = new Sessions(options.sessionMs ?? SESSION_MS, now);
    this.#shared?.onSessions(
      (session) => this.sessions.add(session, this.#senderOf(session)),
      (key) => this.sessions.drop(key),
    );
    metrics.counter(
      'tidegauge_login_failures_total',
      'Requests that were refused for their token or key, by what was wrong with it',
      () => Object.entries(this.#counts).map(([reason, value]) => ({ labels: { reason }, value })),
      ['reason'],
    );
  }

  /** Whether changes need a login. On loopback they do as soon as there is a token or a file of keys. */
  get isRequired(): boolean {
    const { required, keys, oidc } = this.#options;
    return required || this.#token !== null || keys?.existed === true || !!oidc;
  }

  /**
   * The sender of a request, if it may do what the request is for, otherwise null. A refusal is not counted: `guard`
   * answers it. It costs a SHA-256 and a look-up.
   */
  allowed(request: IncomingMessage, rule: Rule): Principal | null {
    const found = this.#identify(request, rule.scope);
    if (!isPrincipal(found) || !hasScope(found, neededScope(rule))) return null;
    return found.devices === null || rule.limitsDevices ? found : null;
  }

  /**
   * Begins a request, before anything else of it is done, and calls `next`. When its client has used up what one client
   * may use, it is answered with 429 instead. With worker processes, another process decides.
   */
  begin(request: IncomingMessage, response: ServerResponse, next: () => void): void {
    const { limits = null } = this.#options;
    const owner = limits === null ? null : this.#ownerOf(request);
    if (owner === null) next();
    else if (this.#shared === null) {
      if (this.#begun(limits!.begin(owner), request, response)) next();
    } else {
      // It rejects when the other process has ended, and this one ends then too.
      void this.#shared.limits.begin(owner).then(
        (begun) => this.#begun(begun, request, response) && next(),
        () => response.destroy(),
      );
    }
  }

  #begun(begun: Begun | number, request: IncomingMessage, response: ServerResponse): boolean {
    if (typeof begun === 'number') {
      this.#counts.limit += 1;
      sendBusy(response, begun);
      return false;
    }
    // The client left while another process decided.
    if (response.closed) {
      begun.end(0);
      return false;
    }
    endOnClose(begun, request, response);
    return true;
  }

  /** Records a change that was made. Changes where no login is needed have no sender, and are not recorded. */
  record(principal: Principal, request: IncomingMessage, rule: Rule, status: number): void {
    if (principal.kind === 'open') return;
    const { method = '', socket } = request;
    // The query of an operation selects what it changes. Other queries can have secrets.
    const url = (request as { originalUrl?: string }).originalUrl ?? request.url!;
    const path = url.split('?', 1)[0]!;
    const { action = `${method} ${path}`, isData = false } = rule;
    const resource = rule.action === undefined ? path : url;
    this.audit.record({
      principal,
      client: clientOf(socket.remoteAddress),
      action,
      resource,
      status,
      isData,
    });
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
      if (!this.#isUndecided(found)) {
        this.#admit(found, rule, request, response);
        return next();
      }
      return this.#decide(found, request).then((decided) => {
        // The client left meanwhile. What would begin now waits for the close of its response, which was before.
        if (response.destroyed) return;
        this.#admit(decided, rule, request, response);
        next();
      });
    };
  }

  /** What the sender of a request may do, also without a login. With a session, its text for changes. */
  async describe(request: IncomingMessage): Promise<Partial<Session>> {
    const session = request.headers.authorization === undefined ? this.sessions.find(request) : null;
    if (session !== null) return session;
    const found = this.#identify(request, 'read');
    const decided = this.#isUndecided(found) ? await this.#decide(found, request) : found;
    if (decided === 'wrong' || decided instanceof Throttled) {
      const wait = this.#waitAfter(decided, request);
      this.#counts[wait === null ? 'wrong' : 'throttled'] += 1;
    }
    return isPrincipal(decided) ? { principal: decided } : {};
  }

  /** Begins a session of the live page, in all worker processes. Its cookie is for `Set-Cookie`. */
  async signIn(
    principal: Principal,
    request: IncomingMessage,
  ): Promise<{ readonly cookie: string; readonly session: Session }> {
    const begun = this.sessions.begin(principal, request);
    await this.#shared?.beginSession(begun.shared);
    return begun;
  }

  /** Ends the session of a request, in all worker processes. The result is for `Set-Cookie`. */
  async signOut(request: IncomingMessage): Promise<string> {
    const key = this.sessions.keyOf(request);
    const cookie = this.sessions.end(request);
    if (key !== null) await this.#shared?.endSession(key);
    return cookie;
  }

  /** Uses what this process has just changed in the file of keys. Other processes use it within a second or two. */
  refreshKeys(): void {
    this.#options.keys?.refresh();
  }

  close(): void {
    this.audit.flush();
    this.#options.keys?.close();
  }

  /** @throws {Problem} when the sender may not do what the request is for */
  #admit(found: Decided, rule: Rule, request: Parameters<RequestHandler>[0], response: Response): void {
    if (!isPrincipal(found)) throw this.#unknown(found, request, response);
    const scope = neededScope(rule);
    const isChange = !isSafe(request.method) && scope !== 'read';
    // Also when a handler refuses it, because of the devices.
    if (isChange) response.once('close', () => this.record(found, request, rule, response.statusCode));
    if (!hasScope(found, scope)) throw this.#lacksScope(found, scope, response);
    if (found.devices !== null && !rule.limitsDevices) {
      this.#counts.devices += 1;
      demandUnlimited({ principal: found });
    }
    response.locals.principal = found;
  }

  /** Whose limit a request counts for; null when it has none. */
  #ownerOf(request: IncomingMessage): string | null {
    const found = this.#identify(request, 'admin');
    const { remoteAddress } = request.socket;
    if (isPrincipal(found) && found.kind !== 'open')
      return found.kind === 'token' ? null : clientName(found, remoteAddress);
    const client = clientOf(remoteAddress);
    return isLoopback(client) || client === '0:0:0:0::/64' ? null : client;
  }

  /** Whether a login cannot be decided without waiting: for the provider, or for the process that counts failures. */
  #isUndecided(found: Decided | Unverified): found is Unverified | 'wrong' {
    return found instanceof Unverified || (found === 'wrong' && this.#shared !== null);
  }

  async #decide(found: Unverified | 'wrong', request: IncomingMessage): Promise<Decided> {
    const decided = found instanceof Unverified ? await this.#options.oidc!.verify(found.token) : found;
    if (decided !== 'wrong' || this.#shared === null) return decided;
    const client = clientOf(request.socket.remoteAddress);
    const wait = await this.#shared.failed(client, attemptOf(request));
    return wait === 0 ? 'wrong' : new Throttled(wait);
  }

  /** Tokens of a provider are not kept, because they are verified again from time to time. */
  #remember(principal: Principal, { headers, socket }: IncomingMessage): void {
    if (principal.kind !== 'oidc' && headers.authorization !== undefined)
      this.#connections.set(socket, { header: headers.authorization, principal });
  }

  #identify(request: IncomingMessage, scope: Rule['scope']): Principal | Refusal | Unverified {
    if (!this.isRequired) return EVERYONE;
    const { headers, socket } = request;
    const last = this.#connections.get(socket);
    if (last !== undefined && last.header === headers.authorization && last.principal.isCurrent()) {
      return last.principal;
    }
    const credential =
      headers.authorization === undefined ? this.#inUrl(request) : credentialOf(headers.authorization);
    if (credential === null) return this.#ofSession(request) ?? this.#withoutLogin(scope);
    if (scope === 'metrics' && hasDigest(credential, this.#metricsToken)) return READER;
    const found = this.#check(credential);
    if (isPrincipal(found)) this.#remember(found, request);
    return found;
  }

  #inUrl({ url }: IncomingMessage): string | null {
    return this.#options.credentialInUrl?.(url!) ?? null;
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

  #check(credential: string): Principal | Refusal | Unverified {
    const id = keyIdOf(credential);
    if (id === null) {
      if (hasDigest(credential, this.#token)) return this.#owner;
      if (hasDigest(credential, this.#readToken)) return this.#reader;
      const { oidc } = this.#options;
      if (!oidc?.isToken(credential)) return 'wrong';
      return oidc.known(credential) ?? new Unverified(credential);
    }
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

  /** Counts a wrong credential. The seconds that its client should wait; null when it had an attempt left. */
  #waitAfter(refusal: Refusal | Throttled, request: IncomingMessage): number | null {
    if (refusal instanceof Throttled) return refusal.retryAfter;
    const client = clientOf(request.socket.remoteAddress);
    // Another process has counted it.
    const isCounted = refusal !== 'wrong' || this.#shared !== null;
    const hadAttempt = isCounted || this.#guesses.failed(client, attemptOf(request));
    return hadAttempt ? null : this.#guesses.retryAfter(client);
  }

  /** The sender of a session that began in another process. */
  #senderOf({ sender }: SharedSession): Principal {
    if (sender.kind === 'token') return sender.id === this.#reader.id ? this.#reader : this.#owner;
    const isCurrent =
      sender.kind === 'key'
        ? () => {
            const loaded = this.#options.keys?.find(sender.id);
            return loaded !== undefined && stateOf(loaded.key, this.#now()) === 'valid';
          }
        : () => this.#now() < (sender.ends ?? 0);
    return { ...sender, isCurrent };
  }

  #unknown(
    refusal: Refusal | Throttled,
    request: Parameters<RequestHandler>[0],
    response: Response,
  ): Problem {
    const retryAfter = this.#waitAfter(refusal, request);
    if (retryAfter !== null) {
      this.#counts.throttled += 1;
      const detail = `The token or key is wrong, and too many wrong ones came from this address: wait ${retryAfter} s.`;
      return new Problem(429, 'Too many failed logins', detail, { retryAfter });
    }
    const kind = refusal as Refusal;
    this.#counts[kind] += 1;
    if (kind === 'csrf') {
      const detail = 'A change with the cookie of a session needs the header X-CSRF-Token with its text.';
      return new Problem(403, 'Forbidden', detail);
    }
    if (kind === 'unavailable') {
      const detail = 'The keys of the identity provider cannot be read now, so the token cannot be verified.';
      return new Problem(503, 'Identity provider unavailable', detail, { retryAfter: RETRY_AFTER });
    }
    response.setHeader('WWW-Authenticate', kind === 'missing' ? REALM : `${REALM}, error="invalid_token"`);
    return new Problem(401, 'Unauthorized', this.#reason(kind));
  }

  #reason(refusal: Refusal): string {
    const { variable, keys } = this.#options;
    if (refusal === 'expired') return 'The key or token has expired, or was revoked.';
    if (refusal === 'wrong') return 'The token or key is wrong.';
    const credential = keys ? `API key or ${variable}` : variable;
    return `This request needs the header Authorization: Bearer <${credential}>.`;
  }

  #lacksScope({ scopes }: Principal, scope: Scope, response: Response): Problem {
    this.#counts.scope += 1;
    response.setHeader('WWW-Authenticate', `${REALM}, error="insufficient_scope", scope="${scope}"`);
    const detail = `This needs a key with the scope ${scope}. The scope of this one is ${scopes.join(' and ') || 'none'}.`;
    return new Problem(403, 'Forbidden', detail);
  }
}

/** The sender of a request that `guard` has accepted. */
export function principalOf(response: ServerResponse): Principal {
  return (response as Partial<Response>).locals?.principal ?? READER;
}

/** Keeps the sender of a request that was accepted without `guard`, for `principalOf` and `senderOf`. */
export function keepPrincipal(response: ServerResponse, principal: Principal): void {
  (response as Partial<Response>).locals = { principal };
}

/** In a request with the token of the service: for whom another service sends it, as `senderOf` names the client. */
export const SENDER_HEADER = 'tidegauge-sender';

/**
 * The client of a request that was accepted, for its shares: its login, or without one its address. A service names the
 * client for whom it sends a request.
 */
export function senderOf(response: ServerResponse): string {
  const principal = principalOf(response);
  const named = principal.kind === 'token' ? response.req.headers[SENDER_HEADER] : undefined;
  return typeof named === 'string' && named !== ''
    ? named
    : clientName(principal, response.req.socket.remoteAddress);
}

function neededScope({ scope }: Rule): Scope {
  return scope === 'metrics' || scope === 'public' ? 'read' : scope;
}

function isPrincipal(found: Decided | Unverified): found is Principal {
  return typeof found !== 'string' && 'isCurrent' in found;
}

/** As the log of failed logins has it. */
function attemptOf({ method = '', url = '' }: IncomingMessage): Attempt {
  return { method, path: url.split('?', 1)[0]! };
}

function endOnClose(begun: Begun, { socket }: IncomingMessage, response: ServerResponse): void {
  const before = socket.bytesRead + socket.bytesWritten;
  response.once('close', () => begun.end(socket.bytesRead + socket.bytesWritten - before));
}

function sendBusy(response: ServerResponse, retryAfter: number): void {
  const detail = `This client sends too many requests or bytes, or has too many requests in progress: wait ${retryAfter} s.`;
  const problem = { type: 'about:blank', status: 429, title: 'Too many requests', detail };
  response
    .writeHead(429, {
      ...SECURITY_HEADERS,
      'Content-Type': 'application/problem+json; charset=utf-8',
      'Retry-After': String(retryAfter),
    })
    .end(JSON.stringify({ ...problem, instance: response.req.url }));
}
