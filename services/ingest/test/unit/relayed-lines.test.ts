import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DecodeError,
  MAX_READINGS_PER_PAYLOAD,
  MAX_TEXT_LENGTH,
  MAX_TIME,
  QUALITIES,
  type Reading,
} from '@tidegauge/readings';
import fc from 'fast-check';
import { decodeRelayed, encodeRelayed } from '../../src/relay/relayed-lines.ts';

const text = fc
  .string({ unit: 'binary', maxLength: 40 })
  .map((value) => value.toWellFormed().replaceAll('\0', ''));
const reading = fc.record(
  {
    device: fc.constantFrom('a', 'site-3/boiler', 'ä/ö:1'),
    metric: fc.constantFrom('m', 'temperature'),
    time: fc.nat({ max: MAX_TIME }),
    value: fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant(-0), text),
    received: fc.nat({ max: MAX_TIME }),
    boot: fc.option(text),
    seq: fc.option(fc.nat()),
    quality: fc.constantFrom(...QUALITIES),
  },
  { noNullPrototype: true },
) as fc.Arbitrary<Reading>;

const encoded = (...given: Parameters<typeof encodeRelayed>) => Buffer.concat([...encodeRelayed(...given)]);

test('readings are decoded as they were, with the sign of zero, texts, boots and numbers', () => {
  fc.assert(
    fc.property(fc.array(reading, { maxLength: 20 }), (readings) => {
      assert.deepEqual(decodeRelayed(encoded(readings)), readings);
    }),
  );
});

test('large batches are divided into parts that are decoded alone, and units follow a reading of their series', () => {
  const long = 'x'.repeat(MAX_TEXT_LENGTH);
  const one: Reading = {
    device: 'a',
    metric: 'm',
    time: 1,
    value: long,
    received: 2,
    boot: null,
    seq: null,
    quality: 'ok',
  };
  const readings = Array.from({ length: 100 }, (_, time) => ({ ...one, time, metric: `m${time % 3}` }));
  const units = [
    { device: 'a', metric: 'm2', unit: 'Cel' },
    { device: 'b', metric: 'm2', unit: 'V' },
  ];
  const parts = [...encodeRelayed(readings, units)];
  assert.ok(parts.length > 4 && parts.every(({ length }) => length < 80 * 1024));
  const notes: string[] = [];
  const noted = {
    unit: (...names: readonly string[]) => void notes.push(names.join(' ')),
    ignored: () => assert.fail(),
  };
  const found = parts.flatMap((part) => {
    const decoded = decodeRelayed(part, noted);
    assert.ok(!(decoded instanceof DecodeError));
    return decoded;
  });
  assert.deepEqual(found, readings);
  assert.deepEqual(notes, ['a m2 Cel']);
});

test('what no board sends is an error with its line, and never an exception', () => {
  const good = encoded([
    { device: 'a', metric: 'm', time: 1, value: 1, received: 2, boot: null, seq: null, quality: 'ok' },
  ]);
  const bad = [
    '{}',
    'null',
    '[',
    '{"unit":1}',
    '{"unit":',
    String(good).replace('"a"', '"a//b"'),
    String(good).replace('"value":1', '"value":1e999'),
    String(good).replace('"value":1', `"value":"${'x'.repeat(MAX_TEXT_LENGTH + 1)}"`),
    String(good).replace('"time":1', '"time":-1'),
  ];
  for (const line of bad) {
    const found = decodeRelayed(Buffer.concat([good, Buffer.from(line)]));
    assert.ok(found instanceof DecodeError, line);
    assert.equal(found.position, 'line 2', line);
  }
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void decodeRelayed(bytes)));
});

test('the readings of a request are bounded while they are read', () => {
  const line = encoded([
    { device: 'a', metric: 'm', time: 1, value: 1, received: 2, boot: null, seq: null, quality: 'ok' },
  ]);
  const most = Buffer.concat(Array.from({ length: MAX_READINGS_PER_PAYLOAD }, () => line));
  assert.equal((decodeRelayed(most) as readonly Reading[]).length, MAX_READINGS_PER_PAYLOAD);
  const found = decodeRelayed(Buffer.concat([most, line, Buffer.from('never read')]));
  assert.ok(found instanceof DecodeError);
  assert.equal(found.reason, 'too_many_readings');
  assert.equal(found.position, `line ${MAX_READINGS_PER_PAYLOAD + 1}`);
});
