import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  fieldNames,
  initialRecords,
  isIntact,
  keyName,
  parseWorkload,
  type Values,
} from '@tidegauge/workload';
import { rejection } from '../../conformance/data.ts';
import type { StoreTarget } from '../../conformance/index.ts';
import { openStore, type Store } from '../../src/index.ts';
import { YCSB_CLIENTS, type YcsbClient } from '../ycsb-clients.ts';

const RECORDS = 200;
const TABLE = 'usertable';
const WORKLOAD = parseWorkload('dataintegrity=true', {
  file: 'layouts',
  overrides: { recordcount: String(RECORDS), fieldlength: '120' },
});
const record = initialRecords(WORKLOAD, 1);
const numbers = [...Array(RECORDS).keys()];

/** Registers tests of the layout of YCSB, if YCSB has a binding for the store. */
export function describeLayout(target: StoreTarget): void {
  const connect = YCSB_CLIENTS[target.name];
  if (connect === undefined) return;
  test(`YCSB's layout in ${target.name}`, async (t) => {
    const { url, cleanup } = await target.create();
    t.after(cleanup);
    const ycsb = await connect(url);
    t.after(() => ycsb.close());
    await ycsb.create(WORKLOAD.fieldCount);
    for (const { key, values } of numbers.map(record)) await ycsb.insert(key, values);
    const store = await openStore(url);
    try {
      await prove(t, ycsb, store);
    } finally {
      await store.close();
    }
  });
}

async function prove(t: TestContext, ycsb: YcsbClient, store: Store): Promise<void> {
  const intact = (key: string, found: Values | null, requested: readonly string[] | null = null): void => {
    assert.ok(
      found !== null && isIntact(WORKLOAD, key, requested, found),
      `${key}: ${JSON.stringify(found)}`,
    );
  };

  await t.test('the store reads records loaded by YCSB, completely and by field', async () => {
    for (const number of numbers) {
      const key = keyName(number);
      const found = await store.records.read(TABLE, key, null);
      intact(key, found);
      assert.deepEqual(Object.keys(found!).sort(), [...fieldNames(WORKLOAD)].sort());
      const field = `field${number % WORKLOAD.fieldCount}`;
      const one = await store.records.read(TABLE, key, [field]);
      assert.deepEqual(Object.keys(one!), [field]);
      intact(key, one, [field]);
    }
    assert.equal(await store.records.read(TABLE, keyName(RECORDS), null), null);
  });

  await t.test('a scan finds all records loaded by YCSB', async () => {
    const found = await store.records.scan(TABLE, '', RECORDS + 1, null);
    const keys = numbers.map((number) => keyName(number)).sort();
    for (const { key, fields } of found) intact(key, fields);
    if (store.capabilities.orderedScan) {
      assert.deepEqual(
        found.map(({ key }) => key),
        keys,
      );
      const [first] = await store.records.scan(TABLE, keys[100]!, 1, ['field3']);
      assert.equal(first?.key, keys[100]);
    } else assert.deepEqual(found.map(({ key }) => key).sort(), keys);
  });

  await t.test('YCSB reads records written by the store', async () => {
    for (let number = RECORDS; number < 2 * RECORDS; number += 1) {
      const { key, values } = record(number);
      // The insert has a wrong field, which the update then corrects.
      assert.equal(await store.records.insert(TABLE, key, { ...values, field1: '' }), true);
      assert.equal(await store.records.update(TABLE, key, { field1: values.field1! }), true);
      intact(key, await ycsb.read(key));
    }
  });

  await t.test('YCSB sees changes and deletes of the store', async () => {
    const [changed, gone] = [keyName(3), keyName(4)];
    assert.equal(await store.records.update(TABLE, changed, { field9: 'changed' }), true);
    assert.deepEqual(await ycsb.read(changed), { ...record(3).values, field9: 'changed' });
    assert.equal(await store.records.delete(TABLE, gone), true);
    assert.equal(await ycsb.read(gone), null);
    if (!store.capabilities.insertIsUpsert) {
      assert.equal(await store.records.insert(TABLE, changed, record(3).values), false);
    }
  });

  await t.test('YCSB can use a table created by the store', async () => {
    await rejection(store.records.dropTable(TABLE), 'FORBIDDEN');
    await ycsb.drop();
    await store.records.createTable(TABLE, WORKLOAD.fieldCount);
    const { key, values } = record(0);
    await ycsb.insert(key, values);
    intact(key, await store.records.read(TABLE, key, null));
    await store.records.createTable(TABLE, WORKLOAD.fieldCount);
    intact(key, await ycsb.read(key));
  });
}
