import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FrameReader } from '../../src/frames.ts';

function framed(body: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length);
  return Buffer.concat([length, body]);
}

test('frames are complete for any division of the stream into chunks', () => {
  const frames = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 10 });
  fc.assert(
    fc.property(frames, fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1 }), (bodies, cuts) => {
      const stream = Buffer.concat(bodies.map(framed));
      const reader = new FrameReader();
      const found: Buffer[] = [];
      for (let at = 0, cut = 0; at < stream.length; cut += 1) {
        const size = cuts[cut % cuts.length]!;
        found.push(...reader.push(stream.subarray(at, at + size)));
        at += size;
      }
      assert.deepEqual(
        found.map((frame) => [...frame]),
        bodies.map((body) => [...body]),
      );
    }),
  );
});

test('an invalid length is refused', () => {
  const reader = new FrameReader();
  assert.throws(() => [...reader.push(Buffer.from('HTTP/1.1 400 Bad Request'))], /a frame of \d+ bytes/);
  assert.throws(() => [...new FrameReader().push(Buffer.from([0xff, 0, 0, 0]))], /a frame of -\d+ bytes/);
});
