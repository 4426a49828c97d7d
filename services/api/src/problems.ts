import type { ProblemDetails } from '@tidegauge/service';
import { MissingTable, StoreError, type StoreErrorCode } from '@tidegauge/storage';
import type { ErrorRequestHandler } from 'express';
import { IngestError } from './ingest-client.ts';
import { describedPatterns, readOpenApi } from './openapi.ts';

const PATTERNS = describedPatterns(readOpenApi());

interface Answer {
  readonly status: number;
  readonly title: string;
  /** Said in place of what a driver says, which names hosts and statements; the log has that. */
  readonly detail: string;
  /** Seconds. */
  readonly retryAfter?: number;
}

/** What each store error means to a client of the API; the only place where codes become status numbers. */
export const STORE_ANSWERS: Readonly<Record<StoreErrorCode, Answer>> = {
  UNAVAILABLE: {
    status: 503,
    title: 'Store unavailable',
    detail: 'The store cannot be reached, or cannot write now.',
    retryAfter: 5,
  },
  OVERLOADED: {
    status: 503,
    title: 'Store overloaded',
    detail: 'The store has too much to do: ask again, and for less.',
    retryAfter: 1,
  },
  TIMEOUT: {
    status: 504,
    title: 'Store did not answer in time',
    detail: 'The outcome is unknown. A write may be repeated.',
  },
  UNEXPECTED: {
    status: 500,
    title: 'Unexpected error of the store',
    detail: 'The log of this service says what.',
  },
  REJECTED: {
    status: 422,
    title: 'Refused by the store',
    detail: 'The store does not take one of the values.',
  },
  MISCONFIGURED: {
    status: 500,
    title: 'Store misconfigured',
    detail: 'The store is not set up for this; the log of this service says what is wrong.',
  },
  NOT_SUPPORTED: {
    status: 501,
    title: 'Not supported by this store',
    detail: 'The store does not offer this.',
  },
  FORBIDDEN: {
    status: 403,
    title: 'Not a table of Tidegauge',
    detail: 'The table belongs to another program.',
  },
  CLOSED: { status: 503, title: 'Stopping', detail: 'This service stops.', retryAfter: 5 },
};

/** The API's own kinds of errors as problem documents; null for what it does not know. */
export function translate(error: unknown): ProblemDetails | null {
  if (error instanceof StoreError) {
    const answer = error instanceof MissingTable ? MISSING : STORE_ANSWERS[error.code];
    if (isOfDriver(error)) return { ...answer, detail: `${answer.detail}${hintOf(error)}` };
    return { ...answer, detail: `${error.message}.${hintOf(error)}` };
  }
  if (error instanceof IngestError) return error.details;
  return fromValidator(error);
}

const MISSING: Answer = { status: 404, title: 'No such table', detail: 'There is no such table.' };

function hintOf({ hint }: StoreError): string {
  return hint === null ? '' : ` ${hint}`;
}

/** Backends put what a driver says into the message and the driver's error into `cause`. */
function isOfDriver({ cause }: StoreError): boolean {
  return cause !== undefined && !(cause instanceof StoreError);
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

/** In the document `filter` stands for several query parameters (openapi.yaml, `updateDevices`). */
const FILTER = /^\/query\/filter(?=\/|$)/;

/** What the validator says, where a person can use it. */
function explain({ path, message }: ValidatorError['errors'][number]): string {
  if (path === '/query/filter') {
    return 'needs at least one of year, city, site and kind: this changes every device that matches';
  }
  // The validator passes over the parts of an object that are empty, and then does not know them.
  if (/^\/query\/(?:year|city|site|kind)$/.test(path) && message.startsWith('Unknown')) return 'is empty';
  const pattern = /^must match pattern "(.*)"$/s.exec(message)?.[1];
  const described = pattern === undefined ? undefined : PATTERNS.get(pattern);
  return described === undefined ? message : `does not match its pattern: it is not ${described}`;
}

/** express-openapi-validator throws HTTP errors that list what is wrong by JSON pointer. */
function fromValidator(error: unknown): ProblemDetails | null {
  const { status, errors, message } = error as Partial<ValidatorError>;
  if (status === undefined || !Array.isArray(errors)) return null;
  const title = VALIDATOR_TITLES[status];
  if (title === undefined) return null;
  if (status !== 400) return { status, title, detail: message ?? title };
  const wrong = errors.map((each) => ({ path: each.path.replace(FILTER, '/query'), message: explain(each) }));
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
