import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { RoundRobin } from '../../src/round-robin.ts';

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
