import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  compileMapping,
  type Decode,
  DecodeError,
  formats,
  type MappingOptions,
  type Reading,
  toReadingDocument,
} from '@tidegauge/readings';
import fc from 'fast-check';
import { keepDigits } from '../../src/codecs/whole-numbers.ts';
import { type Decimal, Doubt, keepsDigits, numberOf } from '../../src/mapping/numbers.ts';
import { isNoValue } from '../../src/mapping/texts.ts';
import { CONTEXT, decode, NAMELESS, refuse } from './helpers.ts';

/** A number, a number with a unit, a text without doubt, or a text that can be a number. */
type Kind = number | readonly [number, string] | 'text' | 'doubt';

function kindOf(text: string, decimal: Decimal | null = null, isNumber = false): Kind {
  const found = numberOf(text, decimal, isNumber);
  if (found === null) return 'text';
  if (found instanceof Doubt) return found.isText ? 'text' : 'doubt';
  return found.unit === null ? found.value : [found.value, found.unit];
}

/** Texts, and what they are without a setting, with `decimal: comma` and with `decimal: point`. */
const SEPARATED: Readonly<Record<string, readonly [Kind, Kind, Kind]>> = {
  // One comma before three digits.
  '1,435 kW': ['doubt', [1.435, 'kW'], [1435, 'kW']],
  '0,435 kW': ['doubt', [0.435, 'kW'], 'text'],
  '21,125 °C': ['doubt', [21.125, 'Cel'], [21_125, 'Cel']],
  '-1,435 kW': ['doubt', [-1.435, 'kW'], [-1435, 'kW']],
  '1234,567 kWh': ['doubt', [1234.567, 'kWh'], 'doubt'],
  '1,234': ['doubt', 1.234, 1234],
  '0,234': ['doubt', 0.234, 'text'],
  // A comma before other digits: decimal with a unit, and maybe two values without one.
  '21,45': ['doubt', 21.45, 'doubt'],
  '21,5': ['doubt', 21.5, 'doubt'],
  '21,5 °C': [[21.5, 'Cel'], [21.5, 'Cel'], 'doubt'],
  '-3,5°C': [[-3.5, 'Cel'], [-3.5, 'Cel'], 'doubt'],
  '−3,25 %': [[-3.25, '%'], [-3.25, '%'], 'doubt'],
  ',5 W': [[0.5, 'W'], [0.5, 'W'], 'doubt'],
  // Both separators, or several groups.
  '1.234,5 kWh': [[1234.5, 'kWh'], [1234.5, 'kWh'], 'doubt'],
  '1,234.5 W': [[1234.5, 'W'], 'doubt', [1234.5, 'W']],
  '1.234.567 Wh': [[1_234_567, 'Wh'], [1_234_567, 'Wh'], 'doubt'],
  '1,234,567 Wh': [[1_234_567, 'Wh'], 'doubt', [1_234_567, 'Wh']],
  '1.234,5': ['doubt', 1234.5, 'doubt'],
  '1,234.5': ['doubt', 'doubt', 1234.5],
  '45,101.3': ['doubt', 'doubt', 45_101.3],
  '1,234,567': ['doubt', 'doubt', 1_234_567],
  '255,100,100': ['doubt', 'doubt', 255_100_100],
  '1.234.567': ['text', 1_234_567, 'doubt'],
  '192.168.100.200': ['text', 192_168_100_200, 'doubt'],
  // A point alone is a decimal point, unless the setting is comma.
  '1.234': [1.234, 1234, 1.234],
  '21.5': [21.5, 'doubt', 21.5],
  '1.234 W': [
    [1.234, 'W'],
    [1234, 'W'],
    [1.234, 'W'],
  ],
  // A letter behind it, without a space.
  '21.5C': ['doubt', 'doubt', 'doubt'],
  '12,5A': ['doubt', 'doubt', 'doubt'],
  '1.5e3': [1500, 'doubt', 1500],
  '1,5e3': ['doubt', 1500, 'doubt'],
  '1,5e3 W': [[1500, 'W'], [1500, 'W'], 'doubt'],
  // Separators of thousands only.
  "1'234": [1234, 1234, 1234],
  "1'234.5": [1234.5, 'doubt', 1234.5],
  '1’234’567.5': [1_234_567.5, 'doubt', 1_234_567.5],
  "1'234,5 kWh": [[1234.5, 'kWh'], [1234.5, 'kWh'], 'doubt'],
  '1\u00a0234,5 kWh': [[1234.5, 'kWh'], [1234.5, 'kWh'], 'doubt'],
  '1\u202f234 kWh': [
    [1234, 'kWh'],
    [1234, 'kWh'],
    [1234, 'kWh'],
  ],
  '1 234,5 kWh': ['doubt', [1234.5, 'kWh'], 'doubt'],
  '3 230 V': ['doubt', [3230, 'V'], [3230, 'V']],
  '1 234,5': ['text', 1234.5, 'doubt'],
  '12 345': ['text', 12_345, 12_345],
  // No separators that make sense.
  '1,2,3': ['text', 'doubt', 'doubt'],
  '52.52,13.405': ['text', 'doubt', 'doubt'],
  '1.2.3': ['text', 'doubt', 'doubt'],
  '12:30': ['text', 'text', 'text'],
  '1,': ['doubt', 1, 'doubt'],
};

