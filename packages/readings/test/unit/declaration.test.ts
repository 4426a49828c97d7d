import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DecodeContext } from '@tidegauge/readings';
import { CONTEXT, decode, NAMELESS, refuse } from './helpers.ts';

type Declaration = readonly [device: string, boot: string, kept: number | null];

function declarations(format: string, payload: unknown, context: DecodeContext): readonly Declaration[] {
  const found: Declaration[] = [];
  const readings = decode(format, payload, { ...context, declared: (...each) => void found.push(each) });
  assert.deepEqual(readings, []);
  return found;
}

for (const format of ['json', 'auto']) {
  test(`${format}: boot and kept alone are a declaration, and no reading`, () => {
    const topic = { ...CONTEXT, metric: 'kept', full: 'site-3/probe-7/kept' };
    assert.deepEqual(declarations(format, { boot: 'a1', kept: 212 }, topic), [['site-3/probe-7', 'a1', 212]]);
    assert.deepEqual(declarations(format, { kept: null, boot: 7 }, topic), [['site-3/probe-7', '7', null]]);
    const several = [
      { device: 'a', boot: 'x', kept: 0 },
      { boot: 'y', device: 'b/c', kept: 2 ** 53 - 1 },
    ];
    assert.deepEqual(declarations(format, several, NAMELESS), [
      ['a', 'x', 0],
      ['b/c', 'y', 2 ** 53 - 1],
    ]);
    // A device of the payload is below that of the topic.
    assert.deepEqual(declarations(format, { device: 'other', boot: 'a', kept: 1 }, topic), [
      ['site-3/probe-7/other', 'a', 1],
    ]);
  });

  test(`${format}: with other fields, kept is a metric`, () => {
    const readings = decode(format, { boot: 'a1', seq: 3, kept: 212 });
    assert.deepEqual(
      readings.map(({ metric, value, boot, seq }) => [metric, value, boot, seq]),
      [['kept', 212, 'a1', 3]],
    );
  });
}

test('a declaration with another value is refused, with the reason', () => {
  for (const kept of [-1, 1.5, 'all', [1], 2 ** 53])
    assert.match(refuse('json', { boot: 'a1', kept }).message, /"kept" is .* a whole number/, `${kept}`);
  assert.match(refuse('json', { boot: 'a1', kept: 1 }, NAMELESS).message, /names a device/);
});
