import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type RecordStore, type Store, tableProblem } from '../src/index.ts';
import { rejection } from './data.ts';
import { openStore } from './open.ts';
import type { Outsider } from './outsider.ts';
import { type StoreTarget, useStore } from './target.ts';

const FIELDS = { field0: 'new' };
/** Rounds of concurrent calls by several processes, so that they collide at different steps. */
const ROUNDS = 5;

/** Every call on a table, by name. */
function callsOn(records: RecordStore, table: string): Record<string, () => Promise<unknown>> {
  return {
    createTable: () => records.createTable(table, 2),
    dropTable: () => records.dropTable(table),
    read: () => records.read(table, 'user1', null),
    readField: () => records.read(table, 'user1', ['field0']),
    insert: () => records.insert(table, 'user2', FIELDS),
    insertMany: () => records.insertMany(table, [{ key: 'user2', fields: FIELDS }]),
    update: () => records.update(table, 'user1', FIELDS),
    delete: () => records.delete(table, 'user1'),
    scan: () => records.scan(table, '', 10, null),
  };
}

/** Tidegauge shares its database with other programs and must not change their tables. */
export function recordTables(target: StoreTarget): void {
  describe('tables of records', () => {
    const subject = useStore(target);
    let outsider: Outsider;
    before(async () => {
      outsider = await target.outsider(subject.place);
    });
    after(() => outsider.close());

    /** A new store without caches, as in another process or after a restart. */
    async function afresh<T>(use: (store: Store) => Promise<T>): Promise<T> {
      const store = await openStore(subject.place.url);
      try {
        return await use(store);
      } finally {
        await store.close();
      }
    }

    test('refuses every call on a table in another layout, and leaves it as it is', async () => {
      await outsider.makeOther('orders');
      const content = await outsider.content('orders');
      for (const [name, call] of Object.entries(callsOn(subject.store.records, 'orders'))) {
        const error = await rejection(call(), 'FORBIDDEN');
        assert.match(error.message, /orders/, name);
        assert.ok(error.hint, name);
        assert.equal(await outsider.content('orders'), content, name);
      }
    });

    test('does not change such a table through another spelling of its name', async () => {
      await outsider.makeOther('invoices');
      const content = await outsider.content('invoices');
      for (const table of ['INVOICES', 'Invoices']) {
        for (const [name, call] of Object.entries(callsOn(subject.store.records, table))) {
          // A case-sensitive store can create a table of that name. The other one must stay.
          await call().catch(() => {});
          assert.equal(await outsider.content('invoices'), content, `${name} ${table}`);
        }
      }
    });

    test('refuses every table that Tidegauge uses for other data', async () => {
      const tables = await outsider.tables();
      for (const table of tables.filter((name) => name !== 'orders' && !/^invoices$/i.test(name))) {
        for (const [name, call] of Object.entries(callsOn(subject.store.records, table))) {
          if (tableProblem(table) !== null) await assert.rejects(call(), TypeError, `${name} ${table}`);
          else await rejection(call(), 'FORBIDDEN');
        }
      }
      assert.deepEqual([...(await outsider.tables())].sort(), [...tables].sort());
    });

    test('reads and writes a table that YCSB has loaded, and neither drops nor changes it', async () => {
      const { records } = subject.store;
      await outsider.makeYcsb('loaded');
      assert.deepEqual({ ...(await records.read('loaded', 'user1', null)) }, { field0: 'external' });
      assert.equal((await records.scan('loaded', '', 10, null)).length, 1);
      const content = await outsider.content('loaded');
      await records.createTable('loaded', 2);
      await rejection(records.dropTable('loaded'), 'FORBIDDEN');
      await afresh((store) => rejection(store.records.dropTable('loaded'), 'FORBIDDEN'));
      assert.equal(await outsider.content('loaded'), content);
      assert.equal(await records.insert('loaded', 'user2', FIELDS), true);
      assert.equal(await records.update('loaded', 'user1', FIELDS), true);
      assert.deepEqual({ ...(await records.read('loaded', 'user1', null)) }, FIELDS);
      assert.equal(await records.delete('loaded', 'user2'), true);
      await rejection(records.dropTable('loaded'), 'FORBIDDEN');
    });

    test('drops a table that another process of Tidegauge made', async () => {
      await afresh((store) => store.records.createTable('made', 2));
      await subject.store.records.insert('made', 'user1', FIELDS);
      await afresh((store) => store.records.dropTable('made'));
      assert.equal(await outsider.content('made'), null);
      await afresh((store) => rejection(store.records.read('made', 'user1', null), 'REJECTED'));
    });

    test('several processes can create and drop one table at the same time', async () => {
      const others = [await subject.open(), await subject.open()];
      const all = [subject.store, ...others];
      for (let round = 0; round < ROUNDS; round++) {
        await Promise.all(all.map((store) => store.records.createTable('together', 2)));
        await Promise.all(
          all.map((store, index) => store.records.insert('together', `user${index}`, FIELDS)),
        );
        assert.equal((await subject.store.records.scan('together', '', 10, null)).length, 3);
        await Promise.all(all.map((store) => store.records.dropTable('together')));
        assert.equal(await outsider.content('together'), null);
      }
    });

    test('does not drop a table with which another program has replaced its table', async () => {
      const { records } = subject.store;
      await records.createTable('replaced', 2);
      await outsider.drop('replaced');
      await outsider.makeOther('replaced');
      const content = await outsider.content('replaced');
      await rejection(records.dropTable('replaced'), 'FORBIDDEN');
      await afresh((store) => rejection(store.records.read('replaced', 'user1', null), 'FORBIDDEN'));
      assert.equal(await outsider.content('replaced'), content);

      await records.createTable('reloaded', 2);
      await outsider.drop('reloaded');
      await outsider.makeYcsb('reloaded');
      await rejection(records.dropTable('reloaded'), 'FORBIDDEN');
      await afresh(async (store) => {
        await rejection(store.records.dropTable('reloaded'), 'FORBIDDEN');
        assert.equal((await store.records.read('reloaded', 'user1', null))?.field0, 'external');
      });
    });
  });
}
