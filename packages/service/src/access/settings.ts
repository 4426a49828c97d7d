import { checkToken } from '../guards.ts';
import { isLoopback } from '../http.ts';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics.ts';
import { boolean, text } from '../program/kinds.ts';
import { type Config, defineConfig } from '../program/settings.ts';
import { Access } from './access.ts';
import { KeyFile } from './key-file.ts';

/** Settings of every service that needs a login. */
export const ACCESS_SETTINGS = defineConfig({
  openReads: {
    kind: boolean(),
    help: 'Whether reads need no login. Default: true on loopback, false where others can reach the service.',
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

/** The settings of access; those without a value can be left out. */
export interface AccessConfig extends Partial<Config<typeof ACCESS_SETTINGS>> {
  readonly httpListen: string;
  /** The service's own token. */
  readonly token: string | null;
  /** The variable of the token, for messages. */
  readonly variable: string;
  /** File of API keys. */
  readonly apiKeys?: string | null;
  /** How long a session of the live page lasts, seconds. */
  readonly sessionLifetime?: number;
}

/** The access control of a service. @throws {ConfigError} when the file of keys cannot be used */
export function openAccess(config: AccessConfig, logger: Logger, metrics: Metrics): Access {
  const { httpListen, token, variable, metricsToken = null, openMetrics = false, apiKeys = null } = config;
  const required = !isLoopback(httpListen);
  const openReads = config.openReads ?? !required;
  const keys = apiKeys === null ? null : new KeyFile(apiKeys, logger);
  const tokens = { token, variable, metricsToken, keys };
  const lifetime = config.sessionLifetime === undefined ? {} : { sessionMs: config.sessionLifetime * 1000 };
  return new Access({ ...tokens, ...lifetime, required, openReads, openMetrics, logger, metrics });
}

/**
 * Requires a login for a service that listens on other addresses than loopback.
 *
 * @throws {ConfigError} when there is none, or its token is too short
 */
export function checkAccess({ httpListen, token, variable, apiKeys = null }: AccessConfig): void {
  if (token !== null || apiKeys === null) checkToken(httpListen, token, variable);
}