/** Texts without a comma, and what they are in every format. */
const ROWS: Readonly<Record<string, Kind>> = {
  // Decimal numbers, with and without a known unit.
  '412': 412,
  '21.50': 21.5,
  '-3.5': -3.5,
  ' 21.5\n': 21.5,
  '-3.5 °C': [-3.5, 'Cel'],
  '45%': [45, '%'],
  '1013.2hPa': [1013.2, 'hPa'],
  '-70 dBm': [-70, 'dBm'],
  '21.5 C': [21.5, 'Cel'],
  '68 °F': [68, '°F'],
  '12 µg/m³': [12, 'ug/m3'],
  '230V': [230, 'V'],
  '0': 0,
  '0.0': 0,
  '0.50': 0.5,
  '.5': 0.5,
  '-.5': -0.5,
  '12.': 12,
  '+5': 5,
  '+21.5': 21.5,
  '−5': -5,
  '0.1234567890123456789': 0.123_456_789_012_345_68,
  // Leading zeros.
  '0012': 'text',
  '00': 'text',
  '007': 'text',
  '-01': 'text',
  '00.5': 'text',
  '05.3': 'text',
  '007 W': 'text',
  '0123456789012': 'text',
  // Exponents without point or sign.
  '5E10': 'text',
  '00E5': 'text',
  '0e0': 'text',
  '1e3': 'text',
  '5E10 W': 'text',
  '1.5e3': 1500,
  '1e-3': 0.001,
  '2e+5': 200_000,
  '1.E3': 1000,
  '-2.5e3 W': [-2500, 'W'],
  '1e+16': 1e16,
  '1e+21': 1e21,
  '5e-324': 5e-324,
  // Beyond a double.
  '1e+400': 'text',
  '1.0e400': 'text',
  ['9'.repeat(400)]: 'text',
  ['1'.repeat(2000)]: 'text',
  // Whole numbers that no double represents.
  '9007199254740992': 9_007_199_254_740_992,
  '9007199254740993': 'text',
  '-9007199254740993': 'text',
  '9007199254740993.0': 'text',
  '18446744073709551615': 'text',
  '8988303000000614227': 'text',
  '1152921504606847000': 1_152_921_504_606_847_000,
  '100000000000000000000000': 1e23,
  // Not decimal numbers.
  '1_000': 'text',
  '0x1F': 'text',
  '0b1': 'text',
  '１２': 'text',
  '١٢': 'text',
  '21．5': 'text',
  '½': 'text',
  '1/2': 'text',
  '--5': 'text',
  '+-5': 'text',
  '- 5': 'text',
  '–5': 'text',
  '5-': 'text',
  '1.2.3': 'text',
  '192.168.1.10': 'text',
  '12:30': 'text',
  '2026-11-21': 'text',
  '5 apples': 'text',
  '2A': 'text',
  '5G': 'text',
  '1080p': 'text',
  '4K': 'text',
  '4g': 'text',
  '2700K': [2700, 'K'],
  '5.0K': [5, 'K'],
  '4 K': [4, 'K'],
  '1234567890E': 'text',
  '+4915112345678': 'text',
  '+15551234': 'text',
  e5: 'text',
  '.': 'text',
  '+': 'text',
  '(5)': 'text',
  '5;6': 'text',
  '5 6': 'text',
};

