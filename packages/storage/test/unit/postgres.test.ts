import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { QUALITIES, type Reading } from '@tidegauge/readings';
import fc from 'fast-check';
import { reading } from '../../conformance/data.ts';
import { StoreError, type StoreErrorCode } from '../../src/index.ts';
import { float8Array, int8Array, textArray } from '../../src/postgres/arrays.ts';
import { copyRows } from '../../src/postgres/copy-rows.ts';
import { keepsSession, toStoreError } from '../../src/postgres/errors.ts';
import { identities } from '../../src/postgres/identities.ts';

const PLACE = 'postgres db:5432/tidegauge';

/** An error as the server sends it. */
function sent(code: string, severity = 'ERROR'): Error {
  return Object.assign(new Error(`said with ${code}`), { code, severity });
}

function mapped(error: Error): StoreError {
  const known = toStoreError(error, PLACE);
  assert.ok(known instanceof StoreError, String(error));
  assert.ok(known.hint);
  assert.ok(known.message.startsWith(PLACE));
  assert.equal(known.cause, error);
  return known;
}

describe('errors of PostgreSQL', () => {
  const STATES: Readonly<Record<string, StoreErrorCode>> = {
    '08006': 'UNAVAILABLE',
    '0A000': 'MISCONFIGURED',
    '22003': 'REJECTED',
    '23505': 'REJECTED',
    '25006': 'UNAVAILABLE',
    '28P01': 'MISCONFIGURED',
    '28000': 'MISCONFIGURED',
    '3D000': 'MISCONFIGURED',
    '40001': 'OVERLOADED',
    '40P01': 'OVERLOADED',
    '42501': 'MISCONFIGURED',
    '42P01': 'MISCONFIGURED',
    '53100': 'UNAVAILABLE',
    '53300': 'OVERLOADED',
    '54000': 'REJECTED',
    '55000': 'MISCONFIGURED',
    '55P03': 'OVERLOADED',
    '57014': 'TIMEOUT',
    '57P01': 'UNAVAILABLE',
    '57P03': 'UNAVAILABLE',
    '58030': 'UNAVAILABLE',
    XX000: 'UNEXPECTED',
    '99999': 'UNEXPECTED',
  };
  for (const [state, code] of Object.entries(STATES)) {
    test(`SQLSTATE ${state} is ${code}`, () => assert.equal(mapped(sent(state)).code, code));
  }

  for (const message of [
    'postmaster was shut down, exiting',
    'failed to complete COPY on 10.0.2.7:5432',
    'server closed the connection unexpectedly\n\tThis probably means the server terminated abnormally',
    'could not receive data from server: Connection reset by peer',
    'SSL SYSCALL error: EOF detected',
  ]) {
    test(`Citus's "${message.split('\n')[0]}" is UNAVAILABLE`, () => {
      assert.equal(mapped(Object.assign(sent('XX000'), { message })).code, 'UNAVAILABLE');
    });
  }

  test('a table that a worker of Citus does not have is UNAVAILABLE until its address is correct again', () => {
    const where = 'while executing command on 10.0.2.7:5432';
    const swapped = Object.assign(sent('42P01'), { where });
    assert.equal(mapped(swapped).code, 'UNAVAILABLE');
    const invalid = Object.assign(sent('23505'), { where });
    assert.equal(mapped(invalid).code, 'REJECTED');
  });

  test('every message of the driver is mapped', () => {
    const driver = dirname(fileURLToPath(import.meta.resolve('pg/package.json')));
    const folders = ['lib', 'lib/crypto', '../pg-pool'].map((folder) => join(driver, folder));
    const sources = folders.flatMap((folder) =>
      readdirSync(folder)
        .filter((file) => file.endsWith('.js'))
        .map((file) => readFileSync(join(folder, file), 'utf8')),
    );
    const messages = sources.flatMap((source) =>
      [...source.matchAll(/new Error\(['`](.+?)['`][,)]/g)].map(([, message]) => message!),
    );
    assert.ok(messages.length > 40, `${messages.length} messages found`);
    for (const message of messages) mapped(new Error(message));
    const codes = (pattern: RegExp): string[] => {
      const some = messages.filter((message) => pattern.test(message));
      assert.ok(some.length > 0, String(pattern));
      return [...new Set(some.map((message) => mapped(new Error(message)).code))];
    };
    assert.deepEqual(codes(/^Connection terminated|connection error/), ['UNAVAILABLE']);
    assert.deepEqual(codes(/^Query read timeout/), ['TIMEOUT']);
    assert.deepEqual(codes(/^timeout exceeded when trying/), ['OVERLOADED']);
    assert.deepEqual(codes(/^SASL/), ['MISCONFIGURED']);
    assert.deepEqual(codes(/SSL connection/), ['MISCONFIGURED']);
  });

  test('errors of sockets are UNAVAILABLE, of certificates MISCONFIGURED', () => {
    for (const code of ['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'EPIPE', 'ETIMEDOUT']) {
      assert.equal(mapped(Object.assign(new Error(`connect ${code}`), { code })).code, 'UNAVAILABLE');
    }
    for (const code of ['DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID', 'CERT_HAS_EXPIRED']) {
      assert.equal(mapped(Object.assign(new Error('certificate'), { code })).code, 'MISCONFIGURED');
    }
    const both = new AggregateError([new Error('connect ::1'), new Error('connect 127.0.0.1')], '');
    assert.match(mapped(both).message, /::1; connect 127/);
  });

  test('a connection stays open only after a refused statement', () => {
    assert.equal(keepsSession(sent('23505')), true);
    assert.equal(keepsSession(sent('57P01', 'FATAL')), false);
    assert.equal(keepsSession(new Error('Query read timeout')), false);
  });

  test('an error of our code stays as it is', () => {
    const mistake = new TypeError('undefined is not a function');
    assert.equal(toStoreError(mistake, PLACE), mistake);
  });
});

test('a prepared batch stores and counts like single rows', () => {
  const row = fc.record({ series: fc.integer({ min: 1, max: 3 }), time: fc.nat(3), value: fc.nat(2) });
  const run = (
    table: Map<string, number>,
    rows: readonly { series: number; time: number; value: number }[],
  ) => {
    let changes = 0;
    for (const { series, time, value } of rows) {
      const key = `${series} ${time}`;
      if (table.get(key) !== value) changes += 1;
      table.set(key, value);
    }
    return changes;
  };
  const property = fc.property(fc.array(row), fc.array(row), (before, rows) => {
    const [plain, sorted] = [new Map<string, number>(), new Map<string, number>()];
    run(plain, before);
    run(sorted, before);
    const batch = rows.map(({ time, value }) => reading({ device: 'd', time, value }));
    const { first, last, changes } = identities(
      batch,
      rows.map(({ series }) => series),
    );
    const keys = first.map((index) => [rows[index]!.series, rows[index]!.time] as const);
    assert.deepEqual(
      keys,
      keys.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]),
    );
    assert.equal(new Set(keys.map(String)).size, keys.length);
    const pick = (some: readonly number[]) => some.map((index) => rows[index]!);
    const stored = run(sorted, pick(first)) + changes;
    run(sorted, pick(last));
    assert.equal(stored, run(plain, rows));
    assert.deepEqual(sorted, plain);
  });
  fc.assert(property, { numRuns: 500 });
});

test('arrays have the layout of array_recv, and are null if every element is null', () => {
  const hex = (buffer: Buffer | null) => buffer?.toString('hex');
  const header = (nulls: number, type: string, length: number) =>
    `00000001${`0000000${nulls}`}${type}0000000${length}00000001`;
  assert.equal(
    hex(int8Array([2 ** 53 - 1, null])),
    `${header(1, '00000014', 2)}00000008001fffffffffffffffffffff`,
  );
  assert.equal(hex(float8Array([-0])), `${header(0, '000002bd', 1)}000000088000000000000000`);
  assert.equal(hex(textArray(['é', 7])), `${header(1, '00000019', 2)}00000002c3a9ffffffff`);
  assert.equal(int8Array([null, null]), null);
  assert.equal(float8Array(['text']), null);
  assert.equal(textArray([1]), null);
});

describe('rows of COPY', () => {
  test('have the bytes that the manual of PostgreSQL describes', () => {
    const batch = [
      reading({ device: 'd', time: 1, value: -0, received: 2 ** 53 - 1, boot: 'é', seq: 3 }),
      reading({ device: 'd', time: 2, value: 'on', received: 5, quality: 'unsynced' }),
    ];
    const int8 = (hex: string) => `00000008${hex.padStart(16, '0')}`;
    const parts = [
      ...['5047434f50590aff0d0a00', '00000000', '00000000'],
      ...['0008', int8('07'), int8('02'), 'ffffffff', '000000026f6e'],
      ...[int8('05'), 'ffffffff', 'ffffffff', `00000002000${QUALITIES.indexOf('unsynced')}`],
      ...['0008', int8('0100000000'), int8('01'), int8('8000000000000000'), 'ffffffff'],
      ...[int8('1fffffffffffff'), '00000002c3a9', int8('03'), '000000020000'],
      'ffff',
    ];
    assert.equal(copyRows(batch, [2 ** 32, 7], [1, 0]).toString('hex'), parts.join(''));
  });

  test('an empty list of rows is the header and the end', () => {
    assert.equal(copyRows([], [], []).length, 19 + 2);
  });

  test('decode to the readings', () => {
    const whole = fc.nat({ max: Number.MAX_SAFE_INTEGER });
    const text = fc.string({ unit: 'binary', maxLength: 40 }).filter((value) => value.isWellFormed());
    const row = fc.record({
      series: whole,
      time: whole,
      received: whole,
      value: fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), text),
      // Few boots, so that neighbours often have the same.
      boot: fc.oneof(fc.constantFrom(null, '', 'b1', 'b2', 'ß-😀'), text),
      seq: fc.option(whole),
      quality: fc.constantFrom(...QUALITIES),
    });
    const property = fc.property(fc.array(row, { maxLength: 20 }), fc.boolean(), (rows, reversed) => {
      const batch = rows.map(({ series: _, ...fields }) => reading({ device: 'd', ...fields }));
      const numbers = rows.map(({ series }) => series);
      const order = [...rows.keys()];
      if (reversed) order.reverse();
      assert.deepEqual(
        decoded(copyRows(batch, numbers, order)),
        order.map((index) => ({ series: numbers[index], reading: batch[index] })),
      );
    });
    fc.assert(property, { numRuns: 200 });
  });
});

/** Reads rows of COPY as the server does. Every byte must belong to a row. */
function decoded(buffer: Buffer): { series: number; reading: Reading }[] {
  let at = 19;
  const field = <T>(read: (bytes: Buffer) => T): T | null => {
    const length = buffer.readInt32BE(at);
    at += 4;
    if (length === -1) return null;
    assert.ok(length >= 0 && at + length <= buffer.length);
    at += length;
    return read(buffer.subarray(at - length, at));
  };
  const fixed = <T>(size: number, read: (bytes: Buffer) => T) =>
    field((bytes) => {
      assert.equal(bytes.length, size);
      return read(bytes);
    });
  const int8 = () => fixed(8, (bytes) => Number(bytes.readBigInt64BE()));
  const text = () => field((bytes) => bytes.toString());
  const rows: { series: number; reading: Reading }[] = [];
  for (;;) {
    const fields = buffer.readInt16BE(at);
    at += 2;
    if (fields === -1) break;
    assert.equal(fields, 8);
    const series = int8()!;
    const time = int8()!;
    const number = fixed(8, (bytes) => bytes.readDoubleBE());
    const word = text();
    assert.ok((number === null) !== (word === null), 'one of value and text is null');
    const [received, boot, seq] = [int8()!, text(), int8()];
    const quality = QUALITIES[fixed(2, (bytes) => bytes.readInt16BE())!]!;
    const value = (number ?? word)!;
    rows.push({ series, reading: reading({ device: 'd', time, received, value, boot, seq, quality }) });
  }
  assert.equal(at, buffer.length);
  return rows;
}
