import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import {
  MAX_FIELD_LENGTH,
  MAX_INSERT_LENGTH,
  MAX_INSERT_RECORDS,
  type RecordFields,
  type YcsbRecord,
} from '../src/index.ts';
import { firmly, freshDevice, rejection } from './data.ts';
import { openStore } from './open.ts';
import { type StoreTarget, useStore } from './target.ts';

const TABLE = 'loaded';
const FIELDS = 3;

function freshPrefix(): string {
  return freshDevice('load').replaceAll('/', ':');
}

function record(key: string, tag: string, count = FIELDS): YcsbRecord {
  const fields: Record<string, string> = {};
  for (let index = 0; index < count; index += 1) fields[`field${index}`] = `${tag}-${key}-${index} ☃`;
  return { key, fields };
}

function batch(prefix: string, count: number, tag = 'a', first = 0): YcsbRecord[] {
  return Array.from({ length: count }, (_, index) => record(`${prefix}-${first + index}`, tag));
}

export function recordLoads(target: StoreTarget): void {
  describe('loads of records', () => {
    const subject = useStore(target);
    before(() => subject.store.records.createTable(TABLE, FIELDS));

    async function read(key: string, table = TABLE): Promise<RecordFields | null> {
      const fields = await subject.store.records.read(table, key, null);
      return fields && { ...fields };
    }

    async function assertStored(records: readonly YcsbRecord[]): Promise<void> {
      for (const { key, fields } of records) assert.deepEqual(await read(key), fields, key);
    }

    test('stores every record of batches of any size, in any order', async () => {
      for (const count of [1, 2, 700]) {
        const records = batch(freshPrefix(), count);
        await subject.store.records.insertMany(TABLE, records.toReversed());
        await assertStored(records);
      }
      await subject.store.records.insertMany(TABLE, []);
    });

    test('stores exactly the records of the largest batch', { timeout: 120_000 }, async () => {
      const table = 'most';
      await subject.store.records.createTable(table, 1);
      const keys = Array.from({ length: MAX_INSERT_RECORDS }, (_, index) => `user${index}`);
      const records = keys.map((key) => ({ key, fields: { field0: `value of ${key}` } }));
      await subject.store.records.insertMany(table, records);
      const found = await subject.store.records.scan(table, '', MAX_INSERT_RECORDS, null);
      assert.deepEqual(
        new Map(found.map(({ key, fields }) => [key, fields.field0])),
        new Map(records.map(({ key, fields }) => [key, fields.field0])),
      );
    });

    test('stores the longest batch', { timeout: 120_000 }, async () => {
      const table = 'longest';
      await subject.store.records.createTable(table, 8);
      const keys = Array.from({ length: 100 }, (_, index) => `user${index}`);
      // Two bytes per character.
      const text = (tag: number, length: number) => `${tag}`.padEnd(length, 'é');
      const length = Math.floor(MAX_INSERT_LENGTH / keys.length) - 'user99'.length;
      const records = keys.map((key, index) => ({ key, fields: { field7: text(index, length) } }));
      await subject.store.records.insertMany(table, records);
      for (const { key, fields } of records) assert.deepEqual(await read(key, table), fields, key);
    });

    test('inserts existing keys as its capabilities declare, again and again', async () => {
      const prefix = freshPrefix();
      const { insertIsUpsert } = subject.store.capabilities;
      await subject.store.records.insertMany(TABLE, batch(prefix, 20, 'old'));
      for (let round = 0; round < 2; round += 1) {
        await subject.store.records.insertMany(TABLE, batch(prefix, 40, 'new', 10));
      }
      await assertStored(batch(prefix, 10, 'old'));
      await assertStored(batch(prefix, 10, insertIsUpsert ? 'new' : 'old', 10));
      await assertStored(batch(prefix, 30, 'new', 20));
    });

    test('stores one of equal keys in a batch: the first, or the last with insertIsUpsert', async () => {
      const prefix = freshPrefix();
      const others = batch(prefix, 50);
      const [first, last] = [record(`${prefix}-7`, 'first'), record(`${prefix}-7`, 'last')];
      await subject.store.records.insertMany(TABLE, [first, ...others, last]);
      const { insertIsUpsert } = subject.store.capabilities;
      await assertStored([insertIsUpsert ? last : first, ...others.filter(({ key }) => key !== first.key)]);
    });

    test('leaves out the fields that a record does not have', async () => {
      const prefix = freshPrefix();
      const records = [
        { key: `${prefix}-a`, fields: { field2: '' } },
        { key: `${prefix}-b`, fields: { field1: 'one', field0: 'zero' } },
        { key: `${prefix}-c`, fields: { field0: 'zero' } },
        record(`${prefix}-d`, 'whole'),
      ];
      await subject.store.records.insertMany(TABLE, records);
      await assertStored(records);
    });

    test('distinguishes keys by every character, and keeps texts of any script', async () => {
      const prefix = freshPrefix();
      const keys = ['Key', 'key', 'kéy', 'key ', 'KEY', '測定値', '\u{1F30A}'].map(
        (key) => `${prefix}-${key}`,
      );
      const records = keys.map((key) => ({ key, fields: { field0: `${key} \u{1F30A}\n\t"'\\?` } }));
      await subject.store.records.insertMany(TABLE, records);
      await assertStored(records);
    });

    test('stores batches of several processes that have keys in common', { timeout: 120_000 }, async () => {
      const prefix = freshPrefix();
      const stores = [subject.store, await subject.open(), await subject.open()];
      const all = batch(prefix, 600);
      await Promise.all(
        stores.flatMap((store, index) =>
          Array.from({ length: 6 }, (_, part) => {
            const start = (part * 100 + index * 50) % all.length;
            const some = [...all, ...all].slice(start, start + 200);
            const ordered = (part + index) % 2 === 0 ? some : some.toReversed();
            return firmly(() => store.records.insertMany(TABLE, ordered));
          }),
        ),
      );
      await assertStored(all);
    });

    test('rejects a batch with invalid records, names them, and stores nothing', async () => {
      const prefix = freshPrefix();
      const records = batch(prefix, 6);
      records[2] = { key: '', fields: { field0: 'empty key' } };
      records[4] = { key: `${prefix}-4`, fields: { field0: 'fine', field1: 'a\0b' } };
      records[5] = { key: `${prefix}-5`, fields: { field0: '\ud83c' } };
      const error = await rejection(subject.store.records.insertMany(TABLE, records), 'REJECTED');
      assert.deepEqual(error.rows, [2, 4, 5]);
      assert.match(error.message, /key is empty/);
      const long = [{ key: `${prefix}-0`, fields: { field0: 'x'.repeat(MAX_FIELD_LENGTH + 1) } }];
      await rejection(subject.store.records.insertMany(TABLE, long), 'REJECTED');
      for (const { key } of records.filter(({ key }) => key !== '')) assert.equal(await read(key), null);
    });

    test('refuses batches beyond its bounds, and fields that are not fields', async () => {
      const { records } = subject.store;
      const prefix = freshPrefix();
      await assert.rejects(records.insertMany(TABLE, batch(prefix, MAX_INSERT_RECORDS + 1)), TypeError);
      const half = 'x'.repeat(MAX_FIELD_LENGTH);
      const long = Array.from({ length: MAX_INSERT_LENGTH / MAX_FIELD_LENGTH }, (_, index) => ({
        key: `${prefix}-${index}`,
        fields: { field0: half },
      }));
      await assert.rejects(records.insertMany(TABLE, long), TypeError);
      const strange = [record(`${prefix}-0`, 'a'), { key: `${prefix}-1`, fields: { ycsb_key: 'x' } }];
      await assert.rejects(records.insertMany(TABLE, strange), TypeError);
      await assert.rejects(records.insertMany(TABLE, [{ key: `${prefix}-0`, fields: {} }]), TypeError);
      await assert.rejects(records.insertMany('readings', []), TypeError);
      assert.equal(await read(`${prefix}-0`), null);
    });

    test('stores all of a load that is continued by another process', async () => {
      const prefix = freshPrefix();
      const all = batch(prefix, 300);
      const first = await openStore(subject.place.url);
      const running = first.records.insertMany(TABLE, all.slice(0, 200));
      await first.close();
      await running;
      await subject.store.records.insertMany(TABLE, all.slice(100));
      await assertStored(all);
    });
  });
}
