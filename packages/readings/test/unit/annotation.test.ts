import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Annotation, annotationOf, annotationValue, MAX_TIME, type Reading } from '../../src/index.ts';

function reading(value: Reading['value'], time = 1000): Reading {
  const rest = { received: 0, boot: null, seq: null, quality: 'ok' } as const;
  return { device: 'site-3', metric: 'annotation', time, value, ...rest };
}

test('what is written is read again, for every text, end and login', () => {
  const annotations = fc.record({
    text: fc.string({ unit: 'binary' }),
    to: fc.option(fc.integer({ min: 1001, max: MAX_TIME })),
    by: fc.option(fc.string()),
  });
  fc.assert(
    fc.property(annotations, (fields) => {
      const expected: Annotation = { device: 'site-3', from: 1000, ...fields };
      assert.deepEqual(annotationOf(reading(annotationValue(fields))), expected);
    }),
  );
});

test('a text of a device is the annotation itself, and fields of other types are left out', () => {
  const read = (value: Reading['value']) => {
    const found = annotationOf(reading(value));
    return found === null ? null : [found.text, found.to, found.by];
  };
  assert.equal(read(5), null);
  for (const text of ['serviced', '', '5', '"x"', '{"note":"x"}', '{"text":5}', '[]', 'null', '{'])
    assert.deepEqual(read(text), [text, null, null]);
  assert.deepEqual(read('{"text":"x","to":"1970-01-01T00:00:00.001Z"}'), ['x', null, null]);
  assert.deepEqual(read('{"text":"x","to":"soon","by":5}'), ['x', null, null]);
  assert.deepEqual(read('{"text":"x","to":"1970-01-01T00:00:01Z","by":"k"}'), ['x', 1_000_000, 'k']);
});
