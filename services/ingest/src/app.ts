import { Readable } from 'node:stream';
import { pipeline as streamPipeline } from 'node:stream/promises';
import {
  DecodeError,
  type DeliveryDocument,
  formatTime,
  isBalanced,
  isTable,
  type LedgerDocument,
  type LiveLine,
  type NotesDocument,
  type RouteAddedDocument,
  type RoutesDocument,
  type Stage,
  type StageDocument,
} from '@tidegauge/readings';
import {
  type Access,
  type AnswerMemory,
  byteBudget,
  ConfigError,
  createServiceApp,
  demandWithin,
  isWithin,
  type Logger,
  limitOf,
  type Metrics,
  Problem,
  principalOf,
  type ReadinessChecks,
  type Scope,
  type ServiceOperation,
  senderOf,
  serviceAnswers,
} from '@tidegauge/service';
import type { Express, Request, RequestHandler, Response } from 'express';
import { type AlertFiles, alertOperations } from './alerts/alert-operations.ts';
import type { Alerts } from './alerts/alerts.ts';
import { alertsDocument, alertsQuery } from './alerts/document.ts';
import { DeliveryTurns } from './delivery-turns.ts';
import { passwordOperations } from './direct/password-operations.ts';
import { diskWrites } from './disk-writes.ts';
import { explainRequest, notValid, routesOfRequest } from './explain-request.ts';
import { Explanations } from './explanations.ts';
import { linesRequest, takeLines } from './lines.ts';
import { BOUNDS } from './memory.ts';
import type { Pipeline } from './pipeline.ts';
import type { Quarantine } from './quarantine.ts';
import { causesOf } from './quarantine-causes.ts';
import { ITEM_BYTES, itemText } from './quarantine-item.ts';
import { checkTaking, stepHandlers, writing } from './quarantine-steps.ts';
import { decodeMessage, httpMessage } from './raw-message.ts';
import { type RelayOperationOptions, relayOperations } from './relay/operations.ts';
import { bytesOf, jsonOf, rawBody } from './request-body.ts';
import { missingDocument } from './resend/missing.ts';
import type { Retention } from './retention/retention.ts';
import { type RetentionParts, retentionOperations } from './retention/retention-operations.ts';
import type { RouteNotes } from './route-notes.ts';
import type { RouteReloader } from './route-reloader.ts';
import type { Router } from './routes.ts';
import { FileNotReplaced } from './routes-writer.ts';

const HEARTBEAT_MS = 15_000;
const PAGE = { preset: 100, most: 1000 };
/** Largest body with a route, bytes. A mapping with all its tables fits. */
const ROUTE_BODY_LIMIT = 128 * 1024;
/** Largest body of an explanation, bytes. Larger messages are explained by tidegauge explain. */
const EXPLAIN_BODY_LIMIT = 256 * 1024;

export interface AppOptions {
  readonly pipeline: Pipeline;
  readonly quarantine: Quarantine;
  readonly router: Router;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly instance: string;
  readonly backend: string;
  readonly maxPayload: number;
  /** The address that the server will listen on. */
  readonly listen: string;
  readonly access: Access;
  /** Further names in the `Host` header that are answered. */
  readonly allowedHosts: readonly string[];
  /** Sites whose pages may use the port with a key. */
  readonly corsOrigins: readonly string[];
  readonly broker: () => LedgerDocument['mqtt'];
  readonly checks: ReadinessChecks;
  readonly reloader: RouteReloader;
  readonly alerts: Alerts;
  readonly alertFiles: AlertFiles;
  /** The file of passwords of sensors. Null: there is none. */
  readonly passwords: string | null;
  readonly retention: Pick<Retention, 'total'>;
  readonly retentionParts: RetentionParts;
  readonly relay: Pick<RelayOperationOptions, 'relay' | 'boards' | 'store'>;
  /** What an operator should repair although ingest works. */
  readonly warnings: () => readonly string[];
}

/** Ingest's own HTTP application, for operators, Prometheus and the API. It does not listen. */
export function createApp(options: AppOptions): Express {
  const answers = serviceAnswers();
  return createServiceApp({ ...options, answers, operations: ingestOperations(options, answers) });
}

/**
 * The requests of ingest's port. Their names and scopes are those of the API's requests for the same.
 */
