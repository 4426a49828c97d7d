import type { RequestListener } from 'node:http';
import {
  checkAccess,
  createLogger,
  Hosts,
  type HttpServer,
  type Logger,
  listen,
  Metrics,
  observeCertificate,
  observeStore,
  type Running,
  tlsFiles,
} from '@tidegauge/service';
import { createStore } from '@tidegauge/storage';
import { createApp } from './app.ts';
import type { ApiConfig } from './config.ts';
import { IngestClient } from './ingest-client.ts';

const LOOPBACK = '127.0.0.1';

/** A running API. `url` is the address of the live page. */
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
  checkAccess({ ...config, token: config.apiToken, variable: 'API_TOKEN' });
  const files = tlsFiles(config.httpTlsCert, config.httpTlsKey);
  const tls = files === null ? null : { files, logger };
  const metrics = new Metrics(config.boardName);
  if (files !== null) observeCertificate(metrics, files);
  const backend = config.store.slice(0, config.store.indexOf(':'));
  const store = await createStore(config.store, { logger, observe: observeStore(metrics, backend) });
  const ingest = new IngestClient({
    urls: config.ingest,
    timeoutMs: config.ingestTimeout * 1000,
    ...(config.ingestToken === null ? {} : { token: config.ingestToken }),
  });
  const app = createApp({ store, ingest, logger, metrics, config });
  const limits = { connections: config.maxConnections, perClient: config.maxClientConnections };
  const servers: HttpServer[] = [];
  try {
    await store.open();
    await store.migrate();
    servers.push(
      await listen(app.handler, config.httpListen, config.httpPort, '--http-port (HTTP_PORT)', tls, limits),
    );
    if (config.httpPlainPort !== null) {
      const setting = '--http-plain-port (HTTP_PLAIN_PORT)';
      servers.push(await listen(local(app.handler), LOOPBACK, config.httpPlainPort, setting));
    }
  } catch (error) {
    app.close();
    await Promise.all(servers.map((server) => server.close(0)));
    ingest.close();
    await store.close();
    throw error;
  }
  const [{ url }] = servers as [HttpServer];
  logger.info({ url, store: store.name, ingest: config.ingest }, 'api listens');
  return {
    url,
    async stop() {
      app.close();
      await Promise.all(servers.map((server) => server.close()));
      ingest.close();
      await store.close();
    },
  };
}

/** The app for clients on this machine. A foreign name in Host is refused: a web page may send it (DNS rebinding). */
function local(app: RequestListener): RequestListener {
  const hosts = new Hosts(LOOPBACK, []);
  return (request, response) => {
    if (hosts.isServed(request.headers.host ?? '')) app(request, response);
    else response.writeHead(421, { Connection: 'close' }).end();
  };
}
