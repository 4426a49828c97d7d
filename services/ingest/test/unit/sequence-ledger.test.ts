import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { SequenceLedger } from '../../src/ledger/sequence-ledger.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

test('for any order of arrival, missing and repeated numbers are exact', () => {
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

test('a reboot starts a new sequence, and late numbers of the previous boot still close its gap', () => {
  const ledger = new SequenceLedger();
  for (const seq of [0, 1, 4]) ledger.record('d', 'first', seq);
  ledger.record('d', 'second', 0);
  ledger.record('d', 'first', 2);
  assert.deepEqual(ledger.list().list, [
    { device: 'd', boot: 'first', highest: 4, missing: 1, ranges: [[3, 3]], givenUp: 0, duplicates: 0 },
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

/** The sums of the list, which the totals must equal while the list is complete. */
function sums(ledger: SequenceLedger) {
  const { list } = ledger.list();
  return {
    missing: list.reduce((sum, gap) => sum + gap.missing, 0),
    duplicates: list.reduce((sum, gap) => sum + gap.duplicates, 0),
  };
}

for (const lost of [999, 100_000]) {
  test(`${lost} numbers that were lost one by one and all arrive late leave nothing missing`, () => {
    const ledger = new SequenceLedger();
    for (let seq = 0; seq <= 2 * lost; seq += 2) ledger.record('d', 'b', seq);
    assert.equal(ledger.missing, lost);
    const late = Array.from({ length: lost }, (_, index) => 2 * index + 1);
    // Neither in order nor backwards: 7919 is prime to both lengths.
    for (let n = 0; n < lost; n++) ledger.record('d', 'b', late[(n * 7919) % lost]!);
    const { missing, duplicates, givenUp, unjudged, gapsOpened } = ledger;
    assert.deepEqual(
      { missing, duplicates, givenUp, unjudged, gapsOpened },
      { missing: 0, duplicates: 0, givenUp: 0, unjudged: 0, gapsOpened: lost },
    );
    assert.deepEqual(ledger.list(), { list: [], truncated: false });
  });
}

test('for any arrivals of several boots, the totals equal the list, and exact numbers are exact', () => {
  const arrival = fc.tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 30 }));
  fc.assert(
    fc.property(fc.array(arrival, { maxLength: 200 }), (arrivals) => {
      const ledger = new SequenceLedger();
      for (const [boot, seq] of arrivals) ledger.record('d', `boot-${boot}`, seq);
      const { missing, duplicates, givenUp, unjudged } = ledger;
      assert.deepEqual({ missing, duplicates }, sums(ledger));
      assert.equal(ledger.list().truncated, givenUp > 0 || unjudged > 0);
      for (const { boot, missing: named } of ledger.list().list) {
        const seen = new Set(arrivals.filter(([number]) => `boot-${number}` === boot).map(([, seq]) => seq));
        assert.equal(named, Math.max(...seen) - Math.min(...seen) + 1 - seen.size);
      }
    }),
  );
});

test('a boot that is no longer tracked leaves the totals and the list, and does not start again', () => {
  const ledger = new SequenceLedger();
  for (const boot of ['1', '2', '3', '4']) for (const seq of [0, 5]) ledger.record('d', boot, seq);
  assert.equal(ledger.missing, 12);
  assert.equal(ledger.givenUp, 4);
  assert.deepEqual(sums(ledger), { missing: 12, duplicates: 0 });
  assert.ok(ledger.list().truncated);
  for (const seq of [1, 4]) ledger.record('d', '1', seq);
  assert.equal(ledger.missing, 12);
  assert.equal(ledger.unjudged, 2);
});

test('a complete boot is dropped before one with missing numbers', () => {
  const ledger = new SequenceLedger();
  for (const seq of [0, 2]) ledger.record('d', 'gap', seq);
  for (const boot of ['a', 'b', 'c', 'd']) ledger.record('d', boot, 0);
  assert.equal(ledger.givenUp, 0);
  ledger.record('d', 'gap', 1);
  assert.equal(ledger.missing, 0);
  assert.ok(!ledger.list().truncated);
});

test('one device with more gaps than fit does not affect the others', () => {
  const ledger = new SequenceLedger();
  for (let number = 0; number < 1000; number++)
    for (const seq of [0, 2]) ledger.record(`d${number}`, 'b', seq);
  for (let seq = 0; seq < 2_000_000; seq += 2) ledger.record('greedy', 'b', seq);
  assert.ok(ledger.bytes < 32 * 1024 * 1024, `${ledger.bytes} bytes`);
  assert.equal(ledger.missing + ledger.givenUp, 1000 + 999_999);
  assert.ok(ledger.givenUp > 0 && ledger.list().truncated);
  for (let number = 0; number < 1000; number++) ledger.record(`d${number}`, 'b', 1);
  assert.equal(ledger.missing + ledger.givenUp, 999_999);
  // A dropped number is neither missing nor a duplicate when it arrives.
  ledger.record('greedy', 'b', 1);
  assert.equal(ledger.duplicates, 0);
  assert.equal(ledger.unjudged, 1);
  assert.equal(sums(ledger).missing, ledger.missing);
});

test('a client that fills the memory does not affect the devices, boots and gaps of others', () => {
  const ledger = new SequenceLedger();
  for (const seq of [0, 2, 4]) ledger.record('honest/a', 'first', seq);
  const name = (number: number) => `greedy/${number}`.padEnd(200, 'x');
  let number = 0;
  for (; ledger.unjudged === 0; number++) ledger.record(name(number), 'b', 0);
  assert.ok(ledger.bytes < 33 * 1024 * 1024, `${ledger.bytes} bytes`);
  // Each has one range, so no boot has more than those of the honest client.
  for (let each = 0; each < number - 1; each++) ledger.record(name(each), 'b', 9);
  assert.ok(ledger.givenUp > 0);
  const { unjudged } = ledger;
  for (const seq of [0, 2]) ledger.record('honest/b', 'first', seq);
  for (const boot of ['second', 'third']) for (const seq of [0, 2]) ledger.record('honest/a', boot, seq);
  assert.equal(ledger.unjudged, unjudged);
  const missing = (device: string) =>
    ledger.open(device).map(({ boot, between }) => [boot, ...between(9, 9, 9)]);
  assert.deepEqual(missing('honest/b'), [['first', [1, 1]]]);
  const all = [
    ['third', [1, 1]],
    ['second', [1, 1]],
    ['first', [1, 1], [3, 3]],
  ];
  assert.deepEqual(missing('honest/a'), all);
  const { list } = ledger.list();
  assert.equal(list.length, 200);
  assert.equal(list.filter(({ device }) => device.startsWith('honest/')).length, 4);
});

test('the ledger stays bounded when publishers invent names', () => {
  const before = heap();
  const ledger = new SequenceLedger();
  ledger.record('honest', 'b', 0);
  for (let number = 0; number < 200_000; number++) {
    const device = `${number}-`.padEnd(200, 'ж');
    for (const boot of number < 50_000 ? ['1', '2'] : ['1']) {
      const name = boot.padEnd(64, 'ж');
      ledger.record(device, name, 0);
      ledger.record(device, name, 2);
    }
  }
  assert.ok(ledger.bytes < 40 * 1024 * 1024, `${ledger.bytes} bytes`);
  const grown = heap() - before;
  assert.ok(grown < 80 * 1024 * 1024, `the heap has grown by ${grown} bytes`);
  assert.ok(ledger.unjudged > 0 && ledger.list().truncated);
  ledger.record('honest', 'b', 2);
  ledger.record('honest', 'b', 1);
  assert.ok(!ledger.list().list.some(({ device }) => device === 'honest'));
});

test('a number that is too far away for a loss is not checked', () => {
  const ledger = new SequenceLedger();
  for (const seq of [0, Number.MAX_SAFE_INTEGER, 1, 2]) ledger.record('d', 'b', seq);
  const { missing, unjudged, duplicates } = ledger;
  assert.deepEqual({ missing, unjudged, duplicates }, { missing: 0, unjudged: 1, duplicates: 0 });
});

function heap(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test('97,000 devices are all followed, within the memory that the ledger reports', () => {
  const before = heap();
  const ledger = new SequenceLedger();
  for (const seq of [0, 1, 3])
    for (let number = 0; number < 97_000; number++)
      ledger.record(`site-${number % 40}/probe-${number}`, `${1e9 + number}`, seq);
  const grown = heap() - before;
  assert.deepEqual([ledger.devices, ledger.unjudged], [97_000, 0]);
  assert.equal(ledger.missing + ledger.givenUp, 97_000);
  assert.ok(
    grown < ledger.bytes * 1.1 && ledger.bytes < 40 * 1024 * 1024,
    `${grown} bytes, reported ${ledger.bytes}`,
  );
});

const EVERYTHING = [Number.MAX_SAFE_INTEGER, 1000, 1e9] as const;
const openRanges = (ledger: SequenceLedger, device = 'd') =>
  ledger.open(device).map(({ boot, between }) => [boot, between(...EVERYTHING)] as const);

test('a number that arrives late is healed, and what a sensor declares gone stays missing', () => {
  const ledger = new SequenceLedger();
  for (const seq of [0, 5, 10]) ledger.record('d', 'b', seq);
  ledger.record('d', 'b', 3);
  assert.deepEqual([ledger.missing, ledger.healed, ledger.gone], [7, 1, 0]);
  assert.ok(ledger.declare('d', 'b', 4));
  assert.deepEqual([ledger.missing, ledger.gone], [7, 2]);
  assert.equal(ledger.list().list[0]!.gone, 2);
  assert.deepEqual(openRanges(ledger), [
    [
      'b',
      [
        [4, 4],
        [6, 9],
      ],
    ],
  ]);
  for (const kept of [4, 3, 0]) assert.ok(!ledger.declare('d', 'b', kept), 'nothing more is gone');
  assert.ok(!ledger.declare('d', 'unknown', null) && !ledger.declare('unknown', 'b', null));
  ledger.record('d', 'b', 1);
  assert.deepEqual([ledger.missing, ledger.gone, ledger.healed], [6, 1, 2]);
  assert.ok(ledger.declare('d', 'b', null));
  assert.deepEqual([ledger.missing, ledger.gone], [6, 6]);
  assert.deepEqual(ledger.open('d'), []);
  // Later losses are not gone.
  ledger.record('d', 'b', 12);
  assert.deepEqual(openRanges(ledger), [['b', [[11, 11]]]]);
});

test('for any arrivals and declarations, gone is the part of missing below them, also when it is restored', () => {
  const step = fc.tuple(
    fc.constantFrom('1', '2', '3', '4', '5'),
    fc.integer({ min: 0, max: 30 }),
    fc.boolean(),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const ledger = new SequenceLedger();
      for (const [boot, seq, isDeclared] of steps) {
        if (isDeclared) ledger.declare('d', boot, seq);
        else ledger.record('d', boot, seq);
        const { missing, gone } = ledger;
        const open = openRanges(ledger).flatMap(([, ranges]) => ranges);
        assert.equal(
          open.reduce((sum, [from, to]) => sum + to - from + 1, 0),
          missing - gone,
        );
        assert.equal(
          ledger.list().list.reduce((sum, each) => sum + (each.gone ?? 0), 0),
          gone,
        );
      }
      const restored = new SequenceLedger();
      for (const state of ledger.states()) restored.restore(JSON.parse(JSON.stringify(state)));
      restored.restoreTotals(ledger.totals());
      assert.deepEqual(restored.list(), ledger.list());
      assert.deepEqual([restored.gone, restored.healed], [ledger.gone, ledger.healed]);
    }),
  );
});

/** A ledger that lacks numbers of device d, boot b above 4, and the ranges that it lists in the end. */
function inDoubt(gaps: readonly number[] = []) {
  const ledger = new SequenceLedger();
  for (let seq = 0; seq <= 4; seq++) if (!gaps.includes(seq)) ledger.record('d', 'b', seq);
  ledger.doubt('d');
  const ranges = () => ledger.list().list.map(({ boot, ranges }) => [boot, ...ranges]);
  return { ledger, ranges };
}

for (const again of [5, 6])
  test(`a number that is sent again does not end the doubt about those after it: ${again}`, () => {
    // Numbers 5 to 8 were stored and not recorded. Only one was not acknowledged.
    const { ledger, ranges } = inDoubt();
    ledger.record('d', 'b', again, true);
    for (const seq of [9, 11]) ledger.record('d', 'b', seq);
    assert.deepEqual(ranges(), [['b', [10, 10]]]);
    assert.equal(ledger.tracked('d', 'b')!.lowest, 9);
  });

test('a number of the spool does not end the doubt, and a restored ledger still has it', () => {
  const { ledger: before } = inDoubt([2]);
  before.confirm('d', 'b', 5);
  const ledger = new SequenceLedger();
  for (const state of before.states()) ledger.restore(state);
  ledger.confirm('d', 'b', 7);
  for (const seq of [9, 11]) ledger.record('d', 'b', seq);
  assert.deepEqual(ledger.list().list[0]!.ranges, [[10, 10]]);
});

test('a new boot does not end the doubt about it, or about those before', () => {
  // Numbers 5 to 8, and 0 to 3 of boot c, were stored and not recorded.
  const { ledger, ranges } = inDoubt();
  for (const [boot, seq] of [
    ['b', 5],
    ['c', 0],
    ['b', 8],
  ] as const)
    ledger.record('d', boot, seq, true);
  for (const seq of [4, 6]) ledger.record('d', 'c', seq);
  ledger.record('d', 'c', 1, true);
  assert.deepEqual(ranges(), [['c', [5, 5]]]);
});

test('numbers below the first one that the store has do not become missing when an older one arrives', () => {
  // After a power cut the file has 32 to 34. Before, older ones were stored too, as a relay sends them.
  const ledger = new SequenceLedger();
  for (const seq of [32, 33, 34]) ledger.record('d', 'b', seq);
  for (const seq of [12, 13, 16, 17, 31, 32, 33, 34]) ledger.confirm('d', 'b', seq);
  ledger.record('d', 'b', 14, true);
  const { lowest, highest } = ledger.tracked('d', 'b')!;
  assert.deepEqual([lowest, highest], [12, 34]);
  assert.deepEqual(ledger.list().list[0]!.ranges, [
    [15, 15],
    [18, 30],
  ]);
  assert.equal(ledger.duplicates, 0);
});

test('a number below the first one is not followed by missing ones while a device is in doubt', () => {
  const ledger = new SequenceLedger();
  ledger.record('d', 'b', 7);
  ledger.doubt('d');
  ledger.record('d', 'b', 4, true);
  assert.equal(ledger.missing, 0);
  assert.equal(ledger.unjudged, 1);
});

for (const isPartial of [true, false])
  test(`a device of the spool is ${isPartial ? '' : 'not '}in doubt when the ledger ${isPartial ? 'may lack' : 'has all'} devices`, () => {
    const ledger = new SequenceLedger();
    ledger.isPartial = isPartial;
    for (const seq of [2, 3]) ledger.confirm('d', 'b', seq);
    for (const seq of [6, 8]) ledger.record('d', 'b', seq);
    assert.deepEqual(ledger.list().list[0]!.ranges, [...(isPartial ? [] : [[4, 5]]), [7, 7]]);
  });
