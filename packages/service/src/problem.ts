import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
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

/**
 * Answers an error of a handler with a problem document. `translate` converts the service's own errors. An unknown
 * error is logged with its cause, and answered without it.
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
