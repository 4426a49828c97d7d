import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reading } from '@tidegauge/readings';
import fc from 'fast-check';
import { decodePart, encodePart, select } from '../../src/part.ts';

test('a part is decoded unchanged, and truncated or invalid bytes select no reading that does not exist', () => {
  const part = fc
    .array(fc.boolean(), { minLength: 1, maxLength: 200 })
    .map((meant) => ({ of: meant.length, places: [...meant.keys()].filter((place) => meant[place]) }));
  fc.assert(
    fc.property(part, (each) => {
      const encoded = encodePart(each);
      assert.equal(encoded.length, 4 + Math.ceil(each.of / 8));
      assert.deepEqual(decodePart(encoded), each);
      const places = each.places.filter((place) => place < 8);
      assert.deepEqual(decodePart(encoded.subarray(0, 5)), { of: each.of, places });
      assert.deepEqual(decodePart(encoded.subarray(0, 3)), { of: 0, places: [] });
    }),
  );
  const bytes = fc.uint8Array({ maxLength: 40 });
  const property = fc.property(bytes, (any) => {
    const { of, places } = decodePart(any);
    for (const place of places) assert.ok(place < of && place < any.length * 8);
  });
  fc.assert(property);
});

test('a part selects its readings, and all of them when the payload has another number now', () => {
  const readings = [1, 2, 3].map((value) => ({ device: 'd', metric: 'm', time: value, value }) as Reading);
  const part = { of: 3, places: [0, 2] };
  assert.deepEqual(select(readings, part), { readings: [readings[0], readings[2]], part });
  for (const none of [null, { of: 2, places: [0] }, { of: 4, places: [0] }])
    assert.deepEqual(select(readings, none), { readings, part: null });
});
