import { DISK_FULL, StoreError, type StoreErrorCode } from '../errors.ts';
import { isUntrusted } from '../tls.ts';
import type { MariadbConfig } from './config.ts';

type Meaning = readonly [StoreErrorCode, string];

const RIGHTS: Meaning = ['MISCONFIGURED', 'grant the user all privileges on the database'];
const LOGIN: Meaning = [
  'MISCONFIGURED',
  'check user and password, and from which hosts the user may connect',
];
const GONE: Meaning = ['UNAVAILABLE', 'check that the server runs, and see its log'];
const BUSY: Meaning = ['OVERLOADED', 'slow down, or use fewer writers'];
const CONNECTIONS: Meaning = ['OVERLOADED', "raise the server's max_connections or use fewer connections"];
const LATE: Meaning = ['TIMEOUT', 'raise the timeout option, or reduce the load of the server'];
const DISK: Meaning = ['UNAVAILABLE', DISK_FULL];
const READ_ONLY: Meaning = [
  'UNAVAILABLE',
  'the server accepts no writes now: make it writable, or use its primary',
];
const VALUE: Meaning = [
  'REJECTED',
  'a value is larger than the server accepts, or breaks a rule of its table',
];
const LAYOUT: Meaning = [
  'MISCONFIGURED',
  'the tables do not have the layout of this version: did another program change them?',
];
const UNTRUSTED: Meaning = ['MISCONFIGURED', 'set tlsCAFile to the certificate authority of the server'];
const OLD: Meaning = ['MISCONFIGURED', 'use MariaDB 10.6 or later'];

/**
 * Meanings of the errors of the server (https://mariadb.com/kb/en/mariadb-error-codes/) and of the driver (45000
 * and above). All others are UNEXPECTED.
 */
const NUMBERS: ReadonlyMap<number, Meaning> = new Map<number, Meaning>([
  [1021, DISK], // ER_DISK_FULL
  [1114, DISK], // ER_RECORD_FILE_FULL
  [1036, READ_ONLY], // ER_OPEN_AS_READONLY
  [1290, READ_ONLY], // ER_OPTION_PREVENTS_STATEMENT
  [1792, READ_ONLY], // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
  [1836, READ_ONLY], // ER_READ_ONLY_MODE
  [1040, CONNECTIONS], // ER_CON_COUNT_ERROR
  [1203, CONNECTIONS], // ER_TOO_MANY_USER_CONNECTIONS
  [1226, CONNECTIONS], // ER_USER_LIMIT_REACHED
  [1461, CONNECTIONS], // ER_MAX_PREPARED_STMT_COUNT_REACHED
  [1037, BUSY], // ER_OUTOFMEMORY
  [1041, BUSY], // ER_OUT_OF_RESOURCES
  [1205, BUSY], // ER_LOCK_WAIT_TIMEOUT
  [1206, BUSY], // ER_LOCK_TABLE_FULL
  [1213, BUSY], // ER_LOCK_DEADLOCK
  [1637, BUSY], // ER_TOO_MANY_CONCURRENT_TRXS
  [1044, RIGHTS], // ER_DBACCESS_DENIED_ERROR
  [1142, RIGHTS], // ER_TABLEACCESS_DENIED_ERROR
  [1143, RIGHTS], // ER_COLUMNACCESS_DENIED_ERROR
  [1227, RIGHTS], // ER_SPECIFIC_ACCESS_DENIED_ERROR
  [1370, RIGHTS], // ER_PROCACCESS_DENIED_ERROR
  [1045, LOGIN], // ER_ACCESS_DENIED_ERROR
  [1130, LOGIN], // ER_HOST_NOT_PRIVILEGED
  [1251, LOGIN], // ER_NOT_SUPPORTED_AUTH_MODE
  [1524, LOGIN], // ER_PLUGIN_IS_NOT_LOADED
  [1698, LOGIN], // ER_ACCESS_DENIED_NO_PASSWORD_ERROR
  [1820, LOGIN], // ER_MUST_CHANGE_PASSWORD
  [1862, LOGIN], // ER_MUST_CHANGE_PASSWORD_LOGIN
  [4151, LOGIN], // ER_ACCOUNT_HAS_BEEN_LOCKED
  [45025, LOGIN], // ER_AUTHENTICATION_PLUGIN_NOT_SUPPORTED
  [45044, LOGIN], // ER_CANNOT_RETRIEVE_RSA_KEY
  [45047, LOGIN], // ER_NOT_SUPPORTED_AUTH_PLUGIN
  [45064, LOGIN], // ER_CLEAR_PASSWORD_WITHOUT_SSL
  [1049, ['MISCONFIGURED', 'create the database first: create database name']], // ER_BAD_DB_ERROR
  [1129, ['MISCONFIGURED', 'the server has blocked this host: run flush hosts on it']], // ER_HOST_IS_BLOCKED
  [1054, LAYOUT], // ER_BAD_FIELD_ERROR
  [1146, LAYOUT], // ER_NO_SUCH_TABLE
  [1136, LAYOUT], // ER_WRONG_VALUE_COUNT_ON_ROW
  [1364, LAYOUT], // ER_NO_DEFAULT_FOR_FIELD
  [1505, LAYOUT], // ER_PARTITION_MGMT_ON_NONPARTITIONED
  [1526, LAYOUT], // ER_NO_PARTITION_FOR_GIVEN_VALUE
  [1064, OLD], // ER_PARSE_ERROR
  [1115, OLD], // ER_UNKNOWN_CHARACTER_SET
  [1193, OLD], // ER_UNKNOWN_SYSTEM_VARIABLE
  [1273, OLD], // ER_UNKNOWN_COLLATION
  [1286, OLD], // ER_UNKNOWN_STORAGE_ENGINE
  [1048, VALUE], // ER_BAD_NULL_ERROR
  [1062, VALUE], // ER_DUP_ENTRY
  [1118, VALUE], // ER_TOO_BIG_ROWSIZE
  [1117, VALUE], // ER_TOO_MANY_FIELDS
  [1153, VALUE], // ER_NET_PACKET_TOO_LARGE
  [1264, VALUE], // ER_WARN_DATA_OUT_OF_RANGE
  [1265, VALUE], // WARN_DATA_TRUNCATED
  [1366, VALUE], // ER_TRUNCATED_WRONG_VALUE_FOR_FIELD
  [1367, VALUE], // ER_ILLEGAL_VALUE_FOR_TYPE
  [1406, VALUE], // ER_DATA_TOO_LONG
  [45046, VALUE], // ER_MAX_ALLOWED_PACKET
  [1317, LATE], // ER_QUERY_INTERRUPTED
  [1969, LATE], // ER_STATEMENT_TIMEOUT
  [1053, GONE], // ER_SERVER_SHUTDOWN
  [1158, GONE], // ER_NET_READ_ERROR
  [1159, GONE], // ER_NET_READ_INTERRUPTED
  [1160, GONE], // ER_NET_ERROR_ON_WRITE
  [1161, GONE], // ER_NET_WRITE_INTERRUPTED
  [1927, GONE], // ER_CONNECTION_KILLED
  [45001, GONE], // ER_CONNECTION_ALREADY_CLOSED
  [45004, GONE], // ER_CMD_NOT_EXECUTED_DESTROYED
  [45009, GONE], // ER_SOCKET_UNEXPECTED_CLOSE
  [45012, GONE], // ER_CONNECTION_TIMEOUT
  [45013, GONE], // ER_CMD_CONNECTION_CLOSED
  [45019, GONE], // ER_SOCKET
  [45026, GONE], // ER_SOCKET_TIMEOUT
  [45027, GONE], // ER_POOL_ALREADY_CLOSED
  [45037, GONE], // ER_CLOSING_POOL
  [45042, GONE], // ER_PING_TIMEOUT
  [45023, ['MISCONFIGURED', 'the server does not support TLS: set it up there, or remove the tls option']], // ER_SERVER_SSL_DISABLED
  [45060, GONE], // ER_POOL_NOT_INITIALIZED
  [45061, GONE], // ER_POOL_NO_CONNECTION
]);