function ingestOperations(options: AppOptions, answers: AnswerMemory): readonly ServiceOperation[] {
  const { pipeline, quarantine, router, instance } = options;
  const start: Start = { since: formatTime(Date.now() * 1000), writes: diskWrites() ?? 0 };
  // Two clients can send the largest one at the same time.
  const budget = byteBudget(Math.max(BOUNDS.bodies, 3 * options.maxPayload), options.maxPayload, true);
  const payload = rawBody(options.maxPayload, true);
  const steps = stepHandlers(options);

  const getLedger: RequestHandler = (_request, response) => void response.json(ledger(options, start));
  const listMissing: RequestHandler = (request, response) => {
    const { isListed } = listOf(request, response);
    const limit = integer(request, 'limit', PAGE.preset, PAGE.most);
    response.json(missingDocument(pipeline.sequences, isListed, limit));
  };
  const explanations = new Explanations();
  const enter: RequestHandler = (_request, response, next) => {
    response.once('close', explanations.enter(senderOf(response)));
    next();
  };
  const explain: RequestHandler = async (request, response) => {
    const found = await explanations.run(senderOf(response), () =>
      response.destroyed ? null : explainRequest(router, jsonOf(request)),
    );
    if (found !== null) response.json(found);
  };
  const listRoutes: RequestHandler = (_request, response) => void response.json(routesDocument(options));
  const add: RequestHandler = async (request, response) => {
    response.json(await addRoute(options, jsonOf(request)));
  };
  const reloadRoutes: RequestHandler = async (_request, response) => {
    await reload(options);
    response.json(routesDocument(options));
  };
  const listQuarantine: RequestHandler = (request, response) => {
    response.json(quarantinePage(options, request));
  };
  const listCauses: RequestHandler = async (_request, response) => {
    response.json(await causesOf(quarantine, router, instance));
  };
  const getItem: RequestHandler = async (request, response) => {
    const id = idOf(options, request);
    const document = quarantine.find(id) ?? notThere(options, request);
    answers.reserve(response, ITEM_BYTES);
    response.type('json');
    // A failure means that the client disconnected or the item was discarded. Both ends are closed then, so there is
    // no client to answer.
    await streamPipeline(Readable.from(itemText(quarantine, id, document)), response).catch(() => {});
  };
  const replayItem: RequestHandler = async (request, response) => {
    response.json(await replay(options, request));
  };
  const discardItem: RequestHandler = (request, response) => {
    if (!writing(() => quarantine.discard(idOf(options, request)))) notThere(options, request);
    response.status(204).end();
  };
  const deliveries = new DeliveryTurns(options.relay.store.capabilities);
  const deliverReadings: RequestHandler = async (request, response) => {
    const query = queryWithin(request, response);
    const message = httpMessage(request.get('content-type') ?? '', query, bytesOf(request));
    const outcome = await deliveries.run(response, message.payload.length, () => {
      checkTaking(pipeline);
      return pipeline.deliver(message, senderOf(response));
    });
    if (outcome !== null) response.status(202).json(outcome);
  };
  const deliverLines: RequestHandler = async (request, response) => {
    const lines = linesRequest(queryWithin(request, response));
    const body = bytesOf(request);
    const outcome = await deliveries.run(response, body.length, () =>
      takeLines(pipeline, router, lines, body, senderOf(response)),
    );
    if (outcome !== null) response.status(202).json(outcome);
  };
  const listAlerts: RequestHandler = (request, response) => {
    response.json(alertsPage(options, request, response));
  };
  const live: RequestHandler = (_request, response) => streamLive(pipeline, response);

  const get = (path: string, id: string, scope: Scope, handler: RequestHandler): ServiceOperation => {
    return { id, method: 'get', path, scope, handlers: [handler] };
  };
  const post = (path: string, id: string, scope: Scope, ...handlers: RequestHandler[]): ServiceOperation => {
    return { id, method: 'post', path, scope, handlers };
  };
  const ofDevices = { limitsDevices: true, isData: true };
  return [
    get('/ledger', 'getLedger', 'read', getLedger),
    { ...get('/ledger/missing', 'listMissing', 'write', listMissing), limitsDevices: true },
    { ...post('/explain', 'explain', 'write', enter, rawBody(EXPLAIN_BODY_LIMIT), explain), isData: true },
    get('/routes', 'listRoutes', 'read', listRoutes),
    post('/routes', 'addRoute', 'admin', rawBody(ROUTE_BODY_LIMIT), add),
    post('/routes/reload', 'reloadRoutes', 'admin', reloadRoutes),
    get('/quarantine', 'listQuarantine', 'read', listQuarantine),
    get('/quarantine/causes', 'listQuarantineCauses', 'admin', listCauses),
    get('/quarantine/:id', 'getQuarantineItem', 'read', getItem),
    post('/quarantine/replay', 'replayQuarantine', 'admin', steps.replay),
    post('/quarantine/discard', 'discardQuarantine', 'admin', steps.discard),
    post('/quarantine/:id/replay', 'replayQuarantineItem', 'admin', replayItem),
    {
      id: 'discardQuarantineItem',
      method: 'delete',
      path: '/quarantine/:id',
      scope: 'admin',
      handlers: [discardItem],
    },
    { ...post('/readings', 'deliverReadings', 'write', budget, payload, deliverReadings), ...ofDevices },
    { ...post('/lines', 'deliverLines', 'write', budget, payload, deliverLines), ...ofDevices },
    { ...get('/alerts', 'listAlerts', 'read', listAlerts), limitsDevices: true },
    ...alertOperations(options),
    ...passwordOperations(options),
    ...retentionOperations(options.retentionParts, instance),
    get('/live', 'live', 'read', live),
    ...relayOperations({ ...options.relay, pipeline, router, instance, deliveries }),
  ];
}

