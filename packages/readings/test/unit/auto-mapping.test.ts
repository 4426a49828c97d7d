import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  cleanName,
  compileMapping,
  type DecodeContext,
  DecodeError,
  deviceNameProblem,
  formats,
  MAX_READINGS_PER_PAYLOAD,
  type MappingOptions,
  metricNameProblem,
  type Notes,
  type Reading,
  restoreName,
} from '@tidegauge/readings';
import fc from 'fast-check';
import { CONTEXT, NAMELESS } from './helpers.ts';

const key = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('temp', 'a', 'b.c', 'Room temp', 'name', 'unit', 'id', '°C', '') },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      't',
      'time',
      'Time',
      'ts',
      'last_seen',
      'v',
      'value',
      'device',
      'metric',
      'boot',
      'seq',
    ),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 12 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('__proto__', 'constructor', 'toString', 'length', 'n', 'readings'),
  },
);
const leaf = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.string({ maxLength: 20 }),
  fc.constantFrom(
    '21.5 °C',
    'ON',
    'unavailable',
    '#ff8800',
    '2026-11-21T12:00:00Z',
    '2026-11-21 12:00:00',
    1_795_000_000,
  ),
);
const json = fc.letrec<{ node: unknown; object: unknown }>((tie) => ({
  object: fc.dictionary(key, tie('node'), { maxKeys: 6 }),
  node: fc.oneof({ depthSize: 'small' }, leaf, tie('object'), fc.array(tie('node'), { maxLength: 4 })),
})).node;

const contexts = fc.constantFrom<DecodeContext>(CONTEXT, NAMELESS, { ...NAMELESS, device: 'hub' });
const mappings = fc.constantFrom<MappingOptions>(
  {},
  { device: '{device}/{id|name|}', metric: '{field}_x', time: { zone: 'Europe/Berlin' } },
  { records: ['a', 'b.*', '*'], device: 'd/{key}', value: 'value', metric: '{name|key}' },
  { time: { field: ['Time', 'a.b', '{temp} {a}'], zone: 'unknown' }, keep: ['a*', 't*'], drop: ['*.c'] },
  { rename: { 'a.*': '*', '*': 'x.*' }, values: { '*temp*': 'number', '*': 'state' }, scale: { '*': 0.1 } },
  { values: { a: { on: 1 }, '*': 'text' }, units: { '*': 'Cel' }, offset: { '*': 1e308 }, time: false },
);

function check(decoded: readonly Reading[] | DecodeError): void {
  if (decoded instanceof DecodeError) {
    assert.ok(decoded.message.length < 700, decoded.message);
    return;
  }
  assert.ok(decoded.length <= MAX_READINGS_PER_PAYLOAD);
  for (const { device, metric, time, value } of decoded) {
    assert.equal(deviceNameProblem(device), null);
    assert.equal(metricNameProblem(metric), null);
    assert.ok(Number.isSafeInteger(time) && time >= 0);
    assert.ok(typeof value === 'string' ? value.isWellFormed() : Number.isFinite(value));
  }
}

const bytes = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));

describe('for any payload, the format auto', () => {
  it('gives the same readings as the strict format, when that accepts it', () => {
    fc.assert(
      fc.property(json, contexts, (value, context) => {
        const payload = Buffer.from(JSON.stringify(value));
        const senml = Array.isArray(value) && formats['senml-json']!(payload, context);
        const strict = formats.json!(payload, context);
        if (strict instanceof DecodeError || (senml && !(senml instanceof DecodeError))) return;
        const auto = formats.auto!(payload, context);
        // A pack of SenML is an array whose first record has a name; then its own rules count.
        const first: unknown = Array.isArray(value) ? value[0] : null;
        if (typeof first === 'object' && first !== null && ('n' in first || 'bn' in first)) return;
        // Times with usual names, and values with a name, are read by a mapping.
        if (/"(?:Time|last_seen|name|id)":/.test(payload.toString())) return;
        assert.deepEqual(auto, strict);
      }),
      { numRuns: 3000 },
    );
    fc.assert(
      fc.property(fc.string(), contexts, (text, context) => {
        const strict = formats.plain!(Buffer.from(text), context);
        if (!(strict instanceof DecodeError))
          assert.deepEqual(formats.auto!(Buffer.from(text), context), strict);
      }),
    );
  });

  it('gives the same readings after JSON is parsed and written again', () => {
    fc.assert(
      fc.property(json, contexts, fc.nat(3), (value, context, indent) => {
        const payload = Buffer.from(JSON.stringify(value, null, indent));
        const again = Buffer.from(JSON.stringify(JSON.parse(payload.toString())));
        const strip = (decoded: readonly Reading[] | DecodeError) =>
          decoded instanceof DecodeError ? decoded.reason : decoded;
        assert.deepEqual(strip(formats.auto!(payload, context)), strip(formats.auto!(again, context)));
      }),
      { numRuns: 1000 },
    );
  });
});

