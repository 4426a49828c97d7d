import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SequenceLedger } from '../../src/sequence-ledger.ts';

test('for any order of arrival, missing and repeated numbers are named exactly', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 120 }), (arrivals) => {
      const ledger = new SequenceLedger();
      for (const seq of arrivals) ledger.record('d', 'b', seq);
      const seen = new Set(arrivals);
      const expected: number[] = [];
      for (let seq = Math.min(...seen); seq <= Math.max(...seen); seq++)
        if (!seen.has(seq)) expected.push(seq);
      const named = (ledger.list().list[0]?.ranges ?? []).flatMap(([from, to]) =>
        Array.from({ length: to - from + 1 }, (_, index) => from + index),
      );
      assert.deepEqual(named, expected);
      assert.equal(ledger.missing, expected.length);
      assert.equal(ledger.duplicates, arrivals.length - seen.size);
    }),
  );
});

test('a reboot begins a new account, and late numbers of the boot before still close its gap', () => {
  const ledger = new SequenceLedger();
  for (const seq of [0, 1, 4]) ledger.record('d', 'first', seq);
  ledger.record('d', 'second', 0);
  ledger.record('d', 'first', 2);
  assert.deepEqual(ledger.list().list, [
    { device: 'd', boot: 'first', highest: 4, missing: 1, ranges: [[3, 3]], duplicates: 0 },
  ]);
  assert.equal(ledger.gapsOpened, 2);
});

test('a device that loses every other message cannot grow the ledger without bound', () => {
  const ledger = new SequenceLedger();
  for (let seq = 0; seq < 2000; seq += 2) ledger.record('d', 'b', seq);
  const { list, truncated } = ledger.list();
  assert.equal(list[0]!.missing, 999);
  assert.ok(list[0]!.ranges.length <= 64);
  assert.ok(truncated);
});
