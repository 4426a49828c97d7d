import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { RecordFields } from '../src/index.ts';
import { freshDevice, rejection } from './data.ts';
import { type StoreTarget, useStore } from './target.ts';

const TABLE = 'usertable';
const FIELDS = 10;

function fields(tag: string, count = FIELDS): RecordFields {
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`field${index}`, `${tag}-${index} ☃`]),
  );
}

function freshKey(): string {
  return freshDevice('user').replace('/', ':');
}

export function records(target: StoreTarget): void {
  describe('records', () => {
    const subject = useStore(target);
    before(() => subject.store.records.createTable(TABLE, FIELDS));

    test('inserts a record and reads all or some fields', async () => {
      const key = freshKey();
      assert.equal(await subject.store.records.insert(TABLE, key, fields('a')), true);
      assert.deepEqual({ ...(await subject.store.records.read(TABLE, key, null)) }, fields('a'));
      const two = await subject.store.records.read(TABLE, key, ['field9', 'field3']);
      assert.deepEqual({ ...two }, { field3: 'a-3 ☃', field9: 'a-9 ☃' });
    });

    test('reads null for a missing key', async () => {
      assert.equal(await subject.store.records.read(TABLE, freshKey(), null), null);
      assert.equal(await subject.store.records.read(TABLE, freshKey(), ['field0']), null);
    });

    test('leaves out fields that were never set', async () => {
      const key = freshKey();
      await subject.store.records.insert(TABLE, key, { field1: '', field2: 'two' });
      assert.deepEqual(
        { ...(await subject.store.records.read(TABLE, key, null)) },
        { field1: '', field2: 'two' },
      );
    });

    test('inserts an existing key as its capabilities declare', async () => {
      const key = freshKey();
      const { insertIsUpsert } = subject.store.capabilities;
      await subject.store.records.insert(TABLE, key, fields('old'));
      assert.equal(await subject.store.records.insert(TABLE, key, fields('new')), insertIsUpsert);
      const kept = await subject.store.records.read(TABLE, key, null);
      assert.deepEqual({ ...kept }, fields(insertIsUpsert ? 'new' : 'old'));
    });

    test('updates only the named fields', async () => {
      const key = freshKey();
      await subject.store.records.insert(TABLE, key, fields('a'));
      assert.equal(await subject.store.records.update(TABLE, key, { field2: 'changed', field7: '' }), true);
      const after = { ...fields('a'), field2: 'changed', field7: '' };
      assert.deepEqual({ ...(await subject.store.records.read(TABLE, key, null)) }, after);
      assert.equal(await subject.store.records.update(TABLE, key, { field2: 'changed' }), true);
    });

    test('updates a missing key as its capabilities declare', async () => {
      const key = freshKey();
      const { updateIsUpsert } = subject.store.capabilities;
      assert.equal(await subject.store.records.update(TABLE, key, { field0: 'x' }), updateIsUpsert);
      const found = await subject.store.records.read(TABLE, key, null);
      assert.deepEqual(found && { ...found }, updateIsUpsert ? { field0: 'x' } : null);
    });

    test('deletes a record', async () => {
      const key = freshKey();
      await subject.store.records.insert(TABLE, key, fields('a'));
      assert.equal(await subject.store.records.delete(TABLE, key), true);
      assert.equal(await subject.store.records.read(TABLE, key, null), null);
    });

    test('scans the requested number of records from a key on, inclusive, in the order of the store', async () => {
      const table = 'scantable';
      await subject.store.records.createTable(table, 2);
      const keys = Array.from({ length: 50 }, (_, index) => `user${String(index * 7919).padStart(7, '0')}`);
      for (const key of keys.toReversed())
        await subject.store.records.insert(table, key, { field0: key, field1: '1' });
      const start = subject.store.capabilities.orderedScan ? keys[10]! : await someStart(table);
      const first = await subject.store.records.scan(table, start, 5, ['field0']);
      assert.equal(first[0]?.key, start);
      assert.equal(first.length, 5);
      for (const record of first) assert.deepEqual({ ...record.fields }, { field0: record.key });
      if (subject.store.capabilities.orderedScan) {
        assert.deepEqual(
          first.map(({ key }) => key),
          keys.slice(10, 15),
        );
        assert.deepEqual((await subject.store.records.scan(table, `${keys[47]}!`, 10, null)).length, 2);
      }
      // In every order, continuing from the last key visits every key once.
      const again = await subject.store.records.scan(table, first[4]!.key, 1000, null);
      assert.equal(new Set([...first, ...again].map(({ key }) => key)).size, first.length + again.length - 1);
    });

    /** The first key for an engine that scans in the order of tokens. */
    async function someStart(table: string): Promise<string> {
      const [record] = await subject.store.records.scan(table, '', 1, null);
      return record!.key;
    }

    test('distinguishes keys by every character', async () => {
      const keys = ['Key', 'key', 'kéy', 'key '];
      for (const key of keys) await subject.store.records.insert(TABLE, key, { field0: key });
      for (const key of keys) {
        assert.equal((await subject.store.records.read(TABLE, key, ['field0']))?.field0, key);
      }
    });

    test('keeps texts of any script and a field of 100,000 characters', async () => {
      const key = `schlüssel-${freshKey()}-\u{1F30A}`;
      const texts = { field0: '測定値 \u{1F30A}\n\t"', field1: 'é'.repeat(100_000) };
      await subject.store.records.insert(TABLE, key, texts);
      assert.deepEqual({ ...(await subject.store.records.read(TABLE, key, null)) }, texts);
    });

    test('creates an existing table without changing it, and drops it', async () => {
      const table = 'shortlived';
      await subject.store.records.createTable(table, 2);
      await subject.store.records.insert(table, 'a', { field0: '1' });
      await subject.store.records.createTable(table, 2);
      assert.deepEqual({ ...(await subject.store.records.read(table, 'a', null)) }, { field0: '1' });
      await subject.store.records.dropTable(table);
      await subject.store.records.dropTable(table);
      await subject.store.records.createTable(table, 2);
      assert.equal(await subject.store.records.read(table, 'a', null), null);
    });

    test('rejects calls on a table that does not exist', async () => {
      const { records } = subject.store;
      await rejection(records.read('nosuchtable', 'a', null), 'REJECTED');
      await rejection(records.insert('nosuchtable', 'a', { field0: '1' }), 'REJECTED');
      await rejection(records.insertMany('nosuchtable', [{ key: 'a', fields: { field0: '1' } }]), 'REJECTED');
      await rejection(records.update('nosuchtable', 'a', { field0: '1' }), 'REJECTED');
      await rejection(records.delete('nosuchtable', 'a'), 'REJECTED');
      await rejection(records.scan('nosuchtable', 'a', 1, null), 'REJECTED');
    });

    test('accepts only plain names of tables, and none of readings', async () => {
      const { records } = subject.store;
      for (const table of [
        'readings',
        'Devices',
        'sqlite_master',
        'pg_class',
        'a b',
        'x"; drop',
        '',
        '../up',
      ]) {
        await assert.rejects(records.dropTable(table), TypeError, table);
        await assert.rejects(records.read(table, 'a', null), TypeError, table);
      }
      await assert.rejects(records.read(TABLE, 'a', ['YCSB_KEY']), TypeError);
      await assert.rejects(records.update(TABLE, 'a', {}), TypeError);
      await rejection(records.insert(TABLE, '', { field0: '1' }), 'REJECTED');
    });
  });
}
