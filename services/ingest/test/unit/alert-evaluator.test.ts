import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Evaluator, type KeptAlert, type Observed } from '../../src/alerts/evaluator.ts';
import { parseAlertRules } from '../../src/alerts/rules-file.ts';

const START = 1_795_000_000e6;
const S = 1e6;

/** An evaluator that writes what happens as `raise hot a/t above 31` and `end hot a/t cleared`. */
function setUp(rules: string, maxBytes?: number) {
  const log: string[] = [];
  let ids = 0;
  const evaluator = new Evaluator(
    parseAlertRules(rules, 'alerts.yml'),
    {
      raise({ rule, device, metric, kind }, value) {
        log.push(`raise ${rule.name} ${device} ${metric} ${kind} ${value}`);
        return String(ids++);
      },
      end({ rule, device, metric }, reason) {
        log.push(`end ${rule.name} ${device} ${metric} ${reason}`);
      },
    },
    maxBytes,
  );
  /** A reading at a second, which is received at that second or later. */
  const see = (second: number, value: number | string, more: Partial<Observed> = {}, received = second) => {
    const now = START + received * S;
    const time = START + second * S;
    evaluator.observe({ device: 'a', metric: 't', time, value, received: now, quality: 'ok', ...more }, now);
  };
  const tick = (second: number, from = 0) => evaluator.tick(START + second * S, START + from * S);
  const news = () => log.splice(0);
  return { evaluator, see, tick, news };
}

test('a value outside of its range raises one alert, which ends only beyond the value of clear', () => {
  const { see, news } = setUp(
    '- { name: r, metric: t, above: 30, below: 5, clear: { above: 28, below: 6 } }',
  );
  see(0, 30);
  assert.deepEqual(news(), []);
  see(1, 31);
  see(2, 99);
  see(3, 29);
  assert.deepEqual(news(), ['raise r a t above 31']);
  see(4, 28);
  assert.deepEqual(news(), ['end r a t cleared']);
  see(5, 4);
  see(6, 5.5);
  see(7, 6);
  assert.deepEqual(news(), ['raise r a t below 4', 'end r a t cleared']);
  // From one side to the other it stays one alert.
  see(8, 31);
  see(9, 1);
  see(10, 20);
  assert.deepEqual(news(), ['raise r a t above 31', 'end r a t cleared']);
});

test('a violation must last for the time of the rule, by readings or by the clock', () => {
  const { see, tick, news } = setUp('- { name: r, metric: t, above: 30, for: 10s }');
  see(0, 31);
  see(9, 31);
  see(9.5, 30);
  see(10, 31);
  see(19.9, 40);
  assert.deepEqual(news(), []);
  see(20, 32);
  assert.deepEqual(news(), ['raise r a t above 32']);
  see(21, 0);
  see(22, 35);
  tick(31);
  assert.deepEqual(news(), ['end r a t cleared']);
  // Newer readings could not be received before 25, and those that waited arrive first.
  tick(34, 25);
  assert.deepEqual(news(), []);
  tick(35, 25);
  assert.deepEqual(news(), ['raise r a t above 35']);
});

test('after a start the time of a rule is counted from the first value that violates it', () => {
  const rules = '- { name: r, metric: t, above: 30, for: 10m }';
  const late = setUp(rules);
  late.see(0, 31, {}, 700);
  late.tick(705, 700);
  // A message that waited at the broker while ingest was stopped.
  late.see(650, 20, {}, 706);
  late.tick(720, 700);
  assert.deepEqual(late.news(), []);
  const kept = setUp(rules);
  const start = { rule: 'r', device: 'a', metric: 't', kind: 'above', since: START, newest: START } as const;
  kept.evaluator.restorePending(start);
  kept.tick(599, 300);
  assert.deepEqual(kept.news(), []);
  kept.tick(600, 300);
  assert.equal(kept.news().length, 1);
  const found = setUp(rules);
  found.see(0, 31, {}, 900);
  found.tick(909, 900);
  assert.deepEqual(found.news(), []);
  found.tick(910, 900);
  assert.deepEqual(found.news(), ['raise r a t above 31']);
});

test('late readings, repetitions and texts change nothing, and a correction of the newest value counts', () => {
  const { see, news } = setUp('- { name: r, metric: t, above: 30 }');
  see(10, 20);
  see(5, 99, {}, 11);
  see(10, 20, {}, 12);
  see(13, 'broken');
  assert.deepEqual(news(), []);
  see(14, 31);
  see(14, 31, {}, 15);
  see(9, 1, {}, 16);
  assert.deepEqual(news(), ['raise r a t above 31']);
  see(14, 21, {}, 17);
  assert.deepEqual(news(), ['end r a t cleared']);
});

