import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '@tidegauge/process';
import { now, type Reading } from '@tidegauge/readings';
import { createLogger } from '@tidegauge/service';
import { ALERT_TABLE, openStore, type Store, StoreError, tableProblem } from '@tidegauge/storage';
import { Alerts } from '../../src/alerts/alerts.ts';
import { type AlertFilter, positionOf } from '../../src/alerts/book.ts';
import type { ChannelOptions, Notice } from '../../src/alerts/channel.ts';
import { type Lease, StoreLease } from '../../src/alerts/lease.ts';
import { ReadingQueue } from '../../src/alerts/reading-queue.ts';
import { Receiving } from '../../src/alerts/receiving.ts';
import { parseAlertRules } from '../../src/alerts/rules-file.ts';

const WAIT = { timeoutMs: 20_000 };
const RULES = '- { name: hot, metric: t, above: 30, clear: 25, severity: critical }';
const EVERY: AlertFilter = { state: null, rule: null, severity: null, isListed: () => true };

/** For tests of one process. */
const ALONE: Lease = {
  isShared: false,
  renew: () => Promise.resolve(true),
  release: () => Promise.resolve(),
};

async function openSqlite(context: TestContext): Promise<Store> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-alerts-'));
  const store = await openStore(`sqlite:${join(directory, 's.db')}?synchronous=normal`);
  context.after(async () => {
    await store.close();
    await rm(directory, { recursive: true });
  });
  return store;
}

function start(
  context: TestContext,
  store: Store,
  rules: string,
  lease: Lease = ALONE,
  isReceiving = () => true,
  send?: ChannelOptions['send'],
) {
  const logger = createLogger('test', 'silent');
  const parsed = parseAlertRules(rules, 'alerts.yml');
  const receivers = send === undefined ? [] : [{ name: 'webhook', version: '', send }];
  const alerts = new Alerts({ rules: parsed, store, lease, logger, isReceiving, receivers, tickMs: 20 });
  alerts.start();
  let isStopped = false;
  const stop = async () => {
    if (!isStopped) await alerts.stop();
    isStopped = true;
  };
  context.after(stop);
  const list = () => alerts.book.list(1000, null, EVERY).alerts;
  /** Each alert as `hot a/t above 31 active`. */
  const states = () =>
    list().map(
      ({ rule, device, metric, kind, value, ended, reason }) =>
        `${rule} ${device} ${metric} ${kind} ${value} ${ended === null ? 'active' : reason}`,
    );
  const until = (expected: readonly string[]) =>
    waitUntil(
      () => `${JSON.stringify(expected)}, there are ${JSON.stringify(states())}`,
      () => JSON.stringify(states()) === JSON.stringify(expected),
      WAIT,
    );
  const evaluating = () => waitUntil('the rules to be evaluated', () => alerts.isEvaluating, WAIT);
  return { alerts, stop, list, states, until, evaluating };
}

function reading(device: string, value: number, more: Partial<Reading> = {}): Reading {
  const time = now();
  return { device, metric: 't', time, value, received: time, boot: null, seq: null, quality: 'ok', ...more };
}

/** Stores readings and registers their devices, and gives them to the alerts as the pipeline does. */
async function commit(store: Store, alerts: Alerts | null, ...readings: readonly Reading[]): Promise<void> {
  await store.readings.write(readings);
  await store.devices.register([...new Set(readings.map(({ device }) => device))]);
  alerts?.push(readings);
}

