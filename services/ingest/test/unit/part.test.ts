import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodePart, encodePart } from '../../src/part.ts';

test('a part is decoded unchanged, and truncated or invalid bytes select no reading that does not exist', () => {
  const part = fc
    .array(fc.boolean(), { minLength: 1, maxLength: 200 })
    .map((meant) => ({ of: meant.length, places: [...meant.keys()].filter((place) => meant[place]) }));
  fc.assert(fc.property(part, (each) => assert.deepEqual(decodePart(encodePart(each)), each)));
  const bytes = fc.uint8Array({ maxLength: 40 });
  const property = fc.property(bytes, (any) => {
    const { of, places } = decodePart(any);
    for (const place of places) assert.ok(place < of && place < any.length * 8);
  });
  fc.assert(property);
});
