import {
  checkToken,
  createLogger,
  type HttpServer,
  type Logger,
  listen,
  Metrics,
  observeStore,
  type Running,
} from '@tidegauge/service';
import { createStore } from '@tidegauge/storage';
import { createApp } from './app.ts';
import type { ApiConfig } from './config.ts';
import { IngestClient } from './ingest-client.ts';

/** A running API; `url` is where the live page is. */
export interface RunningApi extends Running {
  readonly url: string;
}

/**
 * Opens the store, builds the app and listens.
 *
 * @throws {ConfigError | StoreError} when it cannot start; nothing is left open then
 */
export async function startApi(
  config: ApiConfig,
  logger: Logger = createLogger('api', config.logLevel),
): Promise<RunningApi> {
  checkToken(config.httpListen, config.apiToken, 'API_TOKEN');
  const metrics = new Metrics();
  const backend = config.store.slice(0, config.store.indexOf(':'));
  const store = await createStore(config.store, { logger, observe: observeStore(metrics, backend) });
  const ingest = new IngestClient({
    urls: config.ingest,
    timeoutMs: config.ingestTimeout * 1000,
    ...(config.ingestToken === null ? {} : { token: config.ingestToken }),
  });
  const app = createApp({ store, ingest, logger, metrics, config });
  let server: HttpServer | null = null;
  try {
    await store.open();
    await store.migrate();
    server = await listen(app.handler, config.httpListen, config.httpPort, '--http-port (HTTP_PORT)');
  } catch (error) {
    ingest.close();
    await store.close();
    throw error;
  }
  logger.info({ url: server.url, store: store.name, ingest: config.ingest }, 'api listens');
  return {
    url: server.url,
    async stop() {
      app.live.close();
      await server.close();
      ingest.close();
      await store.close();
    },
  };
}
