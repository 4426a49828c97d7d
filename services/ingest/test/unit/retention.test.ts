import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { waitUntil } from '@tidegauge/process';
import { now, type Reading } from '@tidegauge/readings';
import { ConfigError, createLogger } from '@tidegauge/service';
import { openStore, type Store, type StoreSpace } from '@tidegauge/storage';
import { runHere } from '@tidegauge/test-support/run-here';
import { checkLimits, checkRollups, type Limits } from '../../src/retention/limits.ts';
import { program } from '../../src/retention/main.ts';
import { preview, printPreview } from '../../src/retention/preview.ts';
import { Retention } from '../../src/retention/retention.ts';
import { parseKeep, parseRules, RetentionRules } from '../../src/retention/rules.ts';
import { RulesFile } from '../../src/retention/rules-file.ts';
import { TrustedTime } from '../../src/retention/trusted-time.ts';

const HOUR = 3600e6;
const DAY = 24 * HOUR;
const NO_LIMITS: Limits = { maxBytes: 0, minFreeBytes: 0 };
const logger = createLogger('test', 'silent');
const RULES = `
- devices: site-3
  metrics: vibration
  keep: raw:1d
- devices: site-3
  keep: raw:3d
`;

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-retention-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function open(t: TestContext, url: (folder: string) => string): Promise<Store> {
  const store = await openStore(url(folderOf(t)));
  t.after(() => store.close());
  return store;
}

const SQLITE = (folder: string) => `sqlite:${folder}/t.db`;
const JSON_FILES = (folder: string) => `json:${folder}/data`;

function reading(device: string, metric: string, time: number): Reading {
  return { device, metric, time, value: 1, received: time, boot: null, seq: null, quality: 'ok' };
}

/** A reading every six hours, for ten days until now. */
function tenDays(time: number, device: string, metric: string): Reading[] {
  return Array.from({ length: 40 }, (_, index) => reading(device, metric, time - index * 6 * HOUR - 1000));
}

function retention(
  store: Store,
  rules: RetentionRules,
  limits = NO_LIMITS,
  holder = 'ingest-1',
  waitsForRollups = false,
): Retention {
  const every = { everyMs: 60_000, waitsForRollups };
  return new Retention({ store, rules: () => rules, limits, holder, ...every, logger });
}

/** A day passes for processes that run, by the monotonic clock. */
function passDay(t: TestContext): void {
  const real = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => real() + DAY / 1000);
}

/** The number of readings of a series, and whether all are newer than an age. */
async function left(store: Store, device: string, metric: string, time: number): Promise<[number, number]> {
  let count = 0;
  let oldest = time;
  for await (const { time } of store.readings.range({ device, metric, limit: 1e6 })) {
    count++;
    oldest = Math.min(oldest, time);
  }
  return [count, Math.floor((time - oldest) / DAY)];
}

