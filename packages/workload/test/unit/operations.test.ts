import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  deterministicValue,
  fieldNames,
  initialRecords,
  isIntact,
  keyName,
  operations,
  parseWorkload,
  type RecordOperation,
} from '../../src/index.ts';

function workload(name: string, overrides: Readonly<Record<string, string>> = {}) {
  const url = new URL(`../../workloads/workload${name}`, import.meta.url);
  return parseWorkload(readFileSync(url, 'utf8'), { file: `workload${name}`, overrides });
}

function take(name: string, count: number, options: Parameters<typeof operations>[1]): RecordOperation[] {
  const stream = operations(workload(name), options);
  return Array.from({ length: count }, () => stream.next());
}

test('a stream depends on its seed and thread, and on nothing else', () => {
  const one = take('d', 300, { seed: 7, thread: 1, threads: 3 });
  assert.deepEqual(take('d', 300, { seed: 7, thread: 1, threads: 3 }), one);
  assert.notDeepEqual(take('d', 300, { seed: 8, thread: 1, threads: 3 }), one);
  assert.notDeepEqual(take('d', 300, { seed: 7, thread: 2, threads: 3 }), one);
});

test('the stream equals the recorded one on every engine', () => {
  assert.deepEqual(take('a', 1, { seed: 1 }), [
    {
      type: 'update',
      key: 'user1010099187537061287',
      values: {
        field7:
          ')G-$B{(U3%Eu?K9(#",Zy."6+Rk"]m)V/ :*2* (Ds5Qo>8~).$,+h,U}?Q#3]?5Y7+&(1?(#%`"^i9Y=15t.7.-":>4d6:f2Y18',
      },
    },
  ]);
  const last = { type: 'scan', key: 'user4645373453687891827', count: 28, fields: null };
  assert.deepEqual(take('e', 2000, { seed: 1 }).at(-1), last);
});

test('threads insert different records, without gaps, and read only loaded records or their own', () => {
  const threads = 4;
  const mine = new Map<string, number>();
  for (let thread = 0; thread < threads; thread += 1) {
    const stream = operations(workload('i', { readproportion: '0.5', insertproportion: '0.5' }), {
      seed: 3,
      thread,
      threads,
    });
    const loaded = new Set(Array.from({ length: 1000 }, (_, number) => keyName(number)));
    const own = new Set<string>();
    let fresh = 0;
    for (let index = 0; index < 2000; index += 1) {
      const { type, key } = stream.next();
      if (type === 'insert') {
        assert.ok(!mine.has(key), 'inserted by another');
        own.add(key);
        mine.set(key, thread);
      } else {
        assert.ok(loaded.has(key) || own.has(key), key);
        if (own.has(key)) fresh += 1;
      }
    }
    assert.ok(fresh > 600, `the newest are read most: ${fresh}`);
  }
  const perThread = [...mine.values()].filter((thread) => thread === 0).length;
  for (let number = 1000; number < 1000 + perThread * 2; number += 1) assert.ok(mine.has(keyName(number)));
});

test('the load phase gives a record the same values in any order of loading', () => {
  const a = workload('a');
  const forwards = initialRecords(a, 9);
  const backwards = initialRecords(a, 9);
  const there = [0, 1, 2].map(forwards);
  assert.deepEqual([2, 1, 0].map(backwards).reverse(), there);
  assert.notDeepEqual(initialRecords(a, 10)(0).values, there[0]!.values);
  for (const { values } of there) {
    assert.deepEqual(Object.keys(values), fieldNames(a));
    for (const value of Object.values(values)) assert.match(value, /^[\x20-\x7f]{100}$/);
  }
});

test('data integrity detects a value that is wrong, short or missing', () => {
  const a = workload('a', { dataintegrity: 'true' });
  const { key, values } = initialRecords(a, 1)(5);
  assert.ok(isIntact(a, key, null, values));
  assert.ok(isIntact(a, key, ['field3'], { field3: values.field3! }));
  assert.ok(!isIntact(a, key, null, { ...values, field3: values.field4! }));
  assert.ok(!isIntact(a, key, null, { ...values, field3: values.field3!.slice(1) }));
  const { field3: _, ...rest } = values;
  assert.ok(!isIntact(a, key, null, rest));
  assert.ok(!isIntact(a, keyName(6), null, values));
  assert.equal(deterministicValue('user1', 'field0', 8), 'user1:fi');
});
