import type { IncomingMessage, OutgoingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import {
  type Access,
  type Histogram,
  type HistogramMetric,
  type Hosts,
  keepPrincipal,
  namesOneHost,
  type Principal,
  SECURITY_HEADERS,
} from '@tidegauge/service';
import { type RecordFields, type RecordStore, tableProblem } from '@tidegauge/storage';
import type { RequestHandler } from 'express';
import type { Answers } from './answers.ts';
import type { Handlers, PlainHandler } from './dispatch.ts';
import { endOfTurn } from './end-of-turn.ts';
import type { Operation, Parameters } from './operation.ts';
import type { OperationTable } from './operation-table.ts';
import { sendJson } from './send-json.ts';

const RECORDS = '/v1/records/';
const JSON_TYPE = /^application\/json(?:; ?charset=utf-8)?$/i;
const INSERT_HEADERS = { ...SECURITY_HEADERS, 'Content-Length': 0 } as const;
/** Larger bodies go to the app, where a budget bounds them: 512 connections hold 8 MiB of these. */
const MAX_BODY = 16 * 1024;
const SMALL_ANSWER = 16 * 1024;

/** What the lane did with a request before it passed it on. */
export interface Handed {
  /** The body, if the lane read it. */
  readonly body: Buffer | null;
  /** The result of the store, if the lane called it. */
  readonly outcome: Promise<unknown> | null;
}

export interface FastLane {
  /** Answers the requests of the lane that are valid, and passes all other requests to the app. */
  readonly handler: RequestListener;
  handed(request: IncomingMessage): Handed | null;
}

export interface FastLaneOptions {
  readonly operations: OperationTable;
  readonly records: RecordStore;
  /** Handlers of lists, by `operationId`. Their paths have no parameters. */
  readonly lists: Readonly<Record<string, PlainHandler>>;
  /** Bounds the memory of large records that are being sent. */
  readonly answers: Answers;
  readonly hosts: Hosts;
  readonly access: Access;
  /** Largest body that the app takes, bytes. */
  readonly bodyLimit: number;
  readonly seconds: HistogramMetric;
  /** Receives all other requests. */
  readonly app: RequestListener;
  /** Logs an error after the answer has begun, and breaks the answer off. */
  readonly fail: (error: unknown, request: IncomingMessage, response: ServerResponse) => void;
}

interface Target extends Parameters {
  readonly operation: Operation;
  readonly principal: Principal;
}

/** Resolves to whether the lane answered the request. */
type Way = (request: IncomingMessage, response: ServerResponse, target: Target) => Promise<boolean>;

interface Lane {
  readonly operation: Operation;
  readonly histogram: Histogram;
  readonly way: Way;
}

/**
 * Answers the most frequent requests without Express, which takes as much processor time for a request as all the rest
 * together: reads, inserts and updates of one record, and lists of readings. The lane checks requests with the same
 * schemas, hosts and logins as the app. A request that fails goes to the app with what the lane did so far, so that only
 * the app reports errors.
 */
export function fastLane(options: FastLaneOptions): FastLane {
  const { operations, records, lists, answers, hosts, access, seconds, app, fail } = options;
  const maxBody = Math.min(MAX_BODY, options.bodyLimit);
  const handed = new WeakMap<IncomingMessage, Handed>();

  const isServed = (request: IncomingMessage): boolean => {
    // The app answers pages of other sites.
    const { host = '', origin } = request.headers;
    return origin === undefined && namesOneHost(request) && hosts.isServed(host);
  };
  const handOn = (request: IncomingMessage, response: ServerResponse, done: Handed): false => {
    handed.set(request, done);
    app(request, response);
    return false;
  };
  const read: Way = (request, response, { params, query, principal }) => {
    const { table, key } = params as { table: string; key: string };
    const outcome = records.read(table, key, (query.fields as readonly string[] | undefined) ?? null);
    const pass = () => handOn(request, response, { body: null, outcome });
    return outcome.then(async (fields) => {
      if (fields === null) return pass();
      const body = JSON.stringify({ key, fields });
      if (body.length > SMALL_ANSWER) {
        keepPrincipal(response, principal);
        if (!answers.memory.fits(response, 2 * body.length)) return pass();
      }
      await endOfTurn();
      sendJson(response, body);
      return true;
    }, pass);
  };
  const write =
    (change: RecordStore['insert'], status: number, headers: OutgoingHttpHeaders): Way =>
    async (request, response, { operation, params }) => {
      const { table, key } = params as { table: string; key: string };
      const body = await bodyOf(request);
      // The client closed the connection.
      if (body === null) return false;
      const fields = fieldsIn(operation, body);
      if (fields === null) return handOn(request, response, { body, outcome: null });
      const outcome = change(table, key, fields);
      if (!(await outcome.catch(() => false))) return handOn(request, response, { body, outcome });
      response.writeHead(status, headers).end();
      return true;
    };
  const insert = write((table, key, fields) => records.insert(table, key, fields), 201, INSERT_HEADERS);
  const update = write((table, key, fields) => records.update(table, key, fields), 204, SECURITY_HEADERS);
  const list =
    (answer: PlainHandler): Way =>
    async (request, response, target) => {
      keepPrincipal(response, target.principal);
      try {
        await answer(target, response);
      } catch (error) {
        if (!response.headersSent) return handOn(request, response, { body: null, outcome: failed(error) });
        fail(error, request, response);
      }
      return true;
    };
  const lane = (id: string, method: string, status: string, way: Way): Lane => {
    const operation = operations.get(id)!;
    return { operation, histogram: seconds.with({ method, route: operation.route, status }), way };
  };
  const recordLanes = new Map([
    ['GET', lane('readRecord', 'GET', '200', read)],
    ['PUT', lane('insertRecord', 'PUT', '201', insert)],
    ['PATCH', lane('updateRecord', 'PATCH', '204', update)],
  ]);
  /** By path. */
  const listLanes = new Map(
    Object.entries(lists).map(([id, answer]) => {
      const found = lane(id, 'GET', '200', list(answer));
      return [found.operation.route, found];
    }),
  );
  const laneOf = (method: string, url: string): Lane | undefined => {
    if (url.startsWith(RECORDS)) return recordLanes.get(method);
    if (method !== 'GET') return undefined;
    const mark = url.indexOf('?');
    return listLanes.get(mark < 0 ? url : url.slice(0, mark));
  };

  const handler = (request: IncomingMessage, response: ServerResponse): void => {
    const found = laneOf(request.method!, request.url!);
    const isRead = request.method === 'GET';
    const mayPass = found !== undefined && isServed(request) && (isRead || hasSmallBody(request, maxBody));
    const principal = mayPass ? access.allowed(request, found.operation.rule) : null;
    const target = principal === null ? null : targetOf(operations, found!.operation, request, principal);
    if (found === undefined || target === null) {
      app(request, response);
      return;
    }
    const started = performance.now();
    found.way(request, response, target).then(
      (answered) => {
        if (!answered) return;
        found.histogram.observe((performance.now() - started) / 1000);
        if (!isRead) access.record(target.principal, request, found.operation.rule, response.statusCode);
      },
      (error: unknown) => {
        // For example a record that is too large for one string. The app logs it and answers with 500.
        if (response.headersSent || !isRead) response.destroy();
        else handOn(request, response, { body: null, outcome: failed(error) });
      },
    );
  };
  return { handler, handed: (request) => handed.get(request) ?? null };
}

/** A rejected promise that somebody may handle later. */
function failed(error: unknown): Promise<never> {
  const outcome = Promise.reject(error);
  outcome.catch(() => {});
  return outcome;
}

/** The handlers of lists for the app, which do not read again what the lane could not read. */
export function handedLists(lane: FastLane, lists: Readonly<Record<string, PlainHandler>>): Handlers {
  return Object.fromEntries(
    Object.entries(lists).map(([id, answer]) => [
      id,
      (call, response) => {
        const outcome = lane.handed(call.request)?.outcome ?? null;
        return outcome === null ? answer(call, response) : (outcome as Promise<never>);
      },
    ]),
  );
}

/** Uses a body that the lane has read; the readers after this one then do nothing. */
export function handedBody(lane: FastLane): RequestHandler {
  return (request, _response, next) => {
    const body = lane.handed(request)?.body ?? null;
    if (body === null) return next();
    try {
      request.body = JSON.parse(body.toString());
      next();
    } catch (error) {
      next(Object.assign(error as SyntaxError, { status: 400, expose: true, type: 'entity.parse.failed' }));
    }
  };
}

/** The checked parameters; null when the request is for another operation or is not valid. */
function targetOf(
  operations: OperationTable,
  operation: Operation,
  request: IncomingMessage,
  principal: Principal,
): Target | null {
  try {
    const found = operations.find(request.method!, request.url!, () => {});
    if (found?.operation !== operation) return null;
    const { params, query } = operation.parameters(found.params, found.search, request.headers);
    if (params.table !== undefined && tableProblem(params.table) !== null) return null;
    return { operation, principal, params, query };
  } catch {
    return null;
  }
}

function hasSmallBody({ headers }: IncomingMessage, maxBytes: number): boolean {
  const bytes = Number(headers['content-length']);
  return (
    bytes > 0 &&
    bytes <= maxBytes &&
    JSON_TYPE.test(headers['content-type'] ?? '') &&
    headers['content-encoding'] === undefined
  );
}

/** The whole body, or null when the client left before its end. */
function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.once('end', () => resolve(parts.length === 1 ? parts[0]! : Buffer.concat(parts)));
    request.once('close', () => resolve(null));
  });
}

/** The fields of a valid body, otherwise null. */
function fieldsIn(operation: Operation, body: Buffer): RecordFields | null {
  try {
    const document: unknown = JSON.parse(body.toString());
    operation.checkBody('application/json', document);
    return (document as { readonly fields: RecordFields }).fields;
  } catch {
    return null;
  }
}
