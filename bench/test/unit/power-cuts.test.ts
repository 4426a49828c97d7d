import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeCut, summaryOf } from '@tidegauge/bench/power-cuts/judge';
import { pubackRows } from '@tidegauge/bench/power-cuts/puback-table';

/** Message n was acknowledged at n seconds. */
const acknowledged = (count: number) =>
  Array.from({ length: count }, (_, number) => ({ number, at: number * 1000 }));

test('a message is lost when it was acknowledged and is not found', () => {
  assert.deepEqual(judgeCut(acknowledged(4), 5000, new Set([0, 2])), {
    acknowledged: 4,
    missing: [1, 3],
    seconds: 4,
    sessionLost: false,
  });
});

test('a message that is found without an acknowledgement is no loss', () => {
  assert.deepEqual(judgeCut(acknowledged(2), 2000, new Set([0, 1, 2])), {
    acknowledged: 2,
    missing: [],
    seconds: 0,
    sessionLost: false,
  });
});

test('a lost session is distinguished from a session without messages', () => {
  const cuts = [null, new Set<number>()].map((found) => judgeCut(acknowledged(2), 2000, found));
  const lost = cuts.map(({ missing, sessionLost }) => ({ missing, sessionLost }));
  assert.deepEqual(lost, [
    { missing: [0, 1], sessionLost: true },
    { missing: [0, 1], sessionLost: false },
  ]);
  assert.equal(summaryOf(cuts).sessionsLost, 1);
});

test('a summary has the median and the largest loss of all cuts', () => {
  const found = [new Set([0, 1, 2, 3, 4]), new Set([0]), new Set<number>()];
  assert.deepEqual(summaryOf(found.map((numbers) => judgeCut(acknowledged(5), 5000, numbers))), {
    acknowledged: 5,
    missing: 9,
    examples: [1, 2, 3, 0, 1, 2],
    withLoss: 2,
    sessionsLost: 0,
    messages: { median: 4, p90: 5, most: 5 },
    seconds: { median: 4, p90: 5, most: 5 },
  });
});

test('the table has a row for each fault, also for one that could not be measured', () => {
  const figures = summaryOf([judgeCut(acknowledged(1200), 1_200_000, null)]);
  const [header, ...rows] = pubackRows([
    { subject: 'a broker', fault: 'kill', cuts: 1, figures },
    { subject: 'a broker', fault: 'power cut', cuts: 1, figures: null },
  ]);
  assert.deepEqual(rows, [
    ['a broker', 'kill', '1', '1,200', '1', '1', '1,200', '1,200', '1200.0 s'],
    ['a broker', 'power cut', '1', 'not measured', '', '', '', '', ''],
  ]);
  for (const row of rows) assert.equal(row.length, header!.length);
});
