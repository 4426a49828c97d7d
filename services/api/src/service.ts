import type { RequestListener } from 'node:http';
import {
  AccessDesk,
  type Channel,
  ConnectionDesk,
  channelToParent,
  checkAccess,
  createLogger,
  Hosts,
  type HttpServer,
  type Logger,
  limitsOf,
  listen,
  Metrics,
  MetricsDesk,
  observeCertificate,
  observeStore,
  type Running,
  releaseParent,
  SharedAccess,
  Supervisor,
  sharedConnections,
  shareMetrics,
  tlsFiles,
} from '@tidegauge/service';
import { openStore, STORE_ERROR_CODES } from '@tidegauge/storage';
import { type App, createApp } from './app.ts';
import type { ApiConfig } from './config.ts';
import { IngestClient } from './ingest-client.ts';
import { LiveDesk, sharedLive } from './live-desk.ts';
import { answersBeforeStore, openWhenItAnswers } from './starting.ts';

const LOOPBACK = '127.0.0.1';
/** For a call to an ingest process. */
const INGEST_TIMEOUT_MS = 10_000;

/** A running API. `url` is the address of the live page. */
export interface RunningApi extends Running {
  readonly url: string;
}

/**
 * Starts the API: in this process, or in several worker processes.
 *
 * @throws {ConfigError | StoreError} when it cannot start; nothing is left open then
 */
export async function startApi(
  config: ApiConfig,
  logger: Logger = createLogger('api', config.logLevel),
): Promise<RunningApi> {
  checkAccess({ ...config, token: config.apiToken, variable: 'API_TOKEN' });
  const channel = channelToParent();
  if (channel === null) return config.apiWorkers > 1 ? startWorkers(config, logger) : serve(config, logger);
  try {
    const running = await serve(config, logger, channel);
    return { ...running, stop: () => running.stop().finally(releaseParent) };
  } catch (error) {
    releaseParent();
    throw error;
  }
}

/** Starts workers, and shares what they have in common. This process answers no requests. */
async function startWorkers(config: ApiConfig, logger: Logger): Promise<RunningApi> {
  const metrics = new Metrics(config.boardName);
  const ingest = ingestOf(config);
  const access = new AccessDesk(limitsOf(config), logger);
  const live = new LiveDesk(ingest, logger, config.liveClients);
  const pages = new MetricsDesk(metrics);
  const connections = new ConnectionDesk({
    connections: config.maxConnections,
    perClient: config.maxClientConnections,
  });
  const desks = [access, live, pages, connections];
  const supervisor = new Supervisor({ workers: config.apiWorkers, desks, logger, metrics });
  const close = () => {
    live.close();
    pages.close();
    access.close();
    ingest.close();
  };
  try {
    const url = await supervisor.start();
    logger.info({ url, workers: config.apiWorkers }, 'api workers listen');
    return {
      url,
      async stop() {
        await supervisor.stop();
        close();
      },
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** Opens the store, builds the app and listens. Until the store answers, requests are refused with 503. */
async function serve(config: ApiConfig, logger: Logger, channel: Channel | null = null): Promise<RunningApi> {
  const files = tlsFiles(config.httpTlsCert, config.httpTlsKey);
  const tls = files === null ? null : { files, logger };
  const metrics = new Metrics(config.boardName);
  if (files !== null) observeCertificate(metrics, files);
  const backend = config.store.slice(0, config.store.indexOf(':'));
  const observe = observeStore(metrics, backend, Object.keys(STORE_ERROR_CODES));
  const ending = new AbortController();
  const ingest = ingestOf(config);
  if (channel !== null) shareMetrics(metrics, channel);
  const shared = channel === null ? null : new SharedAccess(channel);
  const live = { shared: channel === null ? null : sharedLive(channel) };
  const sharedSockets = channel === null ? null : sharedConnections(channel);
  const limits = { connections: config.maxConnections, perClient: config.maxClientConnections };
  const servers: HttpServer[] = [];
  let app: App | null = null;
  let close = async () => {};
  const late = Promise.withResolvers<void>();
  const open = () => openStore(config.store, { logger, observe });
  const serving = openWhenItAnswers(open, logger, late.resolve, ending.signal).then(async (store) => {
    close = () => store.close();
    if (ending.signal.aborted) await close();
    else app = createApp({ store, ingest, logger, metrics, config, live, shared });
  });
  const waiting = answersBeforeStore();
  const handler: RequestListener = (request, response) => (app?.handler ?? waiting)(request, response);
  const stop = async (graceMs?: number) => {
    ending.abort(new Error('the API ends'));
    app?.close();
    await Promise.all(servers.map((server) => server.close(graceMs)));
    ingest.close();
    await close();
  };
  try {
    await Promise.race([serving, late.promise]);
    servers.push(
      await listen(
        handler,
        config.httpListen,
        config.httpPort,
        '--http-port (HTTP_PORT)',
        tls,
        limits,
        sharedSockets,
      ),
    );
    if (config.httpPlainPort !== null) {
      const setting = '--http-plain-port (HTTP_PLAIN_PORT)';
      servers.push(await listen(local(handler), LOOPBACK, config.httpPlainPort, setting));
    }
  } catch (error) {
    await stop(0);
    throw error;
  }
  const [{ url }] = servers as [HttpServer];
  logger.info({ url, store: backend, ingest: config.ingest }, 'api listens');
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  serving.catch((error) => ending.signal.aborted || failed.reject(error));
  return { url, failed: failed.promise, stop: () => stop() };
}

function ingestOf({ ingest, ingestToken }: ApiConfig): IngestClient {
  return new IngestClient({
    urls: ingest,
    timeoutMs: INGEST_TIMEOUT_MS,
    ...(ingestToken === null ? {} : { token: ingestToken }),
  });
}

/** The app for clients on this machine. A foreign name in Host is refused: a web page may send it (DNS rebinding). */
function local(app: RequestListener): RequestListener {
  const hosts = new Hosts(LOOPBACK, []);
  return (request, response) => {
    if (hosts.isServed(request.headers.host ?? '')) app(request, response);
    else response.writeHead(421, { Connection: 'close' }).end();
  };
}