for (const [name, url] of [
  ['sqlite', SQLITE],
  ['json', JSON_FILES],
] as const) {
  describe(`retention on ${name}`, () => {
    test('deletes by the first rule that matches, and what the dry run named', async (t) => {
      const store = await open(t, url);
      const time = now();
      const names = [
        'site-3/a vibration',
        'site-3/a noise',
        'site-3 noise',
        'site-33 noise',
        'site-4 vibration',
      ];
      for (const each of names) {
        const [device, metric] = each.split(' ');
        await store.readings.write(tenDays(time, device!, metric!));
      }
      const rules = new RetentionRules(parseRules(RULES, 'rules.yml'), parseKeep('raw:7d'));
      const { rules: found } = await preview(store, rules, time);
      assert.deepEqual(
        found.map(({ rule, readings, series }) => [rule, readings, series]),
        [
          ['site-3: vibration', 36, 1],
          ['site-3', 56, 2],
          ['all other series', 24, 2],
        ],
      );
      assert.match(printPreview(found), /^site-3: vibration: would delete 36 readings of 1 series, from 20/);
      const job = retention(store, rules);
      const last = await job.run();
      assert.deepEqual([last.result, last.deleted, job.total], ['done', 116, 116]);
      const results = [];
      for (const each of names) {
        const [device, metric] = each.split(' ');
        results.push(await left(store, device!, metric!, time));
      }
      assert.deepEqual(results, [
        [4, 0],
        [12, 2],
        [12, 2],
        [28, 6],
        [28, 6],
      ]);
      assert.deepEqual(
        (await preview(store, rules, time)).rules.map(({ readings }) => readings),
        [0, 0, 0],
      );
      assert.equal((await job.run()).deleted, 0);
    });

    test('keeps everything without a rule, and what no rule matches', async (t) => {
      const store = await open(t, url);
      const time = now();
      await store.readings.write([...tenDays(time, 'site-3', 'noise'), ...tenDays(time, 'site-4', 'noise')]);
      assert.equal((await retention(store, new RetentionRules([], null)).run()).deleted, 0);
      const rules = new RetentionRules(parseRules('- devices: site-3\n  keep: raw:1h', 'r.yml'), null);
      assert.equal((await retention(store, rules).run()).deleted, 39);
      assert.deepEqual(await left(store, 'site-4', 'noise', time), [40, 9]);
      assert.match(
        printPreview((await preview(store, rules, time)).rules),
        /all other series: keeps all readings\n$/,
      );
    });

    test('deletes the oldest readings while the data is larger than the limit', async (t) => {
      const store = await open(t, url);
      const time = now();
      for (let day = 9; day >= 0; day--) {
        const text = 'x'.repeat(500);
        const batch = Array.from({ length: 400 }, (_, index) => ({
          ...reading('a', 'm', time - day * DAY - index * 60e6 - 1000),
          value: text,
        }));
        await store.readings.write(batch);
      }
      const before = (await store.space())!;
      const job = retention(store, new RetentionRules([], null), {
        maxBytes: before.used / 2,
        minFreeBytes: 0,
      });
      const last = await job.run();
      assert.equal(last.result, 'done');
      assert.ok((await store.space())!.used <= before.used / 2);
      assert.equal(job.deleted.size, last.deleted);
      const [count, days] = await left(store, 'a', 'm', time);
      assert.ok(count >= 1200 && count <= 2000, `${count} readings left`);
      assert.ok(days <= 5, `${days} days left`);
      assert.equal((await job.run()).deleted, 0);
    });

    test('comes to newer readings although old ones arrive all the time', async (t) => {
      const store = await open(t, url);
      const time = now();
      await store.readings.write(tenDays(time, 'a', 'm'));
      const late = reading('b', 'm', time - 12 * DAY);
      let steps = 0;
      const expire: Store['readings']['expire'] = async (before, pace) => {
        const expired = await store.readings.expire(before, pace);
        await store.readings.write([late]);
        steps += 1;
        assert.ok(steps < 2000, 'it goes on forever');
        return expired;
      };
      const busy = {
        ...{ ...store, readings: { ...store.readings, expire } },
        ...{ space: () => store.space(), lease: store.lease.bind(store) },
      } as Store;
      const limits = { maxBytes: 1, minFreeBytes: 0 };
      assert.equal((await retention(busy, new RetentionRules([], null), limits).run()).result, 'done');
      assert.equal((await left(store, 'a', 'm', time))[0], 1);
    });

    test('never deletes the last hour because of a limit', async (t) => {
      const store = await open(t, url);
      const time = now();
      await store.readings.write([...tenDays(time, 'a', 'm'), reading('a', 'm', time - 10e6)]);
      const last = await retention(store, new RetentionRules([], null), {
        maxBytes: 1,
        minFreeBytes: 0,
      }).run();
      assert.equal(last.result, 'done');
      assert.equal((await left(store, 'a', 'm', time))[0], 2);
    });
  });
}

