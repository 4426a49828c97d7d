import type * as Jose from 'jose';
import { isLoopback } from '../http.ts';
import type { Logger } from '../logger.ts';
import { digest } from './api-key.ts';
import { boundedFetch } from './bounded-fetch.ts';
import type { Principal, Scope } from './principal.ts';
import { Recent } from './recent.ts';

/** Accepted signature algorithms. All are asymmetric, so nobody can sign with the provider's public key. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
/** How much the clocks of the provider and of this machine may differ, seconds. Machines with NTP are closer. */
const CLOCK_TOLERANCE_S = 30;

export interface OidcOptions {
  /** The value of `iss`. */
  readonly issuer: string;
  /** Values of `aud`, of which a token must have one. */
  readonly audience: readonly string[];
  /** URL of the provider's keys; null: the one of its discovery document. */
  readonly jwks: string | null;
  /** The claim with the permissions: a text with spaces between them, or a list. Its dots can lead into objects. */
  readonly scopesClaim: string;
  /** Scopes by the permissions of the claim. */
  readonly scopes: readonly (readonly [permission: string, scope: Scope])[];
  /** The claim with the device that the sender is limited to, or `*`; null: no limit. */
  readonly devicesClaim: string | null;
}

export type OidcRefusal = 'wrong' | 'expired' | 'unavailable';

/** Tokens whose result is kept. */
const MAX_TOKENS = 1000;
/** After this time a token is verified again, because the provider may have removed its key. */
const KEEP_MS = 5 * 60_000;
/** How long the keys of the provider are used without reading them again, and the shortest time between two reads. */
const KEYS_MS = 60 * 60_000;
const COOLDOWN_MS = 30_000;
const RETRY_MS = 10_000;
const MAX_SUBJECT = 200;
const DEVICE = /^[^/\s]+(?:\/[^/\s]+)*$/;

type KeySet = ReturnType<typeof Jose.createRemoteJWKSet>;

interface Verifier {
  readonly jose: typeof Jose;
  readonly keys: KeySet;
}

/**
 * Verifies the access tokens of an OpenID Connect provider: JWT (RFC 7519) signed with one of the provider's keys
 * (RFC 7517), with the issuer, the audience and the times of RFC 9068. The library `jose` verifies them. It is loaded
 * with the first token. Results are kept, so that a token costs one verification in five minutes.
 */
export class Oidc {
  readonly #options: OidcOptions;
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #known = new Recent<{ readonly principal: Principal; readonly until: number }>(MAX_TOKENS);
  #verifier: Promise<Verifier> | null = null;
  #failedAt = Number.NEGATIVE_INFINITY;
  #complainedAt = Number.NEGATIVE_INFINITY;

  constructor(options: OidcOptions, logger: Logger, now: () => number = Date.now) {
    this.#options = options;
    this.#logger = logger;
    this.#now = now;
  }

  /** Whether a credential has the form of a JWT. */
  isToken(credential: string): boolean {
    return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(credential);
  }

  /** The sender of a token that was verified before; null when it must be verified. */
  known(token: string): Principal | null {
    const found = this.#known.get(keyOf(token));
    return found !== undefined && this.#now() < found.until ? found.principal : null;
  }

  /** Verifies a token. It never rejects. `unavailable`: the keys of the provider cannot be read. */
  async verify(token: string): Promise<Principal | OidcRefusal> {
    let verifier: Verifier;
    try {
      verifier = await this.#ready();
    } catch (error) {
      return this.#unavailable(error);
    }
    const { issuer, audience } = this.#options;
    try {
      const { payload } = await verifier.jose.jwtVerify(token, verifier.keys, {
        issuer,
        audience: [...audience],
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_S,
        requiredClaims: ['exp', 'sub'],
        currentDate: new Date(this.#now()),
      });
      return this.#principalOf(token, payload);
    } catch (error) {
      const { errors } = verifier.jose;
      if (error instanceof errors.JWTExpired) return 'expired';
      if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid)
        return this.#unavailable(error);
      // Other errors with this code are about the answer of the provider.
      if (error instanceof errors.JOSEError && error.code !== 'ERR_JOSE_GENERIC') return 'wrong';
      return this.#unavailable(error);
    }
  }

