import {
  MongoAPIError,
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoCompatibilityError,
  MongoError,
  MongoErrorLabel,
  MongoExpiredSessionError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoNotConnectedError,
  MongoOperationTimeoutError,
  MongoParseError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
} from 'mongodb';
import { StoreError, type StoreErrorCode } from '../errors.ts';

export const DUPLICATE_KEY = 11000;

type Meaning = readonly [code: StoreErrorCode, hint: string];

const LOGIN = 'check user, password and authSource: the database that the user is defined in';
const RIGHTS = 'grant the user the role readWrite on the database';
const WRITE_CONCERN = 'ask for no more members than the replica set has with the option w';
const NO_PRIMARY = 'the replica set is choosing another primary, or a server stops: wait';
const DOCUMENT = 'the server takes documents of at most 16 MiB';
const SHARDS = 'shards are moving: write again';
const SERVER = 'see the log of the server';
const SUITABLE = 'use MongoDB 4.4 or later, or FerretDB 2';
const SLOW = 'the server is slow: raise the timeout option, or give it more';

/**
 * Server error codes that can leave a call
 * (https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml).
 */
export const SERVER_CODES: Readonly<Record<number, Meaning>> = {
  1: ['UNEXPECTED', SERVER],
  2: ['MISCONFIGURED', SUITABLE],
  6: ['UNAVAILABLE', 'a member of the cluster cannot be reached: wait'],
  7: ['UNAVAILABLE', 'the name of a member of the cluster cannot be resolved'],
  9: ['MISCONFIGURED', SUITABLE],
  11: ['MISCONFIGURED', LOGIN],
  13: ['MISCONFIGURED', RIGHTS],
  18: ['MISCONFIGURED', LOGIN],
  20: ['MISCONFIGURED', SUITABLE],
  26: ['MISCONFIGURED', 'a collection is gone: start again, which creates it'],
  43: ['UNAVAILABLE', 'the server has forgotten a cursor: ask again'],
  50: ['TIMEOUT', SLOW],
  59: ['MISCONFIGURED', SUITABLE],
  61: ['MISCONFIGURED', 'shard readings by {_id: 1}'],
  63: ['UNAVAILABLE', SHARDS],
  64: ['TIMEOUT', 'members did not confirm a write in time: see w, and that they run'],
  79: ['MISCONFIGURED', WRITE_CONCERN],
  85: ['MISCONFIGURED', 'an index of ours was changed by something else: drop it, and start again'],
  86: ['MISCONFIGURED', 'an index of ours was changed by something else: drop it, and start again'],
  89: ['TIMEOUT', SLOW],
  91: ['UNAVAILABLE', NO_PRIMARY],
  100: ['MISCONFIGURED', WRITE_CONCERN],
  112: ['UNAVAILABLE', 'others write the same documents: write again'],
  115: ['MISCONFIGURED', SUITABLE],
  121: ['REJECTED', 'a rule of the collection refuses the document'],
  133: ['UNAVAILABLE', NO_PRIMARY],
  134: ['UNAVAILABLE', NO_PRIMARY],
  146: ['OVERLOADED', 'the server is out of memory for this: ask for less'],
  150: ['UNAVAILABLE', SHARDS],
  189: ['UNAVAILABLE', NO_PRIMARY],
  202: ['TIMEOUT', SLOW],
  234: ['UNAVAILABLE', NO_PRIMARY],
  238: ['MISCONFIGURED', SUITABLE],
  262: ['TIMEOUT', SLOW],
  391: ['UNAVAILABLE', 'the server asks for another login: wait'],
  9001: ['UNAVAILABLE', 'the connection broke: wait'],
  10058: ['UNAVAILABLE', NO_PRIMARY],
  10107: ['UNAVAILABLE', NO_PRIMARY],
  10334: ['REJECTED', DOCUMENT],
  11600: ['UNAVAILABLE', NO_PRIMARY],
  11602: ['UNAVAILABLE', NO_PRIMARY],
  [DUPLICATE_KEY]: ['UNAVAILABLE', 'another process wrote the same at the same moment: write again'],
  13388: ['UNAVAILABLE', SHARDS],
  13435: ['UNAVAILABLE', NO_PRIMARY],
  13436: ['UNAVAILABLE', NO_PRIMARY],
  14031: ['UNAVAILABLE', 'the disk of the server is full: free space or expire old readings'],
};

