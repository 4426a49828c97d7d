import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { influxPrecision, type LinesDocument } from '@tidegauge/readings';
import { Problem, principalOf, senderOf, Turns } from '@tidegauge/service';
import express, { type Request, type RequestHandler, type Response, Router } from 'express';
import type { IngestClient } from '../ingest-client.ts';
import { influxHeaders } from './answers.ts';
import { answerQuery } from './query.ts';

/** Largest form of `POST /query`, bytes. */
const QUERY_BYTES = 16 * 1024;
/** Requests whose decompressed bodies are in memory at once. */
const WRITES = 8;
const CONSISTENCIES = ['any', 'one', 'quorum', 'all'];

const decompress = promisify(gunzip);

export interface InfluxOptions {
  readonly ingest: IngestClient;
  /** Bounds the bytes of bodies in memory. */
  readonly budget: RequestHandler;
  /** Largest body, bytes, compressed and decompressed. */
  readonly bodyLimit: number;
}

/** What a write request stores where. */
interface Target {
  readonly database: string;
  readonly precision: string;
}

/**
 * The write requests of InfluxDB: `POST /write` of 1.x and `POST /api/v2/write` of 2.x, and `/query` for the statements
 * that their clients send first. Lines go to ingest like all other readings. Errors are thrown as problems, and
 * `influxErrors` answers them as InfluxDB does.
 */
export function influxRoutes({ ingest, budget, bodyLimit }: InfluxOptions): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const turns = new Turns(WRITES);
  const body = express.raw({ type: () => true, limit: bodyLimit, inflate: false });
  const form = express.urlencoded({ type: () => true, limit: QUERY_BYTES, inflate: false, extended: false });

  const write = async (request: Request, response: Response, target: Target, whole: boolean) => {
    influxHeaders(response);
    return await turns.run(response, async () => {
      const lines = await bodyOf(request, bodyLimit);
      return ingest.lines({
        ...target,
        device: principalOf(response).devices,
        whole,
        body: lines,
        sender: senderOf(response),
      });
    });
  };

  // The body is read before its encoding is known to Express, which would refuse gzip.
  router.post('/write', named, budget, plainBody(body), async (request, response) => {
    const outcome = await write(request, response, targetOfV1(request), false);
    if (outcome === null) return;
    const detail = problemOf(outcome);
    if (detail !== null) throw new Problem(400, 'Partial write', detail);
    response.status(204).end();
  });

  router.post('/api/v2/write', named, budget, plainBody(body), async (request, response) => {
    const target = targetOfV2(request);
    const sent = request.body as unknown;
    if (!Buffer.isBuffer(sent) || sent.length === 0) throw bad('writing requires points');
    const outcome = await write(request, response, target, true);
    if (outcome === null) return;
    if (outcome.isMalformed) throw bad(reasons(outcome));
    const detail = problemOf(outcome);
    if (detail !== null) {
      const message = `failure writing points to database: ${detail}`;
      throw new Problem(422, 'Partial write', message);
    }
    response.status(204).end();
  });

  const query: RequestHandler = (request, response) => {
    const given: unknown = request.query.q ?? (request.body as { q?: unknown } | undefined)?.q;
    if (typeof given !== 'string' || given.trim() === '') throw bad('missing required parameter "q"');
    influxHeaders(response);
    response.json(answerQuery(given));
  };
  router.get('/query', named, query);
  router.post('/query', named, budget, form, query);

  for (const [path, methods] of [
    ['/write', 'POST'],
    ['/api/v2/write', 'POST'],
    ['/query', 'GET, HEAD, POST'],
    ['/ping', 'GET, HEAD'],
    ['/health', 'GET, HEAD'],
  ] as const) {
    router.all(path, named, (request, response) => {
      response.setHeader('Allow', methods);
      throw new Problem(405, 'Method not allowed', `${request.method} is not a method of ${path}.`);
    });
  }
  return router;
}

/** The route's name in the metrics. */
const named: RequestHandler = (request, response, next) => {
  response.locals.route = request.path;
  next();
};

/** Reads the bytes of a body as they are. Express would otherwise refuse a body with an encoding. */
function plainBody(read: RequestHandler): RequestHandler {
  return (request, response, next) => {
    const encoding = request.headers['content-encoding'];
    if (encoding === undefined) return read(request, response, next);
    request.headers['content-encoding'] = 'identity';
    return read(request, response, (error?: unknown) => {
      request.headers['content-encoding'] = encoding;
      next(error);
    });
  };
}

/** @throws {Problem} 400, 413, 415 */
async function bodyOf(request: Request, limit: number): Promise<Uint8Array> {
  const sent: Uint8Array = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const encoding = (request.headers['content-encoding'] ?? 'identity').toLowerCase();
  if (encoding === 'identity' || sent.length === 0) return sent;
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new Problem(415, 'Unsupported media type', `the encoding ${encoding} is not supported: send gzip`);
  try {
    return await decompress(sent, { maxOutputLength: limit });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      const detail = `the decompressed body is too large: at most ${limit} bytes are accepted`;
      throw new Problem(413, 'Body too large', detail);
    }
    throw bad(`the body is not gzip data: ${(error as Error).message}`);
  }
}

/** @throws {Problem} 400 */
function targetOfV1(request: Request): Target {
  const db = text(request, 'db');
  const rp = text(request, 'rp');
  const consistency = text(request, 'consistency');
  if (db === '') throw bad('database is required');
  if (consistency !== '' && !CONSISTENCIES.includes(consistency)) throw bad('invalid consistency level');
  return {
    database: rp === '' ? db : `${db}/${rp}`,
    precision: precisionOf(request, 'n, ns, u, ms, s, m or h'),
  };
}

/** @throws {Problem} 400 */
function targetOfV2(request: Request): Target {
  const database = text(request, 'bucket') || text(request, 'bucketID');
  if (database === '') throw bad('bucket is required');
  return { database, precision: precisionOf(request, 'ns, us, ms or s') };
}

function precisionOf(request: Request, valid: string): string {
  const given = text(request, 'precision') || 'ns';
  const precision = given === 'auto' ? null : influxPrecision(given);
  if (precision === null) throw bad(`invalid precision ${JSON.stringify(given)} (use ${valid})`);
  return precision;
}

/** A parameter; empty when it is missing. @throws {Problem} 400 when it is there twice */
function text(request: Request, name: string): string {
  const value = request.query[name] ?? '';
  if (typeof value !== 'string') throw bad(`the parameter ${name} must be given once`);
  return value;
}

/** Why not all lines were stored, in the form of InfluxDB; null when all were. */
function problemOf(outcome: LinesDocument): string | null {
  const { quarantined, refusedLines } = outcome;
  const rejected = quarantined - (refusedLines > 0 ? 1 : 0);
  if (refusedLines === 0 && rejected <= 0) return null;
  const why = refusedLines > 0 ? reasons(outcome) : `the store rejected ${rejected} values`;
  return `partial write: ${why} dropped=${refusedLines + Math.max(0, rejected)}`;
}

function reasons({ errors, refusedLines }: LinesDocument): string {
  const lines = errors.map(({ detail, position }) =>
    position === null ? detail : `${detail} (${position})`,
  );
  const more = refusedLines > errors.length ? [`and ${refusedLines - errors.length} more lines`] : [];
  return [...lines, ...more].join('\n');
}

function bad(detail: string): Problem {
  return new Problem(400, 'Bad request', detail);
}
