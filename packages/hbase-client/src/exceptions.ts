import { HBaseError, type HBaseErrorCode, type Remedy } from './errors.ts';

type Meaning = readonly [code: HBaseErrorCode, remedy: Remedy, hint?: string];

const MOVED: Meaning = ['UNAVAILABLE', 'relocate'];
const BUSY: Meaning = ['OVERLOADED', 'wait'];
const STARTING: Meaning = ['UNAVAILABLE', 'wait'];
const REFUSED: Meaning = ['REJECTED', 'none'];
const FOREIGN: Meaning = ['UNSUPPORTED_SERVER', 'none', 'HBase 2.4 or later without Kerberos is needed'];
const DENIED: Meaning = ['ACCESS_DENIED', 'none', 'grant the user the right that the message names'];

/**
 * The exceptions that HBase 2.4 to 2.6 sends to clients, by class name after `org.apache.hadoop.hbase.`. An exception
 * within the answer to a batch has no `doNotRetry` mark, so the classes that must not be retried are listed here.
 */
export const MEANINGS: Readonly<Record<string, Meaning>> = {
  NotServingRegionException: MOVED,
  'exceptions.RegionMovedException': MOVED,
  'exceptions.RegionOpeningException': MOVED,
  'exceptions.ConnectionClosedException': MOVED,
  'exceptions.ConnectionClosingException': MOVED,
  'regionserver.WrongRegionException': MOVED,
  'regionserver.RegionServerStoppedException': MOVED,
  'regionserver.RegionServerAbortedException': MOVED,
  UnknownRegionException: REFUSED,
  MasterNotRunningException: MOVED,
  PleaseRestartMasterException: MOVED,
  'exceptions.MasterStoppedException': MOVED,
  PleaseHoldException: STARTING,
  NotAllMetaRegionsOnlineException: STARTING,
  'ipc.ServerNotRunningYetException': STARTING,
  RegionTooBusyException: BUSY,
  CallQueueTooBigException: BUSY,
  CallDroppedException: BUSY,
  MultiActionResultTooLarge: BUSY,
  RetryImmediatelyException: BUSY,
  'ipc.CallTimeoutException': BUSY,
  'ipc.ServerTooBusyException': BUSY,
  'quotas.ThrottlingException': BUSY,
  'quotas.RpcThrottlingException': BUSY,
  UnknownScannerException: MOVED,
  'exceptions.ScannerResetException': MOVED,
  'exceptions.OutOfOrderScannerNextException': MOVED,
  'regionserver.LeaseException': MOVED,
  'regionserver.LeaseManager$LeaseStillHeldException': MOVED,
  'regionserver.NoSuchColumnFamilyException': [
    'FAMILY_NOT_FOUND',
    'none',
    'add the column family to the table',
  ],
  TableNotFoundException: ['TABLE_NOT_FOUND', 'none', 'create the table'],
  TableExistsException: ['TABLE_EXISTS', 'none'],
  TableNotEnabledException: ['TABLE_DISABLED', 'none', 'enable the table'],
  TableNotDisabledException: ['TABLE_ENABLED', 'none', 'disable the table'],
  NamespaceNotFoundException: ['NAMESPACE_NOT_FOUND', 'none', 'create the namespace'],
  NamespaceExistException: ['NAMESPACE_EXISTS', 'none'],
  'security.AccessDeniedException': DENIED,
  'ipc.BadAuthException': FOREIGN,
  'ipc.FatalConnectionException': FOREIGN,
  'ipc.UnknownServiceException': FOREIGN,
  'ipc.UnsupportedCellCodecException': FOREIGN,
  'ipc.WrongVersionException': FOREIGN,
  DoNotRetryIOException: REFUSED,
  InvalidFamilyOperationException: REFUSED,
  'client.DoNotRetryRegionException': REFUSED,
  'client.RowTooBigException': REFUSED,
  'regionserver.RowTooBigException': REFUSED,
  'constraint.ConstraintException': REFUSED,
  'coprocessor.CoprocessorException': REFUSED,
  'exceptions.FailedSanityCheckException': REFUSED,
  'exceptions.MergeRegionException': REFUSED,
  'exceptions.RequestTooBigException': REFUSED,
  'io.hfile.CorruptHFileException': REFUSED,
  'quotas.QuotaExceededException': REFUSED,
  'quotas.SpaceLimitingException': REFUSED,
  'security.visibility.InvalidLabelException': REFUSED,
};

const PREFIX = 'org.apache.hadoop.hbase.';

export interface RemoteException {
  /** Java class. */
  readonly name: string;
  /** The stack trace as Java prints it: class and message, then lines of calls. */
  readonly trace: string;
  readonly doNotRetry: boolean;
  readonly overloaded: boolean;
}

/** Converts an exception of a server to an HBaseError. */
export function fromRemote(
  remote: RemoteException,
  where: { readonly host: string; readonly region?: string; readonly what: string },
): HBaseError {
  const { host, region, what } = where;
  const known = remote.name.startsWith(PREFIX) ? MEANINGS[remote.name.slice(PREFIX.length)] : undefined;
  const [code, remedy, hint] = known ?? otherMeaning(remote);
  const message = `${what} at ${host}${region === undefined ? '' : `, region ${region}`}: ${firstLine(remote)}`;
  return new HBaseError(code, message, {
    host,
    ...(region === undefined ? {} : { region }),
    exception: remote.name,
    remedy,
    // For example, the log could not be synced: the change may have been applied.
    maybeApplied: known === undefined && !remote.doNotRetry,
    ...(hint === undefined ? {} : { hint }),
  });
}

function otherMeaning({ doNotRetry, overloaded }: RemoteException): Meaning {
  if (overloaded) return BUSY;
  // Other exceptions without the mark are IOExceptions, which HBase's own client retries too.
  return doNotRetry ? REFUSED : MOVED;
}

function firstLine({ name, trace }: RemoteException): string {
  const end = trace.search(/\r?\n\s*(at |Caused by)/);
  const text = (end === -1 ? trace : trace.slice(0, end)).trim();
  return (text === '' ? name : text).slice(0, 1000).replaceAll(PREFIX, '');
}
