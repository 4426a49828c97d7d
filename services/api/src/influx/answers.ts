import { Problem, type ProblemDetails } from '@tidegauge/service';
import type { ErrorRequestHandler, RequestHandler, Response } from 'express';

/**
 * The version in the header of InfluxDB's answers. Some clients read it to select their functions. It is one that
 * supports `/write`, `/query` and `/api/v2/write`.
 */
const VERSION = '1.8.10-tidegauge';

/** The paths of InfluxDB 1.x and 2.x that the API serves. */
const PATHS = new Set(['/write', '/query', '/ping', '/health', '/api/v2/write']);

/** InfluxDB 2.x has a word for each status. */
const CODES: Readonly<Record<number, string>> = {
  400: 'invalid',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not found',
  405: 'method not allowed',
  413: 'request too large',
  415: 'invalid',
  422: 'unprocessable entity',
  429: 'too many requests',
};

/** Whether a path is one of InfluxDB's. */
export function isInfluxPath(path: string): boolean {
  return PATHS.has(path);
}

/** Sets the headers of InfluxDB's answers. */
export function influxHeaders(response: Response): void {
  response.setHeader('X-Influxdb-Build', 'OSS');
  response.setHeader('X-Influxdb-Version', VERSION);
}

/** `GET` and `HEAD` of `/ping` and `/health`. They need no login, as in InfluxDB. */
export const influxHealth: RequestHandler = (request, response, next) => {
  const { path, method } = request;
  if ((path !== '/ping' && path !== '/health') || (method !== 'GET' && method !== 'HEAD')) return next();
  response.locals.route = path;
  influxHeaders(response);
  const verbose = request.query.verbose;
  if (path === '/health') {
    const message = 'ready for queries and writes';
    response.json({ name: 'influxdb', message, status: 'pass', checks: [], version: VERSION });
  } else if (verbose !== undefined && verbose !== 'false' && verbose !== '0') {
    response.json({ version: VERSION });
  } else response.status(204).end();
};

function documentOf2(status: number, message: string): { code: string; message: string } {
  return { code: CODES[status] ?? (status === 500 ? 'internal error' : 'unavailable'), message };
}

/**
 * Answers errors on InfluxDB's paths with its documents: `{"error": ...}` of 1.x, and `{"code", "message"}` of 2.x.
 * Errors on other paths go to the next handler.
 *
 * @param translate converts errors that are not problems
 */
export function influxErrors(translate: (error: unknown) => ProblemDetails | null): ErrorRequestHandler {
  return (error, request, response, next) => {
    if (!isInfluxPath(request.path) || response.headersSent) return next(error);
    const details = error instanceof Problem ? error.details : translate(error);
    if (details === null) return next(error);
    const { status, detail, retryAfter } = details;
    influxHeaders(response);
    if (retryAfter !== undefined) response.setHeader('Retry-After', String(retryAfter));
    response.status(status);
    response.json(request.path.startsWith('/api/v2/') ? documentOf2(status, detail) : { error: detail });
  };
}
