import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  fieldsOf,
  fieldText,
  fieldTime,
  instantOf,
  shifted,
  tickLabels,
  ticksOf,
} from '../../public/zoned-time.js';

const HOUR = 3_600_000;
/** Among them: half and quarter hours, a clock change of half an hour, and one at midnight. */
const zones = fc.constantFrom(
  'UTC',
  'Europe/Lisbon',
  'America/New_York',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'America/Sao_Paulo',
);
const seconds = fc.integer({ min: Date.UTC(1990, 0) / 1000, max: Date.UTC(2037, 0) / 1000 });
const texts = (times: readonly number[]) => times.map((time) => new Date(time).toISOString().slice(0, 16));

test('the clocks show the same fields after a time was made from them', () => {
  fc.assert(
    fc.property(seconds, zones, (second, zone) => {
      const fields = fieldsOf(1000 * second, zone);
      assert.deepEqual(fieldsOf(instantOf(fields, zone), zone), fields);
      assert.equal(fieldTime(fieldText(1000 * second, zone), zone), instantOf(fields, zone));
    }),
  );
  assert.equal(fieldTime('', 'UTC'), null);
});

test('a time that the clocks omit becomes a later one', () => {
  for (const [zone, fields, utc] of [
    ['Europe/Lisbon', [2026, 3, 29, 1, 30], '2026-03-29T01:30'],
    ['America/New_York', [2026, 3, 8, 2, 30], '2026-03-08T07:30'],
    ['America/Sao_Paulo', [2018, 11, 4], '2018-11-04T03:00'],
    ['Pacific/Apia', [2011, 12, 30], '2011-12-30T10:00'],
  ] as const) {
    assert.deepEqual(texts([instantOf(fields, zone)]), [utc], zone);
  }
});

test('days and years before are calendar days and years', () => {
  const noon = Date.UTC(2026, 2, 29, 11);
  assert.equal(shifted(noon + 7, 'Europe/Lisbon', { days: -1 }), Date.UTC(2026, 2, 28, 12) + 7);
  assert.equal(shifted(Date.UTC(2024, 1, 29), 'UTC', { years: -1 }), Date.UTC(2023, 2, 1));
});

test('ticks are at round times of the clocks, ascending and within the range', () => {
  fc.assert(
    fc.property(
      seconds,
      fc.integer({ min: 60, max: 40 * 366 * 86_400 }),
      fc.integer({ min: 2, max: 20 }),
      zones,
      (second, length, most, zone) => {
        const [from, to] = [1000 * second, 1000 * (second + length)];
        const { unit, times } = ticksOf(from, to, most, zone);
        assert.ok(times.length <= most + 4, `${times.length} ticks`);
        for (const [index, time] of times.entries()) {
          assert.ok(time >= from && time <= to && (index === 0 || time > times[index - 1]!));
          const [, month, day, hour, minute, second] = fieldsOf(time, zone);
          if (unit !== 'second') assert.equal(second, 0);
          if (unit !== 'second' && unit !== 'minute') assert.equal(minute, 0);
          // A day can begin at one o'clock, and after a day that a zone omitted.
          if (['day', 'month', 'year'].includes(unit)) assert.ok(hour <= 1);
          if (unit === 'month') assert.equal(day, 1);
          if (unit === 'year') assert.deepEqual([month, day], [1, 1]);
        }
      },
    ),
  );
});

test('ticks follow the clocks over the days in which they change', () => {
  const from = Date.UTC(2026, 9, 24, 23);
  const hours = ticksOf(from, from + 25 * HOUR, 26, 'Europe/Lisbon');
  assert.deepEqual(
    hours.times,
    Array.from({ length: 26 }, (_, n) => from + n * HOUR),
  );
  // 00:00, 03:00, 06:00 and so on, in a day of 23 hours.
  const spring = Date.UTC(2026, 2, 29);
  assert.deepEqual(texts(ticksOf(spring, spring + 9 * HOUR, 4, 'Europe/Lisbon').times), [
    '2026-03-29T00:00',
    '2026-03-29T02:00',
    '2026-03-29T05:00',
    '2026-03-29T08:00',
  ]);
  const days = ticksOf(Date.UTC(2026, 9, 23, 12), Date.UTC(2026, 9, 27, 12), 5, 'Europe/Lisbon');
  assert.deepEqual(texts(days.times), [
    '2026-10-23T23:00',
    '2026-10-24T23:00',
    '2026-10-26T00:00',
    '2026-10-27T00:00',
  ]);
});

test('a label at midnight is a date, and one in January a year', () => {
  const midnight = Date.UTC(2026, 10, 21);
  const [before, date] = tickLabels({ unit: 'hour', times: [midnight - HOUR, midnight] }, 'UTC');
  assert.match(before!, /\d:00/);
  assert.doesNotMatch(date!, /:/);
  const months = tickLabels({ unit: 'month', times: [Date.UTC(2025, 11), Date.UTC(2026, 0)] }, 'UTC');
  assert.match(months[1]!, /2026/);
  assert.doesNotMatch(months[0]!, /2025/);
});