/** The query of a request with readings. A sender that is limited to a device sends for this one, or for one below it. */
function queryWithin(request: Request, response: Response): URLSearchParams {
  const { searchParams } = new URL(request.originalUrl, 'http://localhost');
  const sent = { principal: principalOf(response) };
  const limit = limitOf(sent);
  if (limit !== null) searchParams.set('device', demandWithin(sent, searchParams.get('device') ?? limit));
  return searchParams;
}

/** The query of a list, and whether it has a device: the one of the query, or of a limited sender, and those below it. */
function listOf(request: Request, response: Response) {
  const { searchParams } = new URL(request.originalUrl, 'http://localhost');
  const sent = { principal: principalOf(response) };
  const device = searchParams.get('device') ?? limitOf(sent);
  if (device !== null) demandWithin(sent, device);
  return { searchParams, isListed: (name: string) => isWithin(device, name) };
}

/** Alerts of one device and those below it. A sender that is limited to a device receives those of its devices. */
function alertsPage({ alerts, instance }: AppOptions, request: Request, response: Response) {
  const { searchParams, isListed } = listOf(request, response);
  const limit = integer(request, 'limit', PAGE.preset, PAGE.most);
  return alertsDocument(alerts, instance, alertsQuery(searchParams, isListed, limit));
}

function quarantinePage(options: AppOptions, request: Request) {
  if (isOther(options, request)) return { items: [], next: null, total: 0, reasons: {} };
  const { items, next, total, reasons } = options.quarantine.list(
    integer(request, 'limit', PAGE.preset, PAGE.most),
    request.query.after === undefined ? null : integer(request, 'after', 0, Number.MAX_SAFE_INTEGER),
    typeof request.query.reason === 'string' ? request.query.reason : null,
  );
  return { items, next: next === null ? null : String(next), total, reasons };
}

/**
 * Streams the live feed as NDJSON lines. A client that reads too slowly receives the number of readings that it
 * missed.
 */
function streamLive({ feed }: Pipeline, response: Response): void {
  let missed = 0;
  let blocked = false;
  const write = (line: LiveLine) => {
    if (blocked) missed += 'missed' in line ? line.missed : line.readings.length;
    else blocked = !response.write(`${JSON.stringify(line)}\n`);
  };
  const stop = feed.listen({ line: write, end: () => void response.end() });
  if (stop === null) {
    throw new Problem(503, 'Too many listeners', 'The live feed has as many listeners as it can serve.', {
      retryAfter: 5,
    });
  }
  response.type('application/x-ndjson').flushHeaders();
  const beat = setInterval(() => blocked || response.write('\n'), HEARTBEAT_MS);
  response.on('drain', () => {
    blocked = false;
    if (missed > 0) write({ id: `missed-${Date.now()}`, missed });
    missed = 0;
  });
  response.on('close', () => {
    clearInterval(beat);
    stop();
  });
}

function integer(request: Request, name: string, preset: number, most: number): number {
  const text = request.query[name];
  if (text === undefined) return preset;
  const value = Number(text);
  if (typeof text !== 'string' || !Number.isInteger(value) || value < 1 || value > most) {
    throw new Problem(400, 'Bad parameter', `${name} must be a whole number from 1 to ${most}.`);
  }
  return value;
}

/** The number of an item id. Ids have the form `<instance>.<number>`; the bare number is accepted too. */
function idOf({ instance }: AppOptions, request: Request): number {
  const given = String(request.params.id);
  const number = Number(given.startsWith(`${instance}.`) ? given.slice(instance.length + 1) : given);
  return Number.isSafeInteger(number) ? number : -1;
}

function notThere({ instance }: AppOptions, request: Request): never {
  const detail = `There is no quarantined message ${request.params.id} in ${instance}.`;
  throw new Problem(404, 'Not found', detail);
}