test('an alert is kept: the next process continues it without raising it again', async (context) => {
  const store = await openSqlite(context);
  const first = start(context, store, RULES);
  await first.evaluating();
  await commit(store, first.alerts, reading('a', 31), reading('b', 31), reading('c', 20));
  await first.until(['hot b t above 31 active', 'hot a t above 31 active']);
  await commit(store, first.alerts, reading('b', 20));
  await first.until(['hot a t above 31 active', 'hot b t above 31 cleared']);
  const before = first.list();
  await first.stop();
  assert.deepEqual(first.states(), []);

  const second = start(context, store, RULES);
  await second.until(['hot a t above 31 active', 'hot b t above 31 cleared']);
  assert.deepEqual(second.list(), before);
  await commit(store, second.alerts, reading('a', 27));
  await sleep(100);
  assert.deepEqual(
    [...second.alerts.book.counts()],
    [{ rule: 'hot', severity: 'critical', active: 1, raised: 0 }],
  );
  await commit(store, second.alerts, reading('a', 25));
  await second.until(['hot a t above 31 cleared', 'hot b t above 31 cleared']);
});

test('readings that were stored but not evaluated before the end of a process are found in the store', async (context) => {
  const store = await openSqlite(context);
  const first = start(context, store, RULES);
  await first.evaluating();
  await commit(store, first.alerts, reading('a', 31));
  await first.until(['hot a t above 31 active']);
  // The process ends between the commit and the rules.
  await commit(store, null, reading('a', 20), reading('b', 40));
  await first.stop();
  const second = start(context, store, RULES);
  await second.until(['hot b t above 40 active', 'hot a t above 31 cleared']);
});

test('the time of a rule is counted from the first stored value that violates it', async (context) => {
  const store = await openSqlite(context);
  const ago = (device: string, minutes: number, value: number) => {
    const time = now() - minutes * 60e6;
    return reading(device, value, { time, received: time });
  };
  const long = [ago('long', 14, 40), ago('long', 12, 31), ago('long', 7, 32), ago('long', 1, 33)];
  const short = [ago('short', 14, 31), ago('short', 7, 20), ago('short', 6, 31), ago('short', 1, 31)];
  await commit(store, null, ...long, ...short);
  const { alerts, list, states } = start(context, store, '- { name: hot, metric: t, above: 30, for: 10m }');
  const isRaised = async () => {
    await commit(store, alerts, reading('long', 34), reading('short', 34));
    return list().length > 0;
  };
  await waitUntil('the alert', isRaised, WAIT);
  assert.deepEqual(states(), ['hot long t above 34 active']);
  assert.equal(list()[0]!.since, long[1]!.time);
});

test('old values in the store raise no alerts when rules are first used', async (context) => {
  const store = await openSqlite(context);
  await commit(store, null, reading('old', 99, { time: now() - 3600e6, received: now() - 3600e6 }));
  await commit(store, null, reading('new', 99));
  const { until } = start(context, store, RULES);
  await until(['hot new t above 99 active']);
});

test('a sensor is quiet after the time of the rule, but not before ingest has received for that time', async (context) => {
  const store = await openSqlite(context);
  const past = now() - 3600e6;
  await commit(store, null, reading('a', 1, { time: past, received: past }));
  let isReceiving = true;
  const begun = performance.now();
  const { alerts, states, until, evaluating } = start(
    context,
    store,
    '- { name: q, quiet: 1s }',
    ALONE,
    () => isReceiving,
  );
  await evaluating();
  isReceiving = false;
  await sleep(1300);
  assert.deepEqual(states(), []);
  isReceiving = true;
  await until(['q a null quiet null active']);
  assert.ok(performance.now() - begun > 2200);
  await commit(store, alerts, reading('a', 1));
  await until(['q a null quiet null cleared']);
});

test('the alerts of a removed rule end, at a reload and at a restart', async (context) => {
  const store = await openSqlite(context);
  const rules = `${RULES}\n- { name: warm, metric: t, above: 20 }`;
  const first = start(context, store, rules);
  await first.evaluating();
  await commit(store, first.alerts, reading('a', 31));
  await first.until(['warm a t above 31 active', 'hot a t above 31 active']);
  first.alerts.replace(parseAlertRules(RULES, 'alerts.yml'));
  await first.until(['hot a t above 31 active', 'warm a t above 31 removed']);
  await first.stop();
  const second = start(context, store, '- { name: other, metric: t, above: 90 }');
  await second.until(['hot a t above 31 removed', 'warm a t above 31 removed']);
});

