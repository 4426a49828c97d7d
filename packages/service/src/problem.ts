import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import type { Logger } from './logger.ts';

/** An RFC 9457 problem document. `type` is `about:blank`. */
export interface ProblemDetails {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** The invalid inputs, for validation errors. */
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
  /** Seconds for `Retry-After`. */
  readonly retryAfter?: number;
}

/** An error that is answered with a problem document. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly details: ProblemDetails;

  constructor(
    status: number,
    title: string,
    detail: string,
    more: Pick<ProblemDetails, 'errors' | 'retryAfter'> = {},
  ) {
    super(detail);
    this.details = { status, title, detail, ...more };
  }
}

export function sendProblem(response: Response, instance: string, details: ProblemDetails): void {
  const { retryAfter, ...document } = details;
  if (retryAfter !== undefined) response.setHeader('Retry-After', String(retryAfter));
  response
    .status(details.status)
    .type('application/problem+json')
    .send(JSON.stringify({ type: 'about:blank', ...document, instance }));
}

/** The last route: answers 404. */
export const notFound: RequestHandler = (request) => {
  throw new Problem(404, 'Not found', `There is no ${request.method} ${request.path} here.`);
};

/** Least time between two log lines of the same failure, milliseconds. While a store is unavailable, all requests fail alike. */
const REPEAT_MS = 10_000;
/** The most kinds of failures whose last line is remembered. */
const MOST_FAILURES = 100;

/**
 * Answers an error of a handler with a problem document. `translate` converts the service's own errors. An unknown
 * error is logged with its cause, and answered without it. A failure that repeats is logged every ten seconds, with
 * the number of lines that were left out (`omitted`). When an answer has begun, it is cut off, which also works without
 * Express. Express would also print the error.
 */
export function problemHandler(
  logger: Logger,
  translate: (error: unknown) => ProblemDetails | null = () => null,
): ErrorRequestHandler {
  const failures = new Map<string, { at: number; omitted: number }>();
  const log = (error: unknown, request: Request): void => {
    const kind = kindOf(error);
    const last = failures.get(kind);
    const at = performance.now();
    if (last !== undefined && at - last.at < REPEAT_MS) {
      last.omitted++;
      return;
    }
    if (last === undefined && failures.size >= MOST_FAILURES) failures.clear();
    failures.set(kind, { at, omitted: 0 });
    const omitted = last !== undefined && last.omitted > 0 ? { omitted: last.omitted } : {};
    const path = (request.originalUrl ?? request.url).split('?', 1)[0];
    logger.error({ err: error, method: request.method, path, ...omitted }, 'request failed');
  };
  // Express recognises a handler of errors by its four parameters.
  return (error, request, response, _next) => {
    const details = error instanceof Problem ? error.details : (translate(error) ?? fromHttpError(error));
    if (details.status >= 500 && !(error instanceof Problem)) {
      log(error, request);
    }
    if (response.headersSent) {
      if (!response.writableEnded) request.socket.destroy();
      return;
    }
    sendProblem(response, request.originalUrl, details);
  };
}

/** Name, code and origin of an error. Messages differ between requests, so they are no part of it. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { code } = error as { code?: unknown };
  const frame = error.stack?.split('\n').find((line) => line.startsWith('    at ')) ?? '';
  return `${error.name} ${String(code)}${frame}`;
}

/** Body parsers throw errors with a status; any other error is a defect of the service. */
function fromHttpError(error: unknown): ProblemDetails {
  const { status, expose, message } = error as { status?: number; expose?: boolean; message?: string };
  if (typeof status === 'number' && status >= 400 && status < 500 && expose) {
    return { status, title: 'Bad request', detail: message ?? 'The request cannot be read.' };
  }
  return {
    status: 500,
    title: 'Internal error',
    detail: 'An unexpected error occurred; the log of this service has the details.',
  };
}
