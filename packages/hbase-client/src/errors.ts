/** What a failed call means to its caller; all but the last seven may pass if it is made again. */
export const HBASE_ERROR_CODES = {
  UNREACHABLE: 'no connection to ZooKeeper, the master or a region server',
  UNAVAILABLE: 'the region, the server or the master could not answer until the deadline',
  OVERLOADED: 'a server or this client has more to do than its queues hold: slow down',
  TIMEOUT: 'no answer until the deadline; nothing was changed',
  OUTCOME_UNKNOWN: 'the call may or may not have changed something: no answer came',
  PROTOCOL: 'the other side sent what HBase does not send',
  TABLE_NOT_FOUND: 'there is no such table',
  TABLE_EXISTS: 'there is such a table already',
  TABLE_DISABLED: 'the table is disabled',
  TABLE_ENABLED: 'the table is enabled: disable it first',
  FAMILY_NOT_FOUND: 'the table has no such column family',
  NAMESPACE_NOT_FOUND: 'there is no such namespace',
  NAMESPACE_EXISTS: 'there is such a namespace already',
  ACCESS_DENIED: 'the user may not do this',
  REJECTED: 'the server refuses the call for good',
  UNSUPPORTED_SERVER: 'the server is no HBase 2.4 or later',
  CLOSED: 'the client is closed: a mistake of the caller',
} as const;

export type HBaseErrorCode = keyof typeof HBASE_ERROR_CODES;

/** What the client does about a failure while the deadline allows: nothing, ask where the region is now, or wait. */
export type Remedy = 'none' | 'relocate' | 'wait';

export interface HBaseErrorOptions {
  readonly cause?: unknown;
  /** How to mend it, as one sentence. */
  readonly hint?: string;
  /** `host:port` of the server that failed. */
  readonly host?: string;
  /** Name of the region asked for, as HBase prints it. */
  readonly region?: string;
  /** The server's exception, by its Java class. */
  readonly exception?: string;
  readonly remedy?: Remedy;
  /** False when the request surely changed nothing. */
  readonly maybeApplied?: boolean;
  /** Of a batch: which of its actions failed, and how. */
  readonly failures?: readonly BatchFailure[];
}

export interface BatchFailure {
  readonly index: number;
  readonly error: HBaseError;
}

/** The only error this client rejects with; wrong argument types are TypeErrors. */
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