describe('for any payload, a mapping', () => {
  it('gives valid readings or a short reason, and notes with short texts', () => {
    const notes: Notes = {
      unit: (device, metric, unit) => assert.ok(device !== '' && metric !== '' && unit !== ''),
      ignored: (field, why) => assert.ok(field.length <= 300 && why.length < 200, `${field}: ${why}`),
    };
    fc.assert(
      fc.property(fc.oneof(json, fc.string()), contexts, mappings, (value, context, options) => {
        check(compileMapping(options)(bytes(value), { ...context, notes }));
      }),
      { numRuns: 4000 },
    );
  });

  it('gives the same result whatever it decoded before', () => {
    fc.assert(
      fc.property(
        fc.array(json, { maxLength: 5 }),
        json,
        contexts,
        mappings,
        (before, value, context, options) => {
          const used = compileMapping(options);
          for (const other of before) used(bytes(other), context);
          assert.deepEqual(used(bytes(value), context), compileMapping(options)(bytes(value), context));
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('keeps devices of payloads below the device of the topic, unless the mapping has a template of the device', () => {
    fc.assert(
      fc.property(json, (value) => {
        const decoded = compileMapping({})(bytes(value), CONTEXT);
        if (decoded instanceof DecodeError) return;
        for (const { device } of decoded) assert.ok(`${device}/`.startsWith(`${CONTEXT.device}/`), device);
      }),
      { numRuns: 1000 },
    );
  });

  const many = (count: number, text: (index: number) => string) =>
    Array.from({ length: count }, (_, i) => text(i)).join();
  const shapes: Record<string, (size: number) => string> = {
    'fields of one object': (size) => `{"x":null,${many(size / 10, (i) => `"m${i}":1`)}}`,
    'nested objects': (size) =>
      `{"x":null,${many(size / 40, (i) => `"m${i}":{"a":{"b":{"c":[1,{"d":2}]}}}`)}}`,
    'records with nulls': (size) => `[${many(size / 30, (i) => `{"t":${i},"a":{"b":1},"c":null}`)}]`,
    'named values': (size) => `[${many(size / 30, (i) => `{"name":"n${i}","value":${i}}`)}]`,
    'a long word': (size) => 'x'.repeat(size),
    'a long number with commas': (size) => '1,234'.repeat(size / 5),
    'long texts': (size) => `{"x":null,"a":"${'1,2.'.repeat(size / 4)}"}`,
    'long names': (size) => `{"x":null,"${'a.b '.repeat(size / 4)}":{"y":1}}`,
    NaN: (size) => `[${many(size / 4, () => 'NaN')}]`,
  };
  for (const [name, make] of Object.entries(shapes)) {
    it(`takes linear time for ${name}`, () => {
      const decode = compileMapping({
        rename: { '*.*.*.*b': '*' },
        drop: ['*z*z*z*'],
        values: { '*': 'auto' },
      });
      const small = Buffer.from(make(20_000));
      const large = Buffer.from(make(320_000));
      // Processor time, because a busy machine interrupts this process.
      const timeOf = (payload: Uint8Array) => {
        const begun = process.cpuUsage();
        decode(payload, CONTEXT);
        formats.auto!(payload, CONTEXT);
        const { user, system } = process.cpuUsage(begun);
        return (user + system) / 1000;
      };
      timeOf(small);
      const least = Math.min(timeOf(small), timeOf(small), timeOf(small));
      // 16 times the size; a quadratic algorithm takes 256 times as long.
      const factor = Math.min(timeOf(large), timeOf(large)) / Math.max(least, 0.5);
      assert.ok(factor < 100, `${factor.toFixed(1)} times`);
    });
  }
});

describe('the escapes of names', () => {
  it('can be undone for any text, and give valid words', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('~', '..', 'a~20', '~~41')),
        (text) => {
          const name = cleanName(text.slice(0, 10));
          assert.equal(metricNameProblem(name.slice(0, 64)) === null || name.length > 64, true, name);
          assert.equal(restoreName(name), text.slice(0, 10).toWellFormed());
        },
      ),
      { numRuns: 3000 },
    );
  });

  it('give different names for different texts', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 6 }), fc.string({ maxLength: 6 }), (a, b) => {
        if (a !== b) assert.notEqual(cleanName(a), cleanName(b));
      }),
    );
  });
});