describe('retention', () => {
  test('deletes the oldest readings while the disk has less free space than the limit', async (t) => {
    const store = await open(t, SQLITE);
    const time = now();
    await store.readings.write(tenDays(time, 'a', 'm'));
    // The disk of a test cannot be filled, so the spare part of the store's files changes instead.
    const free = { spare: -1e18 };
    const space = async () => ({ ...(await store.space()), ...free }) as StoreSpace;
    let steps = 0;
    const expire: Store['readings']['expire'] = async (before, pace) => {
      steps += 1;
      if (steps === 3) free.spare = 1e18;
      return store.readings.expire(before, pace);
    };
    const tight = {
      ...store,
      space,
      lease: store.lease.bind(store),
      readings: { ...store.readings, expire },
    };
    const job = retention(tight, new RetentionRules([], null), { maxBytes: 0, minFreeBytes: 1000 });
    await job.run();
    assert.equal(steps, 3);
    assert.ok(job.deleted.disk >= 3 && job.deleted.disk < 30, `${job.deleted.disk}`);
  });

  test('deletes readings of others although a part of the store is damaged', async (t) => {
    const folder = folderOf(t);
    const store = await openStore(SQLITE(folder));
    t.after(() => store.close());
    const time = now();
    for (const device of ['site-3/a', 'site-3/b']) await store.readings.write(tenDays(time, device, 'm'));
    const db = new DatabaseSync(`${folder}/t.db`);
    db.exec(`insert into tidegauge_blocks (series, first, last, count, data)
      select id, ${time - 11 * DAY}, ${time - DAY}, 2, zeroblob(40) from series where device = 'site-3/a'`);
    db.close();
    const rules = new RetentionRules(parseRules('- devices: site-3\n  keep: raw:2d', 'r.yml'), null);
    assert.equal((await retention(store, rules).run()).result, 'failed', 'a part of the block is younger');
    assert.deepEqual(await left(store, 'site-3/b', 'm', time), [8, 1]);
    const limits = { maxBytes: 1, minFreeBytes: 0 };
    assert.equal((await retention(store, new RetentionRules([], null), limits).run()).result, 'done');
    for (const device of ['site-3/a', 'site-3/b'])
      assert.deepEqual(await left(store, device, 'm', time), [1, 0]);
  });

  test('is done by one replica at a time', async (t) => {
    const store = await open(t, SQLITE);
    await store.readings.write(tenDays(now(), 'a', 'm'));
    const rules = new RetentionRules([], parseKeep('raw:1d'));
    const [one, two] = [retention(store, rules), retention(store, rules, NO_LIMITS, 'ingest-2')];
    assert.equal((await one.run()).result, 'done');
    await store.readings.write(tenDays(now(), 'a', 'm'));
    const idle = await two.run();
    assert.deepEqual([idle.result, idle.deleted, two.runs.elsewhere], ['elsewhere', 0, 1]);
    assert.equal((await one.run()).deleted, 36);
  });

  test('stops after the present part, and the next run continues', async (t) => {
    const store = await open(t, SQLITE);
    const time = now();
    const rows = Array.from({ length: 20_000 }, (_, index) => reading('a', 'm', time - DAY - index * 1e6));
    for (let start = 0; start < rows.length; start += 5000)
      await store.readings.write(rows.slice(start, start + 5000));
    const job = retention(store, new RetentionRules([], parseKeep('raw:12h')));
    const run = job.run();
    await waitUntil('a part is deleted', () => job.total > 0, { timeoutMs: 10_000, pollMs: 1 });
    await job.stop();
    const last = await run;
    assert.equal(last.result, 'failed');
    assert.ok(last.deleted! > 0 && last.deleted! < 20_000, `${last.deleted}`);
    const next = await retention(store, new RetentionRules([], parseKeep('raw:12h'))).run();
    assert.equal(last.deleted! + next.deleted!, 20_000);
  });

  test('refuses a limit of space for a store that cannot measure it', async () => {
    const store = await openStore('null:');
    await checkLimits(store, NO_LIMITS);
    await assert.rejects(
      checkLimits(store, { maxBytes: 0, minFreeBytes: 1 }),
      (error) =>
        error instanceof ConfigError &&
        /RETENTION_MIN_FREE needs a store on a disk of this machine .* null: limit the age/.test(
          error.message,
        ),
    );
    await store.close();
  });

  test('uses a changed file of rules, and keeps the old rules while it has a mistake', async (t) => {
    const file = join(folderOf(t), 'retention.yml');
    writeFileSync(file, '- keep: raw:1d');
    const { capabilities } = await open(t, SQLITE);
    const rules = new RulesFile({
      file,
      isRequired: true,
      last: null,
      store: { name: 'sqlite', capabilities },
      logger,
      pollMs: 10,
    });
    t.after(() => rules.close());
    assert.equal(rules.rules.rules[0]!.raw, DAY);
    writeFileSync(file, '- keep: raw:2d');
    await waitUntil('the new rules', () => rules.rules.rules[0]!.raw === 2 * DAY, { timeoutMs: 5000 });
    writeFileSync(file, '- keep: soon');
    await waitUntil('the refusal', () => rules.counts.refused === 1, { timeoutMs: 5000 });
    assert.equal(rules.rules.rules[0]!.raw, 2 * DAY);
    assert.match(rules.trouble!, /keep: "soon" is not a level and an age/);
    assert.doesNotMatch(rules.warning!, /soon/);
    writeFileSync(file, '- keep: raw:3d');
    await waitUntil('the repaired rules', () => rules.trouble === null, { timeoutMs: 5000 });
    assert.equal(rules.rules.rules[0]!.raw, 3 * DAY);
  });
});

