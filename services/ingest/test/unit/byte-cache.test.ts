import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteCache } from '../../src/byte-cache.ts';

test('names in use stay in the cache, and unused names are evicted', () => {
  const cache = new ByteCache<number>(100_000, () => 0);
  cache.set('used', 1);
  cache.set('unused', 2);
  for (let number = 0; number < 10_000; number++) {
    cache.set(`other-${number}`, number);
    if (number % 100 === 0) assert.equal(cache.get('used'), 1);
  }
  assert.equal(cache.get('used'), 1);
  assert.equal(cache.get('unused'), undefined);
});

test('the bound counts the bytes of names and values', () => {
  const count = (name: string, valueBytes: number) => {
    const cache = new ByteCache<number>(100_000, () => valueBytes);
    for (let number = 0; number < 10_000; number++) cache.set(`${name}${number}`, number);
    let found = 0;
    for (let number = 0; number < 10_000; number++) if (cache.get(`${name}${number}`) !== undefined) found++;
    return found;
  };
  assert.ok(count('', 0) > 500);
  assert.ok(count('x'.repeat(1000), 0) < 50);
  assert.ok(count('', 2000) < 50);
});
