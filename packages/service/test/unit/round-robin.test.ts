import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { inTurns, RoundRobin, removeOfMost } from '../../src/round-robin.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

test('clients take turns, and each keeps the order of its items', () => {
  const queue = new RoundRobin<string>();
  for (let n = 0; n < 300; n += 1) queue.push('many', `many ${n}`);
  for (let n = 0; n < 3; n += 1) queue.push('few', `few ${n}`);
  const order: string[] = [];
  for (let item = queue.shift(); item !== undefined; item = queue.shift()) order.push(item);
  assert.deepEqual(order.slice(0, 6), ['many 0', 'few 0', 'many 1', 'few 1', 'many 2', 'few 2']);
  assert.deepEqual(
    order.filter((item) => item.startsWith('many')),
    Array.from({ length: 300 }, (_, n) => `many ${n}`),
  );
  assert.ok(queue.isEmpty);
});

test('the client with the most loses its oldest item, and the turns stay', () => {
  const queue = new RoundRobin<string>();
  assert.equal(queue.dropOldest(), undefined);
  for (const item of ['b0', 'a0', 'a1', 'a2', 'c0', 'c1']) queue.push(item[0]!, item);
  assert.deepEqual([queue.dropOldest(), queue.dropOldest(), queue.size], ['a0', 'a1', 4]);
  assert.deepEqual([...queue.oldest()], ['b0', 'a2', 'c0']);
  assert.deepEqual([queue.shift(), queue.dropOldest(), queue.size], ['b0', 'c0', 2]);
  assert.deepEqual([queue.shift(), queue.shift(), queue.shift(), queue.size], ['a2', 'c1', undefined, 0]);
  queue.push('a', 'last');
  assert.deepEqual([queue.dropOldest(), queue.isEmpty, queue.size], ['last', true, 0]);
});

test('of too many items, clients keep as many each, and the one with the most loses its first', () => {
  const items = ['a0', 'a1', 'a2', 'b0', 'a3', 'c0'];
  const clientOf = (item: string) => item[0]!;
  assert.deepEqual(inTurns(items, 6, clientOf), items);
  assert.deepEqual(inTurns(items, 4, clientOf), ['a0', 'b0', 'c0', 'a1']);
  assert.deepEqual([removeOfMost(items, clientOf), items], ['a0', ['a1', 'a2', 'b0', 'a3', 'c0']]);
  const even = ['b0', 'a0'];
  assert.deepEqual([removeOfMost(even, clientOf), even], ['b0', ['a0']]);
});

test('a queue that never becomes empty does not keep removed items', () => {
  const queue = new RoundRobin<object>();
  const seen: WeakRef<object>[] = [];
  const push = () => {
    const item = { text: 'x'.repeat(10) };
    seen.push(new WeakRef(item));
    queue.push('client', item);
  };
  push();
  for (let n = 0; n < 10_000; n += 1) {
    push();
    queue.shift();
  }
  collect();
  return new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
    collect();
    const kept = seen.filter((item) => item.deref() !== undefined).length;
    assert.ok(kept < 500, `${kept} items`);
    assert.ok(!queue.isEmpty);
  });
});
