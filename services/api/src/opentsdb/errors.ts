import { Problem, type ProblemDetails } from '@tidegauge/service';
import type { ErrorRequestHandler } from 'express';

/** The paths of OpenTSDB's HTTP API that the API serves. */
const PATHS = new Set([
  '/api/version',
  '/api/aggregators',
  '/api/config/filters',
  '/api/suggest',
  '/api/search/lookup',
  '/api/query',
]);

/**
 * Answers errors on OpenTSDB's paths with its document, `{"error": {"code", "message", "details"}}`:
 * http://opentsdb.net/docs/build/html/api_http/index.html. Errors on other paths go to the next handler.
 *
 * @param translate converts errors that are not problems
 */
export function openTsdbErrors(translate: (error: unknown) => ProblemDetails | null): ErrorRequestHandler {
  return (error, request, response, next) => {
    if (!PATHS.has(request.path) || response.headersSent) return next(error);
    const details = error instanceof Problem ? error.details : translate(error);
    if (details === null) return next(error);
    const { status, title, detail, retryAfter } = details;
    if (retryAfter !== undefined) response.setHeader('Retry-After', String(retryAfter));
    response.status(status).json({ error: { code: status, message: detail, details: title } });
  };
}

/** A query that is not valid. */
export function bad(message: string): Problem {
  return new Problem(400, 'Invalid request', message);
}

/** A query that needs more than one query may use. */
export function tooLarge(message: string): Problem {
  return new Problem(413, 'The query is too large', message);
}
