import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import {
  type HistogramMetric,
  isHostServed,
  type Logins,
  namesOneHost,
  SECURITY_HEADERS,
} from '@tidegauge/service';
import { MAX_FIELDS, type RecordFields, type RecordStore, tableProblem } from '@tidegauge/storage';
import type { RequestHandler } from 'express';
import type { Answers } from './answers.ts';

const ROUTE = '/v1/records/{table}/{key}';
// Only characters that a URL need not escape; the groups are table, key and fields.
const PLAIN =
  /^\/v1\/records\/(\w{1,48})\/([\w~-][\w.~-]{0,199})(?:\?fields=(field\d{1,3}(?:,field\d{1,3})*))?$/;
const FIELD = /^field(?:0|[1-9]\d{0,2})$/;
const JSON_TYPE = /^application\/json(?:; ?charset=utf-8)?$/i;
const READ_HEADERS = { ...SECURITY_HEADERS, 'Content-Type': 'application/json; charset=utf-8' } as const;
const INSERT_HEADERS = { ...SECURITY_HEADERS, 'Content-Length': 0 } as const;
/** Larger bodies go the long way, where a budget bounds them: 1024 connections hold 16 MiB of these. */
const MAX_BODY = 16 * 1024;
const SMALL_ANSWER = 16 * 1024;
const MAX_HOSTS = 100;

/** What was done with a request before it was handed on. */
export interface Handed {
  /** Its body, when that was read. */
  readonly body: Buffer | null;
  /** What the store said or will say, when it was asked. */
  readonly outcome: Promise<unknown> | null;
}

export interface RecordLane {
  /** Answers plain reads, inserts and updates itself and hands everything else on. */
  readonly handler: RequestListener;
  handed(request: IncomingMessage): Handed | null;
}

export interface RecordLaneOptions {
  readonly records: RecordStore;
  /** Bounds the memory of large records that are under way. */
  readonly answers: Answers;
  /** The address the server listens on. */
  readonly listen: string;
  readonly logins: Logins;
  /** Largest body the app takes, bytes. */
  readonly bodyLimit: number;
  readonly seconds: HistogramMetric;
  /** Where other requests go. */
  readonly app: RequestListener;
}

/**
 * The short way to a record. Routing, validation and serialising take Express and the OpenAPI validator several
 * times as long as the store takes to read one, and a benchmark measures both. A request that is plainly right by
 * the OpenAPI document and succeeds is answered here; whatever is not goes to the app, which says why, with what
 * was done for it.
 */