test('a rule that is added is used for the newest values in the store', async (context) => {
  const store = await openSqlite(context);
  const { alerts, until, evaluating } = start(context, store, RULES);
  await evaluating();
  await commit(store, alerts, reading('a', 1, { metric: 'pressure' }));
  await sleep(100);
  alerts.replace(parseAlertRules(`${RULES}\n- { name: low, metric: pressure, below: 2 }`, 'alerts.yml'));
  await until(['low a pressure below 1 active']);
});

/** Leases of processes by their names. `held`: who has the only one. */
function sharedLease() {
  const held = { by: null as string | null };
  const lease = (name: string): Lease => ({
    isShared: true,
    renew: async () => {
      held.by ??= name;
      return held.by === name;
    },
    release: async () => {
      if (held.by === name) held.by = null;
    },
  });
  return { held, lease };
}

test('of two processes one evaluates, also the readings of the other, and the other continues its alerts', async (context) => {
  const store = await openSqlite(context);
  const { lease } = sharedLease();
  const first = start(context, store, RULES, lease('first'));
  await first.evaluating();
  const second = start(context, store, RULES, lease('second'));
  await commit(store, second.alerts, reading('a', 31));
  await commit(store, first.alerts, reading('b', 31));
  await first.until(['hot b t above 31 active']);
  assert.ok(!second.alerts.isEvaluating);
  await first.stop();
  await second.until(['hot a t above 31 active', 'hot b t above 31 active']);
});

test('a value that violates a rule is not forgotten when a process ends before time can raise its alert', async (context) => {
  const store = await openSqlite(context);
  const { lease } = sharedLease();
  const time = now() - 90e6;
  await commit(store, null, reading('a', 31, { time, received: time }));
  const rules = '- { name: hot, metric: t, above: 30, for: 1s }';
  const first = start(context, store, rules, lease('first'));
  await first.evaluating();
  await first.stop();
  const second = start(context, store, rules, lease('second'));
  await second.until(['hot a t above 31 active']);
});

test('a process that lost its lease while it read the store does not write over the state of the next one', async (context) => {
  const store = await openSqlite(context);
  const { held, lease } = sharedLease();
  const read = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const latest: Store['readings']['latest'] = async (devices) => {
    const found = await store.readings.latest(devices);
    read.resolve();
    await answer.promise;
    return found;
  };
  const slow: Store = Object.create(store, { readings: { value: { ...store.readings, latest } } });
  await commit(store, null, reading('a', 31));
  const first = start(context, slow, RULES, lease('first'));
  await read.promise;
  held.by = null;
  const second = start(context, store, RULES, lease('second'));
  await second.until(['hot a t above 31 active']);
  await commit(store, second.alerts, reading('a', 20));
  await second.until(['hot a t above 31 cleared']);
  answer.resolve();
  await waitUntil('the first to resign', () => !first.alerts.isEvaluating, WAIT);
  await second.stop();
  const kept = await store.records.scan(ALERT_TABLE, 'alerts', 64, null);
  const ended = kept
    .filter(({ key }) => key.startsWith('alerts-'))
    .flatMap(({ fields }) => JSON.parse(fields.field0!) as { ended: number | null }[])
    .map((alert) => alert.ended !== null);
  assert.deepEqual(ended, [true]);
});

test('while the store is unavailable, alerts wait and are kept later', async (context) => {
  const real = await openSqlite(context);
  let isAway = true;
  const records: Store['records'] = Object.assign(Object.create(real.records), {
    update: async (...update: Parameters<Store['records']['update']>) => {
      if (isAway) throw new StoreError('UNAVAILABLE', 'away');
      return real.records.update(...update);
    },
  });
  const store: Store = Object.create(real, { records: { value: records } });
  const first = start(context, store, RULES);
  await first.evaluating();
  await commit(store, first.alerts, reading('a', 31));
  await first.until(['hot a t above 31 active']);
  await waitUntil('the trouble', () => first.alerts.trouble === 'away', WAIT);
  isAway = false;
  await waitUntil('no trouble', () => first.alerts.trouble === null, WAIT);
  await first.stop();
  const second = start(context, store, RULES);
  await second.until(['hot a t above 31 active']);
});