  #principalOf(token: string, payload: Jose.JWTPayload): Principal | OidcRefusal {
    const { scopesClaim, scopes, devicesClaim } = this.#options;
    // `jose` compares claims, and does not check all their types. JSON can have an infinite `exp` (1e999).
    const { sub: subject, aud, azp = '', exp } = payload;
    const permissions = textsOf(claimOf(payload, scopesClaim) ?? '');
    if (!isSubject(subject) || typeof azp !== 'string' || !Number.isFinite(exp)) return 'wrong';
    if (textsOf(aud) === null || permissions === null) return 'wrong';
    const found = scopes.filter(([permission]) => permissions.includes(permission)).map(([, scope]) => scope);
    const devices = devicesClaim === null ? '*' : claimOf(payload, devicesClaim);
    // A token without the claim would have all devices.
    if (typeof devices !== 'string' || (devices !== '*' && !DEVICE.test(devices))) return 'wrong';
    const ends = (exp! + CLOCK_TOLERANCE_S) * 1000;
    const principal: Principal = {
      kind: 'oidc',
      id: subject,
      scopes: [...new Set(found)],
      devices: devices === '*' ? null : devices,
      ends,
      isCurrent: () => this.#now() < ends,
    };
    this.#known.set(keyOf(token), { principal, until: Math.min(ends, this.#now() + KEEP_MS) });
    return principal;
  }

  #ready(): Promise<Verifier> {
    if (this.#verifier !== null) return this.#verifier;
    if (this.#now() - this.#failedAt < RETRY_MS)
      return Promise.reject(new Error('the provider failed just now'));
    const opening = this.#open();
    this.#verifier = opening;
    opening.catch(() => {
      this.#verifier = null;
      this.#failedAt = this.#now();
    });
    return opening;
  }

  async #open(): Promise<Verifier> {
    const jose = await import('jose');
    const url = new URL(this.#options.jwks ?? (await this.#discover()));
    const keys = jose.createRemoteJWKSet(url, {
      cacheMaxAge: KEYS_MS,
      cooldownDuration: COOLDOWN_MS,
      [jose.customFetch]: (target: string, init: RequestInit) => boundedFetch(target, init),
    });
    return { jose, keys };
  }

  /** The URL of the keys, from the discovery document (OpenID Connect Discovery 1.0, section 4). */
  async #discover(): Promise<string> {
    const { issuer } = this.#options;
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const response = await boundedFetch(url);
    if (!response.ok) throw new Error(`${url} answered ${response.status}`);
    const document = (await response.json()) as { readonly issuer?: unknown; readonly jwks_uri?: unknown };
    if (document.issuer !== issuer)
      throw new Error(`${url} is of the issuer ${JSON.stringify(document.issuer)}`);
    if (typeof document.jwks_uri !== 'string' || !isSafeUrl(document.jwks_uri)) {
      throw new Error(`${url} has no https URL of keys (jwks_uri)`);
    }
    return document.jwks_uri;
  }

  #unavailable(error: unknown): 'unavailable' {
    if (this.#now() - this.#complainedAt >= RETRY_MS) {
      this.#complainedAt = this.#now();
      const { message, cause } = error as Error;
      const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
      this.#logger.error(
        { issuer: this.#options.issuer, reason },
        'the keys of the OIDC provider cannot be read',
      );
    }
    return 'unavailable';
  }
}

/** Keys decide who may do what, so they are read over TLS, except on this machine. */
export function isSafeUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null) return false;
  return (
    url.protocol === 'https:' ||
    (url.protocol === 'http:' && isLoopback(url.hostname.replace(/^\[|\]$/g, '')))
  );
}

/** A claim by its name, or else by a path with dots: `realm_access.roles`. */
function claimOf(payload: Jose.JWTPayload, name: string): unknown {
  if (Object.hasOwn(payload, name)) return payload[name];
  return name.split('.').reduce<unknown>((node, key) => {
    const isObject = typeof node === 'object' && node !== null && Object.hasOwn(node, key);
    return isObject ? (node as Readonly<Record<string, unknown>>)[key] : undefined;
  }, payload);
}

function isSubject(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_SUBJECT && !/\p{Cc}/u.test(value);
}

/** The texts of a claim that is a text with spaces between them, or a list; null for any other value. */
function textsOf(value: unknown): readonly string[] | null {
  if (typeof value === 'string') return value.split(' ');
  return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : null;
}

function keyOf(token: string): string {
  return digest(token).toString('base64');
}
