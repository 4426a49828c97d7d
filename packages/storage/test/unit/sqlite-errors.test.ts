import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import { StoreError, type StoreErrorCode } from '../../src/index.ts';
import { isBusy, resultCode, toStoreError } from '../../src/sqlite/errors.ts';

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-sqlite-errors-'));
after(() => rmSync(folder, { recursive: true }));

/** The error that SQLite throws. */
function thrown(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return assert.fail('nothing was thrown');
}

function database(name: string): DatabaseSync {
  const db = new DatabaseSync(join(folder, name), { timeout: 0 });
  db.exec('create table if not exists t (a integer primary key, b text not null) strict');
  return db;
}

describe('errors of SQLite', () => {
  const cases: [string, number, StoreErrorCode, () => unknown][] = [
    [
      'a file that is no database',
      26,
      'MISCONFIGURED',
      () => {
        writeFileSync(join(folder, 'text'), 'just a text, long enough to be looked at '.repeat(100));
        new DatabaseSync(join(folder, 'text')).exec('select * from sqlite_schema');
      },
    ],
    ['a folder in place of the file', 14, 'MISCONFIGURED', () => new DatabaseSync(folder).exec('select 1')],
    [
      'a file that cannot be written',
      8,
      'MISCONFIGURED',
      () => {
        database('readonly').close();
        new DatabaseSync(join(folder, 'readonly'), { readOnly: true }).exec(`insert into t values (1, 'x')`);
      },
    ],
    [
      'a writer in the way',
      5,
      'OVERLOADED',
      () => {
        database('busy').exec('begin immediate');
        new DatabaseSync(join(folder, 'busy'), { timeout: 0 }).exec('begin immediate');
      },
    ],
    [
      'a full disk',
      13,
      'UNAVAILABLE',
      () => {
        const db = database('full');
        db.exec('pragma max_page_count = 3');
        db.exec(`insert into t values (1, '${'x'.repeat(100_000)}')`);
      },
    ],
    ['a broken constraint', 19, 'REJECTED', () => database('rules').exec('insert into t values (1, null)')],
    ['a missing table', 1, 'MISCONFIGURED', () => database('rules').exec('select * from nowhere')],
  ];

  for (const [name, code, kind, provoke] of cases) {
    test(`${name} is ${kind}`, () => {
      const error = thrown(provoke);
      assert.equal(resultCode(error), code);
      assert.equal(isBusy(error), kind === 'OVERLOADED');
      const mapped = toStoreError(error, '/data/t.db');
      assert.ok(mapped instanceof StoreError);
      assert.equal(mapped.code, kind);
      assert.equal(mapped.cause, error);
      assert.match(mapped.message, /\/data\/t\.db/);
      assert.ok(mapped.hint);
    });
  }

  test('an unknown code is UNEXPECTED, and errors that do not come from SQLite stay as they are', () => {
    const unheard = Object.assign(new Error('new in version 9'), { errcode: 99 });
    assert.equal((toStoreError(unheard, 'x') as StoreError).code, 'UNEXPECTED');
    const own = new TypeError('mistake');
    assert.equal(toStoreError(own, 'x'), own);
    assert.equal(resultCode(own), null);
  });
});