/** Whether the request selects the items of another instance only. */
function isOther({ instance }: AppOptions, request: Request): boolean {
  return request.query.instance !== undefined && request.query.instance !== instance;
}

/** Replays one quarantined message. A message that still cannot be decoded stays in quarantine. */
async function replay(options: AppOptions, request: Request): Promise<DeliveryDocument> {
  const { pipeline, quarantine, router } = options;
  checkTaking(pipeline);
  const id = idOf(options, request);
  const entry = quarantine.entry(id) ?? notThere(options, request);
  const decoded = decodeMessage(router, entry, entry.received, true);
  if (decoded instanceof DecodeError) return { received: 1, stored: 0, duplicate: 0, quarantined: 1 };
  const outcome = await pipeline.replay(entry, decoded);
  writing(() => quarantine.discard(id));
  return outcome;
}

/** Reads the routes file again. */
async function reload({ reloader }: AppOptions): Promise<void> {
  try {
    await reloader.reload();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw notValid(error, 'The routes in use stay, because the routes file has mistakes');
  }
}

/**
 * Adds a route to the routes file and uses it.
 *
 * @param body JSON with `route`, an entry of a routes file
 * @throws {Problem} 400 or 422 for another body, 409 when the file cannot be written; nothing is changed then
 */
async function addRoute(
  { reloader, instance, router }: AppOptions,
  body: unknown,
): Promise<RouteAddedDocument> {
  const { route, ...others } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (!isTable(route) || Object.keys(others).length > 0) {
    const detail = 'The body must have route, an entry of a routes file: {"route": {"preset": "tasmota"}}.';
    throw new Problem(400, 'Invalid request', detail);
  }
  const routes = routesOfRequest(route, router.zone);
  try {
    const added = await reloader.add(route);
    const topics = routes.filter(({ isIgnored }) => !isIgnored).map(({ template }) => template.template);
    return { instance, added, topics };
  } catch (error) {
    if (error instanceof ConfigError) throw notValid(error, 'The routes file would have mistakes');
    if (error instanceof FileNotReplaced)
      throw new Problem(409, 'Routes file not writable', `${error.message}.`);
    throw error;
  }
}

function routesDocument({ router, instance, reloader }: AppOptions): RoutesDocument {
  const routes = router.routes.map(({ name, template, format, preset, messages, notes }) => ({
    name,
    topic: template.template,
    format,
    ...(preset === null ? {} : { preset }),
    messages: messages[0] + messages[1] + messages[2],
    ...notesDocument(notes),
  }));
  return {
    instance,
    trouble: reloader.trouble,
    topicLevels: router.levels,
    routes,
    http: notesDocument(router.httpNotes),
  };
}

function notesDocument(notes: RouteNotes): NotesDocument {
  return {
    ignoredMessages: notes.ignoredMessages,
    ignored: notes.ignoredTotal,
    ignoredFields: notes.ignoredFields(),
    ignoredUnlisted: notes.ignoredUnlisted,
    doubts: notes.doubts(),
    units: notes.units(),
  };
}

/** Since when the ledger counts, and the bytes that were written before, such as for opening the store. */
interface Start {
  readonly since: string;
  readonly writes: number;
}

function ledger(
  { pipeline, instance, backend, broker, retention }: AppOptions,
  start: Start,
): LedgerDocument {
  const writes = diskWrites();
  const { accounts, sequences, recent } = pipeline;
  const stages = recent.figures();
  const readings = accounts.counts();
  const describe = (stage: Stage): StageDocument => {
    const histogram = stages[stage];
    return { count: histogram.count, p50: histogram.quantile(0.5), p99: histogram.quantile(0.99) };
  };
  const { devices, missing, duplicates, givenUp, unjudged, healed, gone } = sequences;
  return {
    instance,
    since: start.since,
    backend,
    readings,
    balanced: isBalanced(readings),
    trouble: pipeline.shownTrouble,
    messages: { received: accounts.messages, retainedSkipped: accounts.retainedSkipped },
    mqtt: broker(),
    oldestUnstoredSeconds: pipeline.oldestUnstoredSeconds,
    stageSeconds: recent.seconds(),
    stages: {
      travel: describe('travel'),
      queue: describe('queue'),
      store: describe('store'),
      ack: describe('ack'),
      end_to_end: describe('end_to_end'),
    },
    deleted: retention.total,
    writtenBytes: writes === null ? null : Math.max(0, writes - start.writes),
    gaps: {
      since: formatTime(sequences.since),
      devices,
      missing,
      duplicates,
      givenUp,
      unjudged,
      healed,
      gone,
      ...sequences.list(),
    },
  };
}