const UNFORESEEN: Meaning = ['UNEXPECTED', 'see the log of the server, and the number in the manual'];

/** Node's error codes with a special hint. All other network errors are UNAVAILABLE. */
const SYSTEM: Readonly<Record<string, Meaning>> = {
  ECONNREFUSED: ['UNAVAILABLE', 'nothing listens there: start the server, or correct host and port'],
  ENOTFOUND: ['UNAVAILABLE', 'no such host name: correct the host of the URL, or the name service'],
};

const POOL_TIMEOUT = 45028; // ER_GET_CONNECTION_TIMEOUT
const RETRIED = new Set([1205, 1213]);

/** The number of an error of the server or the driver, or null for other errors. */
export function errorNumber(error: unknown): number | null {
  const number = error instanceof Error && 'errno' in error ? error.errno : null;
  return typeof number === 'number' ? number : null;
}

/**
 * Whether the server rolled back this transaction because of a deadlock. It can succeed when it is repeated.
 */
export function gaveWay(error: unknown): boolean {
  return RETRIED.has(errorNumber(error) ?? 0);
}

/**
 * Maps the error of a failed call. Errors that come neither from the server nor from the driver stay as they are.
 */
export function toStoreError(error: unknown, { host, port, database }: MariadbConfig): unknown {
  const number = errorNumber(error);
  // The driver passes on Node's errors about certificates.
  if (error instanceof StoreError || (number === null && !isUntrusted(error))) return error;
  const root = rootCause(error as Error);
  const [code, hint] = meaning(root);
  const text = 'sqlMessage' in root && typeof root.sqlMessage === 'string' ? root.sqlMessage : root.message;
  return new StoreError(code, `mariadb ${host}:${port}/${database}: ${text}`, { hint, cause: error });
}

function meaning(error: Error): Meaning {
  const number = errorNumber(error);
  if (number === POOL_TIMEOUT) return ['OVERLOADED', 'all connections are busy: raise writers or readers'];
  if (isUntrusted(error)) return UNTRUSTED;
  const name = 'code' in error ? String(error.code) : '';
  // Node's own errors have negative numbers.
  return NUMBERS.get(number ?? 0) ?? SYSTEM[name] ?? ((number ?? 0) > 0 ? UNFORESEEN : GONE);
}

/** Errors of the pool and of the session setup have the reason in their cause. */
function rootCause(error: Error): Error {
  let root = error;
  while (root.cause instanceof Error && errorNumber(root.cause) !== null) root = root.cause;
  return root;
}