test('a value that the store returns after its correction was received changes nothing', () => {
  const { see, news } = setUp('- { name: r, metric: t, above: 30 }');
  see(10, 20);
  see(10, 31, {}, 12);
  see(10, 20, { received: START + 10 * S }, 13);
  assert.deepEqual(news(), ['raise r a t above 31']);
});

test('a clock that is ahead or not set does not hide the readings that follow', () => {
  const { see, news } = setUp('- { name: r, metric: t, above: 30 }');
  see(10, 20, { time: START + 80_000 * S, quality: 'skewed' });
  see(11, 31);
  assert.deepEqual(news(), ['raise r a t above 31']);
  see(12, 20, { time: 5, quality: 'unsynced' });
  assert.deepEqual(news(), ['end r a t cleared']);
});

test('a quiet sensor raises an alert, by its own newest reading, and only for the time in which ingest received', () => {
  const { see, tick, news } = setUp(
    '- { name: q, device: a, quiet: 60s }\n- { name: m, metric: t, quiet: 60s }',
  );
  see(0, 1);
  see(50, 1, { metric: 'u' });
  tick(59);
  assert.deepEqual(news(), []);
  tick(60);
  assert.deepEqual(news(), ['raise m a t quiet null']);
  tick(111, 100);
  // A note of a person does not show that the device works.
  see(120, 'serviced', { metric: 'annotation' });
  assert.deepEqual(news(), []);
  tick(160, 100);
  assert.deepEqual(news(), ['raise q a null quiet null']);
  // A reading from before the silence arrives late.
  see(55, 1, {}, 161);
  assert.deepEqual(news(), []);
  see(162, 'text');
  assert.deepEqual(news(), ['end q a null cleared', 'end m a t cleared']);
});

test('a rule concerns its device and those below it', () => {
  const { see, news } = setUp('- { name: r, device: site/a, metric: t, above: 1 }');
  for (const device of ['site/a', 'site/a/b', 'site/ab', 'site']) see(1, 2, { device });
  see(1, 2, { device: 'site/a', metric: 'other' });
  assert.deepEqual(news(), ['raise r site/a t above 2', 'raise r site/a/b t above 2']);
});

test('other rules end the alerts of rules that are gone, and keep those of rules that stay', () => {
  const { evaluator, see, news } = setUp(
    '- { name: a, metric: t, above: 1 }\n- { name: b, metric: t, above: 1 }\n- { name: c, metric: t, above: 1 }',
  );
  see(1, 5);
  assert.equal(news().length, 3);
  evaluator.replace(
    parseAlertRules('- { name: a, metric: t, above: 10 }\n- { name: c, metric: u, above: 1 }', 'alerts.yml'),
    START,
  );
  assert.deepEqual(news(), ['end b a t removed', 'end c a t removed']);
  see(2, 9);
  assert.deepEqual(news(), ['end a a t cleared']);
  see(3, 9, { metric: 'u' });
  assert.deepEqual(news(), ['raise c a u above 9']);
  const before = evaluator.bytes;
  evaluator.replace([], START);
  assert.deepEqual(news(), ['end c a u removed']);
  assert.equal(evaluator.series, 0);
  assert.ok(before > 0 && evaluator.bytes === 0, `${evaluator.bytes} bytes`);
});

test('the alerts of devices that are no longer registered end, but not those of devices that still send', () => {
  const { evaluator, see, news } = setUp('- { name: r, metric: t, above: 1 }');
  see(1, 5);
  see(1, 5, { device: 'b' });
  see(1, 5, { device: 'c' });
  news();
  evaluator.beginPass();
  evaluator.found('a');
  see(2, 5, { device: 'c' });
  evaluator.endPass(START);
  assert.deepEqual(news(), ['end r b t removed']);
});

test('an alert and a running time of an earlier process continue', () => {
  const { evaluator, see, tick, news } = setUp(
    '- { name: r, metric: t, above: 30, clear: 20 }\n- { name: p, metric: t, above: 30, for: 1h }',
  );
  const kept: KeptAlert = {
    id: 'x',
    rule: 'r',
    device: 'a',
    metric: 't',
    kind: 'above',
    since: START,
    newest: START,
  };
  assert.ok(evaluator.restore(kept));
  assert.ok(!evaluator.restore({ ...kept, rule: 'gone' }));
  assert.ok(!evaluator.restore({ ...kept, kind: 'quiet' }));
  evaluator.restorePending({ ...kept, rule: 'p' });
  see(1, 25);
  assert.deepEqual(news(), []);
  see(2, 31);
  tick(3);
  assert.deepEqual(news(), []);
  see(3, 20);
  assert.deepEqual(news(), ['end r a t cleared']);
});

