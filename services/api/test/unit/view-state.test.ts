import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  EMPTY_VIEW,
  formatView,
  LEAST_SPAN,
  pan,
  parseView,
  pinched,
  selected,
  spanOf,
  zoom,
} from '../../public/view-state.js';

const NOW = Date.UTC(2026, 10, 21, 14);
const HOUR = 3_600_000;

const word = fc.stringMatching(/^[\w.:@~-]{1,12}$/);
const device = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join('/'));
const some = <T>(item: fc.Arbitrary<T>) => fc.uniqueArray(item, { maxLength: 20, selector: JSON.stringify });
const span = fc
  .tuple(fc.integer({ min: 0, max: NOW - LEAST_SPAN }), fc.integer({ min: LEAST_SPAN, max: NOW }))
  .map(([from, length]) => ({ from, to: Math.min(from + length, NOW) }));
const range = fc.oneof(
  fc.constant({ all: true }),
  fc.integer({ min: 60, max: 1e9 }).map((seconds) => ({ last: 1000 * seconds })),
  span,
);
const view = fc.record(
  {
    series: some(fc.record({ device, metric: word }, { noNullPrototype: true })),
    groups: some(fc.record({ site: fc.string(), metric: word }, { noNullPrototype: true })),
    range,
    compare: fc.constantFrom(null, 'day', 'week', 'year'),
    zone: fc.constantFrom('local', 'utc'),
  },
  { noNullPrototype: true },
);

test('a view is the same after it was in the address', () => {
  fc.assert(fc.property(view, (shown) => assert.deepEqual(parseView(formatView(shown)), shown)));
  const series = [{ device: 'site-1/boiler/probe-1', metric: 'temperature' }];
  assert.equal(
    formatView({ ...EMPTY_VIEW, series, range: { last: 6 * HOUR }, compare: 'week', zone: 'utc' }),
    's=site-1/boiler/probe-1/temperature&last=6h&compare=week&zone=utc',
  );
  assert.equal(
    formatView({ ...EMPTY_VIEW, range: { from: NOW, to: NOW + HOUR } }),
    'from=2026-11-21T14:00:00Z&to=2026-11-21T15:00:00Z',
  );
});

test('invalid parts of an address are left out', () => {
  const bad = [
    's=x&s=/y&s=x/&g=/a&last=5q&compare=decade&zone=mars',
    'last=5s&from=yesterday&to=2026-11-21T14:00:00Z',
    'from=2026-11-21T14:00:00Z&to=2026-11-21T13:00:00Z&compare=toString',
    'from=1969-01-01T00:00:00Z&to=9999-01-01T00:00:00Z',
    '%E0%A4%A',
  ];
  for (const query of bad) assert.deepEqual(parseView(query), EMPTY_VIEW, query);
  const many = Array.from({ length: 50 }, (_, n) => `s=a/m${n}`).join('&');
  assert.equal(parseView(many).series.length, 20);
});

test('zoom, pan and selection stay between 1970 and now, and are a minute or more', () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  const factors = fc.double({ min: 0.01, max: 100, noNaN: true });
  fc.assert(
    fc.property(span, factors, share, share, (shown, factor, a, b) => {
      const results = [
        zoom(shown, factor, a, NOW),
        pan(shown, a - b, NOW),
        selected(shown, a, b, NOW),
        pinched(shown, [a, b], [b, 1 - a], NOW),
      ];
      for (const { from, to } of results) {
        assert.ok(Number.isSafeInteger(from) && Number.isSafeInteger(to));
        assert.ok(from >= 0 && to <= NOW && to - from >= LEAST_SPAN, `${from} to ${to}`);
      }
    }),
  );
});

test('the time under the pointer and under each finger stays there', () => {
  const shown = { from: NOW - 1e6, to: NOW };
  const at = ({ from, to }: { from: number; to: number }, share: number) => from + share * (to - from);
  const near = zoom(shown, 0.5, 0.3, NOW);
  assert.equal(near.to - near.from, 500_000);
  assert.ok(Math.abs(at(near, 0.3) - at(shown, 0.3)) <= 1);
  const apart = pinched(shown, [0.4, 0.6], [0.2, 0.8], NOW);
  assert.ok(Math.abs(at(apart, 0.2) - at(shown, 0.4)) <= 1);
  assert.ok(Math.abs(at(apart, 0.8) - at(shown, 0.6)) <= 1);
  assert.deepEqual(pan(shown, -0.5, NOW), { from: NOW - 1.5e6, to: NOW - 5e5 });
  assert.deepEqual(pan(shown, 0.5, NOW), shown, 'the present is the end');
  assert.deepEqual(selected(shown, 0.75, 0.25, NOW), { from: NOW - 7.5e5, to: NOW - 2.5e5 });
});

test('a range until now moves with it, and all begins with the first reading', () => {
  assert.deepEqual(spanOf({ last: HOUR }, NOW, null), { from: NOW - HOUR, to: NOW });
  assert.deepEqual(spanOf({ all: true }, NOW, 5), { from: 5, to: NOW });
  assert.deepEqual(spanOf({ all: true }, NOW, NOW), { from: NOW - LEAST_SPAN, to: NOW });
  assert.deepEqual(spanOf({ from: 1, to: HOUR }, NOW, null), { from: 1, to: HOUR });
});
