import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { originHost } from '../guards.ts';
import { digest, hasDigest } from './api-key.ts';
import type { Principal } from './principal.ts';

export const MAX_SESSIONS = 1000;
const MAX_OWN = 20;
/** 256 bits. */
const RANDOM_BYTES = 32;

/** What a visitor who has signed in has. */
export interface Session {
  readonly principal: Principal;
  /** Sent by the page with each change, as `X-CSRF-Token`. Pages of other sites cannot read it. */
  readonly csrf: string;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

/** A session for other processes. */
export interface SharedSession {
  /** The digest of the cookie. */
  readonly key: string;
  readonly csrf: string;
  readonly expires: number;
  readonly sender: Pick<Principal, 'kind' | 'id' | 'scopes' | 'devices' | 'ends'>;
}

interface Stored extends Session {
  readonly csrfDigest: Buffer;
}

/**
 * The visitors who have signed in on the live page. Their cookie is a random text, and the rest stays here, so that a
 * session ends with its key, with the process, and at the latest after its lifetime. One key has at most 20 sessions;
 * then its oldest one ends.
 */
export class Sessions {
  readonly #lifetimeMs: number;
  readonly #now: () => number;
  /** By the digest of the cookie, the oldest first. A look-up by a digest takes a time that is independent of the cookie. */
  readonly #sessions = new Map<string, Stored>();

  constructor(lifetimeMs: number, now: () => number = Date.now) {
    this.#lifetimeMs = lifetimeMs;
    this.#now = now;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Begins a session. Its cookie is for `Set-Cookie`. */
  begin(
    principal: Principal,
    request: IncomingMessage,
  ): { readonly cookie: string; readonly session: Session; readonly shared: SharedSession } {
    this.#makeRoom(principal);
    const id = randomBytes(RANDOM_BYTES).toString('base64url');
    const csrf = randomBytes(RANDOM_BYTES).toString('base64url');
    const expires = this.#now() + this.#lifetimeMs;
    const session = { principal, csrf, expires, csrfDigest: digest(csrf) };
    const key = keyOf(id);
    this.#sessions.set(key, session);
    const age = Math.floor(this.#lifetimeMs / 1000);
    const { kind, id: sender, scopes, devices, ends } = principal;
    return {
      cookie: `${nameOf(request)}=${id}; Max-Age=${age}; ${attributesOf(request)}`,
      session,
      shared: {
        ...{ key, csrf, expires },
        sender: { kind, id: sender, scopes, devices, ...(ends === undefined ? {} : { ends }) },
      },
    };
  }

  /** Adds a session that began in another process. */
  add({ key, csrf, expires }: SharedSession, principal: Principal): void {
    this.#makeRoom(principal);
    this.#sessions.set(key, { principal, csrf, expires, csrfDigest: digest(csrf) });
  }

  /** Ends a session that ended in another process. */
  drop(key: string): void {
    this.#sessions.delete(key);
  }

  /** The digest of the cookie of a request, which other processes know the session by. */
  keyOf(request: IncomingMessage): string | null {
    const id = cookieOf(request);
    return id === null ? null : keyOf(id);
  }

  /**
   * The session of a request, or null. A request of another site or of another host of this site has none, even if the
   * browser sends the cookie.
   */
  find(request: IncomingMessage): Session | null {
    return this.#find(request);
  }

  /** Whether a request that changes something is from the page: it has the text that only the page can read. */
  isFromPage(request: IncomingMessage): boolean {
    const given = request.headers['x-csrf-token'];
    const session = this.#find(request);
    return session !== null && typeof given === 'string' && hasDigest(given, session.csrfDigest);
  }

  /** Ends the session of a request. The result is for `Set-Cookie`, and removes the cookie. */
  end(request: IncomingMessage): string {
    const key = this.keyOf(request);
    if (key !== null) this.#sessions.delete(key);
    return `${nameOf(request)}=; Max-Age=0; ${attributesOf(request)}`;
  }

  #find(request: IncomingMessage): Stored | null {
    if (!isOwnPage(request)) return null;
    const id = cookieOf(request);
    if (id === null) return null;
    const key = keyOf(id);
    const session = this.#sessions.get(key);
    if (session === undefined) return null;
    if (this.#isOver(session)) {
      this.#sessions.delete(key);
      return null;
    }
    return session;
  }

  #isOver({ expires, principal }: Session): boolean {
    return expires <= this.#now() || !principal.isCurrent();
  }

  /** Ends sessions that are over, then the oldest one of the key with too many, or with the most of a full store. */
  #makeRoom({ kind, id }: Principal): void {
    const owners = new Map<string, string[]>();
    for (const [key, session] of this.#sessions) {
      if (this.#isOver(session)) {
        this.#sessions.delete(key);
        continue;
      }
      const owner = `${session.principal.kind} ${session.principal.id}`;
      const own = owners.get(owner);
      if (own === undefined) owners.set(owner, [key]);
      else own.push(key);
    }
    const own = owners.get(`${kind} ${id}`) ?? [];
    if (own.length >= MAX_OWN) this.#sessions.delete(own[0]!);
    else if (this.#sessions.size >= MAX_SESSIONS) {
      const [most] = [...owners.values()].sort((a, b) => b.length - a.length);
      this.#sessions.delete(most![0]!);
    }
  }
}

function keyOf(id: string): string {
  return digest(id).toString('base64');
}

function isEncrypted({ socket }: IncomingMessage): boolean {
  return (socket as TLSSocket).encrypted === true;
}

/** Browsers accept a `__Host-` cookie over TLS only, and from this host only. */
function nameOf(request: IncomingMessage): string {
  return isEncrypted(request) ? '__Host-tidegauge' : 'tidegauge';
}

function attributesOf(request: IncomingMessage): string {
  return `Path=/; HttpOnly; SameSite=Strict${isEncrypted(request) ? '; Secure' : ''}`;
}

function cookieOf(request: IncomingMessage): string | null {
  const { cookie } = request.headers;
  if (cookie === undefined) return null;
  const begin = `${nameOf(request)}=`;
  for (const each of cookie.split(';')) {
    const pair = each.trim();
    if (pair.startsWith(begin)) return pair.slice(begin.length);
  }
  return null;
}

/** Browsers send Sec-Fetch-Site with requests to TLS and loopback. `none` is an address that the visitor entered. */
function isOwnPage({ headers }: IncomingMessage): boolean {
  const { origin, host, 'sec-fetch-site': site } = headers;
  if (origin !== undefined && originHost(origin) !== host) return false;
  return site === undefined || site === 'same-origin' || site === 'none';
}
