import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatNames, formats } from '@tidegauge/readings';
import fc from 'fast-check';
import { checkDecoded } from '../check-decoded.ts';
import { cborItems, messagePackItems } from '../packed-items.ts';
import { CONTEXT, NAMELESS, RECEIVED } from './helpers.ts';

const SEEDS = [
  '21.5',
  'off',
  `{"t":${RECEIVED},"v":21.5,"boot":"a1","seq":17}`,
  '{"ts":"2026-11-21T11:59:59.25+01:00","temperature":21.5,"door":"open","on":true}',
  '[{"t":1795262400,"v":1},{"t":1795262401,"device":"pump","metric":"flow","value":2.5e-3}]',
  '[{"bn":"urn:dev:ow:10e2073a01080063:","bt":1795262300,"bu":"A","bv":1,"bver":5,"n":"voltage","u":"V","v":120.1},' +
    '{"n":"current","t":-5,"v":1.2},{"n":"label","vs":"Room"},{"n":"tag","vd":"aGkgCg"},{"n":"e","s":4}]',
  `# lines\ncpu\\,a,host=pi,b\\ c=d\\=e a=1.5,b=2i,c="x \\"y\\" \\\\",d=t ${RECEIVED}000\nmem used=1u\n`,
]
  .map((text) => Buffer.from(text))
  .concat(
    [
      '82a4211a6afd2f00200a0061610201a2016143056162a3006163060408410f',
      // A map of CBOR with an array of indefinite length, and one of MessagePack with a timestamp.
      'a36474656d70fb40358000000000006368756d18286161 9f01a16162f50aff',
      '83a474656d70cb4035800000000000a474696d65d6ff6afd2f00a161920281a162c3',
    ].map((digits) => Buffer.from(digits.replaceAll(' ', ''), 'hex')),
  );

/** Bytes that have a meaning in some format. They are used to damage payloads. */
const MEANINGFUL = Buffer.from('{}[]",:.-+eE019tfn=#\\ \n\x00\xff\xc3', 'latin1');