const NO_VALUES = [
  ...[
    'unavailable',
    'Unavailable',
    'UNKNOWN',
    'none',
    'None',
    'null',
    'NULL',
    'nil',
    'undefined',
    'NaN',
    'nan',
    '-nan',
  ],
  ...[
    '+NaN',
    'inf',
    '-inf',
    'Infinity',
    '-Infinity',
    'n/a',
    'N/A',
    'NA',
    'n.a.',
    '#N/A',
    '-',
    '--',
    '---',
    '–',
    '—',
  ],
  ...['?', '', ' ', ' unavailable '],
];

interface Noted {
  readonly readings: readonly (readonly [metric: string, value: number | string])[];
  readonly units: Readonly<Record<string, string>>;
  readonly ignored: readonly (readonly [field: string, why: string])[];
}

/** Readings, units and notes of a payload, which must be valid. */
function noted(way: Decode, payload: unknown, context = CONTEXT): Noted {
  const units: Record<string, string> = {};
  const ignored: [string, string][] = [];
  const notes = {
    unit: (_device: string, metric: string, unit: string) => {
      units[metric] = unit;
    },
    ignored: (field: string, why: string) => void ignored.push([field, why]),
  };
  const bytes = Buffer.isBuffer(payload)
    ? payload
    : Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
  const decoded = way(bytes, { ...context, notes });
  if (decoded instanceof DecodeError) assert.fail(`${decoded}`);
  return { readings: decoded.map(({ metric, value }) => [metric, value]), units, ignored };
}

const WAYS: Readonly<Record<string, Decode>> = {
  auto: formats.auto!,
  json: formats.json!,
  'a mapping': compileMapping({}),
};

/** The value and the unit of a row; the text itself when it is no number. */
const expected = (text: string, kind: Kind): readonly [number | string, string | undefined] =>
  typeof kind === 'object' ? [kind[0], kind[1]] : [typeof kind === 'number' ? kind : text, undefined];

describe('a number in a text', () => {
  it('has separators with one meaning, or with that of the setting', () => {
    for (const [text, kinds] of Object.entries(SEPARATED)) {
      assert.deepEqual(kindOf(text), kinds[0], text);
      assert.deepEqual(kindOf(text, 'comma'), kinds[1], `${text} with comma`);
      assert.deepEqual(kindOf(text, 'point'), kinds[2], `${text} with point`);
    }
  });

  it('is decimal, and no identifier', () => {
    for (const [text, kind] of Object.entries(ROWS)) assert.deepEqual(kindOf(text), kind, text);
  });

  it('may be written like an identifier where it is declared to be a number', () => {
    const declared = {
      '0012': 12,
      '05.3': 5.3,
      '5E10': 5e10,
      '00E5': 0,
      '+4915112345678': 4_915_112_345_678,
    };
    for (const [text, value] of Object.entries(declared)) assert.equal(kindOf(text, null, true), value, text);
    assert.equal(kindOf('1,435 kW', null, true), 'doubt');
    assert.equal(kindOf('9007199254740993', null, true), 2 ** 53);
  });

  it('is every finite number of JavaScript, except large ones with an exponent alone', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        assert.equal(kindOf(String(value)), value === 0 ? 0 : value);
      }),
    );
  });

  it('never differs by a factor of thousand within one way of writing', () => {
    const way = fc.record({
      decimals: fc.nat(6),
      unit: fc.constantFrom('', ' kW', ' °C', '%'),
      decimal: fc.constantFrom(',', '.'),
    });
    fc.assert(
      fc.property(way, fc.nat(9_999_999), ({ decimals, unit, decimal }, digits) => {
        const number = digits / 10 ** decimals;
        const text = number.toFixed(decimals).replace('.', decimal) + unit;
        const found = numberOf(text, null);
        if (found === null || found instanceof Doubt) assert.ok(decimal === ',' && decimals > 0, text);
        else assert.equal(found.value, Number(number.toFixed(decimals)), text);
      }),
      { numRuns: 5000 },
    );
  });
});

