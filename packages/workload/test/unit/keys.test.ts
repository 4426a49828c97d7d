import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { hashModulo } from '../../src/hash.ts';
import { keyName } from '../../src/index.ts';

const MASK = (1n << 64n) - 1n;

/** FNV as in its definition, with integers of any size. */
function fnv(value: number): bigint {
  let hash = 0xcbf29ce484222325n;
  for (let octet = 0n; octet < 8n; octet += 1n) {
    hash = ((hash ^ ((BigInt(value) >> (8n * octet)) & 0xffn)) * 1099511628211n) & MASK;
  }
  const signed = BigInt.asIntN(64, hash);
  return signed < 0n ? -signed : signed;
}

test('hashed keys are the FNV hash of their number, in decimal', () => {
  assert.equal(keyName(0), 'user6284781860667377211');
  assert.equal(keyName(1), 'user8517097267634966620');
  fc.assert(
    fc.property(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), (number) => {
      assert.equal(keyName(number), `user${fnv(number)}`);
    }),
    { numRuns: 20_000, seed: 5 },
  );
});

test('a hash modulo the number of items is exact', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 10_000_000_000 }),
      fc.integer({ min: 1, max: 2 ** 37 }),
      (number, items) => {
        assert.equal(BigInt(hashModulo(number, items)), fnv(number) % BigInt(items));
      },
    ),
    { numRuns: 20_000, seed: 5 },
  );
});

test('ordered keys are the number itself, and zeros pad both kinds to the requested width', () => {
  assert.equal(keyName(42, 'ordered'), 'user42');
  assert.equal(keyName(42, 'ordered', 8), 'user00000042');
  assert.equal(keyName(0, 'hashed', 21), 'user006284781860667377211');
});
