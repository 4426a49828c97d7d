import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STORES } from '@tidegauge/loadtests/targets/store-places';
import { compileTopicTemplate, DecodeError, formats, type LedgerDocument, now } from '@tidegauge/readings';
import { seeded } from '@tidegauge/workload';
import { AcknowledgementTimes } from '../../src/faults/acknowledgement-times.ts';
import { type Owed, owedTo } from '../../src/faults/judge.ts';
import { LedgerWatch } from '../../src/faults/ledger-watch.ts';
import { NumberSet } from '../../src/faults/number-set.ts';
import { disksOf, PROFILES, randomProfile, storesOf } from '../../src/faults/profiles.ts';
import { figuresOf } from '../../src/faults/report.ts';
import type { Run } from '../../src/faults/run-profile.ts';
import { makeStream, numberIn, type StreamKind } from '../../src/faults/streams.ts';
import type { Sample } from '../../src/faults/timeline.ts';
import type { Flow } from '../../src/faults/traffic.ts';

test('a set of numbers has what was added, once', () => {
  const set = new NumberSet();
  for (const number of [0, 7, 8, 7, 65_535, 65_536, 3_000_001]) set.add(number);
  assert.equal(set.size, 6);
  assert.deepEqual(
    [0, 7, 8, 65_535, 65_536, 3_000_001].filter((each) => !set.has(each)),
    [],
  );
  assert.deepEqual(
    [1, 9, 65_537, 3_000_000, 9_000_000].filter((each) => set.has(each)),
    [],
  );
});

const route = compileTopicTemplate('sensors/{device+}/{metric}');

function decoded(kind: StreamKind, number: number) {
  const stream = makeStream({ kind, share: 1, devices: 4, connections: 2 }, 1000);
  const names = route.match(stream.topic(number));
  assert.ok(names !== null && !(names instanceof DecodeError));
  const payload = Buffer.from(stream.payload(number));
  assert.equal(numberIn(payload), number);
  return { stream, readings: formats.auto!(payload, { ...names, received: now() }) };
}

test('a message has a reading of each of its devices, with the number of its round', () => {
  for (const kind of ['readings', 'old', 'gateway'] as const) {
    const { stream, readings } = decoded(kind, 9);
    assert.ok(!(readings instanceof DecodeError));
    assert.deepEqual(
      readings.map(({ device }) => device),
      stream.devicesOf(9),
    );
    for (const { metric, boot, seq, value } of readings)
      assert.deepEqual([metric, boot, seq, value], ['temperature', 'b1', 2, 9]);
  }
  assert.ok(decoded('undecodable', 9).readings instanceof DecodeError);
});

test('a correction of a gateway has the time of the reading that it corrects', () => {
  const stream = makeStream({ kind: 'gateway', share: 1, devices: 4, connections: 1 }, 100);
  const timeOf = (number: number): string => /"t":(\d+)/.exec(stream.payload(number))![1]!;
  assert.deepEqual(
    [3, 7, 11, 15].map((number) => stream.correctionOf(number)),
    [7, null, 15, null],
  );
  assert.equal(timeOf(3), timeOf(7));
  assert.notEqual(timeOf(3), timeOf(11));
});

test('the same seed gives the same steps, and another one others', () => {
  for (const profile of [...Object.values(PROFILES), randomProfile('sqlite', 'broker')]) {
    const steps = (seed: number) => profile.steps(seeded(seed), false);
    assert.deepEqual(steps(1), steps(1));
    assert.notDeepEqual(steps(1), steps(2));
    assert.ok(steps(1).every(({ fault }) => profile.faults.includes(fault)));
  }
});

test('each profile is possible with a store, and random with every store and way', () => {
  for (const [name, profile] of Object.entries(PROFILES)) assert.ok(storesOf(profile).length > 0, name);
  for (const store of STORES) {
    for (const way of ['broker', 'direct'] as const) {
      const random = randomProfile(store, way);
      assert.ok(random.faults.length >= 5, `${store} ${way}`);
      assert.ok(storesOf(random).includes(store));
      assert.equal(disksOf(random), 'power-cut');
      assert.equal(disksOf(randomProfile(store, way, 1, ['power-cut'])), 'small');
    }
    const two = randomProfile(store, 'broker', 2);
    assert.ok(
      two.replicas === 2 && two.faults.includes('ingest-kill') && !two.faults.includes('broker-kill'),
    );
  }
});

/** One sample per second; a fault from 2 to 4, and everything of before its end is stored at 7. */
function sample(at: number): Sample {
  const isLate = at >= 2 && at < 7;
  const stored = isLate ? 200 + Math.max(0, at - 4) * 150 : at * 100;
  const counts = { sent: at * 100, acknowledged: at * 100, stored, spooled: 0, inFlight: 0 };
  return { at, ...counts, residentBytes: 0, storedUntil: isLate ? 2 : at };
}

const RUN: Run = {
  seconds: 10,
  published: 1000,
  acknowledged: 1000,
  faults: [{ fault: 'store-freeze', begin: 2, end: 4 }],
  samples: Array.from({ length: 11 }, (_, at) => sample(at)),
  readings: { acknowledged: 1000, stored: 1000, missing: 0, duplicate: 0, unacknowledged: 0, listed: [] },
  quarantine: { acknowledged: 0, kept: 0, missing: [] },
  broker: { messages: 0, listed: [] },
  healed: null,
  named: { lost: 5, listed: 5, wrong: 0, wentBack: 0, truncated: false },
  times: null,
  redelivered: 0,
  connects: 1,
  peakBytes: 0,
  unexpectedEnds: 0,
  problems: [],
};

