import type { IncomingMessage, RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  byteBudget,
  guardBrowsers,
  Hosts,
  isSafe,
  type Logger,
  type Metrics,
  notFound,
  openAccess,
  operationRoutes,
  problemHandler,
  type Rule,
  type SharedAccess,
  securityHeaders,
  Turns,
} from '@tidegauge/service';
import type { Store } from '@tidegauge/storage';
import express, { type Request, type Response } from 'express';
import { Answers } from './answers.ts';
import { BackupClient } from './backup-client.ts';
import type { ApiConfig } from './config.ts';
import { Cursors } from './cursor.ts';
import { dispatch, type Handler, type Handlers } from './dispatch.ts';
import { exportHandlers } from './export/handlers.ts';
import { fastLane, handedBody, handedLists } from './fast-lane.ts';
import { httpMetrics } from './http-metrics.ts';
import { influxErrors, influxHealth, isInfluxPath } from './influx/answers.ts';
import { influxPassword } from './influx/password.ts';
import { influxRoutes } from './influx/routes.ts';
import type { IngestClient } from './ingest-client.ts';
import { jsonBody, RECORD_BOUNDS } from './json-body.ts';
import { LiveHub, type LiveHubOptions } from './live-hub.ts';
import { openTsdbErrors } from './opentsdb/errors.ts';
import { openTsdbHandlers } from './opentsdb/handlers.ts';
import { apiOperations, type OperationTable } from './operation-table.ts';
import { isPage, pageRoutes } from './pages.ts';
import { translate } from './problems.ts';
import { RELAY_PATH, relayRoutes } from './relay.ts';
import { aggregateHandlers } from './routes/aggregates.ts';
import { alertHandlers } from './routes/alerts.ts';
import { annotationHandlers } from './routes/annotations.ts';
import { auditHandlers } from './routes/audit.ts';
import { backupHandlers } from './routes/backups.ts';
import { deviceHandlers } from './routes/devices.ts';
import { explainHandlers } from './routes/explain.ts';
import { keyHandlers } from './routes/keys.ts';
import { ledgerHandlers } from './routes/ledger.ts';
import { liveHandlers } from './routes/live.ts';
import { passwordHandlers } from './routes/passwords.ts';
import { quarantineHandlers } from './routes/quarantine.ts';
import { readingHandlers } from './routes/readings.ts';
import { recordHandlers } from './routes/records.ts';
import { retentionHandlers } from './routes/retention.ts';
import { sessionHandlers } from './routes/session.ts';
import { wrongReadingHandlers } from './routes/wrong-readings.ts';

/** Largest body of a request for a device, bytes. A device with all its attributes fits. */
const DEVICE_BODY_LIMIT = 128 * 1024;
/** Largest body of a request for an annotation, bytes. */
const ANNOTATION_BODY_LIMIT = 32 * 1024;
/** Largest body with a rule or a receiver of alerts, bytes, as ingest accepts it. */
const ALERT_BODY_LIMIT = 16 * 1024;
/** Largest body with a key or a login of a sensor, bytes. */
const ACCESS_BODY_LIMIT = 4 * 1024;
/** Largest body with a message to explain or a route, bytes, as ingest accepts it. */
const ROUTE_BODY_LIMIT = 256 * 1024;
/**
 * Requests to ingest at once, other than deliveries: each client has half. An answer has up to half a MiB, and is in memory
 * several times while it is merged.
 */
export const ASKING = 4;
/** Changes of devices, units, annotations and marks at once: each client has one. */
const CHANGING = 3;
/**
 * Before the next change there is a rest as long as the last one took, up to this time. SQLite blocks the event loop until the
 * disk has a change, and ingest needs the file between two changes.
 */
const MOST_REST_MS = 5;
/** Memory for request bodies, bytes. They fit an API with 152 MiB. */
export const BODY_BYTES = 8 * 1024 * 1024;

const PUBLIC: Rule = { scope: 'public', limitsDevices: true };
/** Writers of InfluxDB send queries too, such as CREATE DATABASE. They are answered without data. */
const WRITE: Rule = { scope: 'write', limitsDevices: true };
/** Lines of InfluxDB are readings, and so is what a board relays. */
const LINES: Rule = { ...WRITE, isData: true };
const READ: Rule = { scope: 'read', limitsDevices: false };

export interface AppDependencies {
  readonly store: Store;
  readonly ingest: IngestClient;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly config: Pick<ApiConfig, 'httpListen' | 'apiToken' | 'bodyLimit' | 'listReads' | 'liveClients'> &
    Partial<ApiConfig>;
  readonly live?: Partial<LiveHubOptions>;
  /** What the workers of the API share; null when this process is the only one. */
  readonly shared?: SharedAccess | null;
}

export interface App {
  /** The request listener for an HTTP server. The caller starts the server. */
  readonly handler: RequestListener;
  readonly live: LiveHub;
  /** Ends the live streams, and stops reading the file of keys. */
  close(): void;
}

