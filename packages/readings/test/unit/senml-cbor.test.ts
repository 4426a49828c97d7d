import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encode, Tagged } from 'cborg';
import fc from 'fast-check';
import { brief, CONTEXT, decode, NAMELESS, RECEIVED, refuse } from './helpers.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');
const LABELS: Readonly<Record<string, number>> = {
  bs: -6,
  bv: -5,
  bu: -4,
  bt: -3,
  bn: -2,
  bver: -1,
  n: 0,
  u: 1,
  v: 2,
  vs: 3,
  vb: 4,
  s: 5,
  t: 6,
  ut: 7,
  vd: 8,
};

/** A SenML pack in CBOR, from its JSON. */
function cbor(pack: readonly Record<string, unknown>[]): Uint8Array {
  return encode(
    pack.map(
      (record) =>
        new Map(
          Object.entries(record).map(([label, value]) => [
            LABELS[label] ?? label,
            label === 'vd' ? Buffer.from(String(value), 'base64url') : value,
          ]),
        ),
    ),
  );
}

describe('SenML in CBOR', () => {
  it('notes each label that it does not know', () => {
    const ignored: string[] = [];
    const notes = { unit() {}, ignored: (field: string) => ignored.push(field) };
    const record = new Map<unknown, unknown>([
      ...([
        [0, 'temp'],
        [2, 21],
        [99, 1],
        [-9, 1],
        ['mac', 'A'],
        [true, 1],
      ] as const),
      [Buffer.from('a'), 1],
    ]);
    assert.equal(decode('senml-cbor', encode([record]), { ...CONTEXT, notes }).length, 1);
    assert.deepEqual(ignored.sort(), ['(label)', '-9', '99', 'mac', 'true']);
  });

  it('reads the example of RFC 8428, section 6, as its JSON in section 5.1.2', () => {
    const example = hex(`
      87 a7 21 78 1b 75 72 6e 3a 64 65 76 3a 6f 77 3a 31 30 65 32 30 37 33 61 30 31 30 38 30 30 36 3a
      22 fb 41 d3 03 a1 5b 00 10 62 23 61 41 20 05 00 67 76 6f 6c 74 61 67 65 01 61 56 02 fb 40 5e 06
      66 66 66 66 66 a3 00 67 63 75 72 72 65 6e 74 06 24 02 fb 3f f3 33 33 33 33 33 33 a3 00 67 63 75
      72 72 65 6e 74 06 23 02 fb 3f f4 cc cc cc cc cc cd a3 00 67 63 75 72 72 65 6e 74 06 22 02 fb 3f
      f6 66 66 66 66 66 66 a3 00 67 63 75 72 72 65 6e 74 06 21 02 f9 3e 00 a3 00 67 63 75 72 72 65 6e
      74 06 20 02 fb 3f f9 99 99 99 99 99 9a a3 00 67 63 75 72 72 65 6e 74 06 00 02 fb 3f fb 33 33 33
      33 33 33`);
    const json =
      '[{"bn":"urn:dev:ow:10e2073a0108006:","bt":1.276020076001e+09,"bu":"A","bver":5,"n":"voltage","u":"V","v":120.1},' +
      '{"n":"current","t":-5,"v":1.2},{"n":"current","t":-4,"v":1.3},{"n":"current","t":-3,"v":1.4},' +
      '{"n":"current","t":-2,"v":1.5},{"n":"current","t":-1,"v":1.6},{"n":"current","v":1.7}]';
    const readings = decode('senml-cbor', example, NAMELESS);
    assert.equal(readings.length, 7);
    assert.deepEqual(readings, decode('senml-json', json, NAMELESS));
    assert.deepEqual(decode('auto', example, NAMELESS), readings);
  });

  it('reads every type of value', () => {
    const pack = cbor([
      { bn: 'pump/', bt: RECEIVED / 1e6, n: 'a', v: 1 },
      { n: 'b', v: -2.5 },
      { n: 'c', vs: 'ü' },
      { n: 'd', vb: true },
      { n: 'e', vd: 'aGkgCg' },
      { n: 'f', s: 3n ** 40n },
      { n: 'g', v: 2 ** 60 },
      { n: 'h', v: 1.5, x: { nested: [1, null] }, '-9': 1 },
    ]);
    assert.deepEqual(brief(decode('senml-cbor', pack, NAMELESS)), [
      ['pump', 'a', 1, 0],
      ['pump', 'b', -2.5, 0],
      ['pump', 'c', 'ü', 0],
      ['pump', 'd', 1, 0],
      ['pump', 'e', 'aGkgCg', 0],
      ['pump', 'f_sum', Number(3n ** 40n), 0],
      ['pump', 'g', 2 ** 60, 0],
      ['pump', 'h', 1.5, 0],
    ]);
    // [{2: 4([-2, 27315])}], a decimal fraction: RFC 8949, section 3.4.4.
    assert.deepEqual(brief(decode('senml-cbor', hex('81a102c48221196ab3'))), [
      [CONTEXT.device, CONTEXT.metric, 273.15, 0],
    ]);
    // A pack of indefinite length, and one with the tag of self-described CBOR.
    assert.equal(decode('senml-cbor', hex('9fbf0201ffff')).length, 1);
    assert.equal(decode('senml-cbor', hex('d9d9f781a10201')).length, 1);
    assert.equal(decode('senml-cbor', encode([new Map([['v', 1]])])).length, 1);
  });

  it('is refused with a reason when it is not valid', () => {
    const bad: [Uint8Array, string, RegExp][] = [
      [hex(''), 'empty_payload', /no bytes/],
      [hex('80'), 'empty_payload', /no measurement/],
      [hex('a10201'), 'malformed', /array of records/],
      [hex('8101'), 'malformed', /not a SenML record/],
      [hex('81a1'), 'malformed', /^not CBOR: .*at byte 2/],
      [hex('81a1020100'), 'malformed', /^not CBOR/],
      [hex('81a202010202'), 'malformed', /repeat map key/],
      [hex('81a102f6'), 'invalid_value', /"v" is null; it must be a number/],
      [hex('81a102f97e00'), 'invalid_value', /NaN|number/],
      [hex('81a102f97c00'), 'invalid_value', /Infinity/],
      [hex('81a10262c328'), 'malformed', /not UTF-8/],
      [hex('81a102c11a00000000'), 'malformed', /tag/],
      [hex('81a102c4820102'.replace('820102', '8101')), 'malformed', /decimal fraction/],
      [cbor([{ v: 1, must_: 1 }]), 'unsupported', /must_/],
      [Buffer.alloc(100_000, 0x81), 'malformed', /nested too deeply/],
      [encode(Array.from({ length: 20_000 }, () => new Map([[2, 1]]))), 'too_many_readings', /20000/],
      [
        encode([new Map([[100, Array.from({ length: 300_000 }, () => 1)]])]),
        'too_many_readings',
        /120000 values/,
      ],
    ];
    for (const [payload, reason, message] of bad) {
      const error = refuse('senml-cbor', payload);
      assert.equal(error.reason, reason, `${error}`);
      assert.match(`${error}`, message);
    }
    assert.equal(refuse('auto', encode(new Tagged(4, [1, 2]))).reason, 'malformed');
  });

  it('means the same as the same pack in JSON', () => {
    const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
    const record = fc.record(
      {
        bn: fc.constantFrom('a/', 'b:', ''),
        bt: fc.integer({ min: 0, max: 1000 }),
        n: fc.constantFrom('x', 'y', 'x y'),
        u: fc.constantFrom('Cel', '%RH'),
        v: number,
        vs: fc.string(),
        vb: fc.boolean(),
        vd: fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64url')),
        s: number,
        t: fc.integer({ min: -10, max: 10 }),
        x_: fc.integer(),
      },
      { requiredKeys: [] },
    );
    const outcome = (format: string, payload: Uint8Array | string) => {
      try {
        return decode(format, payload);
      } catch {
        return refuse(format, payload);
      }
    };
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 4 }), (pack) => {
        const json = JSON.stringify(pack);
        // JSON has no negative zero.
        const same = JSON.parse(json) as Record<string, unknown>[];
        assert.deepEqual(outcome('senml-cbor', cbor(same)), outcome('senml-json', json));
      }),
      { numRuns: 1000 },
    );
  });
});