test('a clock that is weeks ahead after a start deletes nothing by age for a day', async (t) => {
  const folder = folderOf(t);
  const store = await openStore(SQLITE(folder));
  t.after(() => store.close());
  const real = Date.now();
  await store.readings.write(tenDays(real * 1000, 'a', 'm'));
  const rules = new RetentionRules([], parseKeep('raw:7d'));
  /** A run of a process that starts when the system clock has this time. */
  const start = (time: number) => {
    t.mock.timers.reset();
    t.mock.timers.enable({ apis: ['Date'], now: time });
    const clock = new TrustedTime(join(folder, 'retention'), logger);
    return new Retention({
      ...{ store, rules: () => rules, limits: NO_LIMITS, holder: 'ingest-1', logger },
      ...{ everyMs: 60_000, waitsForRollups: false, clock: () => clock.now() },
    });
  };
  assert.equal((await start(real).run()).deleted, 12);
  const wrong = real + (400 * DAY) / 1000;
  assert.equal((await start(wrong).run()).deleted, 0);
  const later = real + HOUR / 1000;
  assert.equal((await start(later).run()).deleted, 0, 'the clock was corrected');
  const kept = start(wrong);
  assert.equal((await kept.run()).deleted, 0);
  passDay(t);
  assert.equal((await kept.run()).deleted, 28, 'it is right: the board was off');
});

