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

test('ranges and counts between two numbers are those of a plain set', () => {
  const steps = fc.record({
    lengths: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 700 }),
    least: fc.integer({ min: -5, max: 3000 }),
    span: fc.integer({ min: 0, max: 3000 }),
    ranges: fc.integer({ min: 1, max: 20 }),
    numbers: fc.integer({ min: 1, max: 40 }),
  });
  fc.assert(
    fc.property(steps, ({ lengths, least, span, ranges, numbers }) => {
      const set = new RangeSet();
      const expected: [number, number][] = [];
      let from = 0;
      for (const length of lengths) {
        set.addLast(from, from + length - 1);
        expected.push([from, from + length - 1]);
        from += length + 1;
      }
      const most = least + span;
      const inside = expected.flatMap(([first, last]) => {
        const [low, high] = [Math.max(first, least), Math.min(last, most)];
        return low > high ? [] : [[low, high] as [number, number]];
      });
      const size = inside.reduce((sum, [low, high]) => sum + high - low + 1, 0);
      assert.equal(set.sizeBetween(least, most), size);
      let left = numbers;
      const highest: [number, number][] = [];
      for (const [low, high] of inside.toReversed()) {
        if (highest.length === ranges || left === 0) break;
        highest.unshift([Math.max(low, high - left + 1), high]);
        left -= Math.min(left, high - low + 1);
      }
      assert.deepEqual(set.between(least, most, ranges, numbers), highest);
    }),
    { numRuns: 200 },
  );
});