export function recordLane(options: RecordLaneOptions): RecordLane {
  const { records, answers, listen, logins, seconds, app } = options;
  const maxBody = Math.min(MAX_BODY, options.bodyLimit);
  const hosts = new Set<string>();
  const handed = new WeakMap<IncomingMessage, Handed>();
  const measured = (method: string, status: string) => seconds.with({ method, route: ROUTE, status });
  const histograms = {
    GET: measured('GET', '200'),
    PUT: measured('PUT', '201'),
    PATCH: measured('PATCH', '204'),
  } as const;

  const isServed = (request: IncomingMessage): boolean => {
    const { host = '' } = request.headers;
    if (!namesOneHost(request)) return false;
    if (hosts.has(host)) return true;
    if (!isHostServed(listen, host)) return false;
    if (hosts.size < MAX_HOSTS) hosts.add(host);
    return true;
  };
  const mayWrite = (request: IncomingMessage): boolean =>
    request.headers.origin === undefined && logins.passes(request);

  /** Resolves to whether it was answered here. */
  const read: Way = async (request, response, to) => {
    const outcome = records.read(to.table, to.key, to.fields);
    const fields = await outcome.catch(() => null);
    if (fields === null) return handOn(request, response, { body: null, outcome });
    const body = JSON.stringify({ key: to.key, fields });
    if (body.length > SMALL_ANSWER && !answers.fits(response, 2 * body.length)) {
      return handOn(request, response, { body: null, outcome });
    }
    response.writeHead(200, { ...READ_HEADERS, 'Content-Length': Buffer.byteLength(body) }).end(body);
    return true;
  };
  const write: Way = async (request, response, to) => {
    const body = await bodyOf(request);
    // The client left.
    if (body === null) return false;
    const fields = plainFields(body);
    if (fields === null) return handOn(request, response, { body, outcome: null });
    const insert = request.method === 'PUT';
    const outcome = insert
      ? records.insert(to.table, to.key, fields)
      : records.update(to.table, to.key, fields);
    if (!(await outcome.catch(() => false))) return handOn(request, response, { body, outcome });
    if (insert) response.writeHead(201, INSERT_HEADERS).end();
    else response.writeHead(204, SECURITY_HEADERS).end();
    return true;
  };
  const handOn = (request: IncomingMessage, response: ServerResponse, what: Handed): false => {
    handed.set(request, what);
    app(request, response);
    return false;
  };
  const handler = (request: IncomingMessage, response: ServerResponse): void => {
    const method = request.method as keyof typeof histograms;
    const to = Object.hasOwn(histograms, method) && isServed(request) ? placeOf(request.url!) : null;
    const plain =
      method === 'GET' || (to?.fields === null && mayWrite(request) && hasPlainBody(request, maxBody));
    if (to === null || !plain) {
      app(request, response);
      return;
    }
    const started = performance.now();
    (method === 'GET' ? read : write)(request, response, to).then(
      (answered) => {
        if (answered) histograms[method].observe((performance.now() - started) / 1000);
      },
      (error: unknown) => {
        // A record that is too large for one text, say. The app logs it and answers with a 500.
        const outcome = Promise.reject(error);
        outcome.catch(() => {});
        if (response.headersSent || method !== 'GET') response.destroy();
        else handOn(request, response, { body: null, outcome });
      },
    );
  };
  return { handler, handed: (request) => handed.get(request) ?? null };
}

/** Takes a body that was read before the request was handed on; body parsers then leave it alone. */
export function handedBody(lane: RecordLane): RequestHandler {
  return (request, _response, next) => {
    const body = lane.handed(request)?.body ?? null;
    if (body === null) return next();
    try {
      request.body = JSON.parse(body.toString());
      next();
    } catch (error) {
      next(Object.assign(error as SyntaxError, { status: 400, expose: true }));
    }
  };
}

type Way = (request: IncomingMessage, response: ServerResponse, to: Place) => Promise<boolean>;

interface Place {
  readonly table: string;
  readonly key: string;
  readonly fields: readonly string[] | null;
}

function placeOf(url: string): Place | null {
  const match = PLAIN.exec(url);
  if (match === null) return null;
  const [, table, key, asked] = match;
  const fields = asked?.split(',') ?? null;
  if (fields !== null && !(fields.length <= MAX_FIELDS && fields.every((field) => FIELD.test(field))))
    return null;
  return tableProblem(table!) === null ? { table: table!, key: key!, fields } : null;
}

function hasPlainBody({ headers }: IncomingMessage, maxBytes: number): boolean {
  const bytes = Number(headers['content-length']);
  return (
    bytes > 0 &&
    bytes <= maxBytes &&
    JSON_TYPE.test(headers['content-type'] ?? '') &&
    headers['content-encoding'] === undefined
  );
}

/** The whole body, or null when its sender left before its end. */
function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.once('end', () => resolve(parts.length === 1 ? parts[0]! : Buffer.concat(parts)));
    request.once('close', () => resolve(null));
  });
}

/** `{"fields":{"field0":"text", ...}}` and nothing else; lengths are the store's to check, as on the long way. */
function plainFields(body: Buffer): RecordFields | null {
  let document: unknown;
  try {
    document = JSON.parse(body.toString());
  } catch {
    return null;
  }
  if (!isObject(document) || !isObject(document.fields) || Object.keys(document).length !== 1) return null;
  const entries = Object.entries(document.fields);
  const plain =
    entries.length > 0 &&
    entries.length <= MAX_FIELDS &&
    entries.every(([name, value]) => typeof value === 'string' && FIELD.test(name));
  return plain ? (document.fields as RecordFields) : null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
