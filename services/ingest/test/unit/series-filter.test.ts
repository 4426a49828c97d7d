import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { isBalanced, type Reading } from '@tidegauge/readings';
import { ConfigError } from '@tidegauge/service';
import { openStore } from '@tidegauge/storage';
import fc from 'fast-check';
import { parseRoutes } from '../../src/routes-file.ts';
import { type FilterOptions, SeriesFilter } from '../../src/series-filter.ts';
import { testPipeline } from '../test-pipeline.ts';

const SECOND = 1e6;
const T0 = Date.UTC(2026, 10, 21) * 1000;

function options(fields: Partial<FilterOptions> = {}): FilterOptions {
  return { deadband: 0, deadbands: new Map(), silence: 3600 * SECOND, ...fields };
}

function reading(seconds: number, value: number | string, fields: Partial<Reading> = {}): Reading {
  const time = T0 + seconds * SECOND;
  return {
    ...{ device: 'a', metric: 'temperature', time, value, received: time + 1 },
    ...{ boot: null, seq: null, quality: 'ok' },
    ...fields,
  };
}

/** The indexes of the readings that are kept one by one. */
function kept(filter: SeriesFilter, given: FilterOptions, readings: readonly Reading[]): number[] {
  return [...readings.keys()].filter((index) => filter.keep(given, [readings[index]!]) === null);
}

describe('a filter of a route', () => {
  test('keeps the first reading of a series, and changes beyond the deadband', () => {
    const values = [20, 20.4, 20.5, 20.6, 20.2, 20.1, 20];
    const readings = values.map((value, index) => reading(index, value));
    assert.deepEqual(kept(new SeriesFilter(), options({ deadband: 0.5 }), readings), [0, 3, 6]);
    assert.deepEqual(kept(new SeriesFilter(), options(), readings), [0, 1, 2, 3, 4, 5, 6]);
    const equal = [1, 1, 0, -0, 0, 'on', 'on', 'off', 1].map((value, index) => reading(index, value));
    assert.deepEqual(kept(new SeriesFilter(), options(), equal), [0, 2, 5, 7, 8]);
  });

  test('has a deadband for each metric', () => {
    const deadbands = new Map([['humidity', 5]]);
    const both = [20, 21, 24, 26].flatMap((value, index) => [
      reading(index, value),
      reading(index, value, { metric: 'humidity' }),
    ]);
    assert.deepEqual(kept(new SeriesFilter(), options({ deadbands }), both), [0, 1, 2, 4, 6, 7]);
  });

  test('keeps a reading after the longest silence', () => {
    const readings = [0, 30, 59, 60, 90, 119, 120, 500].map((seconds) => reading(seconds, 1));
    assert.deepEqual(kept(new SeriesFilter(), options({ silence: 60 * SECOND }), readings), [0, 3, 6, 7]);
  });

  test('keeps late readings, duplicates, and readings with an unreliable time, and does not compare with them', () => {
    const readings = [
      reading(10, 1),
      reading(10, 1),
      reading(5, 1),
      reading(11, 7, { quality: 'unsynced' }),
      reading(11, 1),
      reading(9999, 1, { quality: 'skewed' }),
      reading(12, 1),
    ];
    assert.deepEqual(kept(new SeriesFilter(), options(), readings), [0, 1, 2, 3, 5]);
  });

  test('keeps the reading after one that was not stored', () => {
    const filter = new SeriesFilter();
    assert.deepEqual(kept(filter, options(), [reading(0, 1), reading(1, 1)]), [0]);
    filter.forget({ device: 'a', metric: 'temperature' });
    assert.deepEqual(kept(filter, options(), [reading(2, 1), reading(3, 1)]), [0]);
  });

  test('keeps corrections of readings that it does not know any more', () => {
    const filter = new SeriesFilter();
    // Readings of 5 s and 8 s were stored by the process before.
    const late = reading(1, 3, { received: T0 + 20 * SECOND });
    const corrections = [reading(5, 3), reading(8, 3)];
    assert.deepEqual(kept(filter, options(), [late, ...corrections, reading(21, 3)]), [0, 1, 2]);
    filter.forget({ device: 'a', metric: 'temperature' });
    const after = reading(22, 3, { received: T0 + 40 * SECOND });
    assert.deepEqual(kept(filter, options(), [after, reading(30, 3), reading(41, 3)]), [0, 1]);
    // A clock that is a year behind.
    const behind = reading(0, 3, { device: 'b', received: T0 + 365 * 86_400 * SECOND });
    const hour = [3600, 3601].map((seconds) => reading(seconds, 3, { device: 'b' }));
    assert.deepEqual(kept(filter, options({ silence: 7200 * SECOND }), [behind, ...hour]), [0, 1]);
    // The clock of ingest is half an hour behind, so its receipt does not tell how late the first reading is.
    const [first, ...others] = [0, 8, 3600, 3601].map((seconds) => reading(seconds, 3, { device: 'c' }));
    const early = { ...first!, received: T0 - 1800 * SECOND };
    assert.deepEqual(kept(filter, options({ silence: 7200 * SECOND }), [early, ...others]), [0, 1, 2]);
  });

  /** Runs a filter, and compares each reading that it leaves out with those of its series that it kept before. */
  function leavesOut(bytes: number | undefined, isFine: (out: Reading, kept: readonly Reading[]) => boolean) {
    const step = fc.record({
      seconds: fc.integer({ min: 0, max: 200 }),
      value: fc.integer({ min: 0, max: 6 }),
      device: fc.constantFrom('a', 'b', 'c'),
    });
    const given = options({ deadband: 1, silence: 50 * SECOND });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const filter = new SeriesFilter(bytes);
        const all: Reading[] = [];
        for (const { seconds, value, device } of steps) {
          const one = reading(seconds, value, { device });
          const before = all.filter((each) => each.device === device);
          if (filter.keep(given, [one]) === null) all.push(one);
          else assert.ok(isFine(one, before), JSON.stringify([one, before]));
        }
      }),
    );
  }

  const isLike = (one: Reading, other: Reading) =>
    other.time < one.time &&
    one.time - other.time < 50 * SECOND &&
    Math.abs((one.value as number) - (other.value as number)) <= 1;

  test('leaves out only readings that are like the newest one kept', () => {
    leavesOut(undefined, (one, kept) =>
      isLike(
        one,
        kept.reduce((a, b) => (b.time > a.time ? b : a)),
      ),
    );
  });

  test('leaves out only readings that are like one kept before, when it dropped state to bound its memory', () => {
    leavesOut(400, (one, kept) => kept.some((each) => isLike(one, each)));
  });
});

