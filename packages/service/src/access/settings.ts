import { checkToken } from '../guards.ts';
import { isLoopback } from '../http.ts';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics.ts';
import { ConfigError } from '../program/config-error.ts';
import { assignment, boolean, bytes, integer, type Kind, list, text, url } from '../program/kinds.ts';
import { loadConfig } from '../program/load-config.ts';
import { type Config, type Gone, inGroup } from '../program/settings.ts';
import type { SharedAccess } from '../workers/access-desk.ts';
import { Access, type AccessOptions } from './access.ts';
import { ClientLimits } from './client-limits.ts';
import { KeyFile } from './key-file.ts';
import { isSafeUrl, Oidc } from './oidc.ts';
import { SCOPES, type Scope } from './principal.ts';

/** Settings of every service that needs a login. */
export const ACCESS_SETTINGS = inGroup('Access', {
  apiKeys: {
    kind: text('a file name'),
    help: 'File of API keys, which tidegauge keys makes. A changed file is used within a second.',
  },
  openReads: {
    kind: boolean(),
    help: 'Whether reads need no login. Default: true on loopback only.',
  },
  openMetrics: {
    kind: boolean(),
    default: 'false',
    help: 'Whether /metrics needs no login, also where other reads do.',
  },
  metricsToken: {
    kind: text('a text of at least 16 characters'),
    secret: true,
    help: 'Bearer token that may read /metrics and nothing else, for Prometheus.',
  },
});

/** An origin (RFC 6454), as browsers send it. */
const origin: Kind<string> = {
  takes: 'an origin such as https://app.example.org',
  placeholder: 'ORIGIN',
  parse(value) {
    const found = URL.parse(value)?.origin;
    if (found === undefined || found === 'null' || found !== value.replace(/\/$/, '').toLowerCase()) {
      throw new Error('it is not a scheme, a host and possibly a port');
    }
    return found;
  },
};

const permission = assignment('a permission and a scope, such as tidegauge:read=read');

/** `permission=scope` */
const permissionScope: Kind<readonly [permission: string, scope: Scope]> = {
  takes: permission.takes,
  placeholder: 'PERMISSION=SCOPE',
  parse(value) {
    const [name, given] = permission.parse(value);
    const scope = SCOPES.find((each) => each === given);
    if (scope === undefined) throw new Error(`its scope is not one of ${SCOPES.join(', ')}`);
    return [name, scope];
  },
};

/** Login with access tokens of an OpenID Connect provider. */
export const OIDC_SETTINGS = inGroup('OpenID Connect', {
  oidcIssuer: {
    kind: url('https', 'http'),
    help: 'Issuer of an OpenID Connect provider whose access tokens are accepted. Needs OIDC_AUDIENCE.',
  },
  oidcAudience: {
    kind: list(text('a text')),
    help: 'Audiences of which a token must have one: the name of this API at the provider.',
  },
  oidcJwks: {
    kind: url('https', 'http'),
    help: "URL of the provider's keys. Default: the one of its discovery document.",
  },
  oidcScopesClaim: {
    kind: text('the name of a claim'),
    default: 'scope',
    help: 'Claim with the permissions. Dots lead into objects: realm_access.roles.',
  },
  oidcScopes: {
    kind: list(permissionScope),
    default: 'tidegauge:read=read,tidegauge:write=write,tidegauge:admin=admin',
    help: 'The scope that each permission of the claim gives.',
  },
  oidcDevicesClaim: {
    kind: text('the name of a claim'),
    help: 'Claim with the device that a token is limited to, or * for all. Tokens need it then.',
  },
});

/** Settings of earlier versions. */
export const OIDC_GONE: Gone = {
  oidcAlgorithms: 'every asymmetric algorithm of a key of the provider is accepted',
  oidcClockTolerance: 'clocks may differ by 30s',
};

/** What one client may use. */
export const LIMIT_SETTINGS = inGroup('Limits of a client', {
  clientRate: {
    kind: integer(0, 1_000_000),
    default: '1000',
    help: 'Requests per second of a key, or of an address without a login. 0: no limit.',
  },
  clientRequests: {
    kind: integer(0, 65_536),
    default: '256',
    help: 'Requests in progress of one client, live streams included. 0: no limit.',
  },
  clientBytes: {
    kind: bytes(0, 2 ** 40),
    default: '32MiB',
    help: 'Bytes per second that one client sends and receives. 0: no limit.',
  },
});

