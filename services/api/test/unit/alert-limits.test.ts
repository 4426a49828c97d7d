import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { concerns, limitsOf, rounded, stepOf, withLimit } from '../../public/alert-limits.js';

test('a chart shows the limits of the rules of its metric', () => {
  const hot = { name: 'hot', metric: 't', above: 30 };
  const range = { name: 'range', metric: 't', above: 40, below: 0 };
  const rules = [hot, range, { name: 'other', metric: 'u', above: 1 }, { name: 'quiet', quiet: '5m' }];
  assert.deepEqual(limitsOf(rules, 't'), [
    { key: 'hot above', rule: hot, kind: 'above', value: 30 },
    { key: 'range above', rule: range, kind: 'above', value: 40 },
    { key: 'range below', rule: range, kind: 'below', value: 0 },
  ]);
});

test('a rule concerns its device and those below it, or all', () => {
  for (const [device, isConcerned] of [
    [undefined, true],
    ['site-3', true],
    ['site-3/a', true],
    ['site-3/a/b', false],
    ['site', false],
  ] as const)
    assert.equal(concerns({ device }, 'site-3/a'), isConcerned, device);
});

test('a moved limit keeps the rest of its rule, and the distance at which the alert ends', () => {
  const rule = { name: 'r', device: 'a', metric: 't', above: 30, clear: 28, for: '5m', severity: 'critical' };
  assert.deepEqual(withLimit(rule, 'above', 30.3), { ...rule, above: 30.3, clear: 28.3 });
  const both = { name: 'r', metric: 't', above: 30, below: 5, clear: { above: 28 } };
  assert.deepEqual(withLimit(both, 'below', 6), { ...both, below: 6 });
  assert.deepEqual(withLimit(both, 'above', 31), { ...both, above: 31, clear: { above: 29 } });
  assert.deepEqual(withLimit({ name: 'r', metric: 't', below: 0 }, 'below', -1), {
    name: 'r',
    metric: 't',
    below: -1,
  });
});

test('a step is a power of ten that divides what is shown into 20 to 200 parts, and values have no further digits', () => {
  const range = fc.tuple(
    fc.double({ min: -1e6, max: 1e6, noNaN: true }),
    fc.double({ min: 1e-3, max: 1e6, noNaN: true }),
  );
  fc.assert(
    fc.property(range, fc.double({ min: 0, max: 1, noNaN: true }), ([low, length], share) => {
      const step = stepOf(low, low + length);
      // The difference of two numbers has a rounding error.
      assert.ok(length / step >= 19.9 && length / step <= 200.1, String(step));
      const value = rounded(low + share * length, step);
      assert.ok(Math.abs(value - (low + share * length)) <= step, String(value));
      assert.ok(String(Math.abs(value)).replace(/^0?\.0*|[.]|e.*$/g, '').length <= 12);
    }),
  );
});
