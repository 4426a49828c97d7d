import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResendDocument } from '@tidegauge/readings';
import { SequenceLedger } from '../../src/ledger/sequence-ledger.ts';
import { missingDocument } from '../../src/resend/missing.ts';
import { ResendPlan } from '../../src/resend/resend-plan.ts';

/** A ledger, its plan, and a clock of seconds. `answer` is called for each request; false: nobody receives it. */
function setUp(answer: (request: ResendDocument, ledger: SequenceLedger) => boolean = () => true) {
  const ledger = new SequenceLedger();
  const sent: (ResendDocument & { readonly at: number })[] = [];
  let at = 0;
  let messages = 0;
  const plan = new ResendPlan(ledger, (request) => {
    sent.push({ ...request, at });
    return answer(request, ledger);
  });
  return {
    ledger,
    plan,
    sent,
    record(device: string, ...numbers: readonly number[]) {
      for (const seq of numbers) ledger.record(device, 'b', seq);
      messages += numbers.length;
    },
    run(seconds: number, each = () => {}) {
      for (const end = at + seconds; at < end; at++) {
        each();
        plan.tick(at * 1000, messages);
      }
    },
  };
}

/** Records the numbers of a request. */
function heal({ device, boot, ranges }: ResendDocument, ledger: SequenceLedger): boolean {
  for (const [from, to] of ranges) for (let seq = from; seq <= to; seq++) ledger.record(device, boot, seq);
  return true;
}

test('a gap is requested after five seconds, then after growing intervals up to an hour', () => {
  const { sent, record, run } = setUp();
  record('d', 0, 3);
  run(4 * 3600);
  assert.deepEqual(sent[0], { device: 'd', boot: 'b', ranges: [[1, 2]], at: 5 });
  const intervals = sent.slice(1).map(({ at }, index) => at - sent[index]!.at);
  assert.deepEqual(intervals, [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]);
});

test('a gap that closes by itself is never requested, and nothing is done without gaps', () => {
  const { sent, plan, record, run } = setUp();
  record('d', 0, 2);
  run(3);
  record('d', 1);
  run(100);
  assert.deepEqual(sent, []);
  assert.equal(plan.devices, 0);
});

test('a large loss is requested in bounded parts, the newest first, each as soon as the one before has arrived', () => {
  const { sent, ledger, record, run } = setUp(heal);
  record('d', 0);
  for (let seq = 10; seq <= 20_000; seq += 10) record('d', seq);
  record('d', 35_000);
  const { missing } = ledger;
  run(400);
  assert.deepEqual([ledger.missing, ledger.healed], [0, missing]);
  assert.deepEqual(sent[0]!.ranges, [[34_000, 34_999]]);
  for (const { ranges } of sent) {
    assert.ok(ranges.length <= 16);
    assert.ok(ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0) <= 1000);
  }
});

test('what a sensor declares gone is not requested again', () => {
  const { sent, ledger, plan, record, run } = setUp((request, ledger) => {
    ledger.declare(request.device, request.boot, 500);
    return heal({ ...request, ranges: request.ranges.filter(([from]) => from >= 500) }, ledger);
  });
  record('d', 0, 100, 499, 600);
  run(600);
  assert.deepEqual([ledger.missing, ledger.gone, plan.devices], [497, 497, 0]);
  assert.equal(sent.length, 1);
});

test('numbers that a sensor does not have do not hold up those that it has', () => {
  const has = (seq: number) => seq < 3000 || seq > 3200;
  const { ledger, record, run } = setUp(({ ranges, ...request }, ledger) =>
    heal({ ...request, ranges: ranges.filter(([from]) => has(from)) }, ledger),
  );
  for (let seq = 0; seq <= 3200; seq += 2) record('d', seq);
  run(3600);
  assert.equal(ledger.missing, 100);
  // A new loss is healed soon, although the old one is never answered.
  record('d', 3202);
  assert.equal(ledger.missing, 101);
  run(20);
  assert.equal(ledger.missing, 100);
});

test('a device that was silent is requested when it sends again, and while nobody listens nothing counts', () => {
  let isThere = false;
  const { sent, ledger, plan, record, run } = setUp((request, ledger) => isThere && heal(request, ledger));
  record('d', 0, 2);
  run(3600);
  assert.equal(plan.requests, 0);
  assert.ok(sent.length <= 3600 / 10);
  isThere = true;
  run(11);
  assert.deepEqual([ledger.missing, plan.requests], [0, 1]);

  const deaf = setUp();
  deaf.record('d', 0, 2);
  deaf.run(2000);
  const count = deaf.sent.length;
  deaf.record('d', 3);
  deaf.run(2);
  assert.equal(deaf.sent.length, count + 1);
});

test('all devices share a number of requests, and a group with many devices does not delay another', () => {
  const { sent, plan, record, run } = setUp();
  for (let number = 0; number < 12_000; number++) record(`greedy/${number}`, 0, 2);
  const messages = 24_000;
  run(60);
  // Half of what may be followed, because the other half stays free.
  assert.equal(plan.devices, 5000);
  record('honest/probe', 0, 2);
  const from = sent.length;
  run(20);
  const place = sent.slice(from).findIndex(({ device }) => device === 'honest/probe');
  assert.ok(place >= 0 && sent[from + place]!.at <= 60 + 15, `request ${place} after it`);
  run(200);
  assert.ok(sent.length <= 500 + 0.005 * messages + 5 * 280 + 1, `${sent.length} requests`);
});

test('requests are at most one percent of a million messages, while every message of 500 devices is lost now and then', () => {
  const { sent, ledger, record, run } = setUp(heal);
  let seq = 0;
  run(400, () => {
    for (let step = 0; step < 5; step++, seq++) {
      // Every 50 s nothing arrives for 2 s.
      if (Math.floor(seq / 5) % 50 < 2) continue;
      for (let number = 0; number < 500; number++) record(`site-${number % 40}/${number}`, seq);
    }
  });
  const messages = 400 * 5 * 500 * (48 / 50);
  run(60);
  assert.equal(ledger.missing, 0);
  assert.ok(ledger.healed > 0 && sent.length <= messages / 100, `${sent.length} requests`);
});

test('the list has what a sensor may still have, of its devices, up to a limit', () => {
  const { ledger, record } = setUp();
  for (const device of ['site-3', 'site-3/a', 'site-30']) record(device, 0, 2, 5);
  ledger.declare('site-3/a', 'b', 3);
  const below = (device: string) => device.startsWith('site-3/');
  assert.deepEqual(missingDocument(ledger, below, 10), {
    missing: [{ device: 'site-3/a', boot: 'b', ranges: [[3, 4]] }],
    truncated: false,
  });
  const { missing, truncated } = missingDocument(ledger, () => true, 2);
  assert.deepEqual([missing.length, truncated], [2, true]);
});
