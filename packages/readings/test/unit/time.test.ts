import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { formatTime, MAX_TIME, now, parseTime, timeQuality } from '@tidegauge/readings';
import fc from 'fast-check';
import { parseSensorTime } from '../../src/time.ts';

const NOON = Date.UTC(2026, 10, 21, 12) * 1000;

describe('a time', () => {
  it('has a unit that follows from its size when it is a number', () => {
    assert.equal(parseTime(1795262400), 1795262400_000000);
    assert.equal(parseTime(1795262400.000123), 1795262400_000123);
    assert.equal(parseTime(1795262400123), 1795262400_123000);
    assert.equal(parseTime(1795262400123.25), 1795262400_123250);
    assert.equal(parseTime(1795262400123456), 1795262400_123456);
    assert.equal(parseTime(Number('1795262400123456789')), 1795262400_123457);
  });

  it('changes its unit exactly at 1e11, 1e14 and 1e17', () => {
    assert.equal(parseTime(99_999_999_999), null, 'seconds, and beyond 2255');
    assert.equal(parseTime(1e11), 1e14);
    assert.equal(parseTime(99_999_999_999_999), null, 'milliseconds, and beyond 2255');
    assert.equal(parseTime(1e14), 1e14);
    assert.equal(parseTime(99_999_999_999_999_984), null, 'microseconds, and beyond 2255');
    assert.equal(parseTime(1e17), 1e14);
  });

  it('of zero is the epoch, as boards without a clock send it', () => {
    assert.equal(parseTime(0), 0);
  });

  it('is read from ISO 8601 with Z, with an offset, with a comma, and with a space instead of T', () => {
    for (const text of [
      '2026-11-21T12:00:00Z',
      '2026-11-21t12:00:00z',
      '2026-11-21 12:00:00.000000000Z',
      '2026-11-21T12:00Z',
      '2026-11-21T13:30:00+01:30',
      '2026-11-21T10:00:00-0200',
      '2026-11-22T02:00:00,0+14',
      '2026-11-22T11:59:00+23:59',
    ]) {
      assert.equal(parseTime(text), NOON, text);
    }
    assert.equal(parseTime('1970-01-01T00:00:00Z'), 0);
    assert.equal(parseTime('2026-11-21T23:59:59Z'), NOON + (12 * 3600 - 1) * 1e6);
    assert.equal(parseTime(formatTime(MAX_TIME)), MAX_TIME);
  });

  it('is UTC when it is ISO 8601 without a zone', () => {
    assert.equal(parseTime('2026-11-21T12:00:00'), NOON);
  });

  it('keeps six decimals of up to nine', () => {
    assert.equal(parseTime('2026-11-21T12:00:00.123456789Z'), NOON + 123456);
    assert.equal(parseTime('2026-11-21T12:00:00.5Z'), NOON + 500000);
    assert.equal(parseTime('2026-11-21T12:00:00.0000000001Z'), null);
  });

  it('accepts leap days, and refuses days and hours that do not exist', () => {
    assert.equal(parseTime('2024-02-29T00:00:00Z'), Date.UTC(2024, 1, 29) * 1000);
    for (const text of [
      '2026-02-29T00:00:00Z',
      '2026-13-01T00:00:00Z',
      '2026-00-10T00:00:00Z',
      '2026-01-01T24:00:00Z',
      '2026-01-01T00:60:00Z',
      '2026-01-01T00:00:60Z',
      '2026-01-01T00:00:00+24:00',
      '2026-01-01T00:00:00+01:60',
      'x2026-01-01T00:00:00Z',
    ]) {
      assert.equal(parseTime(text), null, text);
    }
  });

  it('is refused when it is negative, infinite, too late or not a time', () => {
    const refused = [-1, -0.001, Number.NaN, Infinity, -Infinity, 1e300, 2.5e20, MAX_TIME * 1e4];
    for (const value of refused) assert.equal(parseTime(value), null, String(value));
    for (const value of [null, undefined, true, {}, [], 5n, '', ' ', 'now', '1795262400', '2026-11-21']) {
      assert.equal(parseTime(value), null, String(value));
    }
    for (const text of ['9999-12-31T23:59:59Z', '1969-12-31T23:59:59Z', '0099-01-01T00:00:00Z']) {
      assert.equal(parseTime(text), null, text);
    }
    assert.equal(parseTime('1'.repeat(1_000_000)), null);
  });

  it('is the same to the microsecond after it was written and read', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: MAX_TIME }), (time) => {
        assert.equal(parseTime(formatTime(time)), time);
      }),
    );
  });

  it('in seconds with fractions is exact to the microsecond for the next century', () => {
    const micros = fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) * 1000 });
    fc.assert(
      fc.property(micros, (time) => {
        assert.equal(parseTime(time / 1e6), time);
      }),
    );
  });

  it('is an integer within bounds, or null, for any value', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.double(), fc.string()), (value) => {
        const time = parseTime(value);
        assert.ok(time === null || (Number.isSafeInteger(time) && time >= 0));
      }),
    );
  });
});

