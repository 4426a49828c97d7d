import { HBaseError, type HBaseErrorCode, type Remedy } from './errors.ts';

type Meaning = readonly [code: HBaseErrorCode, remedy: Remedy, hint?: string];

const MOVED: Meaning = ['UNAVAILABLE', 'relocate'];
const BUSY: Meaning = ['OVERLOADED', 'wait'];
const STARTING: Meaning = ['UNAVAILABLE', 'wait'];
const SCANNER_LOST: Meaning = ['UNAVAILABLE', 'relocate'];
const DENIED: Meaning = ['ACCESS_DENIED', 'none', 'grant the user the right that the message names'];

/**
 * What HBase 2.4 to 2.6 throws at clients, by class name behind `org.apache.hadoop.hbase.`: those that
 * `ClientExceptionsUtil.isSpecialException` and `RegionServerStatus` name, and what the master refuses.
 */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  NotServingRegionException: MOVED,
  'exceptions.RegionMovedException': MOVED,
  'exceptions.RegionOpeningException': MOVED,
  'exceptions.RegionInRecoveryException': MOVED,
  'regionserver.WrongRegionException': MOVED,
  'regionserver.RegionServerStoppedException': MOVED,
  'regionserver.RegionServerAbortedException': MOVED,
  'exceptions.ConnectionClosedException': MOVED,
  UnknownRegionException: MOVED,
  'ipc.ServerNotRunningYetException': STARTING,
  PleaseHoldException: STARTING,
  'exceptions.MasterStoppedException': MOVED,
  MasterNotRunningException: MOVED,
  NotAllMetaRegionsOnlineException: STARTING,
  'exceptions.TimeoutIOException': STARTING,
  RegionTooBusyException: BUSY,
  CallQueueTooBigException: BUSY,
  CallDroppedException: BUSY,
  MultiActionResultTooLarge: BUSY,
  RetryImmediatelyException: BUSY,
  'quotas.ThrottlingException': BUSY,
  'quotas.RpcThrottlingException': BUSY,
  'ipc.CallTimeoutException': BUSY,
  UnknownScannerException: SCANNER_LOST,
  'exceptions.ScannerResetException': SCANNER_LOST,
  'exceptions.OutOfOrderScannerNextException': SCANNER_LOST,
  'regionserver.LeaseException': SCANNER_LOST,
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
  'ipc.UnknownServiceException': ['UNSUPPORTED_SERVER', 'none', 'HBase 2.4 or later is needed'],
  'ipc.UnsupportedCellCodecException': ['UNSUPPORTED_SERVER', 'none', 'HBase 2.4 or later is needed'],
  'ipc.WrongVersionException': ['UNSUPPORTED_SERVER', 'none', 'HBase 2.4 or later is needed'],
  'ipc.FatalConnectionException': [
    'UNSUPPORTED_SERVER',
    'none',
    'HBase 2.4 or later without Kerberos is needed',
  ],
};

const PREFIX = 'org.apache.hadoop.hbase.';

export interface RemoteException {
  /** Java class. */
  readonly name: string;
  /** As Java prints it: class and message, then lines of calls. */
  readonly trace: string;
  readonly doNotRetry: boolean;
  readonly overloaded: boolean;
}

/** An exception that came from a server, as our error. */
export function fromRemote(
  remote: RemoteException,
  where: { readonly host: string; readonly region?: string; readonly what: string },
): HBaseError {
  const { host, region, what } = where;
  const [code, remedy, hint] = meaning(remote);
  const message = `${what} at ${host}${region === undefined ? '' : `, region ${region}`}: ${firstLine(remote)}`;
  return new HBaseError(code, message, {
    host,
    ...(region === undefined ? {} : { region }),
    exception: remote.name,
    remedy,
    ...(hint === undefined ? {} : { hint }),
  });
}

function meaning({ name, doNotRetry, overloaded }: RemoteException): Meaning {
  const known = name.startsWith(PREFIX) ? MEANINGS[name.slice(PREFIX.length)] : undefined;
  if (known !== undefined) return known;
  if (overloaded) return BUSY;
  // What else a server throws without the mark is an IOException that HBase's own client retries as well.
  return doNotRetry ? ['REJECTED', 'none'] : ['UNAVAILABLE', 'relocate'];
}

function firstLine({ name, trace }: RemoteException): string {
  const end = trace.search(/\r?\n\s*(at |Caused by)/);
  const text = (end === -1 ? trace : trace.slice(0, end)).trim();
  return (text === '' ? name : text).slice(0, 1000).replaceAll(PREFIX, '');
}
