import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { keepRule, outdated } from '../../src/keep.ts';

const at = (text: string) => Date.parse(`${text}Z`);

test('keeps the newest backup of each of the last days, weeks and months that have one', () => {
  const times = [
    '2026-11-23T10:00', // Monday
    '2026-11-23T02:00',
    '2026-11-22T23:00',
    '2026-11-22T02:00',
    '2026-11-20T02:00',
    '2026-11-16T02:00',
    '2026-11-15T02:00',
    '2026-10-31T02:00',
    '2026-09-30T02:00',
    '2025-11-23T02:00',
  ].map(at);
  const kept = (rule: string) => {
    const gone = new Set(outdated(times, keepRule.parse(rule)));
    return times.filter((time) => !gone.has(time)).map((time) => new Date(time).toISOString().slice(0, 13));
  };
  assert.deepEqual(kept('2d'), ['2026-11-23T10', '2026-11-22T23']);
  assert.deepEqual(kept('3w'), ['2026-11-23T10', '2026-11-22T23', '2026-11-15T02']);
  assert.deepEqual(kept('2m'), ['2026-11-23T10', '2026-10-31T02']);
  assert.deepEqual(kept('1d,2w,4m'), [
    '2026-11-23T10',
    '2026-11-22T23',
    '2026-10-31T02',
    '2026-09-30T02',
    '2025-11-23T02',
  ]);
});

test('never deletes the newest backup, and deletes nothing twice', () => {
  const rule = fc.record({ days: fc.nat(5), weeks: fc.nat(5), months: fc.nat(5) });
  const times = fc.uniqueArray(fc.integer({ min: 0, max: 4_000_000_000_000 }), { minLength: 1 });
  fc.assert(
    fc.property(times, rule, (all, keep) => {
      const gone = outdated(all, keep);
      assert.ok(!gone.includes(Math.max(...all)));
      assert.ok(all.length - gone.length <= 1 + keep.days + keep.weeks + keep.months);
      const left = all.filter((time) => !gone.includes(time));
      assert.deepEqual(outdated(left, keep), [], 'the rule keeps what it has kept');
    }),
  );
});

test('refuses rules that it cannot read', () => {
  for (const rule of ['', '7', 'd', '0d', '-1d', '1.5d', '7d,', '7d,7d', '7h', '7D', '1001d', '7d 4w'])
    assert.throws(() => keepRule.parse(rule), Error, rule);
  assert.deepEqual(keepRule.parse('12m, 7d'), { days: 7, weeks: 0, months: 12 });
});
