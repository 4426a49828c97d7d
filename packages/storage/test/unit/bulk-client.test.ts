import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import driver from 'cassandra-driver';
import fc from 'fast-check';
import { type BatchRequest, withRows } from '../../src/cassandra/bulk-client.ts';

const { dataTypes, Long } = driver.types;
const load = createRequire(import.meta.url);
const requests = load('cassandra-driver/lib/requests.js') as {
  readonly BatchRequest: new (queries: readonly unknown[], options: object) => BatchRequest;
};
const Encoder = load('cassandra-driver/lib/encoder.js') as new (version: number, options: object) => never;

const queryId = Buffer.from('0123456789abcdef');
const types = ['text', 'int', 'bigint', 'double', 'tinyint', 'boolean', 'blob', 'bigint'] as const;
const meta = { columns: types.map((type) => ({ type: { code: dataTypes[type] } })) };
const encoder = new Encoder(4, { encoding: { useUndefinedAsUnset: true } });

function request(rows: readonly (readonly unknown[])[], timestamp: driver.types.Long | null): BatchRequest {
  const options = {
    getOrGenerateTimestamp: () => timestamp,
    getHints: () => null,
    isBatchCounter: () => false,
    isBatchLogged: () => false,
    isQueryTracing: () => false,
    getCustomPayload: () => null,
    getConsistency: () => driver.types.consistencies.quorum,
    getSerialConsistency: () => undefined,
    getKeyspace: () => undefined,
    getRawQueryOptions: () => ({}),
  };
  const queries = rows.map((params) => ({ query: 'insert', queryId, meta, params }));
  return new requests.BatchRequest(queries, options);
}

const absent = fc.constantFrom(undefined, null);
const row = fc.tuple(
  fc.oneof(fc.string({ unit: 'binary' }), absent),
  fc.oneof(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), absent),
  fc.oneof(fc.maxSafeInteger(), absent),
  fc.oneof(fc.double(), absent),
  fc.oneof(fc.integer({ min: -128, max: 127 }), absent),
  fc.oneof(fc.boolean(), absent),
  fc.oneof(
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    absent,
  ),
  fc.oneof(
    fc.maxSafeInteger().map((number) => Long.fromNumber(number)),
    absent,
  ),
);

test('a request has the bytes that the driver writes for its rows', () => {
  const property = fc.property(
    fc.array(row, { minLength: 1, maxLength: 20 }),
    fc.integer({ min: 0, max: 32_767 }),
    fc.option(fc.maxSafeInteger().map((number) => Long.fromNumber(number))),
    (rows, streamId, timestamp) => {
      const expected = request(rows, timestamp).write(encoder, streamId);
      const bulk = withRows(request(rows.slice(0, 1), timestamp), rows);
      assert.deepEqual(bulk.write(encoder, streamId), expected);
      assert.equal(bulk.length, expected.length - 9);
      // The driver repeats a request with its clone.
      assert.deepEqual(bulk.clone().write(encoder, streamId), expected);
    },
  );
  fc.assert(property);
});

test('a request larger than the first buffer is complete', () => {
  const rows = Array.from({ length: 500 }, (_, number) => [
    'ü'.repeat(5000),
    ...[number, number, number, 1, true, Buffer.alloc(100), Long.fromNumber(number)],
  ]);
  const bulk = withRows(request(rows.slice(0, 1), null), rows);
  for (let time = 0; time < 2; time += 1) {
    assert.ok(bulk.write(encoder, 1).equals(request(rows, null).write(encoder, 1)));
  }
});

test('another version of the protocol is refused', () => {
  const bulk = withRows(request([[1]], null), [[1]]);
  assert.throws(() => bulk.write(new Encoder(3, {}), 1), /does not speak version 4/);
});