export function isDuplicateKey(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === DUPLICATE_KEY;
}

/** PostgreSQL's words, for which DocumentDB has no code of its own. */
export function isDeadlock(error: unknown): boolean {
  return error instanceof MongoServerError && /deadlock detected/.test(error.message);
}

/** What a failed call means, naming the place (hosts and database); StoreErrors and mistakes pass through. */
export function toStoreError(error: unknown, place: string): unknown {
  const meaning = meaningOf(error);
  if (meaning === null) return error;
  const [code, hint] = meaning;
  return new StoreError(code, `mongodb ${place}: ${describe(error as Error)}`, { hint, cause: error });
}

function meaningOf(error: unknown): Meaning | null {
  // Thrown by the driver's serializer where a document outgrows its buffer.
  if (error instanceof RangeError || nameOf(error).startsWith('BSON')) return ['REJECTED', DOCUMENT];
  if ((error as NodeJS.ErrnoException | null)?.syscall === 'open') {
    return ['MISCONFIGURED', 'name a file that this user may read with the option tlsCAFile'];
  }
  if (!(error instanceof MongoError)) return null;
  if (error.hasErrorLabel(MongoErrorLabel.SystemOverloadedError)) return ['OVERLOADED', SLOW];
  if (error instanceof MongoServerError) return ofServer(error);
  if (error instanceof MongoServerSelectionError) {
    return ['UNAVAILABLE', 'check host, port, that the server runs, and the name of the replica set'];
  }
  if (error instanceof MongoNetworkTimeoutError || error instanceof MongoOperationTimeoutError) {
    return ['TIMEOUT', SLOW];
  }
  if (error instanceof MongoNetworkError) return ['UNAVAILABLE', 'the connection broke: wait'];
  if (nameOf(error) === 'MongoWaitQueueTimeoutError') {
    return [
      'OVERLOADED',
      'no connection came free: ask for less at a time, or see whether the server answers',
    ];
  }
  if (
    error instanceof MongoNotConnectedError ||
    error instanceof MongoTopologyClosedError ||
    error instanceof MongoClientClosedError
  ) {
    return ['CLOSED', 'open a store first, once'];
  }
  if (error instanceof MongoExpiredSessionError) return ['UNAVAILABLE', 'write again'];
  if (/larger than the maximum size/.test(error.message)) return ['REJECTED', DOCUMENT];
  if (error instanceof MongoCompatibilityError) return ['MISCONFIGURED', SUITABLE];
  if (error instanceof MongoParseError) return ['MISCONFIGURED', 'check the STORE URL'];
  if (error instanceof MongoAPIError) return ['MISCONFIGURED', 'check the options of the STORE URL'];
  return ['UNEXPECTED', SERVER];
}

function ofServer(error: MongoServerError): Meaning {
  // BadValue (2) also stands for a document that is too large (FerretDB), and for w beyond a single server.
  if (/larger than/i.test(error.message)) return ['REJECTED', DOCUMENT];
  if (/not replicated|'w' > 1/.test(error.message)) return ['MISCONFIGURED', WRITE_CONCERN];
  // A batch whose connection broke has the error of the connection inside.
  const inner: unknown = error.errorResponse;
  if (inner instanceof MongoError && inner !== error) return meaningOf(inner) ?? ['UNEXPECTED', SERVER];
  const code = error instanceof MongoBulkWriteError ? ofBulk(error) : error.code;
  return SERVER_CODES[Number(code)] ?? ['UNEXPECTED', SERVER];
}

/** A batch fails for its first reason that is no duplicate. */
function ofBulk(error: MongoBulkWriteError): unknown {
  const errors = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors];
  const first = errors.find(({ code }) => code !== DUPLICATE_KEY)?.code;
  return first ?? error.result?.getWriteConcernError()?.code ?? error.code;
}

/** A selection fails with one server's reason at best: all of them are told. */
function describe(error: Error): string {
  if (!(error instanceof MongoServerSelectionError)) return error.message;
  const servers = [...(error.reason?.servers.values() ?? [])];
  const reasons = servers.flatMap(({ address, error: reason }) =>
    reason === null ? [] : [`${address}: ${reason.message}`],
  );
  return [error.message, ...reasons].join('; ');
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}
