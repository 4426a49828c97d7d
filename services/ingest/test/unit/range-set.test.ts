import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RangeSet } from '../../src/ledger/range-set.ts';

test('after any removals from any ranges, exactly the other numbers are left', () => {
  const steps = fc.record({
    lengths: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 400 }),
    removed: fc.array(fc.integer({ min: 0, max: 2000 }), { maxLength: 800 }),
    lowest: fc.integer({ min: 0, max: 300 }),
  });
  fc.assert(
    fc.property(steps, ({ lengths, removed, lowest }) => {
      const set = new RangeSet();
      const expected = new Set<number>();
      let above = 1001;
      let below = 999;
      for (const [index, length] of lengths.entries()) {
        const [from, to] = index % 2 === 0 ? [above, above + length - 1] : [below - length + 1, below];
        if (index % 2 === 0) {
          set.addLast(from, to);
          above = to + 2;
        } else {
          set.addFirst(from, to);
          below = from - 2;
        }
        for (let value = from; value <= to; value++) expected.add(value);
      }
      for (const value of removed) assert.equal(set.remove(value), expected.delete(value));
      const cut = set.removeLowest(lowest);
      for (const value of expected) if (value <= cut) expected.delete(value);
      const left = set.highest(Number.POSITIVE_INFINITY);
      const named = left.flatMap(([from, to]) =>
        Array.from({ length: to - from + 1 }, (_, index) => from + index),
      );
      assert.deepEqual(
        named,
        [...expected].toSorted((a, b) => a - b),
      );
      assert.equal(set.size, expected.size);
      assert.equal(set.ranges, left.length);
      assert.deepEqual(set.highest(3), left.slice(-3));
    }),
    { numRuns: 200 },
  );
});
