import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import type { Logger } from './logger.ts';

/** An RFC 9457 problem document; `type` is `about:blank`, so `title` is the status phrase's meaning. */
export interface ProblemDetails {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** Which inputs were wrong, for validation failures. */
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
  /** Seconds for `Retry-After`. */
  readonly retryAfter?: number;
}

/** Thrown by a handler to answer with a problem document. */
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

/** The last route: nothing is here. */
export const notFound: RequestHandler = (request) => {
  throw new Problem(404, 'Not found', `There is no ${request.method} ${request.path} here.`);
};

/**
 * Turns whatever a handler threw into a problem document. `translate` knows the service's own errors;
 * what nobody knows is logged with its cause and answered without it.
 */
export function problemHandler(
  logger: Logger,
  translate: (error: unknown) => ProblemDetails | null = () => null,
): ErrorRequestHandler {
  return (error, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const details = error instanceof Problem ? error.details : (translate(error) ?? fromHttpError(error));
    if (details.status >= 500 && !(error instanceof Problem)) {
      logger.error({ err: error, method: request.method, path: request.path }, 'request failed');
    }
    sendProblem(response, request.originalUrl, details);
  };
}

/** Body parsers throw errors that carry their status; anything else is our own fault. */
function fromHttpError(error: unknown): ProblemDetails {
  const { status, expose, message } = error as { status?: number; expose?: boolean; message?: string };
  if (typeof status === 'number' && status >= 400 && status < 500 && expose) {
    return { status, title: 'Bad request', detail: message ?? 'The request cannot be read.' };
  }
  return {
    status: 500,
    title: 'Internal error',
    detail: 'Something failed here; the log of this service says what.',
  };
}
