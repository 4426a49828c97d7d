import { DISK_FULL, StoreError, type StoreErrorCode } from '../errors.ts';
import { isUntrusted } from '../tls.ts';

type Meaning = readonly [StoreErrorCode, string];

const UNREACHABLE: Meaning = ['UNAVAILABLE', 'is the server running, and are host, port and firewall right?'];
const GRANT: Meaning = ['MISCONFIGURED', 'grant the user the right that the message names'];
const TABLES: Meaning = [
  'MISCONFIGURED',
  'the tables do not have the layout of this version: did another program change them?',
];
const LIMITS: Meaning = ['UNAVAILABLE', 'the server is short of memory or disk: see its log'];
const DATA: Meaning = ['REJECTED', 'a value does not fit its column'];
const DEADLOCK: Meaning = ['OVERLOADED', 'a conflict with other transactions: write again'];

/**
 * SQLSTATEs and classes of them (https://www.postgresql.org/docs/current/errcodes-appendix.html). The longest
 * match counts.
 */
const STATES: Readonly<Record<string, Meaning>> = {
  '08': UNREACHABLE,
  '0A': ['MISCONFIGURED', 'the server, or a pooler before it, does not support this: use a newer version'],
  '22': DATA,
  '22023': ['MISCONFIGURED', 'the server does not accept this setting: see the message'],
  '23': DATA,
  '25006': ['UNAVAILABLE', 'the server is read-only, perhaps a standby: connect to the primary'],
  '28': ['MISCONFIGURED', 'correct user and password in the URL, or pg_hba.conf on the server'],
  '3D': ['MISCONFIGURED', 'create the database, or correct its name in the URL'],
  '3F': ['MISCONFIGURED', 'create the schema that search_path names'],
  '40': DEADLOCK,
  '42': TABLES,
  '42501': GRANT,
  '53': LIMITS,
  '53100': ['UNAVAILABLE', DISK_FULL],
  '53300': ['OVERLOADED', 'lower the connections option, or raise max_connections on the server'],
  '54': ['REJECTED', 'a value or statement is larger than the server accepts'],
  '55': ['MISCONFIGURED', 'the server is not set up for this: see the message'],
  '55P03': DEADLOCK,
  '57014': ['TIMEOUT', 'raise the timeout option if such statements need more time'],
  '57': ['UNAVAILABLE', 'the server is starting or stopping'],
  '58': LIMITS,
  F0: ['MISCONFIGURED', 'correct the configuration files of the server'],
  XX: ['UNEXPECTED', 'an error inside the server: see its log'],
};

const LOST_WORKER: Meaning = ['UNAVAILABLE', 'the coordinator lost a worker: are all workers running?'];

/** Messages of Citus about its nodes. Their SQLSTATEs have another meaning in PostgreSQL. */
const NODES: readonly (readonly [RegExp, Meaning])[] = [
  [
    /^replication_factor \(\d+\) exceeds/,
    ['MISCONFIGURED', 'lower the rf option, or add workers before the first start'],
  ],
  [
    /remote node .*(?:no password supplied|authentication failed|role .* does not exist)/s,
    [
      'MISCONFIGURED',
      'give the user a login at the workers too: see pg_dist_authinfo in the manual of Citus',
    ],
  ],
  [
    /remote node .*(?:too many clients|connection slots)/s,
    ['OVERLOADED', 'raise max_connections on the workers, or create the tables with fewer shards'],
  ],
  // XX000, for example when the coordinator uses a connection to a worker that has restarted since.
  [
    /^failure on connection marked as essential|^connection to the remote node |^failed to complete COPY on |^could not connect to any active placements/,
    LOST_WORKER,
  ],
  // XX000 with a message of the coordinator's libpq, which has no SQLSTATE: a worker ended meanwhile.
  [
    /^(?:server closed the connection unexpectedly|no connection to the server|could not (?:receive data from|send data to) (?:the )?server|SSL (?:SYSCALL error|connection has been closed))/,
    LOST_WORKER,
  ],
  // XX000 from a coordinator that was killed.
  [/^postmaster was shut down/, UNREACHABLE],
];