for (const [name, way] of Object.entries(WAYS)) {
  describe(`a text in JSON, read by ${name},`, () => {
    it('is a number by the rule, at the top, in an object and in an array', () => {
      for (const [text, kind] of Object.entries({ ...ROWS, x: 'text', 'ON ': 'text' } as const)) {
        const [value, unit] = expected(text, kind);
        for (const payload of [{ v: text }, { temperature: text }, JSON.stringify(text), [{ v: text }]]) {
          const { readings, units, ignored } = noted(way, payload);
          assert.deepEqual(readings, [['temperature', value]], text);
          assert.deepEqual(units, unit === undefined ? {} : { temperature: unit }, text);
          assert.deepEqual(ignored, [], text);
        }
      }
    });

    it('is a text with a note when its comma has two meanings', () => {
      for (const [text, [kind]] of Object.entries(SEPARATED)) {
        const { readings, ignored } = noted(way, { p: text });
        assert.deepEqual(readings, [['p', expected(text, kind)[0]]], text);
        assert.equal(ignored.length, kind === 'doubt' ? 1 : 0, text);
        if (kind === 'doubt')
          assert.match(
            ignored[0]![1],
            /^it is kept as a text: .* (?:set decimal: (?:comma|point)|values of the mapping)/,
          );
      }
    });

    it('is no value when it is a word for none', () => {
      for (const word of NO_VALUES) {
        assert.ok(isNoValue(word), word);
        const { readings, ignored } = noted(way, { a: word, b: 2 });
        assert.deepEqual(readings, [['b', 2]], word);
        assert.equal(ignored.length, 1, word);
        assert.deepEqual(noted(way, { v: word }).readings, [], word);
        assert.deepEqual(noted(way, JSON.stringify(word)).readings, [], word);
        assert.deepEqual(noted(way, [{ v: word }, { metric: 'b', v: 2 }]).readings, [['b', 2]], word);
      }
      for (const word of ['idle', 'normal', 'not_home', 'no', 'invalid', 'nano', 'unknowns', '#ff8800']) {
        if (name === 'a mapping' && word.startsWith('#')) continue;
        assert.deepEqual(noted(way, { a: word }).readings, [['a', word]], word);
      }
    });

    it('has the unit beside it', () => {
      assert.deepEqual(noted(way, { value: '21.5', unit: 'C' }), {
        readings: [['temperature', 21.5]],
        units: { temperature: 'Cel' },
        ignored: [],
      });
    });

    it('is the digits of a whole number that no double represents, with a note', () => {
      for (const digits of [
        '9007199254740993',
        '-9007199254740993',
        '18446744073709551615',
        '9007199254740993.0',
      ]) {
        const { readings, ignored } = noted(way, `{"id": ${digits}, "b": 2}`);
        assert.deepEqual(
          readings,
          [
            ['id', digits],
            ['b', 2],
          ],
          digits,
        );
        assert.deepEqual(ignored, [['id', 'it is a whole number beyond 2^53, so it is kept as a text']]);
      }
      const exact =
        '9007199254740992 1152921504606847000 0.1234567890123456789 1234567890123456 3.3333333333333335 1e17';
      for (const digits of exact.split(' ')) {
        const { readings, ignored } = noted(
          way,
          `{"a": [1], "id": ${digits}}`.replace(name === 'json' ? '"a": [1], ' : '', ''),
        );
        assert.deepEqual(readings.at(-1), ['id', Number(digits)], digits);
        assert.deepEqual(ignored, []);
      }
    });

    it('does not replace a time in nanoseconds', () => {
      const received = CONTEXT.received;
      const decoded = way(Buffer.from(`{"time":${received - 1_000_000}123,"v":1}`), CONTEXT);
      if (decoded instanceof DecodeError) assert.fail(`${decoded}`);
      assert.equal(decoded[0]!.time, received - 1_000_000);
    });

    it('is noted when its field is there twice', () => {
      const note = 'an object has this field several times: only its last value is read';
      const rows: readonly (readonly [payload: string, fields: readonly string[]])[] = [
        ['{"a":1,"a":2}', ['a']],
        ['{"a":"x:{","a" : 2,"b":"\\"a\\":"}', ['a']],
        ['{"a":1,"\\u0061":2}', ['a']],
        ['[{"t":1795262399,"a":1},{"t":1795262398,"a":1,"a":2}]', ['a']],
        ['{"__proto__":1,"__proto__":2}', ['__proto__']],
        ['{"a":1,"b":"{\\"a\\":1,\\"a\\":2}","c":"a:b:c"}', []],
        ['{"a":"","b":":","c":"\\\\"}', []],
        ['[{"t":1795262399,"a":1},{"t":1795262398,"a":1}]', []],
      ];
      for (const [payload, fields] of rows) {
        const { ignored } = noted(way, payload);
        const repeated = ignored.filter(([, why]) => why === note).map(([field]) => field);
        assert.deepEqual(repeated, fields, payload);
      }
    });
  });
}