test('the time of a sensor is no number of milliseconds before 1980, which is the digits of a date', () => {
  const begin = Date.UTC(1980, 0, 1);
  for (const digits of [1e11, 202611262200, 261126220000, begin - 1])
    assert.equal(parseSensorTime(digits), null, `${digits}`);
  for (const value of [0, 1795262400, 1e11 - 1, begin, 1795262400123, '1970-01-01T00:00:00Z', 'x', null])
    assert.equal(parseSensorTime(value), parseTime(value), `${value}`);
  assert.equal(parseSensorTime(begin), begin * 1000);
});

describe('the quality of a time', () => {
  it('is unsynced before the year 2000, when the board had no clock yet', () => {
    assert.equal(timeQuality(0, NOON), 'unsynced');
    assert.equal(timeQuality(Date.UTC(2000, 0, 1) * 1000 - 1, NOON), 'unsynced');
    assert.equal(timeQuality(Date.UTC(2000, 0, 1) * 1000, NOON), 'ok');
  });

  it('is skewed when it is more than the tolerance ahead of the receiver, and ok for any delay', () => {
    assert.equal(timeQuality(NOON + 60_000_000, NOON), 'ok');
    assert.equal(timeQuality(NOON + 60_000_001, NOON), 'skewed');
    assert.equal(timeQuality(NOON + 2, NOON, 1), 'skewed');
    assert.equal(timeQuality(NOON - 365 * 86_400e6, NOON), 'ok');
  });
});

test('the current time is within the millisecond of the system clock, also after a step', (t) => {
  const real = Date.now;
  t.after(() => {
    Date.now = real;
  });
  for (const step of [0, 3_600_000, -3_600_000, 0.5]) {
    Date.now = () => Math.floor(real() + step);
    const before = Date.now() * 1000;
    const time = now();
    assert.ok(Number.isSafeInteger(time) && time >= before && time < Date.now() * 1000 + 1000, `${step}`);
  }
});

test('the current time stays right when this process is interrupted while it reads the clocks', (t) => {
  const origin = performance.timeOrigin * 1000;
  let clock = Math.ceil(origin + performance.now() * 1000);
  let interruption = 0;
  t.mock.method(performance, 'now', () => {
    const value = (clock - origin) / 1000;
    clock += interruption;
    return value;
  });
  t.mock.method(Date, 'now', () => Math.floor(clock / 1000));
  // At the beginning and at the end of a millisecond, the system clock corrects small differences.
  for (let step = 0; step < 1000; step += 1) {
    clock += 1001;
    now();
  }
  for (const microseconds of [400, 5400, 25_900]) {
    interruption = microseconds;
    now();
    interruption = 0;
    for (let step = 0; step < 1000; step += 1) {
      clock += 1001;
      assert.ok(Math.abs(now() - clock) <= 2, `${now() - clock} microseconds after ${microseconds}`);
    }
  }
});
