import { HBaseError, type HBaseErrorCode } from '@tidegauge/hbase-client';
import { StoreError, type StoreErrorCode } from '../errors.ts';

type Meaning = readonly [StoreErrorCode, hint: string];

const LAYOUT = 'the namespace is not laid out as this version expects: somebody changed its tables';
const MEANWHILE = 'another process changed it at the same moment: try again';

/** What the client's codes mean to a caller of a store; its own hint, where it has one, says more. */
const MEANINGS: Readonly<Record<HBaseErrorCode, Meaning>> = {
  UNREACHABLE: ['UNAVAILABLE', 'is the server up, and the host right?'],
  UNAVAILABLE: ['UNAVAILABLE', 'see the log of the master: a region has no server now'],
  OVERLOADED: ['OVERLOADED', 'wait; then write with fewer writers'],
  TIMEOUT: ['TIMEOUT', 'no answer in time: try again, or raise the timeout option'],
  OUTCOME_UNKNOWN: ['TIMEOUT', 'no answer came: write again'],
  PROTOCOL: ['UNEXPECTED', 'is the host an HBase?'],
  TABLE_NOT_FOUND: ['MISCONFIGURED', LAYOUT],
  TABLE_EXISTS: ['UNAVAILABLE', MEANWHILE],
  TABLE_DISABLED: ['MISCONFIGURED', 'enable the table'],
  TABLE_ENABLED: ['UNAVAILABLE', MEANWHILE],
  FAMILY_NOT_FOUND: ['MISCONFIGURED', LAYOUT],
  NAMESPACE_NOT_FOUND: ['MISCONFIGURED', LAYOUT],
  NAMESPACE_EXISTS: ['UNAVAILABLE', MEANWHILE],
  ACCESS_DENIED: ['MISCONFIGURED', 'grant the user RWXCA on the namespace'],
  REJECTED: ['REJECTED', 'the server refuses it for good: see the message'],
  UNSUPPORTED_SERVER: ['MISCONFIGURED', 'Tidegauge needs HBase 2.4 or later'],
  CLOSED: ['UNAVAILABLE', 'the connection was closed during the call'],
};

/** What a failed call means; errors that are not the client's pass through. */
export function toStoreError(error: unknown, place: string): unknown {
  if (!(error instanceof HBaseError)) return error;
  const [code, hint] = MEANINGS[error.code];
  const rows = error.failures.flatMap((failure) =>
    failure.error.code === 'REJECTED' ? [failure.index] : [],
  );
  return new StoreError(code, `hbase ${place}: ${error.message}`, {
    hint: error.hint ?? hint,
    cause: error,
    ...(code === 'REJECTED' && rows.length > 0 ? { rows } : {}),
  });
}

/** Whether a call failed so, as the client says it. */
export function failedWith(error: unknown, code: HBaseErrorCode): boolean {
  return error instanceof HBaseError && error.code === code;
}
