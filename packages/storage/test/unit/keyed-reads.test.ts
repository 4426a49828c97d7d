import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Result } from '../../src/postgres/database.ts';
import { KeyedReads } from '../../src/postgres/keyed-reads.ts';

/** A database that has each key that starts with k, and answers when the test calls `answer`. */
function slowDatabase() {
  const sent: { readonly sql: string; readonly keys: readonly string[]; answer(error?: Error): void }[] = [];
  const read = (sql: string, values: readonly unknown[]): Promise<Result> =>
    new Promise((resolve, reject) => {
      const keys = values as readonly string[];
      const rows = [...new Set(keys)].filter((key) => key.startsWith('k')).map((key) => [key, `of ${key}`]);
      const result = { rows, columns: ['ycsb_key', 'field0'], count: rows.length };
      sent.push({ sql, keys, answer: (error) => (error ? reject(error) : resolve(result)) });
    });
  const run = (_lane: unknown, sql: string, values: readonly unknown[] = []) => read(sql, values);
  return { sent, read, run };
}

const keys = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `k${from + index}`);

test('reads of one turn share a statement, whose number of keys is a power of two', async () => {
  const db = slowDatabase();
  const reads = new KeyedReads(db, true);
  const all = ['k0', 'x', 'k1', 'k0', 'k2'].map((key) => reads.read('select', key));
  assert.equal(db.sent.length, 0);
  await turn();
  assert.deepEqual(db.sent[0]!.keys, ['k0', 'x', 'k1', 'k0', 'k2', 'k2', 'k2', 'k2']);
  assert.equal(db.sent[0]!.sql, 'select in ($1, $2, $3, $4, $5, $6, $7, $8)');
  db.sent[0]!.answer();
  const field0 = (await Promise.all(all)).map((fields) => fields?.field0);
  assert.deepEqual(field0, ['of k0', undefined, 'of k1', 'of k0', 'of k2']);
});

test('reads that come while two statements are under way wait for one of them', async () => {
  const db = slowDatabase();
  const reads = new KeyedReads(db, true);
  const all: Promise<unknown>[] = [];
  for (let index = 0; index < 5; index += 1) {
    all.push(reads.read('select', `k${index}`));
    await turn();
  }
  assert.deepEqual(
    db.sent.map((statement) => statement.keys),
    [['k0'], ['k1']],
  );
  // Those of other fields do not wait.
  all.push(reads.read('select other', 'k9'));
  await turn();
  assert.deepEqual(db.sent[2]!.keys, ['k9']);
  db.sent[1]!.answer();
  await turn();
  await turn();
  assert.deepEqual(db.sent[3]!.keys, ['k2', 'k3', 'k4', 'k4']);
  for (const index of [0, 2, 3]) db.sent[index]!.answer();
  assert.equal((await Promise.all(all)).length, 6);
});

test('a statement has at most 16 keys, and reads beyond 64 that wait are sent alone', async () => {
  const db = slowDatabase();
  const reads = new KeyedReads(db, true);
  const all = keys(70).map((key) => reads.read('select', key));
  assert.deepEqual(
    db.sent.map((statement) => statement.keys),
    keys(6, 64).map((key) => [key]),
  );
  for (let index = 0; index < 6; index += 1) db.sent[index]!.answer();
  for (let index = 6; index < 10; index += 1) {
    while (db.sent[index] === undefined) await turn();
    assert.equal(db.sent[index]!.keys.length, 16);
    db.sent[index]!.answer();
  }
  assert.deepEqual(
    (await Promise.all(all)).map((fields) => fields?.field0),
    keys(70).map((key) => `of ${key}`),
  );
});

test('an error reaches each read of its statement, and the next ones are sent', async () => {
  const db = slowDatabase();
  const reads = new KeyedReads(db, true);
  const failed = Promise.allSettled(keys(3).map((key) => reads.read('select', key)));
  await turn();
  db.sent[0]!.answer(new Error('no server'));
  assert.deepEqual(
    (await failed).map((result) => result.status === 'rejected' && result.reason.message),
    ['no server', 'no server', 'no server'],
  );
  const next = reads.read('select', 'k7');
  await turn();
  db.sent[1]!.answer();
  assert.deepEqual(await next, { field0: 'of k7' });
});

test('a read has a separate statement where the keys are on several nodes', async () => {
  const db = slowDatabase();
  const reads = new KeyedReads(db, false);
  const all = keys(2).map((key) => reads.read('select', key));
  assert.deepEqual(
    db.sent.map(({ sql, keys: sent }) => [sql, ...sent]),
    [
      ['select = $1', 'k0'],
      ['select = $1', 'k1'],
    ],
  );
  for (const statement of db.sent) statement.answer();
  assert.equal((await Promise.all(all)).length, 2);
});
