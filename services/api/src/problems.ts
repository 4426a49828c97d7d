import type { ProblemDetails } from '@tidegauge/service';
import { StoreError, type StoreErrorCode } from '@tidegauge/storage';
import type { ErrorRequestHandler } from 'express';
import { IngestError } from './ingest-client.ts';

interface Answer {
  readonly status: number;
  readonly title: string;
  /** Seconds. */
  readonly retryAfter?: number;
}

/** What each store error means to a client of the API; the only place where codes become status numbers. */
export const STORE_ANSWERS: Readonly<Record<StoreErrorCode, Answer>> = {
  UNAVAILABLE: { status: 503, title: 'Store unavailable', retryAfter: 5 },
  OVERLOADED: { status: 503, title: 'Store overloaded', retryAfter: 1 },
  TIMEOUT: { status: 504, title: 'Store did not answer in time' },
  REJECTED: { status: 422, title: 'Refused by the store' },
  MISCONFIGURED: { status: 500, title: 'Store misconfigured' },
  NOT_SUPPORTED: { status: 501, title: 'Not supported by this store' },
  CLOSED: { status: 503, title: 'Stopping', retryAfter: 5 },
};

/** The API's own kinds of errors as problem documents; null for what it does not know. */
export function translate(error: unknown): ProblemDetails | null {
  if (error instanceof StoreError) {
    const hint = error.hint === null ? '' : ` ${error.hint}`;
    return { ...STORE_ANSWERS[error.code], detail: `${error.message}.${hint}` };
  }
  if (error instanceof IngestError) return error.details;
  return fromValidator(error);
}

interface ValidatorError {
  readonly status: number;
  readonly name: string;
  readonly message: string;
  readonly errors: readonly { readonly path: string; readonly message: string }[];
}

const VALIDATOR_TITLES: Readonly<Record<number, string>> = {
  400: 'Invalid request',
  404: 'Not found',
  405: 'Method not allowed',
  406: 'Not acceptable',
  413: 'Body too large',
  415: 'Unsupported media type',
};

/** express-openapi-validator throws HTTP errors that list what is wrong by JSON pointer. */
function fromValidator(error: unknown): ProblemDetails | null {
  const { status, errors, message } = error as Partial<ValidatorError>;
  if (status === undefined || !Array.isArray(errors)) return null;
  const title = VALIDATOR_TITLES[status];
  if (title === undefined) return null;
  if (status !== 400) return { status, title, detail: message ?? title };
  const wrong = errors.map((each) => ({ path: each.path, message: each.message }));
  return {
    status,
    title,
    detail: wrong.map((each) => `${each.path}: ${each.message}`).join('; '),
    errors: wrong,
  };
}

/** A 405 names the methods that would do (RFC 9110 section 15.5.6); goes before the problem handler. */
export const allowHeader: ErrorRequestHandler = (error, _request, response, next) => {
  const allow: unknown = (error as { headers?: Record<string, unknown> }).headers?.Allow;
  if (typeof allow === 'string' && !response.headersSent) response.setHeader('Allow', allow);
  next(error);
};
