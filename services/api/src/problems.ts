import type { ProblemDetails } from '@tidegauge/service';
import { MissingTable, StoreError, type StoreErrorCode } from '@tidegauge/storage';
import { IngestError } from './ingest-client.ts';

interface Answer {
  readonly status: number;
  readonly title: string;
  /** Replaces the message of a driver, which can contain hosts and statements. The log has that message. */
  readonly detail: string;
  /** Seconds. */
  readonly retryAfter?: number;
}

/** The answer for each code of a store error. Only this table maps codes to HTTP statuses. */
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
    detail: 'The store is overloaded. Send the request again later, or request less.',
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
    detail: 'The log of this service has the details.',
  },
  REJECTED: {
    status: 422,
    title: 'Refused by the store',
    detail: 'The store does not take one of the values.',
  },
  MISCONFIGURED: {
    status: 500,
    title: 'Store misconfigured',
    detail: 'The store is not set up for this; the log of this service has the details.',
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

/** Problem documents for errors of the store, of ingest and of the body readers; null for other errors. */
export function translate(error: unknown): ProblemDetails | null {
  if (error instanceof StoreError) {
    const answer = error instanceof MissingTable ? MISSING : STORE_ANSWERS[error.code];
    if (isOfDriver(error)) return { ...answer, detail: `${answer.detail}${hintOf(error)}` };
    return { ...answer, detail: `${error.message}.${hintOf(error)}` };
  }
  if (error instanceof IngestError) return error.details;
  return fromBodyReader(error);
}

const MISSING: Answer = { status: 404, title: 'No such table', detail: 'There is no such table.' };

function hintOf({ hint }: StoreError): string {
  return hint === null ? '' : ` ${hint}`;
}

/** Whether the message is a driver's. Backends put the driver's text into the message and its error into `cause`. */
function isOfDriver({ cause }: StoreError): boolean {
  return cause !== undefined && !(cause instanceof StoreError);
}

/** Why Express could not read a body; null for other errors. */
function fromBodyReader(error: unknown): ProblemDetails | null {
  const { type, limit, length, received, message } = error as {
    readonly type?: string;
    readonly limit?: number;
    readonly length?: number;
    readonly received?: number;
    readonly message?: string;
  };
  switch (type) {
    case 'entity.too.large': {
      const bytes = length ?? received;
      const size = bytes === undefined ? '' : ` of ${bytes} bytes`;
      const detail = `The body${size} is too large: at most ${limit} bytes are accepted.`;
      return { status: 413, title: 'Body too large', detail };
    }
    case 'entity.parse.failed':
      return { status: 400, title: 'Invalid request', detail: `The body is not valid JSON: ${message}.` };
    case 'encoding.unsupported': {
      const detail = 'The body has a Content-Encoding that is not supported: send it without compression.';
      return { status: 415, title: 'Unsupported media type', detail };
    }
    default:
      return null;
  }
}