/** Builds the API and the live page. The caller closes the store and the ingest client. */
export function createApp(dependencies: AppDependencies): App {
  const { store, ingest, logger, metrics, config } = dependencies;
  const { document, operations } = apiOperations();
  const live = new LiveHub(ingest, logger, {
    maxClients: config.liveClients,
    ...dependencies.live,
  });
  metrics.gauge('tidegauge_live_clients', 'Clients that follow the live feed', () => [
    { value: live.clients },
  ]);

  const app = express();
  app.disable('x-powered-by');
  // No ETag: answers change with the store, and hashing each of them would cost more than it saves.
  app.disable('etag');
  const seconds = metrics.histogram('tidegauge_http_request_seconds', 'Duration of HTTP requests');
  const access = openAccess(
    { ...config, token: config.apiToken, variable: 'API_TOKEN', credentialInUrl: influxPassword },
    logger,
    metrics,
    dependencies.shared ?? null,
  );
  const answers = new Answers({ reads: config.listReads });
  answers.memory.bound(app);
  const asking = new Turns(ASKING);
  const hosts = new Hosts(config.httpListen, config.allowedHosts ?? [], config.httpTlsCert ?? null);
  const cursors = new Cursors(config.apiToken);
  const readings = readingHandlers(store, ingest, cursors, answers);
  const { listReadings, latestReadings } = readings;
  const lists = { listReadings, latestReadings };
  const problems = problemHandler(logger, translate);
  const lane = fastLane({
    operations,
    answers,
    records: store.records,
    lists,
    hosts,
    access,
    bodyLimit: config.bodyLimit,
    seconds,
    app,
    fail: (error, request, response) =>
      void problems(error, request as Request, response as Response, () => {}),
  });
  app.use(httpMetrics(seconds), securityHeaders);
  const ruleOf = ({ method, url }: IncomingMessage): Rule => {
    const path = url!.split('?', 1)[0]!;
    if (path === '/query') return WRITE;
    if (isInfluxPath(path) && !isSafe(method!)) return LINES;
    if (path === RELAY_PATH) return isSafe(method!) ? READ : LINES;
    return isSafe(method!) && isPage(path) ? PUBLIC : operations.ruleOf(method!, url!);
  };
  app.use(guardBrowsers(hosts, config.corsOrigins ?? []), influxHealth, access.guard(ruleOf));
  const budget = byteBudget(Math.max(BODY_BYTES, 3 * config.bodyLimit), config.bodyLimit);
  const routeBytes = Math.min(ROUTE_BODY_LIMIT, config.bodyLimit);
  const readers = {
    // Ingest receives them unchanged.
    readings: [budget, express.raw({ type: () => true, limit: config.bodyLimit, inflate: false })],
    annotations: [budget, jsonBody(ANNOTATION_BODY_LIMIT)],
    devices: [budget, jsonBody(DEVICE_BODY_LIMIT)],
    records: [handedBody(lane), budget, jsonBody(config.bodyLimit, RECORD_BOUNDS)],
    alerts: [budget, jsonBody(ALERT_BODY_LIMIT)],
    access: [budget, jsonBody(ACCESS_BODY_LIMIT)],
    routes: [budget, jsonBody(routeBytes)],
    retention: [budget, jsonBody(routeBytes)],
    opentsdb: [budget, jsonBody(config.bodyLimit)],
  };
  const handlers = {
    ...readings,
    ...aggregateHandlers(store, answers),
    ...changesInTurns(operations, {
      ...wrongReadingHandlers(store, ingest, answers),
      ...annotationHandlers(store, ingest, cursors, answers),
      ...deviceHandlers(store, cursors, answers),
    }),
    ...handedLists(lane, lists),
    ...exportHandlers(store, answers, logger),
    ...recordHandlers(store, lane, answers),
    ...inTurns(asking, {
      ...ledgerHandlers(ingest),
      ...quarantineHandlers(ingest, cursors),
      ...alertHandlers(ingest, cursors),
      ...explainHandlers(ingest),
      ...passwordHandlers(ingest),
      ...retentionHandlers(ingest),
    }),
    ...liveHandlers(live),
    ...sessionHandlers(access),
    ...keyHandlers(config.apiKeys ?? null, access),
    ...backupHandlers(new BackupClient(config.backup ?? null, config.backupToken ?? null)),
    ...auditHandlers(access.audit),
    ...openTsdbHandlers(store, answers),
  };
  app.use(dispatch(operations, handlers, readers));
  app.use(influxRoutes({ ingest, budget, bodyLimit: config.bodyLimit }));
  app.use(relayRoutes(ingest, asking));
  app.use(pageRoutes(document));
  // Without ingest the API can still read the store, so readiness depends on the store only.
  app.use(operationRoutes({ metrics, checks: { 'the store': () => storeProblem(store) } }));
  app.use(notFound);
  app.use(influxErrors(translate), openTsdbErrors(translate), problems);
  const close = () => {
    live.close();
    access.close();
  };
  const handler: RequestListener = (request, response) => {
    access.begin(request, response, () => lane.handler(request, response));
  };
  return { handler, live, close };
}

/** Why the store is not ready, or null. Clients may read the text: it has no hosts or statements of a driver. */
async function storeProblem(store: Store): Promise<string | null> {
  try {
    await store.health();
    return null;
  } catch (error) {
    return translate(error)?.detail ?? 'The store failed; the log of this service has the reason.';
  }
}

function wrapped(handlers: Handlers, wrap: (handler: Handler) => Handler): Handlers {
  return Object.fromEntries(Object.entries(handlers).map(([id, handler]) => [id, wrap(handler)]));
}

function inTurns(turns: Turns, handlers: Handlers): Handlers {
  return wrapped(handlers, (handler) => async (call, response) => {
    await turns.run(response, async () => handler(call, response));
  });
}

/** Those that change the store run in turns of the clients, with rests between them. */
function changesInTurns(operations: OperationTable, handlers: Handlers): Handlers {
  const changes = Object.entries(handlers).filter(([id]) => operations.get(id)!.rule.scope !== 'read');
  let rested = Promise.resolve();
  const withRests = wrapped(Object.fromEntries(changes), (handler) => async (call, response) => {
    await rested;
    const began = performance.now();
    try {
      await handler(call, response);
    } finally {
      rested = sleep(Math.min(performance.now() - began, MOST_REST_MS));
    }
  });
  return { ...handlers, ...inTurns(new Turns(CHANGING), withRests) };
}