/**
 * When workers of Citus have exchanged addresses, a shard is requested from a worker that does not have it.
 */
const ASTRAY: Meaning = ['UNAVAILABLE', 'a worker is not at its address: does citus-membership run?'];

/** The message of the driver if it has no password. */
const NO_PASSWORD = /^(?:SASL: .*p|P)assword must be/;

/** Messages of the driver, which have no code. */
const MESSAGES: readonly (readonly [RegExp, Meaning])[] = [
  [
    /^timeout exceeded when trying to connect/,
    [
      'OVERLOADED',
      'all connections are busy: make fewer calls at the same time, or raise the connections option',
    ],
  ],
  [/^Query read timeout/, ['TIMEOUT', 'the server or the network hangs; raise the timeout option if not']],
  [
    NO_PASSWORD,
    ['MISCONFIGURED', 'write user and password into the URL: postgres://user:password@host/database'],
  ],
  [/^SASL: .*server returned error/, ['MISCONFIGURED', 'correct user and password in the URL']],
  [/^SASL/, ['MISCONFIGURED', 'server and driver have no common login method: see pg_hba.conf']],
  [
    /does not support SSL|SSL connection/,
    ['MISCONFIGURED', 'set sslmode to a mode that the server supports'],
  ],
  [/connect|terminat|closed|not queryable|socket|calling end/i, UNREACHABLE],
];

/** The SQLSTATE of an error, or null if it does not come from a server. */
export function sqlState(error: unknown): string | null {
  if (!(error instanceof Error) || !('severity' in error) || !('code' in error)) return null;
  return typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : null;
}

/** Whether the session can continue after the error. Otherwise its connection must be closed. */
export function keepsSession(error: unknown): boolean {
  return sqlState(error) !== null && (error as { severity?: unknown }).severity === 'ERROR';
}

/**
 * Whether a prepared statement is outdated, because its table was created again. It must be prepared again.
 */
export function isStalePlan(error: unknown): boolean {
  return sqlState(error) === '0A000' && (error as { routine?: unknown }).routine === 'RevalidateCachedQuery';
}

/** Maps the error of a failed call. `place` is the host, port and database. */
export function toStoreError(error: unknown, place: string): unknown {
  if (error instanceof StoreError || !(error instanceof Error)) return error;
  const meaning = meaningOf(error);
  if (meaning === null) return error;
  const [code, hint] = meaning;
  return new StoreError(code, `${place}: ${text(error)}`, { hint, cause: error });
}

function meaningOf(error: Error): Meaning | null {
  const state = sqlState(error);
  if (state !== null) {
    const node = NODES.find(([pattern]) => pattern.test(error.message));
    if (node !== undefined) return node[1];
    if (state === '42P01' && isOfWorker(error)) return ASTRAY;
    return STATES[state] ?? STATES[state.slice(0, 2)] ?? ['UNEXPECTED', 'see SQLSTATE in the manual'];
  }
  if (isUntrusted(error)) {
    return ['MISCONFIGURED', 'set sslrootcert to the certificate authority of the server, and check sslmode'];
  }
  const known = MESSAGES.find(([pattern]) => pattern.test(error.message));
  if (known !== undefined) return known[1];
  // Errors of sockets and name resolution have a code. If several addresses fail, the error has parts.
  if ('code' in error || error instanceof AggregateError) return UNREACHABLE;
  // A bug in Tidegauge. The checks of the driver throw plain Errors.
  if (error instanceof TypeError || error instanceof RangeError) return null;
  return ['UNEXPECTED', 'see the log of the server'];
}

function isOfWorker(error: Error): boolean {
  return /^while executing command on /m.test(String((error as { where?: unknown }).where));
}

/** If several addresses fail, only the parts have a message. */
function text(error: Error): string {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map((part) => (part as Error).message).join('; ');
  }
  if (NO_PASSWORD.test(error.message)) return 'the server requires a password, and the URL has none';
  return error.message;
}