/** A valid payload with pieces overwritten, removed or inserted. */
const damaged = fc
  .tuple(
    fc.constantFrom(...SEEDS),
    fc.array(
      fc.record({
        at: fc.nat(400),
        cut: fc.nat(8),
        piece: fc.oneof(
          fc.subarray([...MEANINGFUL], { maxLength: 4 }),
          fc.array(fc.nat(255), { maxLength: 4 }),
          fc
            .constantFrom(
              '1e999',
              '-1e308',
              '99999999999999999999',
              'null',
              '{}',
              '"\\ud800"',
              '"__proto__":1,',
            )
            .map((text) => [...Buffer.from(text)]),
        ),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  )
  .map(([seed, changes]) =>
    changes.reduce((bytes, { at, cut, piece }) => {
      const from = at % (bytes.length + 1);
      return Buffer.concat([bytes.subarray(0, from), Buffer.from(piece), bytes.subarray(from + cut)]);
    }, seed),
  );

/** JSON with all field names and values of readings, in wrong places. */
const names = [
  't',
  'ts',
  'v',
  'value',
  'boot',
  'seq',
  'device',
  'metric',
  'readings',
  'n',
  'bn',
  'bt',
  'bver',
];
const key = fc.oneof(
  fc.constantFrom(...names, 'vs', 'vb', 'vd', 's', 'bs', 'u', 'x_', '__proto__'),
  fc.string(),
);
const leaf = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.string(),
  fc.constantFrom(RECEIVED, RECEIVED / 1e6, '2026-11-21T12:00:00Z', 'a/b', 'pump:flow'),
);
const odd = fc
  .letrec<{ node: unknown; object: unknown }>((tie) => ({
    object: fc.dictionary(key, tie('node'), { maxKeys: 5 }),
    node: fc.oneof({ depthSize: 'small' }, leaf, tie('object'), fc.array(tie('node'), { maxLength: 4 })),
  }))
  .node.map((node) => Buffer.from(JSON.stringify(node)));

const texts = fc.oneof(
  key.filter((text) => text.length < 100),
  fc.constantFrom('21.5', 'on', '2026-11-21T12:00:00Z'),
);
const packed = fc.oneof(cborItems(texts), messagePackItems(texts)).map((item) => Buffer.from(item));

const payloads = fc.oneof(
  { weight: 2, arbitrary: fc.uint8Array({ maxLength: 300 }) },
  { weight: 4, arbitrary: packed },
  { weight: 4, arbitrary: damaged },
  { weight: 4, arbitrary: odd },
);

/** Decodes a payload with every format, with and without names from a topic, and checks the rules for all formats. */
function checkAll(payload: Uint8Array, contexts = [CONTEXT, NAMELESS]): void {
  for (const name of formatNames) {
    for (const context of contexts) {
      const decoded = formats[name]!(payload, context);
      // Only the format auto ignores a payload without a value.
      checkDecoded(decoded, context, { mayBeEmpty: name === 'auto' || name === 'json' });
    }
  }
}

describe('for any bytes, a codec', () => {
  it('gives valid readings of the device of the topic or of devices below it, or a short reason', () => {
    fc.assert(
      fc.property(payloads, (payload) => checkAll(payload)),
      { numRuns: 3000 },
    );
  });

  it('gives the same result again for the same payload', () => {
    fc.assert(
      fc.property(payloads, fc.constantFrom(...formatNames), (payload, name) => {
        assert.deepEqual(formats[name]!(payload, CONTEXT), formats[name]!(payload, CONTEXT));
      }),
    );
  });

  it('does not change the payload or any prototype', () => {
    const before = Object.getOwnPropertyNames(Object.prototype).join();
    fc.assert(
      fc.property(payloads, (payload) => {
        const copy = Buffer.from(payload);
        checkAll(payload);
        assert.ok(copy.equals(payload));
      }),
      { numRuns: 300 },
    );
    assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), before);
  });

  const MB = 1 << 20;
  const records = (record: string) => `[${Array(10_000).fill(record).join()}]`;
  const large: Record<string, string | Uint8Array> = {
    'open brackets': '['.repeat(MB),
    'open objects': '{"a":'.repeat(MB / 5),
    'closed brackets': '['.repeat(MB / 2) + ']'.repeat(MB / 2),
    'nesting in a value': `{"v":${'['.repeat(MB / 2)}${']'.repeat(MB / 2)}}`,
    digits: '9'.repeat(MB),
    'digits with a flaw at the end': `${'9'.repeat(MB)}x`,
    'digits in JSON': `{"v":${'9'.repeat(MB)}x}`,
    'zeroes in a fraction': `0.${'0'.repeat(MB)}1`,
    'white space': ' '.repeat(MB),
    'an unclosed text': `"${'a'.repeat(MB)}`,
    backslashes: `"${'\\'.repeat(MB)}`,
    'a long time': `{"t":"2026-11-21T12:00:00.${'0'.repeat(MB)}Z","v":1}`,
    'a long field name': `{"${'a'.repeat(MB)}":1}`,
    'a long base name': `[{"bn":"${'a'.repeat(MB)}"},${records('{"v":1}').slice(1)}`,
    'a long device': `{"v":1,"device":"${'a/'.repeat(MB / 2)}"}`,
    'a long unit': `[{"n":"a","v":1},{"n":"a","v":1,"u":"${'%'.repeat(MB)}"}]`,
    'a long data value': `[{"n":"a","vd":"${'A'.repeat(MB)}"}]`,
    'many fields': `{${Array.from({ length: 80_000 }, (_, i) => `"m${i}":1`).join()}}`,
    'many records': `[${Array(MB / 8)
      .fill('{"v":1}')
      .join()}]`,
    'many lines': 'a,b=c d=1 \n'.repeat(MB / 11),
    'many fields of a line': `a ${Array.from({ length: MB / 9 }, (_, i) => `f${i}=1`).join()}`,
    'many tags': `a,${Array.from({ length: MB / 9 }, (_, i) => `t${i}=1`).join()} f=1`,
    'an open quote': `a b="${'x\n'.repeat(MB / 2)}`,
    'many equal records': records('{"n":"a","v":1}'),
    'nested CBOR arrays': Buffer.alloc(MB, 0x81),
    'nested CBOR maps': Buffer.alloc(MB, 0xa1),
    'a long CBOR array': Buffer.concat([Buffer.from([0x9a, 0, 0x0f, 0xff, 0]), Buffer.alloc(MB, 0x01)]),
    'an unclosed CBOR array': Buffer.concat([Buffer.from([0x9f]), Buffer.alloc(MB, 0xa0)]),
    'a CBOR text that claims more than it has': Buffer.from('81a1007bffffffffffffffff6161', 'hex'),
    'bytes that are no text': Buffer.alloc(MB, 0xff),
    'replacement characters and then no text': Buffer.concat([
      Buffer.from('\ufffd'.repeat(MB / 3)),
      Buffer.from([0xff]),
    ]),
    NULs: Buffer.alloc(MB),
  };
  for (const [name, payload] of Object.entries(large)) {
    it(`decodes or refuses a megabyte of ${name} quickly`, () => {
      const bytes = Buffer.from(payload);
      const started = performance.now();
      checkAll(bytes, [CONTEXT]);
      const each = (performance.now() - started) / formatNames.length;
      assert.ok(each < 1000, `${each.toFixed()} ms`);
    });
  }
});