test('a part of the state that cannot be read is left out, and the rest is used', async (context) => {
  const store = await openSqlite(context);
  const first = start(context, store, RULES);
  await first.evaluating();
  await commit(store, first.alerts, reading('a', 31));
  await first.until(['hot a t above 31 active']);
  const bucket = `alerts-${Number.parseInt(first.list()[0]!.id.slice(0, 4), 16) % 64}`;
  await first.stop();
  const others = Array.from({ length: 64 }, (_, n) => `alerts-${n}`).filter((key) => key !== bucket);
  const wrong = [
    '{',
    '5',
    '{}',
    '[1, null, {"id": 5}]',
    '[{"rule":"hot","device":"a","metric":"t","since":1,"id":"x"}]',
  ];
  for (const [index, text] of wrong.entries())
    await store.records.insert(ALERT_TABLE, others[index]!, { field0: text });
  await store.records.update(ALERT_TABLE, 'pending', { field0: '[{}]' });
  await store.records.update(ALERT_TABLE, 'mark', { field0: '"x"' });
  const second = start(context, store, RULES);
  await second.until(['hot a t above 31 active']);
});

test('a message is sent after its alert is kept, and by the next process when it was not accepted', async (context) => {
  const store = await openSqlite(context);
  const events: string[] = [];
  const say = ({ event, alert }: Notice) => void events.push(`${event} ${alert.device}`);
  const hangs = async (notice: Notice) => {
    const kept = await store.records.scan(ALERT_TABLE, 'alerts', 64, null);
    assert.match(JSON.stringify(kept), new RegExp(notice.alert.id), 'the alert is kept before');
    say(notice);
    await new Promise(() => {});
  };
  const first = start(context, store, RULES, ALONE, undefined, hangs);
  await first.evaluating();
  await commit(store, first.alerts, reading('a', 31), reading('b', 31));
  await waitUntil('an attempt', () => events.length === 1, WAIT);
  await commit(store, first.alerts, reading('a', 20));
  await first.until(['hot b t above 31 active', 'hot a t above 31 cleared']);
  await first.stop();
  assert.deepEqual(events.splice(0), ['raised a']);

  const second = start(context, store, RULES, ALONE, undefined, async (notice) => say(notice));
  await waitUntil('all messages', () => events.length === 3, WAIT);
  assert.deepEqual(events.splice(0), ['raised a', 'raised b', 'ended a']);
  await sleep(100);
  await second.stop();
  const third = start(context, store, RULES, ALONE, undefined, async (notice) => say(notice));
  await third.evaluating();
  await sleep(100);
  assert.deepEqual(events, []);
});

test('a lease is renewed in time, kept while the store is unavailable, and lost at its end', async () => {
  let clock = 0;
  let holder: string | null = null;
  let isAway = false;
  let calls = 0;
  const store = {
    lease: async (_name: string, asking: string, ms: number) => {
      calls++;
      if (isAway) throw new StoreError('UNAVAILABLE', 'away');
      if (holder !== null && holder !== asking) return false;
      holder = ms > 1000 ? asking : null;
      return true;
    },
  };
  const lease = (name: string) => new StoreLease(store, name, true, () => clock);
  const [first, second] = [lease('first'), lease('second')];
  assert.ok(await first.renew());
  assert.ok(!(await second.renew()));
  for (clock = 1000; clock < 39_000; clock += 1000) assert.ok(await first.renew());
  assert.equal(calls, 2);
  isAway = true;
  for (; clock < 120_000; clock += 1000) assert.ok(await first.renew());
  clock = 120_000;
  await assert.rejects(first.renew(), { code: 'UNAVAILABLE' });
  isAway = false;
  assert.ok(await first.renew());
  await first.release();
  clock += 15_000;
  assert.ok(await second.renew());
  assert.ok(!(await first.renew()));
});

