import { HBaseError, type HBaseErrorCode } from '@tidegauge/hbase-client';
import { StoreError, type StoreErrorCode } from '../errors.ts';

type Meaning = readonly [StoreErrorCode, hint: string];

const LAYOUT = 'the namespace does not have the layout of this version: another program changed its tables';
const MEANWHILE = 'another process changed it at the same time: try again';

/** Meanings of the codes of the client. The hint of the client replaces the one here. */
const MEANINGS: Readonly<Record<HBaseErrorCode, Meaning>> = {
  UNREACHABLE: ['UNAVAILABLE', 'check that the server runs, and the host'],
  UNAVAILABLE: ['UNAVAILABLE', 'see the log of the master: a region has no server now'],
  OVERLOADED: ['OVERLOADED', 'wait; then write with fewer writers'],
  TIMEOUT: ['TIMEOUT', 'no answer in time: try again, or raise the timeout option'],
  OUTCOME_UNKNOWN: ['TIMEOUT', 'no answer came: write again'],
  PROTOCOL: ['UNEXPECTED', 'check that the host runs HBase'],
  TABLE_NOT_FOUND: ['MISCONFIGURED', LAYOUT],
  TABLE_EXISTS: ['UNAVAILABLE', MEANWHILE],
  TABLE_DISABLED: ['MISCONFIGURED', 'enable the table'],
  TABLE_ENABLED: ['UNAVAILABLE', MEANWHILE],
  FAMILY_NOT_FOUND: ['MISCONFIGURED', LAYOUT],
  NAMESPACE_NOT_FOUND: ['MISCONFIGURED', LAYOUT],
  NAMESPACE_EXISTS: ['UNAVAILABLE', MEANWHILE],
  ACCESS_DENIED: ['MISCONFIGURED', 'grant the user RWXCA on the namespace'],
  REJECTED: ['REJECTED', 'the server will never accept this: see the message'],
  UNSUPPORTED_SERVER: ['MISCONFIGURED', 'Tidegauge needs HBase 2.4 or later'],
  CLOSED: ['UNAVAILABLE', 'the connection was closed during the call'],
};

/** Maps the error of a failed call. Errors that do not come from the client stay as they are. */
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

/** Whether a call failed with this code of the client. */
export function failedWith(error: unknown, code: HBaseErrorCode): boolean {
  return error instanceof HBaseError && error.code === code;
}
