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
import { DISK_FULL, StoreError, type StoreErrorCode } from '../errors.ts';

export const DUPLICATE_KEY = 11000;

type Meaning = readonly [code: StoreErrorCode, hint: string];

const LOGIN = 'check user, password and authSource, the database in which the user is defined';
const RIGHTS = 'grant the user the role readWrite on the database';
const WRITE_CONCERN = 'set the w option to at most the number of members of the replica set';
const NO_PRIMARY = 'the replica set is choosing another primary, or a server stops: wait';
const DOCUMENT = 'the server accepts documents of at most 16 MiB';
const SHARDS = 'shards are moving: write again';
const COLLISION = 'other processes write the same documents: write again';
const SERVER = 'see the log of the server';
const SUITABLE = 'use MongoDB 4.4 or later, or FerretDB 2';
const SLOW = 'the server is slow: raise the timeout option, or give the server more resources';

/**
 * Error codes of the server (https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml).
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
  26: ['MISCONFIGURED', 'a collection is missing: restart, which creates it'],
  43: ['UNAVAILABLE', 'the server has closed a cursor: read again'],
  50: ['TIMEOUT', SLOW],
  59: ['MISCONFIGURED', SUITABLE],
  61: ['MISCONFIGURED', 'shard readings by {_id: 1}'],
  63: ['UNAVAILABLE', SHARDS],
  64: ['TIMEOUT', 'members did not confirm a write in time: check w, and that they run'],
  79: ['MISCONFIGURED', WRITE_CONCERN],
  85: ['MISCONFIGURED', 'another program changed an index of Tidegauge: drop it, and restart'],
  86: ['MISCONFIGURED', 'another program changed an index of Tidegauge: drop it, and restart'],
  89: ['TIMEOUT', SLOW],
  91: ['UNAVAILABLE', NO_PRIMARY],
  100: ['MISCONFIGURED', WRITE_CONCERN],
  112: ['UNAVAILABLE', COLLISION],
  115: ['MISCONFIGURED', SUITABLE],
  121: ['REJECTED', 'a rule of the collection refuses the document'],
  133: ['UNAVAILABLE', NO_PRIMARY],
  134: ['UNAVAILABLE', NO_PRIMARY],
  146: ['OVERLOADED', 'the server has not enough memory for this: read or write less at a time'],
  150: ['UNAVAILABLE', SHARDS],
  189: ['UNAVAILABLE', NO_PRIMARY],
  202: ['TIMEOUT', SLOW],
  234: ['UNAVAILABLE', NO_PRIMARY],
  238: ['MISCONFIGURED', SUITABLE],
  262: ['TIMEOUT', SLOW],
  391: ['UNAVAILABLE', 'the server requires a new login: wait'],
  9001: ['UNAVAILABLE', 'the connection failed: wait'],
  10058: ['UNAVAILABLE', NO_PRIMARY],
  10107: ['UNAVAILABLE', NO_PRIMARY],
  10334: ['REJECTED', DOCUMENT],
  11600: ['UNAVAILABLE', NO_PRIMARY],
  11602: ['UNAVAILABLE', NO_PRIMARY],
  [DUPLICATE_KEY]: ['UNAVAILABLE', 'another process wrote the same at the same time: write again'],
  13388: ['UNAVAILABLE', SHARDS],
  13435: ['UNAVAILABLE', NO_PRIMARY],
  13436: ['UNAVAILABLE', NO_PRIMARY],
  14031: ['UNAVAILABLE', DISK_FULL],
};

export function isDuplicateKey(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === DUPLICATE_KEY;
}

/** Messages of PostgreSQL for which DocumentDB has no code. */
export function isDeadlock(error: unknown): boolean {
  return error instanceof MongoServerError && /deadlock detected/.test(error.message);
}

/**
 * Maps the error of a failed call, and adds hosts and database. StoreErrors and errors of our code stay as they
 * are.
 */
