import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { log, power, wholePart } from '../../src/exact.ts';
import { zeta } from '../../src/zipfian.ts';

const RUNS = { numRuns: 3000, seed: 5 };

test('powers and logarithms equal those of the engine, except for the last bits', () => {
  const near = (actual: number, expected: number): void =>
    assert.ok(
      Math.abs(actual - expected) <= 4e-16 * Math.abs(expected) + Number.MIN_VALUE,
      `${actual} ${expected}`,
    );
  const base = fc.double({ min: 1e-3, max: 1e10, noNaN: true });
  fc.assert(
    fc.property(base, fc.double({ min: -3, max: 20, noNaN: true }), (x, y) => near(power(x, y), x ** y)),
    RUNS,
  );
  fc.assert(
    fc.property(base, (x) => near(log(x), Math.log(x))),
    RUNS,
  );
  assert.equal(power(1, 0.3), 1);
  assert.equal(power(2, 10), 1024);
  assert.equal(log(1), 0);
});

test('the whole part is taken from the exact result when it depends on the last bits', () => {
  assert.equal(
    wholePart(7.5, () => assert.fail('it is sure')),
    7,
  );
  assert.equal(
    wholePart(6.999999999999999, () => 7),
    7,
  );
  assert.equal(
    wholePart(7, () => 6.999999999999999),
    6,
  );
});

test('zeta equals its sum', () => {
  let sum = 0;
  for (let item = 1; item <= 100_000; item += 1) {
    sum += 1 / item ** 0.99;
    if ([1, 2, 99, 100, 101, 1000, 100_000].includes(item)) {
      assert.ok(Math.abs(zeta(item) / sum - 1) < 1e-13, `${item}: ${zeta(item)} ${sum}`);
    }
  }
  // YCSB's constant, which is a sum of rounded terms, has an error in the twelfth digit.
  assert.ok(Math.abs(zeta(10_000_000_000) - 26.46902820178302) < 1e-10);
});
