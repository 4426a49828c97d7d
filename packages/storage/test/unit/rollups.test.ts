import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import { freshDevice, reading, rejection, series, T0 } from '../../conformance/data.ts';
import { isDamaged } from '../../src/errors.ts';
import { checkStore, openStore, type Store } from '../../src/index.ts';
import { decodeFigures, encodeFigures } from '../../src/rollups/encoding.ts';
import { type Figures, PeriodFold } from '../../src/rollups/figures.ts';
import { isInScope } from '../../src/rollups/limits.ts';
import { Marker, SKEW_US, SLACK_US } from '../../src/rollups/marker.ts';
import { PERIOD_US } from '../../src/rollups/periods.ts';
import { planOf, type Span, subtract } from '../../src/rollups/plan.ts';

const MINUTE = 60_000_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Two minutes as an earlier version wrote them: `figuresAt(T0)`, and one reading of 7, two minutes later. */
const VERSION_1 =
  'AQACAAEAAAAAAAAA+D8AAAAAAAAQQAAAAAAAAARAAAAAAAAA+D8AAAAAAAAEQAIBrAIAAQAAAAAAABxAAAAAAAAAHEA=';
const NONE = { raw: 0, minute: 0, hour: 0, day: 0 };

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-rollups-'));
after(() => rmSync(folder, { recursive: true }));

describe('figures of a period', () => {
  const value = fc.double({ noNaN: true, noDefaultInfinity: true });
  const row = fc.tuple(fc.integer({ min: 0, max: MINUTE - 1 }), value);

  test('do not depend on the order of readings, and are those of the readings', () => {
    const rows = fc.uniqueArray(row, { selector: ([time]) => time, minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(rows, (some) => {
        const fold = new PeriodFold(0);
        for (const [time, each] of some) fold.addReading(time, each);
        const { sum, ...figures } = fold.figures()!;
        const sorted = some.toSorted(([a], [b]) => a - b);
        const values = some.map(([, each]) => each);
        const [[firstTime, first], [lastTime, last]] = [sorted[0]!, sorted.at(-1)!];
        const exact = { time: 0, count: some.length, first, firstTime, last, lastTime };
        assert.deepEqual(
          { ...figures, min: figures.min + 0, max: figures.max + 0 },
          {
            ...exact,
            min: Math.min(...values) + 0,
            max: Math.max(...values) + 0,
          },
        );
        assert.ok(!Number.isNaN(sum));
      }),
    );
  });

  test('compensate the rounding of a sum', () => {
    const fold = new PeriodFold(0);
    for (const [time, each] of [1e16, 1, -1e16, 1].entries()) fold.addReading(time, each);
    assert.equal(fold.figures()?.sum, 2);
  });

  test('are the same after they were stored as bytes', () => {
    const periods = fc.uniqueArray(
      fc.record({
        index: fc.integer({ min: 0, max: 59 }),
        rows: fc.array(row, { minLength: 1, maxLength: 5 }),
        count: fc.integer({ min: 1, max: 2 ** 50 }),
      }),
      { selector: ({ index }) => index, maxLength: 60 },
    );
    fc.assert(
      fc.property(periods, (some) => {
        const figures = some.map(({ index, rows, count }): Figures => {
          const fold = new PeriodFold(T0 + index * MINUTE);
          for (const [time, each] of rows) fold.addReading(T0 + index * MINUTE + time, each);
          return { ...fold.figures()!, count };
        });
        const bytes = encodeFigures(figures, T0, MINUTE);
        assert.deepEqual(decodeFigures(bytes, T0, MINUTE), figures);
        assert.ok(bytes.length <= 100 + 70 * figures.length);
      }),
    );
  });

  test('of an hour of decimals take a quarter of their numbers', () => {
    const figures = Array.from({ length: 60 }, (_, minute) => {
      const fold = new PeriodFold(T0 + minute * MINUTE);
      for (let second = 0; second < 60; second += 1) {
        const value = Math.round(2000 + 300 * Math.sin((60 * minute + second) / 500)) / 100;
        fold.addReading(T0 + minute * MINUTE + second * 1_000_000, value);
      }
      return fold.figures()!;
    });
    assert.ok(encodeFigures(figures, T0, MINUTE).length < (60 * 8 * 8) / 4);
  });

  test('that are damaged, or of a later version, are an error', () => {
    const bytes = encodeFigures([figuresAt(T0)], T0, MINUTE);
    // The first byte is the version.
    for (let bit = 8; bit < 8 * bytes.length; bit += 1) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      assert.throws(() => decodeFigures(changed, T0, MINUTE), isDamaged);
    }
    assert.throws(() => decodeFigures(bytes.subarray(0, -1), T0, MINUTE), isDamaged);
    assert.throws(() => decodeFigures(Buffer.alloc(0), T0, MINUTE), isDamaged);
    assert.throws(() => decodeFigures(Buffer.from([3]), T0, MINUTE), { code: 'UNEXPECTED' });
  });

  test('of rows without columns are read', () => {
    const bytes = Buffer.from(VERSION_1, 'base64');
    const one = { time: T0 + 2 * MINUTE, count: 1, min: 7, max: 7, sum: 7, first: 7, last: 7 };
    assert.deepEqual(decodeFigures(bytes, T0, MINUTE), [
      figuresAt(T0),
      { ...one, firstTime: T0 + 2 * MINUTE + 300, lastTime: T0 + 2 * MINUTE + 300 },
    ]);
    assert.throws(() => decodeFigures(bytes.subarray(0, -1), T0, MINUTE), isDamaged);
  });
});

