import {
  type Config,
  ConfigError,
  checkToken,
  createLogger,
  listen,
  Metrics,
  type Running,
} from '@tidegauge/service';
import { createApp } from './app.ts';
import { measure } from './measure.ts';
import { Membership } from './membership.ts';
import { resolver } from './resolve.ts';
import type { settings } from './settings.ts';

// Rounds with timeouts are longer than the interval.
const STALE_SECONDS = 60;
const DEFAULT_PORT = 5432;
/** Time for the current round to end; probes take 6 s. */
const LAST_ROUND_MS = 8000;

/**
 * Starts HTTP at once, and rounds that continue after any failure: coordinator, workers and DNS may all become
 * available later.
 */
export async function startCitusMembership(config: Config<typeof settings>): Promise<Running> {
  const { httpListen, httpToken, metricsPort, interval } = config;
  checkToken(httpListen, httpToken, 'HTTP_TOKEN');
  const place = readCoordinator(config.coordinator);
  const logger = createLogger('citus-membership', config.logLevel);
  const membership = new Membership(
    {
      ...place,
      login: { ...place.login, password: config.password },
      workerPort: config.workerPort,
      resolve: resolver(config.workers, config.dnsServers),
      intervalSeconds: interval,
      bounds: {
        lostAfterSeconds: config.lostAfter,
        settleSeconds: config.settle,
        founders: config.founders,
      },
      rebalance: config.rebalance,
    },
    logger,
  );
  const metrics = new Metrics(config.boardName);
  measure(membership, metrics);
  const staleSeconds = STALE_SECONDS + interval;
  const app = createApp({ membership, metrics, logger, listen: httpListen, token: httpToken, staleSeconds });
  const http = await listen(app, httpListen, metricsPort, 'METRICS_PORT (--metrics-port)');
  const stopping = new AbortController();
  const rounds = membership.run(stopping.signal);
  logger.info(
    { http: http.url, coordinator: place.host, workers: config.workers },
    'citus-membership is ready',
  );
  return {
    async stop() {
      stopping.abort();
      const late = setTimeout(() => membership.cut(), LAST_ROUND_MS);
      await rounds.finally(() => clearTimeout(late));
      await http.close();
    },
  };
}

/** @throws {ConfigError} when the URL cannot be used */
export function readCoordinator(text: string) {
  const { hostname = '', port = '', username = '', password = '', pathname = '' } = URL.parse(text) ?? {};
  const [user, database] = [decode(username), decode(pathname.slice(1))];
  if (hostname === '' || user === '' || password !== '' || database === '') {
    throw new ConfigError([
      'COORDINATOR takes postgres://administrator@host:port/database; the password goes into PASSWORD_FILE',
    ]);
  }
  return {
    host: hostname,
    port: port === '' ? DEFAULT_PORT : Number(port),
    login: { user, database },
  };
}

/** Returns an empty text when a percent sign is not followed by two hexadecimal digits. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
