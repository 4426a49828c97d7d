import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { rightValue, wrongValue } from '../../src/index.ts';

test('a value that is marked as wrong is restored exactly, and is JSON', () => {
  const numbers = fc.double({ noNaN: true, noDefaultInfinity: true });
  fc.assert(
    fc.property(numbers, (value) => {
      const marked = wrongValue(value);
      assert.ok(Object.is(rightValue(marked), value), marked);
      assert.deepEqual(JSON.parse(marked), { wrong: value });
    }),
  );
});

test('other values are not marked', () => {
  const texts = ['{"wrong":}', '{"wrong":-}', '{"wrong":1e999}', '{"wrong":"5"}', '{"wrong":5,"a":1}'];
  for (const value of [5, 'on', '5', '', ...texts]) assert.equal(rightValue(value), null, String(value));
});
