/** The meaning of a failed call. */
export const HBASE_ERROR_CODES = {
  UNREACHABLE: 'no connection to ZooKeeper, the master or a region server',
  UNAVAILABLE: 'the region, the server or the master could not answer by the deadline',
  OVERLOADED: 'a queue of a server or of this client is full: send fewer calls',
  TIMEOUT: 'no answer by the deadline; nothing was changed',
  OUTCOME_UNKNOWN: 'no answer came: the call may or may not have changed something',
  PROTOCOL: 'the server sent data that is not valid in the HBase protocol',
  TABLE_NOT_FOUND: 'the table does not exist',
  TABLE_EXISTS: 'the table already exists',
  TABLE_DISABLED: 'the table is disabled',
  TABLE_ENABLED: 'the table is enabled: disable it first',
  FAMILY_NOT_FOUND: 'the table has no such column family',
  NAMESPACE_NOT_FOUND: 'the namespace does not exist',
  NAMESPACE_EXISTS: 'the namespace already exists',
  ACCESS_DENIED: 'the user does not have the right to do this',
  REJECTED: 'the server refuses the call, and a retry does not help',
  UNSUPPORTED_SERVER: 'the server is not HBase 2.4 or later',
  CLOSED: 'the client is closed',
} as const;

export type HBaseErrorCode = keyof typeof HBASE_ERROR_CODES;

/** How the client handles a failure before the deadline: no retry, a new look-up of the region, or a longer pause. */
export type Remedy = 'none' | 'relocate' | 'wait';

export interface HBaseErrorOptions {
  readonly cause?: unknown;
  /** How to fix the problem, as one sentence. */
  readonly hint?: string;
  /** `host:port` of the server that failed. */
  readonly host?: string;
  /** The name of the region, in the form that HBase prints. */
  readonly region?: string;
  /** The Java class of the server's exception. */
  readonly exception?: string;
  readonly remedy?: Remedy;
  /** False if it is certain that the request changed nothing. */
  readonly maybeApplied?: boolean;
  /** The operations of a batch that failed, with their errors. */
  readonly failures?: readonly BatchFailure[];
}

export interface BatchFailure {
  readonly index: number;
  readonly error: HBaseError;
}

/** The only error with which a call of this client rejects, except a TypeError for a wrong argument. */
export class HBaseError extends Error {
  override readonly name = 'HBaseError';
  readonly code: HBaseErrorCode;
  readonly hint: string | null;
  readonly host: string | null;
  readonly region: string | null;
  readonly exception: string | null;
  readonly remedy: Remedy;
  readonly maybeApplied: boolean;
  readonly failures: readonly BatchFailure[];

  constructor(code: HBaseErrorCode, message: string, options: HBaseErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint ?? null;
    this.host = options.host ?? null;
    this.region = options.region ?? null;
    this.exception = options.exception ?? null;
    this.remedy = options.remedy ?? 'none';
    this.maybeApplied = options.maybeApplied ?? false;
    this.failures = options.failures ?? [];
  }
}