describe('repeated names', () => {
  it('are noted in nested objects, and for a record that is read from its bytes otherwise', () => {
    const note = 'an object has this field several times: only its last value is read';
    const rows = {
      '{"x":{"a":{"b":1},"a":3},"y":[{"c":1,"c":1}]}': ['a', 'c'],
      '{"a":{"b":1},"a":[]}': ['a'],
      '{"t":1795262399,"v":1,"v":2}': ['v'],
      '[[{"a":1,"a":1}]]': ['a'],
    };
    for (const [payload, fields] of Object.entries(rows)) {
      const repeated = noted(formats.auto!, payload).ignored.filter(([, why]) => why === note);
      assert.deepEqual(
        repeated.map(([field]) => field),
        fields,
        payload,
      );
    }
  });

  it('are found in any JSON, and only there', () => {
    const json = fc.jsonValue({ maxDepth: 4 });
    fc.assert(
      fc.property(json, (value) => {
        const payload = Buffer.from(JSON.stringify({ x: value }));
        let repeated = 0;
        const ignored = (_field: string, why: string) => {
          if (why.includes('several times')) repeated++;
        };
        formats.auto!(payload, { ...CONTEXT, notes: { unit: () => {}, ignored } });
        assert.equal(repeated, 0);
        formats.auto!(Buffer.from(`{"x":0,${payload.toString().slice(1)}`), {
          ...CONTEXT,
          notes: { unit: () => {}, ignored },
        });
        assert.equal(repeated, 1);
      }),
    );
  });
});

describe('whole numbers that no double represents', () => {
  it('are found wherever they are, and nothing else', () => {
    const number = fc.oneof(
      fc.bigInt(-(2n ** 70n), 2n ** 70n).map(String),
      fc.bigInt(2n ** 53n - 9n, 2n ** 53n + 9n).map(String),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
      fc.constantFrom(
        '12345678901234567.5',
        '12345678901234567e3',
        '9007199254740993.0',
        '0.12345678901234567',
      ),
    );
    const text = fc
      .oneof(
        fc.string(),
        number,
        number.map((digits) => `"a":${digits},`),
      )
      .map((each) => JSON.stringify(each));
    const space = fc.constantFrom('', ' ');
    const value = fc.oneof(
      number,
      text,
      fc.tuple(number, text).map(([one, other]) => `[${one},${other} ,${one}]`),
    );
    const member = fc
      .tuple(fc.nat(9), space, value)
      .map(([name, gap, each]) => `"k${name}"${gap}:${gap}${each}`);
    fc.assert(
      fc.property(fc.array(member, { maxLength: 5 }), (members) => {
        const payload = `{${members.map((each, index) => each.replace('"k', `"k${index}`)).join()}}`;
        const found = keepDigits(Buffer.from(payload), JSON.parse(payload), undefined);
        const digits = (_key: string, raw: unknown, { source = '' }: { source?: string }) =>
          typeof raw !== 'number' || keepsDigits(source) ? raw : source;
        assert.deepEqual(found, JSON.parse(payload, digits as Parameters<typeof JSON.parse>[1]));
      }),
      { numRuns: 2000 },
    );
  });
});

describe('deep or large JSON with a whole number that no double represents', () => {
  it('is read', () => {
    const deep = `${'['.repeat(100_000)}9007199254740993${']'.repeat(100_000)}`;
    assert.ok(Array.isArray(formats.auto!(Buffer.from(`{"a":1,"deep":${deep}}`), CONTEXT)));
    const digits = '9'.repeat(100_000);
    assert.deepEqual(noted(formats.auto!, `{"a":1,"b":${'9'.repeat(300)}}`).readings[1]![1], '9'.repeat(300));
    assert.equal(refuse('json', `{"b":${digits}}`).reason, 'invalid_value');
  });
});

