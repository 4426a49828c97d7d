import { DISK_FULL, StoreError, type StoreErrorCode } from '../errors.ts';
import { isUntrusted } from '../tls.ts';

/** Meanings of answers, as status and message. The first pattern that matches counts. */
const MEANINGS: readonly (readonly [RegExp, StoreErrorCode, hint: string])[] = [
  [/no space left on device/, 'UNAVAILABLE', DISK_FULL],
  [/^401|authorization failed/, 'MISCONFIGURED', 'check user and password'],
  [/^403|not authorized|requires admin/, 'MISCONFIGURED', 'create the database, and grant ALL on it'],
  [/database not found/, 'MISCONFIGURED', 'restart, which creates the database'],
  [/max-series-per-database|max-values-per-tag/, 'UNAVAILABLE', 'raise this limit in influxdb.conf'],
  [/^429|^503|cache-max-memory-size|max-concurrent/, 'OVERLOADED', 'wait: the server is busy'],
  [/timeout|engine is closed/, 'UNAVAILABLE', 'the server is busy or stops: wait'],
  [/^400/, 'REJECTED', 'the server will never accept this: see the message'],
  [/^413/, 'REJECTED', 'the server accepts requests of max-body-size, by default 25 MB'],
  [/^/, 'UNEXPECTED', 'see the log of the server'],
];

/** The error of an answer. The status of a statement that failed is 200. */
export function answerError(status: number, message: string, place: string): StoreError {
  const [, code, hint] = MEANINGS.find(([pattern]) => pattern.test(`${status} ${message}`))!;
  return new StoreError(code, `influxdb ${place}: ${message}`, { hint });
}

/** The error of a request without an answer. */
export function requestError(error: unknown, place: string, late: StoreErrorCode): StoreError {
  const { name, message, cause } = error as Error;
  const reason = cause instanceof Error && cause.message !== '' ? cause.message : message;
  const as = (code: StoreErrorCode, hint: string) =>
    new StoreError(code, `influxdb ${place}: ${reason}`, { hint, cause: error });
  if (name === 'TimeoutError') return as(late, 'try again, or raise the timeout');
  if (isUntrusted(cause)) return as('MISCONFIGURED', 'trust its authority with NODE_EXTRA_CA_CERTS');
  return as('UNAVAILABLE', 'check host and port, and that the server runs');
}
