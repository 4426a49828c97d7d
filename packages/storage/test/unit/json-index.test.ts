import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { DAY, DayIndex } from '../../src/json/day-index.ts';
import { lengthOf, offsetOf, placeOf } from '../../src/json/places.ts';
import { SortedKeys } from '../../src/json/sorted-keys.ts';
import { compareText } from '../../src/merge.ts';

const TODAY = 20_778;
/** 1,500 of them are below 128 GiB. */
const OFFSET = 90_000_001;

describe('day index', () => {
  test('finds every reading for any order of arrival, and the last of equal times', () => {
    const times = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 1500 });
    fc.assert(
      fc.property(times, (arrivals) => {
        const series = new DayIndex(TODAY).series('a', 'm');
        const model = new Map<number, number>();
        arrivals.forEach((step, index) => {
          const time = TODAY * DAY + step * 215_000_007;
          series.set(time, placeOf(index * OFFSET + 1, 100));
          model.set(time, index * OFFSET + 1);
        });
        assert.equal(series.count, model.size);
        assert.equal(series.newest, Math.max(-1, ...model.keys()));
        for (const [time, offset] of model) {
          assert.equal(offsetOf(series.find(time)!), offset);
          assert.equal(series.find(time + 1), null);
        }
        series.lowerBound(0);
        const sorted = [...model].sort(([a], [b]) => a - b);
        sorted.forEach(([time, offset], index) => {
          assert.equal(series.timeAt(index), time);
          assert.equal(offsetOf(series.placeAt(index)), offset);
          assert.equal(series.lowerBound(time), index);
        });
      }),
      { numRuns: 60 },
    );
  });

  test('takes 12 bytes per reading and space to grow', () => {
    const index = new DayIndex(TODAY);
    for (let n = 0; n < 1000; n += 1) {
      const series = index.series(`device-${n % 10}`, 'm');
      series.set(TODAY * DAY + ((n * 389) % 1000) * 1000, placeOf(n * 100, 100));
    }
    assert.equal(index.count, 1000);
    assert.ok(index.bytes > 12_000 && index.bytes < 12_000 * 1.6 + 10 * 600, `${index.bytes} bytes`);
  });

  test('removes readings of a range of times, and frees the memory', () => {
    const index = new DayIndex(TODAY);
    const series = index.series('a', 'm');
    for (let n = 0; n < 1000; n += 1) series.set(TODAY * DAY + n, placeOf(n, 10));
    const before = index.bytes;
    const deletion = { from: TODAY * DAY + 50, to: TODAY * DAY + 950 };
    assert.equal(index.countIn({ ...deletion, device: 'a', metric: 'other' }), 0);
    assert.equal(index.countIn(deletion), 900);
    assert.equal(index.forget({ ...deletion, device: 'a' }), 900);
    assert.equal(index.count, 100);
    for (const gone of [50, 949]) assert.equal(series.find(TODAY * DAY + gone), null);
    for (const left of [49, 950]) assert.equal(offsetOf(series.find(TODAY * DAY + left)!), left);
    assert.ok(index.bytes < before / 3, `${index.bytes} of ${before} bytes`);
  });
});

describe('place', () => {
  test('keeps offsets up to 128 GiB and never returns a length that is too short', () => {
    const offsets = fc.integer({ min: 0, max: 2 ** 37 - 1 });
    fc.assert(
      fc.property(offsets, fc.integer({ min: 0, max: 64 * 2 ** 20 }), (offset, length) => {
        const place = placeOf(offset, length);
        assert.ok(Number.isSafeInteger(place));
        assert.equal(offsetOf(place), offset);
        assert.ok(lengthOf(place) >= length);
        assert.ok(lengthOf(place) < length + 4096);
      }),
    );
  });
});

describe('sorted keys', () => {
  test('equal a sorted array after any inserts and deletes', () => {
    const key = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 3 }), fc.nat(3000).map(String));
    const steps = fc.array(fc.tuple(fc.boolean(), key), { maxLength: 4000 });
    fc.assert(
      fc.property(steps, key, (changes, start) => {
        const keys = new SortedKeys();
        const model = new Set<string>();
        for (const [add, name] of changes) {
          if (add || name.length > 2) {
            keys.add(name);
            model.add(name);
          } else {
            keys.delete(name);
            model.delete(name);
          }
        }
        const sorted = [...model].sort(compareText);
        assert.deepEqual([...keys.from('')], sorted);
        const behind = sorted.filter((name) => compareText(name, start) >= 0);
        assert.deepEqual(keys.take(start, 20), behind.slice(0, 20));
      }),
      { numRuns: 40 },
    );
  });

  test('stay in order over many blocks', () => {
    const keys = new SortedKeys();
    const names = Array.from({ length: 10_000 }, (_, index) => `user${(index * 7919) % 10_000}`);
    for (const name of names) keys.add(name);
    for (const name of names.slice(0, 5000)) keys.delete(name);
    assert.deepEqual([...keys.from('')], names.slice(5000).sort());
  });
});