/** Which names and which pages of other sites a service answers. */
export const ORIGIN_SETTINGS = inGroup('Access', {
  allowedHosts: {
    kind: list(text('a host name')),
    help: 'Further names in the Host header that are answered. *: every name.',
  },
  corsOrigins: {
    kind: list(origin),
    help: 'Sites whose pages may use the service with a key.',
  },
});

/** The settings of access; those without a value can be left out. */
export interface AccessConfig
  extends Partial<Config<typeof ACCESS_SETTINGS>>,
    Partial<Config<typeof OIDC_SETTINGS>>,
    Partial<Config<typeof LIMIT_SETTINGS>> {
  readonly httpListen: string;
  /** The service's own token. */
  readonly token: string | null;
  /** The variable of the token, for messages. */
  readonly variable: string;
  /** A token that may read, and do nothing else. */
  readonly readToken?: string | null;
  readonly credentialInUrl?: AccessOptions['credentialInUrl'];
  /** How long a session of the live page lasts, seconds. */
  readonly sessionLifetime?: number;
}

/**
 * The access control of a service.
 *
 * @param shared what its worker processes share; null when this process is the only one
 * @throws {ConfigError} when the file of keys cannot be used
 */
export function openAccess(
  config: AccessConfig,
  logger: Logger,
  metrics: Metrics,
  shared: SharedAccess | null = null,
): Access {
  const { httpListen, token, variable, openMetrics = false, apiKeys = null } = config;
  const { metricsToken = null, readToken = null, credentialInUrl } = config;
  const required = !isLoopback(httpListen);
  const openReads = config.openReads ?? !required;
  const keys = apiKeys === null ? null : new KeyFile(apiKeys, logger);
  const limits = limitsOf(config);
  const tokens = { token, variable, metricsToken, readToken, keys, oidc: oidcOf(config, logger), limits };
  const lifetime = config.sessionLifetime === undefined ? {} : { sessionMs: config.sessionLifetime * 1000 };
  return new Access({
    ...tokens,
    ...lifetime,
    credentialInUrl,
    required,
    openReads,
    openMetrics,
    shared,
    logger,
    metrics,
  });
}

/**
 * Requires a login for a service that listens on other addresses than loopback.
 *
 * @throws {ConfigError} when there is none, or its token is too short
 */
export function checkAccess({
  httpListen,
  token,
  variable,
  apiKeys = null,
  oidcIssuer = null,
}: AccessConfig): void {
  if (token !== null || (apiKeys === null && oidcIssuer === null)) checkToken(httpListen, token, variable);
}

/** What one client may use; null when nothing has a limit. */
export function limitsOf({
  clientRate = 0,
  clientRequests = 0,
  clientBytes = 0,
}: Partial<Config<typeof LIMIT_SETTINGS>>): ClientLimits | null {
  const limits = new ClientLimits({
    rate: clientRate,
    concurrent: clientRequests,
    bytesPerSecond: clientBytes,
  });
  return limits.isOff ? null : limits;
}

/** @throws {ConfigError} when the settings of the provider do not belong together */
function oidcOf(config: AccessConfig, logger: Logger): Oidc | null {
  const { oidcIssuer: issuer = null, oidcAudience: audience = null, oidcJwks: jwks = null } = config;
  if (issuer === null) {
    if (audience === null && jwks === null) return null;
    throw new ConfigError(['OIDC_AUDIENCE or OIDC_JWKS is set without OIDC_ISSUER: set the issuer too']);
  }
  if (audience === null) {
    throw new ConfigError([
      'OIDC_ISSUER is set without OIDC_AUDIENCE: tokens that the provider issued for other programs would be accepted',
    ]);
  }
  for (const [variable, value] of Object.entries({ OIDC_ISSUER: issuer, OIDC_JWKS: jwks })) {
    if (value === null || isSafeUrl(value)) continue;
    throw new ConfigError([`${variable} is not https: its keys decide who may do what, so they need TLS`]);
  }
  const defaults = loadConfig(OIDC_SETTINGS, [], {});
  const { oidcScopesClaim, oidcScopes } = { ...defaults, ...config };
  return new Oidc(
    {
      issuer,
      audience,
      jwks,
      scopesClaim: oidcScopesClaim,
      scopes: oidcScopes,
      devicesClaim: config.oidcDevicesClaim ?? null,
    },
    logger,
  );
}