describe('retention and rollups', () => {
  /** A store whose clock stands still until `rollUp` computes all rollups, an hour later. */
  async function openOnClock(t: TestContext) {
    const time = now();
    let clock = time;
    const store = await openStore(SQLITE(folderOf(t)), { clock: () => clock });
    t.after(() => store.close());
    const rollUp = async () => {
      clock += HOUR;
      while ((await store.rollups.work()).more);
    };
    return { store, time, rollUp };
  }

  test('deletes readings when they are in rollups, and rollups by their own age', async (t) => {
    const { store, time, rollUp } = await openOnClock(t);
    const series = { device: 'site-3', metric: 'm' };
    await store.readings.write(tenDays(time, 'site-3', 'm'));
    const rules = new RetentionRules(
      parseRules('- devices: site-3\n  keep: raw:2d,1m:5d', 'rules.yml'),
      parseKeep('raw:9d'),
    );
    const job = retention(store, rules, NO_LIMITS, 'ingest-1', true);
    assert.equal((await job.run()).deleted, 0, 'no reading is in rollups');
    // The marks of hours that ended before the write are due two minutes after it.
    await rollUp();
    assert.equal((await job.run()).deleted, 32);
    assert.deepEqual(await left(store, 'site-3', 'm', time), [8, 1]);
    const day = Math.floor(time / DAY) * DAY;
    const range = { ...series, from: day - 12 * DAY, to: day + DAY };
    const count = async (period: 'minute' | 'day') =>
      (await store.rollups.read({ ...range, period })).rollups.reduce((sum, each) => sum + each.count, 0);
    assert.equal(await count('day'), 40);
    const minutes = await count('minute');
    assert.ok(minutes >= 20 && minutes <= 24, `${minutes} readings in rollups of minutes`);
  });

  test('keeps nothing longer than a day for a sensor whose clock is years behind', async (t) => {
    const { store, time, rollUp } = await openOnClock(t);
    await store.readings.write(tenDays(time, 'site-3', 'm'));
    await rollUp();
    const sendLate = () => store.readings.write([reading('site-4', 'm', time - 400 * DAY)]);
    await sendLate();
    const job = retention(store, new RetentionRules([], parseKeep('raw:7d')), NO_LIMITS, 'ingest-1', true);
    assert.equal((await job.run()).deleted, 0, 'the old hour is not in rollups yet');
    passDay(t);
    await sendLate();
    assert.equal((await job.run()).deleted, 13);
    assert.deepEqual(await left(store, 'site-3', 'm', time), [28, 6]);
    await sendLate();
    assert.equal((await job.run()).deleted, 1, 'there is no further wait');
  });

  test('leaves readings of the last hours to rollups, however long it waits', async (t) => {
    const time = now();
    const store = await open(t, SQLITE);
    await store.readings.write([2, 4].map((hours) => reading('a', 'm', time - hours * HOUR)));
    const job = retention(store, new RetentionRules([], parseKeep('raw:30m')), NO_LIMITS, 'ingest-1', true);
    assert.equal((await job.run()).deleted, 0);
    passDay(t);
    assert.equal((await job.run()).deleted, 1);
    assert.equal((await left(store, 'a', 'm', time))[0], 1);
  });

  test('waits for rollups before it deletes readings because of a limit', async (t) => {
    const { store, time, rollUp } = await openOnClock(t);
    await store.readings.write(tenDays(time, 'a', 'm'));
    const limits = { maxBytes: 1, minFreeBytes: 0 };
    const job = retention(store, new RetentionRules([], null), limits, 'ingest-1', true);
    assert.equal((await job.run()).deleted, 0);
    await rollUp();
    assert.equal((await job.run()).deleted, 39);
    const [, ...newer] = tenDays(time, 'b', 'm');
    await store.readings.write(newer);
    assert.equal((await job.run()).deleted, 0);
    passDay(t);
    assert.equal((await job.run()).deleted, 39);
  });

  test('refuses ages of rollups for a store without rollups', async () => {
    const store = await openStore('null:');
    const rules = new RetentionRules([], parseKeep('raw:30d,1m:1y'));
    assert.throws(
      () => checkRollups(store, rules),
      (error) =>
        error instanceof ConfigError && /the store null keeps no rollups: keep raw only/.test(error.message),
    );
    await store.close();
  });
});

test('the program refuses a store that does not exist, and does not create it', async (t) => {
  const path = join(folderOf(t), 'none.db');
  const { code, stderr } = await runHere(program, '--store', `sqlite:${path}`, '--retention', 'raw:30d');
  assert.equal(code, 2);
  assert.match(stderr, /there is no .*none\.db: correct the path/);
  assert.equal(existsSync(path), false);
});
