import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RangeSet } from '../../src/ledger/range-set.ts';

type Range = [from: number, to: number];

/** The fewest ranges that have exactly these numbers. */
function rangesOf(numbers: Iterable<number>): Range[] {
  const ranges: Range[] = [];
  for (const value of [...numbers].toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === value - 1) last[1] = value;
    else ranges.push([value, value]);
  }
  return ranges;
}

test('after any removals from any ranges, exactly the other numbers are left', () => {
  const steps = fc.record({
    lengths: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 1500 }),
    removed: fc.array(fc.integer({ min: -1000, max: 3000 }), { maxLength: 1500 }),
    lowest: fc.integer({ min: 0, max: 600 }),
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
      const ranges = rangesOf(expected);
      assert.deepEqual(set.flat(), ranges.flat());
      assert.equal(set.ranges, ranges.length);
      const cut = ranges.splice(0, lowest);
      assert.equal(set.removeLowest(lowest), cut.at(-1)?.[1] ?? Number.NEGATIVE_INFINITY);
      for (const [from, to] of cut) for (let value = from; value <= to; value++) expected.delete(value);
      assert.deepEqual(set.highest(Number.POSITIVE_INFINITY), ranges);
      assert.deepEqual(set.highest(3), ranges.slice(-3));
      assert.equal(set.size, expected.size);
      assert.equal(set.ranges, ranges.length);
      for (let value = below; value <= above; value++) assert.equal(set.has(value), expected.has(value));
    }),
    { numRuns: 100 },
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
