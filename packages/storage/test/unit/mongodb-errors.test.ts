import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as driver from 'mongodb';
import { StoreError, type StoreErrorCode } from '../../src/index.ts';
import { SERVER_CODES, toStoreError } from '../../src/mongodb/errors.ts';

type AnyClass = new (...args: unknown[]) => Error;

/** An instance of every error class that the driver exports, as complete as it can be created outside the driver. */
function driverErrors(): Error[] {
  const classes = Object.entries(driver).filter(
    ([, value]) => typeof value === 'function' && value.prototype instanceof Error,
  );
  return classes.map(([name, value]) => {
    const error = Object.create((value as AnyClass).prototype) as Error;
    Object.defineProperty(error, 'message', { value: `a ${name}` });
    Object.defineProperty(error, 'hasErrorLabel', { value: () => false });
    Object.defineProperty(error, 'writeErrors', { value: [] });
    return error;
  });
}

function mapped(error: unknown): StoreError {
  const found = toStoreError(error, 'h1:27017,h2:27017/tidegauge');
  assert.ok(found instanceof StoreError, `${error} is passed through`);
  assert.match(found.message, /^mongodb h1:27017,h2:27017\/tidegauge: ./);
  assert.ok(found.hint);
  assert.equal(found.cause, error);
  return found;
}

function server(code: number, message = 'refused'): Error {
  return new driver.MongoServerError({ message, code });
}

test('every error of the driver becomes a StoreError with the place and a hint', () => {
  const errors = driverErrors();
  assert.ok(errors.length > 40, `${errors.length} classes`);
  for (const error of errors) mapped(error);
});

test('every known server code has a code and a hint, and an unknown one is UNEXPECTED', () => {
  for (const [code, [kind]] of Object.entries(SERVER_CODES)) {
    assert.equal(mapped(server(Number(code))).code, kind);
  }
  assert.equal(mapped(server(987_654)).code, 'UNEXPECTED');
});

const CASES: readonly [string, StoreErrorCode, Error][] = [
  ['a connection that broke', 'UNAVAILABLE', new driver.MongoNetworkError('reset')],
  ['an answer that does not come', 'TIMEOUT', new driver.MongoNetworkTimeoutError('timed out')],
  ['a closed client', 'CLOSED', new driver.MongoNotConnectedError('closed')],
  ['a wrong password', 'MISCONFIGURED', server(18)],
  ['a right denied', 'MISCONFIGURED', server(13)],
  ['members that do not confirm in time', 'TIMEOUT', server(64)],
  ['more members asked for than there are', 'MISCONFIGURED', server(100)],
  ['w on a single server', 'MISCONFIGURED', server(2, `cannot use 'w' > 1 when a host is not replicated`)],
  ['a deadlock in FerretDB', 'UNAVAILABLE', server(16_908_292, 'deadlock detected')],
  ['a primary that stepped down', 'UNAVAILABLE', server(189)],
  ['a document too large for MongoDB', 'REJECTED', server(10334)],
  ['a document too large for FerretDB', 'REJECTED', server(2, 'Size 17 is larger than MaxDocumentSize 16')],
  ['a document too large for the serializer', 'REJECTED', new RangeError('offset is out of range')],
  [
    'a batch whose connection broke',
    'UNAVAILABLE',
    new driver.MongoBulkWriteError(new driver.MongoNetworkError('read ECONNRESET') as never, {} as never),
  ],
  ['a server too old', 'MISCONFIGURED', new driver.MongoCompatibilityError('wire version')],
];

for (const [name, code, error] of CASES) {
  test(`${name} is ${code}`, () => {
    assert.equal(mapped(error).code, code);
  });
}

test('a server that reports overload is OVERLOADED, whatever the code is', () => {
  const error = new driver.MongoServerError({
    message: 'busy',
    code: 1,
    errorLabels: ['SystemOverloadedError'],
  });
  assert.equal(mapped(error).code, 'OVERLOADED');
});

test('StoreErrors and errors of our code stay as they are', () => {
  const own = new StoreError('REJECTED', 'no such table');
  assert.equal(toStoreError(own, 'h/d'), own);
  const mistake = new TypeError('mistake');
  assert.equal(toStoreError(mistake, 'h/d'), mistake);
});
