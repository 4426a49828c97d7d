import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DecodeError, formats } from '@tidegauge/readings';
import fc from 'fast-check';
import { readFlatRecord } from '../../src/codecs/flat-record.ts';
import { CONTEXT, RECEIVED } from './helpers.ts';

/** What a format makes of a payload, without the position of an error. */
function outcome(format: string, payload: string): unknown {
  const decoded = formats[format]!(Buffer.from(payload), CONTEXT);
  return decoded instanceof DecodeError ? decoded.reason : decoded;
}

/**
 * A payload that begins with white space is read by the general decoder. Before what is not JSON, such as line protocol,
 * white space has a meaning.
 */
function agree(payload: string): void {
  const formats = payload.startsWith('{') ? ['json', 'auto'] : ['json'];
  for (const format of formats) assert.deepEqual(outcome(format, payload), outcome(format, ` ${payload}`));
}

const digits = fc.stringMatching(/^\d{1,18}$/);
const number = fc.oneof(
  fc.double().map((value) => JSON.stringify(value)),
  fc.integer().map(String),
  fc.maxSafeInteger().map(String),
  fc.tuple(fc.constantFrom('', '-'), digits, digits).map(([sign, whole, part]) => `${sign}${whole}.${part}`),
  fc.constantFrom(
    '0',
    '-0',
    '0.0',
    '01',
    '1.',
    '.5',
    '-',
    '1e5',
    '1E+5',
    '9007199254740993',
    '123456789012345678.5',
  ),
);
const value = fc.oneof(
  number,
  fc.constantFrom('true', 'false', 'null', '"text"', '{}', '[1]', 'truely', '""'),
  fc.string().map((text) => JSON.stringify(text)),
);
const name = fc.constantFrom(
  't',
  'time',
  'ts',
  'timestamp',
  'v',
  'value',
  'boot',
  'seq',
  'metric',
  'temperature',
  'w',
  '',
);
const space = fc.constantFrom('', '', '', ' ', '\n', '\t\r', '\u00a0');
const member = fc
  .tuple(name, value, space, space, space)
  .map(([field, text, a, b, c]) => `${a}"${field}"${b}:${c}${text}`);
const record = fc
  .tuple(fc.array(member, { maxLength: 5 }), space, space)
  .map(([members, a, b]) => `{${members.join(',')}${a}}${b}`);

describe('a flat record', () => {
  it('is read as the general decoder reads it', () => {
    fc.assert(fc.property(record, agree), { numRuns: 5000 });
  });

  it('is refused as the general decoder refuses it when bytes are damaged', () => {
    const damage = fc.record({ at: fc.nat(80), cut: fc.nat(3), text: fc.string({ maxLength: 3 }) });
    fc.assert(
      fc.property(record, damage, (payload, { at, cut, text }) => {
        const place = at % (payload.length + 1);
        agree(payload.slice(0, place) + text + payload.slice(place + cut));
      }),
      { numRuns: 5000 },
    );
  });

  it('has numbers that are equal to those of JSON.parse', () => {
    fc.assert(
      fc.property(number, (text) => {
        const read = readFlatRecord(Buffer.from(`{"v":${text}}`), CONTEXT);
        if (read === null) return;
        assert.ok(Object.is(read[0]!.value, JSON.parse(text)), text);
      }),
      { numRuns: 20_000 },
    );
  });

  it('is what sensors send', () => {
    const cases: readonly (readonly [
      payload: string,
      value: number,
      time: number,
      boot: string | null,
      seq: number | null,
    ])[] = [
      [`{"t":${RECEIVED},"v":21.5,"boot":"a1","seq":17}`, 21.5, RECEIVED, 'a1', 17],
      ['{ "value" : -0.25 }\n', -0.25, RECEIVED, null, null],
      ['{"ts":1795262399.5,"v":true}', 1, RECEIVED - 500_000, null, null],
      ['{"timestamp":1795262399000,"v":12345.678}', 12345.678, RECEIVED - 1_000_000, null, null],
    ];
    for (const [payload, value, time, boot, seq] of cases) {
      const { device, metric } = CONTEXT;
      const reading = { device, metric, time, value, received: RECEIVED, boot, seq, quality: 'ok' };
      assert.deepEqual(readFlatRecord(Buffer.from(payload), CONTEXT), [reading]);
    }
  });

  it('is left to the general decoder in every other case', () => {
    const others = [
      '{"v":1,"v":2}',
      '{"v":1,"value":1}',
      '{"t":"2026-11-21T12:00:00Z","v":1}',
      `{"t":${RECEIVED + 2 * 86_400_000_000},"v":1}`,
      '{"v":1,"temperature":2}',
      '{"v":1,"seq":-1}',
      '{"v":1,"seq":1.5}',
      '{"v":1,"boot":"\\u0041"}',
      '{"v":1,"boot":"\u00e9"}',
      '{"v":1,"boot":""}',
      `{"v":1,"boot":"${'a'.repeat(65)}"}`,
      '{"v":1}{"v":2}',
      '{"v":1,}',
      '{}',
      `{"v":1${' '.repeat(600)}}`,
    ];
    for (const payload of others) assert.equal(readFlatRecord(Buffer.from(payload), CONTEXT), null, payload);
    assert.equal(readFlatRecord(Buffer.from('{"v":1}'), { ...CONTEXT, metric: null }), null);
  });
});