describe('a plain payload', () => {
  it('is a number by the same rule, and others are refused with the setting', () => {
    for (const [text, kind] of Object.entries(ROWS)) {
      const hasUnit = typeof kind === 'object';
      if (typeof kind === 'number') {
        for (const format of ['plain', 'auto']) assert.equal(decode(format, text)[0]?.value, kind, text);
      } else if (hasUnit) {
        assert.equal(refuse('plain', text).reason, 'malformed', text);
        assert.deepEqual(noted(formats.auto!, text), {
          readings: [['temperature', kind[0]]],
          units: { temperature: kind[1] },
          ignored: [],
        });
      } else assert.ok(['malformed', 'invalid_value'].includes(refuse('auto', text).reason), text);
    }
    for (const text of ['0012', '5E10', '9007199254740993', '+4915112345678'])
      assert.match(refuse('auto', text).message, /values of the mapping, number or text, decide/);
  });

  it('is refused with the setting when its comma has two meanings', () => {
    for (const [text, [kind]] of Object.entries(SEPARATED)) {
      if (kind !== 'doubt') continue;
      for (const way of ['auto', 'plain']) assert.equal(refuse(way, text).reason, 'malformed', text);
      assert.match(
        refuse('auto', text).message,
        /(?:set decimal: (?:comma|point)|values of the mapping)/,
        text,
      );
    }
  });

  it('has the decimal comma of the route', () => {
    const comma = compileMapping({ decimal: 'comma' });
    const point = compileMapping({ decimal: 'point' });
    assert.deepEqual(noted(comma, '21,45').readings, [['temperature', 21.45]]);
    assert.deepEqual(noted(comma, '1,435 kW'), {
      readings: [['temperature', 1.435]],
      units: { temperature: 'kW' },
      ignored: [],
    });
    assert.deepEqual(noted(point, '1,234 W').readings, [['temperature', 1234]]);
    assert.deepEqual(noted(comma, { a: { b: '1.234,5' }, c: '21.5', d: 21.5 }), {
      readings: [
        ['a.b', 1234.5],
        ['c', '21.5'],
        ['d', 21.5],
      ],
      units: {},
      ignored: [['c', 'it is kept as a text: its separators do not fit decimal: comma of the mapping']],
    });
    const misfit = comma(Buffer.from('21.5'), CONTEXT);
    assert.match(`${misfit}`, /do not fit decimal: comma/);
  });

  it('is no value for the same words as in JSON', () => {
    for (const word of NO_VALUES) {
      if (word.trim() === '') continue;
      assert.equal(refuse('plain', word).reason, 'invalid_value', word);
      assert.deepEqual(decode('auto', word), [], word);
    }
  });
});

describe('the kind of a value', () => {
  it('decides about texts that can be numbers', () => {
    const of = (options: MappingOptions, text: string) => noted(compileMapping(options), { a: text });
    assert.deepEqual(of({ values: { a: 'number' } }, '0012').readings, [['a', 12]]);
    assert.deepEqual(of({ values: { a: 'number' } }, '5E10').readings, [['a', 5e10]]);
    for (const [text, value] of [
      ['5A', 5],
      ['99g', 99],
      ['4K', 4],
      ['21.5C', 21.5],
    ] as const)
      assert.deepEqual(of({ values: { a: 'number' } }, text).readings, [['a', value]], text);
    assert.deepEqual(of({ values: { a: 'text' } }, '21.50').readings, [['a', '21.50']]);
    assert.deepEqual(of({ values: { a: 'as-is' } }, '21.50').readings, [['a', '21.50']]);
    assert.deepEqual(of({ values: { a: 'any' } }, '21.50').readings, [['a', 21.5]]);
    for (const field of ['fw', 'app_version', 'hwRev', 'info.firmwareVersion'])
      for (const options of [{}, null])
        for (const [value, read] of [
          ['1.10', '1.10'],
          ['2', 2],
          [1.1, 1.1],
        ] as const) {
          const decoder = options === null ? formats.auto! : compileMapping(options);
          const [name, below] = field.split('.') as [string, string?];
          const payload = JSON.stringify({ [name]: below === undefined ? value : { [below]: value } });
          assert.deepEqual(noted(decoder, payload).readings, [[field, read]], `${field} ${value}`);
        }
    assert.deepEqual(noted(formats.auto!, '{"conversion":"1.10"}').readings, [['conversion', 1.1]]);
    const doubtful = of({ values: { a: 'number' } }, '1,435 kW');
    assert.deepEqual(doubtful.readings, []);
    assert.match(doubtful.ignored[0]![1], /set decimal: comma or decimal: point/);
    assert.deepEqual(of({ values: { a: 'number' }, decimal: 'comma' }, '1,435 kW').readings, [['a', 1.435]]);
    assert.deepEqual(noted(compileMapping({ values: { a: 'number' } }), '{"a":9007199254740993}').readings, [
      ['a', 2 ** 53],
    ]);
  });
});