test('the time to recover ends when everything of before the end of the fault is stored', () => {
  const { recoverySeconds, drainPerSecond, failures } = figuresOf(RUN);
  assert.equal(recoverySeconds, 3);
  assert.equal(drainPerSecond, (700 - 200) / 3);
  assert.deepEqual(failures, []);
  const never = { ...RUN, samples: RUN.samples.filter(({ at }) => at < 7) };
  assert.equal(figuresOf(never).recoverySeconds, null);
});

test('the time to the acknowledgement while it recovers is that of messages that were due then', () => {
  const times = new AcknowledgementTimes();
  for (const [due, seconds] of [
    [0.5, 0.01],
    [2.5, 9],
    [4.5, 0.2],
    [6.5, 0.1],
    [8.5, 0.02],
  ] as const)
    times.add(due, seconds);
  const { p99Seconds, calmP99Seconds, faults } = figuresOf({ ...RUN, times });
  assert.ok(Math.abs(p99Seconds! - 0.2) < 0.05);
  assert.equal(faults[0]!.p99Seconds, p99Seconds);
  assert.ok(Math.abs(calmP99Seconds! - 0.02) < 0.005);
});

const LIVE = makeStream({ kind: 'readings', share: 1, devices: 2, connections: 1 }, 1000);
/** All but the lost messages are acknowledged. */
function flowOf(sent: number): Flow {
  const acknowledged = new NumberSet();
  for (let number = 0; number < sent; number++) if (!LIVE.isLost(number)) acknowledged.add(number);
  return { stream: LIVE, acknowledged, sent };
}

function ledgerWith(ranges: readonly (readonly [number, number])[], truncated = false): LedgerDocument {
  const [device] = LIVE.devicesOf(0);
  return { gaps: { truncated, list: [{ device, ranges }] } } as unknown as LedgerDocument;
}

test('readings that sensors lost must be listed by ingest, and stay listed', () => {
  const flow = flowOf(400);
  const lost = Array.from({ length: 400 }, (_, number) => number).filter((number) => LIVE.isLost(number));
  const seqs = lost.filter((number) => LIVE.placeOf(number) === 0).map((number) => LIVE.seqOf(number));
  assert.ok(seqs.length === 2 && lost.length === 4);
  const [first, second] = seqs as [number, number];
  const watch = new LedgerWatch([flow]);
  const owed: Owed = ({ acknowledged }, number) => acknowledged.has(number);
  assert.equal(watch.judge(owed), null);
  watch.look(ledgerWith([[first, first]]));
  watch.look(ledgerWith([]));
  // A list that is not complete is not compared with the one before.
  watch.look(ledgerWith([], true));
  watch.look(ledgerWith([[first, second]]));
  assert.deepEqual(watch.judge(owed), {
    ...{ lost: 4, listed: 2, wrong: second - first - 1 },
    ...{ wentBack: 1, truncated: false },
  });
});

test('with healing, only undecodable messages may be lost by the broker', () => {
  const flow = flowOf(10);
  const undecodable: Flow = {
    ...flow,
    stream: makeStream({ kind: 'undecodable', share: 1, devices: 2, connections: 1 }, 1000),
  };
  const handed = { has: (_kind: StreamKind, number: number) => number < 3 };
  const ofBoth = (owed: Owed, number: number) => [owed(flow, number), owed(undecodable, number)];
  assert.deepEqual(ofBoth(owedTo(null, true), 5), [true, true]);
  assert.deepEqual(ofBoth(owedTo(handed, false), 2), [true, true]);
  assert.deepEqual(ofBoth(owedTo(handed, false), 5), [false, false]);
  assert.deepEqual(ofBoth(owedTo(handed, true), 5), [true, false]);
  assert.deepEqual(ofBoth(owedTo(handed, true), 10), [false, false]);
});

test('what is missing, stored twice or never acknowledged fails a run, and what the broker lost does not', () => {
  const failuresOf = (change: Partial<Run>) => figuresOf({ ...RUN, ...change }).failures.join();
  const { readings, quarantine } = RUN;
  assert.match(
    failuresOf({ readings: { ...readings, missing: 2 } }),
    /^2 acknowledged readings are not in the store$/,
  );
  assert.match(failuresOf({ readings: { ...readings, duplicate: 1 } }), /^1 readings are stored twice$/);
  assert.match(failuresOf({ quarantine: { ...quarantine, missing: [5] } }), /^1 acknowledged messages/);
  assert.match(failuresOf({ acknowledged: 990 }), /^10 messages were never acknowledged$/);
  assert.match(failuresOf({ problems: ['it stopped'] }), /^it stopped$/);
  assert.equal(failuresOf({ broker: { messages: 3, listed: [] } }), '');
  const named = RUN.named!;
  assert.match(failuresOf({ named: { ...named, wrong: 2 } }), /lists 2 readings as missing that are stored$/);
  assert.match(failuresOf({ named: { ...named, listed: 3 } }), /not list 2 of 5 readings that sensors lost$/);
  assert.match(failuresOf({ named: { ...named, wentBack: 1 } }), /^in 1 samples the ledger listed fewer/);
  assert.equal(failuresOf({ named: { ...named, listed: 3, truncated: true } }), '');
  assert.equal(failuresOf({ named: null }), '');
});
