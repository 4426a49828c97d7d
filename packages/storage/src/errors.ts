/** What a failed store call means to its caller; the code alone decides what to do next. */
export const STORE_ERROR_CODES = {
  UNAVAILABLE: 'the store cannot be reached or cannot write now: retry with back-off, or spool',
  OVERLOADED: 'the store asks for less: slow down, then retry',
  TIMEOUT: 'no answer in time, outcome unknown: write again, writes are idempotent',
  UNEXPECTED:
    'an error that nobody foresaw, of the whole store or of some rows: retry a few times, then isolate the rows',
  REJECTED: 'the store refuses these rows for good: quarantine them, never retry',
  MISCONFIGURED: 'nothing will work until a person mends the configuration: stop and say how',
  NOT_SUPPORTED: 'this backend does not offer the call: ask its capabilities first',
  FORBIDDEN: 'the table belongs to another program, which alone may do this: use another table',
  CLOSED: 'the store is not open: a mistake of the caller',
} as const;

export type StoreErrorCode = keyof typeof STORE_ERROR_CODES;

export interface StoreErrorOptions {
  readonly cause?: unknown;
  /** How to mend it, as one sentence; for MISCONFIGURED always given. */
  readonly hint?: string;
  /** For REJECTED: indexes into the batch of the rows refused, when the store names them. */
  readonly rows?: readonly number[];
}

/** The only error a Store rejects with; programmer mistakes (wrong argument types) are TypeErrors. */
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

/** True when writing the same batch again can succeed without anybody mending anything. */
export function isRetryable(error: unknown): error is StoreError {
  return (
    error instanceof StoreError &&
    (error.code === 'UNAVAILABLE' || error.code === 'OVERLOADED' || error.code === 'TIMEOUT')
  );
}