describe('filter in a routes file', () => {
  const filterOf = (text: string) =>
    parseRoutes(`- topic: sensors/{device+}/{metric}\n  filter: ${text}`, 'routes.yml', 'durable').routes[0]!
      .filter!;

  test('has a deadband, or one by metric, and the longest silence', () => {
    const hour = 3600 * SECOND;
    assert.deepEqual(filterOf('{}'), { deadband: 0, deadbands: new Map(), silence: hour });
    assert.deepEqual(filterOf('{deadband: 0.5, silence: 15m}'), {
      deadband: 0.5,
      deadbands: new Map(),
      silence: hour / 4,
    });
    assert.deepEqual(
      filterOf('{deadband: {temperature: 0.2, humidity: 1}}').deadbands,
      new Map([
        ['temperature', 0.2],
        ['humidity', 1],
      ]),
    );
  });

  test('is refused with the place of each mistake', () => {
    const cases: [string, RegExp][] = [
      ['change', /\[1\].filter: it must be a table with keys of deadband, silence/],
      ['{band: 1}', /routes.yml:2:12: \[1\].filter.band: band is not a key of filter/],
      ['{deadband: -1}', /\[1\].filter.deadband: it must be a number from 0 on/],
      ['{deadband: "1"}', /\[1\].filter.deadband: it must be a number from 0 on/],
      ['{deadband: .inf}', /\[1\].filter.deadband: it must be a number/],
      ['{deadband: {temperature: hot}}', /\[1\].filter.deadband.temperature: it must be a number/],
      ['{silence: 15}', /\[1\].filter.silence: 15: it is not a number with a unit: write a duration/],
      ['{silence: 30d}', /\[1\].filter.silence: "30d": it is out of range/],
    ];
    for (const [text, message] of cases)
      assert.throws(
        () => filterOf(text),
        (error) => error instanceof ConfigError && message.test(error.message),
        text,
      );
  });
});

test('filtered readings are acknowledged and counted, and the account and the sequence numbers stay complete', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'tidegauge-filter-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const store = await openStore(`sqlite:${directory}/t.db`);
  t.after(() => store.close());
  const routes = parseRoutes(
    '- topic: sensors/{device+}\n  filter: {deadband: {temperature: 1}}\n- topic: all/{device+}/{metric}',
    'routes.yml',
    'durable',
  ).routes;
  const { pipeline, quarantine } = testPipeline(store, directory, 100, routes);
  t.after(() => quarantine.close());
  let settled = 0;
  const send = (topic: string, payload: object) => {
    const bytes = Buffer.from(JSON.stringify(payload));
    const origin = { settled: () => void settled++ };
    pipeline.accept({ topic, payload: bytes, qos: 1, retain: false, size: bytes.length + 20 }, origin);
  };
  // Not before the receipt of the first reading: such readings are kept.
  const begun = Date.now() + 1000;
  for (let seq = 0; seq < 10; seq++) {
    const t = new Date(begun + seq * 1000).toISOString();
    send('sensors/a', { t, boot: 'b1', seq, temperature: 20 + seq / 4, humidity: 50 });
    send('all/b/temperature', { t, v: 20 });
  }
  await pipeline.idle();
  const counts = pipeline.accounts.counts();
  assert.ok(isBalanced(counts), JSON.stringify(counts));
  assert.equal(settled, 20);
  assert.deepEqual(counts, {
    ...{ received: 30, stored: 13, duplicate: 0, filtered: 17 },
    ...{ quarantined: 0, spooled: 0, inFlight: 0 },
  });
  const stored: unknown[] = [];
  for await (const { metric, value } of store.readings.range({ device: 'a', order: 'asc', limit: 100 }))
    stored.push([metric, value]);
  assert.deepEqual(stored, [
    ['humidity', 50],
    ['temperature', 20],
    ['temperature', 21.25],
  ]);
  const { missing, duplicates } = pipeline.sequences;
  assert.deepEqual([missing, duplicates], [0, 0]);
});