function figuresAt(time: number): Figures {
  const fold = new PeriodFold(time);
  fold.addReading(time, 1.5);
  fold.addReading(time + 1, 2.5);
  return fold.figures()!;
}

describe('marks', () => {
  const now = T0 + 12 * HOUR + 5 * MINUTE + 1;
  const live = reading({ device: 'live', time: now });
  const late = reading({ device: 'late', time: T0 });

  test('of a live series are needed once per hour, of a late reading once per minute', () => {
    const marker = new Marker();
    const counts: number[] = [];
    for (let minute = 0; minute < 50; minute += 1) {
      for (const each of [live, late]) {
        const { marks } = marker.needed([each, each], now + minute * MINUTE);
        marker.stored(marks);
        counts.push(marks.length);
      }
    }
    const [lives, lates] = [
      counts.filter((_, index) => index % 2 === 0),
      counts.filter((_, index) => index % 2 === 1),
    ];
    assert.deepEqual([lives.indexOf(1), lives.lastIndexOf(1)], [0, 0]);
    assert.ok(lates.every((count) => count === 1));
  });

  test('of new series and of the past are counted, and those of later hours of a series are not', () => {
    const marker = new Marker();
    const unexpected = (batch: ReturnType<typeof reading>[], at: number) => {
      const needed = marker.needed(batch, at);
      marker.stored(needed.marks);
      return needed.unexpected;
    };
    assert.equal(unexpected([live, live, late], now), 2);
    assert.equal(unexpected([live, { ...live, metric: 'other' }], now), 1);
    const next = { ...live, time: now + HOUR };
    assert.equal(unexpected([next], now + HOUR), 0);
    const past = Array.from({ length: 10 }, (_, n) => ({ ...live, time: T0 - n * HOUR }));
    assert.equal(unexpected(past, now + HOUR), 10);
  });

  test('are due some time after the hour, and after the minute of the write', () => {
    const { marks } = new Marker().needed([live, late], now);
    const [ofLive, ofLate] = marks;
    assert.equal(ofLive!.due, T0 + 13 * HOUR + SLACK_US);
    assert.equal(ofLate!.due, T0 + 12 * HOUR + 6 * MINUTE + SLACK_US);
  });

  test('of a client with very many are due one after the other, and those of others before', () => {
    const marker = new Marker();
    const flood = (time: number) =>
      Array.from({ length: 5000 }, (_, n) => reading({ device: `greedy/${n}`, time }));
    const dues = (batch: Parameters<Marker['needed']>[0], at = now) =>
      marker.needed(batch, at).marks.map(({ due }) => due);
    const usual = T0 + 12 * HOUR + 6 * MINUTE + SLACK_US;
    assert.deepEqual(
      dues(flood(T0)),
      Array.from({ length: 5000 }, (_, n) => usual + n * 10_000),
    );
    assert.equal(dues(flood(T0 + HOUR), now + 1)[0], usual + 5000 * 10_000);
    assert.deepEqual(dues([late, { ...late, device: 'honest/a' }]), [usual, usual]);
    assert.deepEqual(dues([{ ...live, device: 'greedy/0' }]), [T0 + 13 * HOUR + SLACK_US]);
    // The clock was two minutes ahead.
    const earlier = now - 2 * MINUTE;
    assert.deepEqual(dues([{ ...late, device: 'greedy/0' }], earlier), [usual - 2 * MINUTE]);
  });

  test('are always due later than the end of a write plus the difference of clocks', () => {
    const times = fc.array(fc.tuple(fc.integer({ min: 0, max: 4 * HOUR }), fc.integer({ min: 0, max: 3 })), {
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(
        times,
        fc.array(fc.integer({ min: -HOUR, max: HOUR }), { maxLength: 40 }),
        (some, steps) => {
          const marker = new Marker();
          const stored = new Map<number, number>();
          let clock = T0 + 3 * HOUR;
          for (const [index, [time, device]] of some.entries()) {
            clock += steps[index] ?? 1;
            const each = reading({ device: `${device}`, time: T0 + time });
            const { marks, validUntil } = marker.needed([each], clock);
            for (const mark of marks) stored.set(Number(mark.device) * DAY + mark.hour, mark.due);
            marker.stored(marks);
            const due = stored.get(device * DAY + Math.floor(each.time / HOUR) * HOUR)!;
            assert.ok(validUntil >= clock);
            assert.ok(due >= validUntil + SKEW_US);
          }
        },
      ),
    );
  });

  test('are written again if the write took longer than they are good for', async () => {
    let clock = T0 + DAY;
    const store = await openStore(`sqlite:${join(folder, 'slow.db')}`, { clock: () => clock });
    const device = freshDevice();
    await store.readings.write([reading({ device })]);
    // A clock that passes ten minutes with each look at it makes every write slow.
    clock += HOUR;
    assert.equal((await store.rollups.work()).hours, 1);
    await store.close();
    const slow = await openStore(`sqlite:${join(folder, 'slow.db')}`, {
      clock: () => (clock += 10 * MINUTE),
    });
    await slow.readings.write([reading({ device, value: 2 })]);
    const end = clock;
    await slow.close();
    const db = new DatabaseSync(join(folder, 'slow.db'));
    const { due } = db.prepare('select due from tidegauge_marks').get()!;
    db.close();
    assert.ok((due as number) > end + SKEW_US);
  });
});

test('a piece of work that was stopped for long marks the hours of its day again', async () => {
  let step = 0;
  let clock = T0 + 2 * DAY;
  const read = () => (clock += step);
  const store = await openStore(`sqlite:${join(folder, 'stopped.db')}`, { clock: read });
  const device = freshDevice();
  await store.readings.write([reading({ device }), reading({ device, time: T0 + HOUR })]);
  clock += HOUR;
  step = MINUTE / 4;
  await store.rollups.work();
  assert.equal((await store.rollups.status()).marks, 24);
  clock += HOUR;
  step = 0;
  while ((await store.rollups.work()).more);
  assert.equal((await store.rollups.status()).marks, 0);
  const query = { device, metric: 'temperature', from: T0, to: T0 + DAY, bucket: DAY };
  const { buckets, sources } = await store.readings.aggregate(query);
  assert.deepEqual([sources, buckets[0]?.count], [['day'], 2]);
  await store.close();
});

test('a damaged series does not keep the rollups of others', async () => {
  let clock = T0 + DAY;
  const path = join(folder, 'damaged-series.db');
  const store = await openStore(`sqlite:${path}`, { clock: () => clock });
  await store.readings.write(['bad', 'good'].map((device) => reading({ device })));
  const db = new DatabaseSync(path);
  db.exec(`insert into tidegauge_blocks (series, first, last, count, data)
    select id, ${T0 + 1}, ${T0 + 2}, 2, zeroblob(40) from series where device = 'bad'`);
  clock += HOUR;
  const { hours, damage } = await store.rollups.work();
  assert.equal(hours, 1);
  assert.match(damage!.message, /block \d+ of readings/);
  assert.equal((await store.rollups.work()).damage, null, 'it waits for an hour');
  assert.equal((await store.rollups.status()).marks, 1);
  db.exec('delete from tidegauge_blocks');
  db.close();
  clock += HOUR;
  assert.equal((await store.rollups.work()).hours, 1);
  await store.close();
});

describe('damaged rollups of a SQLite file', () => {
  const path = join(folder, 'damaged-rollups.db');
  const url = `sqlite:${path}`;
  const damage = (periods: string) => {
    const db = new DatabaseSync(path);
    db.exec(
      `update tidegauge_rollups set figures = cast(figures || x'00' as blob) where period in (${periods})`,
    );
    db.close();
  };
  const unitsOf = async (takesOut: boolean) => {
    const units: string[] = [];
    for await (const { unit } of (await checkStore(url, async () => {}, { takesOut }))!) units.push(unit);
    return units;
  };
  let clock = T0;
  let store: Store;
  const chart = async (bucket: number) => {
    const query = { device: 'a', metric: 'temperature', from: T0, to: T0 + DAY, bucket };
    const { buckets, sources } = await store.readings.aggregate(query);
    return { sources, buckets };
  };

  test('are found, and computed again after they were taken out', async () => {
    store = await openStore(url, { clock: () => clock });
    const times = Array.from({ length: 24 * 6 }, (_, index) => T0 + index * 10 * MINUTE);
    await store.readings.write(times.map((time) => reading({ device: 'a', time })));
    clock = T0 + 2 * DAY;
    await store.rollups.work();
    assert.deepEqual(await unitsOf(false), []);
    const before = [await chart(MINUTE), await chart(HOUR), await chart(DAY)];
    damage("'minute', 'hour', 'day'");
    await assert.rejects(chart(DAY), isDamaged);
    const found = await unitsOf(false);
    assert.equal(found.length, 26);
    assert.ok(found.includes(`rollups by day of a temperature from ${new Date(T0 / 1000).toISOString()}`));
    assert.equal((await unitsOf(true)).length, 26);
    clock = Math.max(clock, Date.now() * 1000) + MINUTE;
    await store.rollups.work();
    assert.deepEqual([await chart(MINUTE), await chart(HOUR), await chart(DAY)], before);
  });

  test('whose readings have expired leave all longer ones as they are', async () => {
    await store.readings.expire(T0 + DAY);
    for (const [period, rows, bucket] of [
      ['minute', 24, HOUR],
      ['hour', 1, DAY],
    ] as const) {
      const before = await chart(bucket);
      damage(`'${period}'`);
      assert.equal((await unitsOf(true)).length, rows);
      clock += HOUR;
      await store.rollups.work();
      assert.deepEqual(await chart(bucket), before);
    }
    await store.close();
  });
});

describe('the plan of an aggregate', () => {
  const spanOf = fc.integer({ min: 0, max: 3 * DAY }).map((time) => T0 + time);
  const bucket = fc.constantFrom(
    1000,
    MINUTE,
    5 * MINUTE,
    HOUR,
    90 * MINUTE,
    6 * HOUR,
    DAY,
    Number.MAX_SAFE_INTEGER,
  );
  const limit = fc.oneof(fc.constant(0), spanOf);
  const limits = fc.record({ raw: limit, minute: limit, hour: limit, day: limit });
  const marks = fc.uniqueArray(fc.integer({ min: 0, max: 71 }), { maxLength: 40 }).map((hours) =>
    hours.map((hour) => ({
      device: 'a',
      metric: 'm',
      hour: T0 + hour * HOUR,
      due: 0,
      erased: hour % 7 === 0,
    })),
  );

  test('covers the query once, and uses rollups only where they are exact', () => {
    const property = fc.property(spanOf, spanOf, bucket, limits, marks, (a, b, length, some, changed) => {
      const query = { from: Math.min(a, b), to: Math.max(a, b), bucket: length };
      const { tables, raw } = planOf(query, { marks: changed, limits: some, unknown: [] });
      const all: Span[] = [...tables, ...raw].sort((x, y) => x.from - y.from);
      let next = query.from;
      for (const { from, to } of all) {
        assert.equal(from, next);
        assert.ok(to > from);
        next = to;
      }
      assert.equal(next, query.to);
      const isOne = Math.floor(query.from / length) === Math.floor((query.to - 1) / length);
      for (const { period, from, to } of tables) {
        assert.equal(from % PERIOD_US[period], 0);
        assert.equal(to % PERIOD_US[period], 0);
        assert.ok(isOne || length % PERIOD_US[period] === 0);
        assert.ok(from >= some[period]);
        for (const { hour, erased } of changed)
          assert.ok(
            (hour < some.raw && !erased) || hour + HOUR <= from || hour >= to,
            'a changed hour is read from a table',
          );
      }
    });
    fc.assert(property);
  });

  test('reads many changed hours as one span of readings', () => {
    const changed = Array.from({ length: 40 }, (_, index) => ({
      device: 'a',
      metric: 'm',
      hour: T0 + index * 2 * HOUR,
      due: 0,
      erased: false,
    }));
    const query = { from: T0 - DAY, to: T0 + 30 * DAY, bucket: DAY };
    const { raw } = planOf(query, { marks: changed, limits: NONE, unknown: [] });
    assert.deepEqual(raw, [{ from: T0, to: T0 + 79 * HOUR }]);
  });

  test('subtracts spans that overlap', () => {
    const holes = [
      { from: 1, to: 5 },
      { from: 2, to: 3 },
      { from: 8, to: 20 },
    ];
    assert.deepEqual(
      subtract(
        [
          { from: 0, to: 6 },
          { from: 7, to: 9 },
        ],
        holes,
      ),
      [
        { from: 0, to: 1 },
        { from: 5, to: 6 },
        { from: 7, to: 8 },
      ],
    );
  });
});

test('a scope selects a device and the devices below it', () => {
  const device = (name: string) => ({ device: name, metric: 'm' });
  assert.ok(isInScope(device('site-3'), { devices: 'site-3' }));
  assert.ok(isInScope(device('site-3/a'), { devices: 'site-3' }));
  assert.ok(!isInScope(device('site-30'), { devices: 'site-3' }));
  assert.ok(!isInScope(device('site-3'), { devices: 'site-3', metric: 'n' }));
  assert.ok(isInScope(device('site-3'), {}));
});

describe('a store with readings from before its rollups', () => {
  test('reads days that were never rolled up from the readings, and whole days afterwards', async () => {
    const path = join(folder, 'older.db');
    const clock = () => T0 + 10 * DAY;
    const device = freshDevice();
    const first = await openStore(`sqlite:${path}`, { clock });
    await first.readings.write(
      series(device, 300).map((each) => ({ ...each, time: T0 + (each.time - T0) * 600 })),
    );
    await first.close();
    const db = new DatabaseSync(path);
    db.exec(`delete from tidegauge_marks; update tidegauge_state set value = '{"since":${T0 + 5 * DAY}}'`);
    db.close();

    let now = T0 + 10 * DAY;
    const store = await openStore(`sqlite:${path}`, { clock: () => now });
    const query = { device, metric: 'temperature', from: T0, to: T0 + 3 * DAY, bucket: DAY };
    const counts = async () => {
      const { buckets, sources } = await store.readings.aggregate(query);
      return [sources, buckets.map(({ count }) => count)];
    };
    assert.deepEqual(await counts(), [['raw'], [144, 144, 12]]);
    await store.readings.write([reading({ device, time: T0 + DAY + 1 })]);
    assert.deepEqual(await counts(), [['raw'], [144, 145, 12]]);
    now += HOUR;
    await store.rollups.work();
    assert.deepEqual(await counts(), [
      ['raw', 'day'],
      [144, 145, 12],
    ]);
    await store.close();
  });

  test('computes all older days in bounded pieces, also after a restart', async () => {
    const path = join(folder, 'backfill.db');
    const days = 450;
    const since = T0 + 500 * DAY;
    const [device, other] = [freshDevice(), freshDevice()];
    const first = await openStore(`sqlite:${path}`, { clock: () => T0 });
    const rows = Array.from({ length: days }, (_, day) => [
      reading({ device, time: T0 + day * DAY, value: day }),
      reading({ device, time: T0 + day * DAY + 5 * HOUR, value: 1 }),
      ...(day % 2 === 0
        ? [reading({ device: other, metric: 'm', time: T0 + day * DAY, value: 'text' })]
        : []),
    ]).flat();
    await first.readings.write(rows);
    await first.close();
    const db = new DatabaseSync(path);
    db.exec(`delete from tidegauge_marks; update tidegauge_state set value = '{"since":${since}}'`);
    db.close();

    let now = since - 1;
    let store = await openStore(`sqlite:${path}`, { clock: () => now });
    const charted = async () => {
      const query = { device, metric: 'temperature', from: T0, to: since, bucket: DAY };
      const { buckets, sources } = await store.readings.aggregate(query);
      assert.deepEqual(
        buckets.map(({ count, sum }) => [count, sum]),
        Array.from({ length: days }, (_, day) => [2, day + 1]),
      );
      return sources;
    };
    // Processes that do not mark their readings can still run.
    assert.equal((await store.rollups.work()).more, false);
    assert.equal((await store.rollups.status()).marks, 0);
    now = since;
    let pieces = 0;
    while ((await store.rollups.work()).more) {
      pieces += 1;
      // One of them can be that of the late reading below.
      assert.ok((await store.rollups.status()).marks <= 201);
      assert.ok((await charted()).length > 0);
      // A reading of an older day that is written meanwhile counts.
      if (pieces === 2) await store.readings.write([reading({ device, time: T0, value: 0 })]);
      await store.close();
      store = await openStore(`sqlite:${path}`, { clock: () => now });
    }
    assert.ok(pieces > 5, `${pieces} pieces`);
    // The mark of the late reading keeps it from being complete.
    now += HOUR;
    while ((await store.rollups.work()).more);
    await store.rollups.work();
    assert.deepEqual(await charted(), ['day']);
    assert.equal((await store.rollups.status()).marks, 0);
    const hours = await store.rollups.read({
      device,
      metric: 'temperature',
      period: 'hour',
      from: T0,
      to: T0 + 20 * DAY,
    });
    assert.equal(hours.rollups.length, 40);
    await store.close();
  });

  test('is refused with a damaged state', async () => {
    const path = join(folder, 'damaged.db');
    const store = await openStore(`sqlite:${path}`);
    const db = new DatabaseSync(path);
    db.exec(`update tidegauge_state set value = '{'`);
    db.close();
    const query = { device: 'a', metric: 'm', from: 0, to: 1, bucket: 1 };
    await rejection(store.readings.aggregate(query), 'UNEXPECTED');
    await store.close();
  });
});