test('clients of the API cannot use the table of the state', () => {
  assert.match(tableProblem(ALERT_TABLE) ?? '', /reserved/);
});

test('the list has pages, also when many alerts begin at once', async (context) => {
  const store = await openSqlite(context);
  const { alerts, evaluating } = start(context, store, RULES);
  await evaluating();
  const devices = Array.from({ length: 250 }, (_, n) => `device-${n}`);
  const time = now();
  await commit(store, alerts, ...devices.map((device) => reading(device, 31, { time })));
  await waitUntil('all alerts', () => alerts.book.active === 250, WAIT);
  await commit(
    store,
    alerts,
    ...devices.slice(0, 100).map((device) => reading(device, 3, { time: time + 1 })),
  );
  await waitUntil('the ended alerts', () => alerts.book.active === 150, WAIT);
  const found: string[] = [];
  let after = null;
  for (;;) {
    const { alerts: page, more } = alerts.book.list(30, after, EVERY);
    found.push(...page.map(({ device }) => device));
    if (!more) break;
    after = positionOf(page.at(-1)!);
  }
  assert.equal(found.length, 250);
  assert.deepEqual(new Set(found), new Set(devices));
});

test('the queue takes readings later and in order, and the oldest beyond its bound at once, or drops them while it is closed', async () => {
  const taken: number[] = [];
  let reports = 0;
  const queue = new ReadingQueue({
    take: ({ value }) => void taken.push(value as number),
    onDropped: () => void reports++,
    maxBytes: 300 * 204,
  });
  const batch = (from: number) => Array.from({ length: 100 }, (_, n) => reading('a', from + n));
  for (const from of [0, 100, 200, 300]) queue.push(batch(from));
  assert.deepEqual([taken.length, queue.dropped, reports], [0, 100, 1]);
  queue.open(true);
  assert.equal(taken.length, 0);
  await waitUntil('an empty queue', () => queue.bytes === 0, WAIT);
  assert.deepEqual(
    taken,
    Array.from({ length: 300 }, (_, n) => 100 + n),
  );
  for (const from of [400, 500, 600, 700]) queue.push(batch(from));
  // It is open: the oldest are taken at once.
  assert.deepEqual([taken.length, taken.at(-1), queue.dropped, reports], [400, 499, 100, 1]);
});

test('a stop does not wait until the readings of all devices are read', async (context) => {
  const store = await openSqlite(context);
  const names = Array.from({ length: 3000 }, (_, n) => `d${n}`);
  await store.devices.register(names);
  const begun = Promise.withResolvers<void>();
  let reads = 0;
  const readings = Object.create(store.readings, {
    latest: {
      value: async (devices: readonly string[]) => {
        reads += 1;
        begun.resolve();
        await sleep(50);
        return store.readings.latest(devices);
      },
    },
  });
  const slow = Object.create(store, { readings: { value: readings } }) as Store;
  const { stop } = start(context, slow, RULES);
  await begun.promise;
  await stop();
  assert.ok(reads < 10, `${reads} reads`);
});

test('readings are not received while the clock is set, the process is suspended, or a server is unavailable', () => {
  const receiving = new Receiving(1e12, 0);
  receiving.tick(1e12 + 1e6, 1000, true);
  assert.equal(receiving.since, 1e12);
  receiving.tick(1e12 + 2e6, 2000, false);
  assert.equal(receiving.since, 1e12 + 2e6);
  receiving.tick(9e15, 3000, true);
  assert.equal(receiving.since, 9e15);
  receiving.tick(9e15 + 1e6, 4000, true);
  assert.equal(receiving.since, 9e15);
  receiving.tick(9e15 + 31e6, 34_000, true);
  assert.equal(receiving.since, 9e15 + 31e6);
});