test('memory is bounded, and readings beyond the bound are counted', () => {
  const { evaluator, see, news } = setUp('- { name: r, metric: t, above: 1 }', 20_000);
  for (let n = 0; n < 1000; n++) see(1, 0, { device: `device-${n}` });
  assert.ok(evaluator.bytes <= 20_000 && evaluator.bytes > 18_000, `${evaluator.bytes}`);
  assert.equal(evaluator.series + evaluator.unwatched, 1000);
  see(2, 5, { device: 'device-1' });
  see(2, 5, { device: 'device-999' });
  assert.deepEqual(news(), ['raise r device-1 t above 5']);
});

test('a client with many devices or metrics leaves room for the series of others', () => {
  const { evaluator, see, news } = setUp('- { name: r, metric: t, above: 1 }', 40_000);
  for (let n = 0; n < 1000; n++) see(1, 0, { device: `greedy/${n}` });
  for (let n = 0; n < 1000; n++) see(1, 0, { device: 'flat', metric: n === 0 ? 't' : `metric-${n}` });
  const before = evaluator.unwatched;
  see(1, 5, { device: 'honest/a' });
  assert.deepEqual([news(), evaluator.unwatched], [['raise r honest/a t above 5'], before]);
  assert.ok(evaluator.bytes <= 40_000, `${evaluator.bytes}`);
});

test('a device that had no room is watched after others were removed, and all memory is given back', () => {
  const { evaluator, see, news } = setUp('- { name: r, metric: t, above: 1 }', 2520);
  const removeAll = () => {
    evaluator.beginPass();
    evaluator.endPass(START + S);
    assert.deepEqual([evaluator.bytes, evaluator.series], [0, 0]);
  };
  see(1, 0, { device: 'a' });
  see(1, 0, { device: 'a', metric: 'other' });
  see(1, 5, { device: 'b' });
  see(1, 5, { device: 'c' });
  assert.deepEqual(news(), ['raise r b t above 5']);
  removeAll();
  see(2, 5, { device: 'c' });
  see(2, 0, { device: 'c', metric: 'other' });
  assert.deepEqual(news(), ['end r b t removed', 'raise r c t above 5']);
  evaluator.replace(parseAlertRules('- { name: r, metric: other, above: 1 }', 'alerts.yml'), START + S);
  removeAll();
});

// A model of one series: the readings that were the newest when they arrived, in that order.
const READINGS = fc.array(
  fc.record({ second: fc.integer({ min: 0, max: 200 }), value: fc.integer({ min: 0, max: 10 }) }),
  { maxLength: 60 },
);

test('for readings in any order, the alerts are those of the newest readings, and raise and end alternate', () => {
  fc.assert(
    fc.property(
      READINGS,
      fc.integer({ min: 0, max: 20 }),
      fc.integer({ min: 3, max: 7 }),
      (list, holds, clear) => {
        const rules = `- { name: r, metric: t, above: 7, clear: ${clear}, for: ${holds}s }`;
        const [all, newest] = [setUp(rules), setUp(rules)];
        let last = -1;
        let active = false;
        let since: number | null = null;
        const expected: string[] = [];
        for (const { second, value } of list) {
          all.see(second, value, {}, 1000);
          if (second < last) continue;
          last = second;
          newest.see(second, value, {}, 1000);
          // The definition, written a second time.
          if (active) {
            if (value <= clear) {
              active = false;
              since = null;
              expected.push('end r a t cleared');
            }
          } else if (value > 7) {
            since ??= second;
            if (second - since >= holds) {
              active = true;
              expected.push(`raise r a t above ${value}`);
            }
          } else since = null;
        }
        const found = all.news();
        assert.deepEqual(found, newest.news());
        assert.deepEqual(found, expected);
        for (const [index, event] of found.entries())
          assert.equal(event.startsWith('raise'), index % 2 === 0);
      },
    ),
  );
});

test('whenever ingest was interrupted, an alert for silence needs the whole time without an interruption', () => {
  const steps = fc.array(
    fc.record({
      seconds: fc.integer({ min: 1, max: 40 }),
      what: fc.constantFrom('reading', 'late', 'interruption', 'nothing'),
    }),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(steps, (list) => {
      const { see, tick, news } = setUp('- { name: q, metric: t, quiet: 60s }');
      let [clock, newest, from] = [0, 0, 0];
      let isQuiet = false;
      see(0, 1);
      for (const { seconds, what } of list) {
        clock += seconds;
        if (what === 'reading') newest = clock;
        if (what === 'reading') see(clock, 1);
        if (what === 'late') see(Math.max(0, newest - 1), 1, {}, clock);
        if (what === 'interruption') from = clock;
        tick(clock, from);
        const events = news();
        if (what === 'reading') isQuiet = false;
        const raises: boolean = !isQuiet && clock - Math.max(newest, from) >= 60;
        assert.equal(
          events.some((event) => event.startsWith('raise')),
          raises,
        );
        isQuiet ||= raises;
      }
    }),
  );
});
