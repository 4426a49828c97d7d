/** The meaning of each code, and what the caller does. The code alone decides what to do next. */
export const STORE_ERROR_CODES = {
  UNAVAILABLE: 'the store cannot be reached or cannot write now: retry with back-off, or spool',
  OVERLOADED: 'the store is overloaded: slow down, then retry',
  TIMEOUT: 'no answer in time, so the outcome is unknown: write again, because writes are idempotent',
  UNEXPECTED:
    'an unknown error, of the whole store or of some rows: retry a few times, then isolate the rows',
  REJECTED: 'the store will never accept these rows: quarantine them, do not retry',
  MISCONFIGURED: 'the configuration is wrong: stop, and print the hint',
  NOT_SUPPORTED: 'the store does not support the call: check its capabilities first',
  FORBIDDEN: 'the table belongs to another program: use another table',
  CLOSED: 'the store is not open: a bug in the caller',
} as const;

/** The hint of every error of a full disk, of this machine or of a server. Its code is UNAVAILABLE. */
export const DISK_FULL = 'free some space on the disk of the store, or expire old readings';

/** The hint of every error of a damaged file of the store. Its code is MISCONFIGURED. */
export const DAMAGED = 'the file is damaged: stop, keep a copy, and restore a backup';

export type StoreErrorCode = keyof typeof STORE_ERROR_CODES;

export interface StoreErrorOptions {
  readonly cause?: unknown;
  /** How to fix it, as one sentence. Always present for MISCONFIGURED. */
  readonly hint?: string;
  /** For REJECTED: indexes of the refused rows in the batch, if the store names them. */
  readonly rows?: readonly number[];
}

/** The only error with which a store rejects, except for wrong argument types, which are a TypeError. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;
  readonly hint: string | null;
  readonly rows: readonly number[] | null;

  constructor(code: StoreErrorCode, message: string, options: StoreErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint ?? null;
    this.rows = options.rows ?? null;
  }
}

/** Whether the disk of a store is full, which a retry alone does not change. */
export function isDiskFull(error: unknown): error is StoreError {
  return error instanceof StoreError && error.hint === DISK_FULL;
}

/** Whether a file of a store is damaged. Other parts of it can be usable. */
export function isDamaged(error: unknown): error is StoreError & { readonly hint: string } {
  return error instanceof StoreError && error.hint === DAMAGED;
}

/** True if the same write can succeed later without a change of data or configuration. */
export function isRetryable(error: unknown): error is StoreError {
  return (
    error instanceof StoreError &&
    (error.code === 'UNAVAILABLE' || error.code === 'OVERLOADED' || error.code === 'TIMEOUT')
  );
}

/**
 * The refusal of data that a newer version of Tidegauge wrote.
 *
 * @param what it wrote: `file`, `database`
 */
export function newerSchema(place: string, version: number, known: number, what: string): StoreError {
  const message = `${place}: schema version ${version} is newer than ${known}, the newest known here`;
  return new StoreError('MISCONFIGURED', message, {
    hint: `run the version of Tidegauge that wrote the ${what}, or a later one`,
  });
}
