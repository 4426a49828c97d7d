import driver from 'cassandra-driver';
import { StoreError, type StoreErrorCode } from '../errors.ts';
import { isUntrusted } from '../tls.ts';

const { errors } = driver;
const { responseErrorCodes: codes } = driver.types;

type Meaning = readonly [StoreErrorCode, hint: string];

const CREDENTIALS: Meaning = ['MISCONFIGURED', 'correct user and password in the URL'];
const UNREACHABLE: Meaning = ['UNAVAILABLE', 'check that the server runs, and the host'];
const UNKNOWN: Meaning = ['UNEXPECTED', 'see the log of the server'];

/** Errors of a server by code (native protocol, section "Error codes"). */
const RESPONSES: ReadonlyMap<number, Meaning> = new Map<number, Meaning>([
  [codes.serverError, UNKNOWN],
  [
    codes.protocolError,
    ['UNAVAILABLE', 'the driver speaks protocol 3 to 5: check that the host runs Cassandra'],
  ],
  [codes.badCredentials, CREDENTIALS],
  [codes.unavailableException, ['UNAVAILABLE', 'start more nodes, or use a lower consistency level']],
  [codes.overloaded, ['OVERLOADED', 'wait; then write with fewer writers']],
  [codes.isBootstrapping, ['UNAVAILABLE', 'wait until the node has joined']],
  [codes.truncateError, ['UNAVAILABLE', 'see the log of the server']],
  [codes.writeTimeout, ['TIMEOUT', 'too few copies acknowledged in time: write again']],
  [codes.readTimeout, ['TIMEOUT', 'too few copies answered in time: read again']],
  [codes.readFailure, ['UNAVAILABLE', 'copies failed to read: see the log of the server']],
  [codes.functionFailure, UNKNOWN],
  [codes.writeFailure, ['UNAVAILABLE', 'copies failed to write: see the log of the server']],
  [codes.syntaxError, ['MISCONFIGURED', 'the server does not support this CQL: Tidegauge needs Cassandra 5']],
  [codes.unauthorized, ['MISCONFIGURED', 'grant the user all permissions on the keyspace']],
  [codes.invalid, ['MISCONFIGURED', 'the keyspace does not have the layout of this version']],
  [codes.configError, ['MISCONFIGURED', 'the server refuses the options of the URL: see the message']],
  [codes.alreadyExists, ['UNAVAILABLE', 'another process created it at the same time: try again']],
  [codes.unprepared, ['UNAVAILABLE', 'try again']],
  // A code of the driver: the socket was closed before everything was written.
  [codes.clientWriteFailure, ['UNAVAILABLE', 'the connection failed']],
]);

/** CQL that does not fit the tables: a missing table or column, or a value that is too large. */
export function isInvalid(error: unknown): boolean {
  return error instanceof errors.ResponseError && error.code === codes.invalid;
}

/** CAS_WRITE_UNKNOWN (native protocol 5, section 9). The driver has no name for it. */
const CAS_UNKNOWN = 0x1700;

/** Whether the outcome of a conditional write is unknown. */
export function isUndecided(error: unknown): boolean {
  const cause = error instanceof StoreError ? error.cause : null;
  if (!(cause instanceof errors.ResponseError)) return false;
  const { writeType } = cause as { readonly writeType?: unknown };
  return cause.code === CAS_UNKNOWN || (cause.code === codes.writeTimeout && writeType === 'CAS');
}

/** Maps the error of a failed call. Errors that do not come from the driver stay as they are. */
export function toStoreError(error: unknown, place: string): unknown {
  const [code, hint] = meaning(error) ?? [];
  if (code === undefined) return error;
  return new StoreError(code, `cassandra ${place}: ${describe(error as Error)}`, {
    hint: hint!,
    cause: error,
  });
}

function meaning(error: unknown): Meaning | null {
  if (error instanceof errors.NoHostAvailableError) return worst(Object.values(error.innerErrors ?? {}));
  if (isUntrusted(error)) return ['MISCONFIGURED', 'set tlsCAFile to the certificate authority of the nodes'];
  if (error instanceof errors.ResponseError) return responseMeaning(error);
  if (error instanceof errors.AuthenticationError) return CREDENTIALS;
  if (error instanceof errors.BusyConnectionError) return ['OVERLOADED', 'all connections are busy: wait'];
  if (error instanceof errors.OperationTimedOutError) {
    return ['TIMEOUT', 'no answer in time: try again, or raise the timeout option'];
  }
  if (error instanceof errors.ArgumentError) return ['MISCONFIGURED', 'correct the dc option of the URL'];
  if (error instanceof errors.NotSupportedError) return ['MISCONFIGURED', 'Tidegauge needs Cassandra 5'];
  // Errors of sockets and name resolution. The driver marks its own socket errors.
  if (error instanceof Error && ('syscall' in error || 'isSocketError' in error)) return UNREACHABLE;
  if (error instanceof errors.DriverError) return UNKNOWN;
  return null;
}

function responseMeaning(error: driver.errors.ResponseError): Meaning {
  // The commit log accepts at most half a segment. The server reports a larger write as "invalid".
  if (error.code === codes.invalid && /too large|larger than/i.test(error.message)) {
    return ['REJECTED', 'a value is larger than the server accepts'];
  }
  return RESPONSES.get(error.code) ?? UNKNOWN;
}

/** All hosts failed: errors of the configuration come first, then timeouts. */
function worst(inner: readonly unknown[]): Meaning {
  const meanings = inner.map(meaning);
  for (const code of ['MISCONFIGURED', 'TIMEOUT', 'OVERLOADED', 'UNEXPECTED'] as const) {
    const found = meanings.find((each) => each?.[0] === code);
    if (found) return found;
  }
  return UNREACHABLE;
}

function describe(error: Error): string {
  if (!(error instanceof errors.NoHostAvailableError)) return error.message;
  const inner = Object.entries((error.innerErrors ?? {}) as Record<string, unknown>);
  if (inner.length === 0) return error.message;
  return inner
    .map(([host, cause]) => `${host}: ${cause instanceof Error ? cause.message : cause}`)
    .join('; ');
}