export function toStoreError(error: unknown, place: string): unknown {
  const meaning = meaningOf(error);
  if (meaning === null) return error;
  const [code, hint] = meaning;
  return new StoreError(code, `mongodb ${place}: ${describe(error as Error)}`, { hint, cause: error });
}

function meaningOf(error: unknown): Meaning | null {
  // The driver's serializer throws this if a document exceeds its buffer.
  if (error instanceof RangeError || nameOf(error).startsWith('BSON')) return ['REJECTED', DOCUMENT];
  if ((error as NodeJS.ErrnoException | null)?.syscall === 'open') {
    return ['MISCONFIGURED', 'set tlsCAFile to a file that this user can read'];
  }
  if (!(error instanceof MongoError)) return null;
  if (error.hasErrorLabel(MongoErrorLabel.SystemOverloadedError)) return ['OVERLOADED', SLOW];
  if (error instanceof MongoServerError) return ofServer(error);
  return DRIVER_ERRORS.find(([isOne]) => isOne(error))?.[1] ?? ['UNEXPECTED', SERVER];
}

/** Errors of the driver. The first that matches counts, so a class is before the class that it extends. */
const DRIVER_ERRORS: readonly (readonly [isOne: (error: MongoError) => boolean, meaning: Meaning])[] = [
  [
    isOf(MongoServerSelectionError),
    ['UNAVAILABLE', 'check host and port, that the server runs, and the name of the replica set'],
  ],
  [isOf(MongoNetworkTimeoutError, MongoOperationTimeoutError), ['TIMEOUT', SLOW]],
  [isOf(MongoNetworkError), ['UNAVAILABLE', 'the connection failed: wait']],
  [
    (error) => nameOf(error) === 'MongoWaitQueueTimeoutError',
    [
      'OVERLOADED',
      'no connection became free: make fewer calls at the same time, or check whether the server answers',
    ],
  ],
  [
    isOf(MongoNotConnectedError, MongoTopologyClosedError, MongoClientClosedError),
    ['CLOSED', 'open a store first, once'],
  ],
  [isOf(MongoExpiredSessionError), ['UNAVAILABLE', 'write again']],
  [({ message }) => /larger than the maximum size/.test(message), ['REJECTED', DOCUMENT]],
  [isOf(MongoCompatibilityError), ['MISCONFIGURED', SUITABLE]],
  [isOf(MongoParseError), ['MISCONFIGURED', 'check the STORE URL']],
  [isOf(MongoAPIError), ['MISCONFIGURED', 'check the options of the STORE URL']],
];

function isOf(...classes: readonly (new (...args: never[]) => MongoError)[]) {
  return (error: MongoError): boolean => classes.some((each) => error instanceof each);
}

function ofServer(error: MongoServerError): Meaning {
  // BadValue (2) is also used for a document that is too large (FerretDB), and for w above 1 on a single server.
  if (/larger than/i.test(error.message)) return ['REJECTED', DOCUMENT];
  if (isDeadlock(error)) return ['UNAVAILABLE', COLLISION];
  if (/not replicated|'w' > 1/.test(error.message)) return ['MISCONFIGURED', WRITE_CONCERN];
  // A batch whose connection failed contains the error of the connection.
  const inner: unknown = error.errorResponse;
  if (inner instanceof MongoError && inner !== error) return meaningOf(inner) ?? ['UNEXPECTED', SERVER];
  const code = error instanceof MongoBulkWriteError ? ofBulk(error) : error.code;
  return SERVER_CODES[Number(code)] ?? ['UNEXPECTED', SERVER];
}

/** The error of a batch is its first one that is not a duplicate. */
function ofBulk(error: MongoBulkWriteError): unknown {
  const errors = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors];
  const first = errors.find(({ code }) => code !== DUPLICATE_KEY)?.code;
  return first ?? error.result?.getWriteConcernError()?.code ?? error.code;
}

/** A failed server selection has at most the reason of one server. This returns the reasons of all. */
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