describe('a format with types', () => {
  it('keeps texts as texts', () => {
    const senml = '[{"n":"a","vs":"21.50"},{"n":"b","vs":"unavailable"},{"n":"c","vs":"1,435 kW"}]';
    const lines = 'm a="21.50",b="unavailable",c="0012"';
    for (const [payload, prefix] of [
      [senml, ''],
      [lines, 'm.'],
    ] as const) {
      const { readings, ignored } = noted(formats.auto!, payload);
      assert.ok(readings.every(([, value]) => typeof value === 'string'));
      assert.deepEqual(readings[0], [`${prefix}a`, '21.50']);
      assert.deepEqual(ignored, []);
    }
    assert.equal(decode('text', '21.50')[0]?.value, '21.50');
  });

  it('rounds whole numbers that no double represents, with a note', () => {
    const rows = {
      '[{"n":"a","v":9007199254740993}]': ['a', 2 ** 53, 'v'],
      'm a=9007199254740993i': ['m.a', 2 ** 53, 'a'],
      'm a=18446744073709551615u': ['m.a', 2 ** 64, 'a'],
    } as const;
    const why = 'it is a whole number beyond 2^53, so its last digits are rounded';
    for (const [payload, [metric, value, field]] of Object.entries(rows)) {
      assert.deepEqual(noted(formats.auto!, payload), {
        readings: [[metric, value]],
        units: {},
        ignored: [[field, why]],
      });
    }
    const cbor = Buffer.from('81a2006161021b0020000000000001', 'hex');
    assert.deepEqual(noted(formats.auto!, cbor), {
      readings: [['a', 2 ** 53]],
      units: {},
      ignored: [['v', why]],
    });
    for (const payload of ['[{"n":"a","v":9007199254740992}]', 'm a=9223372036854771712i', 'm a=1e20'])
      assert.deepEqual(noted(formats.auto!, payload).ignored, [], payload);
  });
});

describe('an answer of the API', () => {
  it('can be sent back: its texts stay texts', () => {
    for (const value of ['21.50', 'none', '', '-', '0012', '1,435 kW']) {
      const reading = decode('text', value === '' ? 'x' : value)[0]!;
      const document = { ...toReadingDocument(reading), value };
      const [again] = decode('json', { readings: [document] }, NAMELESS) as [Reading];
      assert.deepEqual({ ...again }, { ...reading, value });
      assert.deepEqual(formats.auto!(Buffer.from(JSON.stringify([document])), NAMELESS), [again]);
    }
  });
});

describe('a field with the name of a unit', () => {
  it('is no unit without the value that it belongs to', () => {
    const settings: readonly Readonly<Record<string, unknown>>[] = [
      { unit: 'C', interval: 60 },
      { units: 'C', interval: 60 },
      { uom: '%', threshold: 80, seq: 3 },
      { unit_of_measurement: '°C', expire_after: 30 },
      { interval: 60, config: { unit: 'C', precision: 1 } },
    ];
    for (const payload of settings) {
      for (const [name, way] of Object.entries(WAYS)) {
        if (name === 'json' && 'config' in payload) continue;
        assert.deepEqual(noted(way, payload).units, {}, JSON.stringify(payload));
      }
    }
  });

  it('gives nothing a unit in discovery messages of Home Assistant', () => {
    // https://www.home-assistant.io/integrations/mqtt/#discovery-examples and #device-discovery-payload
    const messages = [
      '{"device_class":"temperature","state_topic":"homeassistant/sensor/sensorBedroom/state","unit_of_measurement":"°C",' +
        '"value_template":"{{ value_json.temperature}}","unique_id":"temp01ae","expire_after":30,"device":{"identifiers":' +
        '["bedroom01ae"],"name":"Bedroom","serial_number":"EA334450945AFC"}}',
      '{"dev":{"ids":"ea334450945afc","name":"Kitchen","sw":"1.0"},"o":{"name":"bla2mqtt","sw":"2.1"},"cmps":{"id1":' +
        '{"p":"sensor","device_class":"temperature","unit_of_measurement":"°C","suggested_display_precision":1,' +
        '"value_template":"{{ value_json.temperature }}","unique_id":"temp01ae_t"}},"state_topic":"sensorBedroom/state","qos":2}',
      '{"unit_of_measurement":"°C","expire_after":30}',
    ];
    for (const payload of messages) {
      assert.deepEqual(noted(formats.auto!, payload).units, {}, payload);
      assert.deepEqual(noted(compileMapping({}), payload).units, {}, payload);
    }
  });
});
