import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deflateSync, gzipSync } from 'node:zlib';
import { compileMapping, DecodeError, formats, type Reading } from '@tidegauge/readings';
import { encode as encodeCbor } from 'cborg';
import { forms } from '../../src/codecs/forms/index.ts';
import { brief, CONTEXT, decode, refuse } from './helpers.ts';

const values = (payload: unknown) => decode('auto', payload).map(({ metric, value }) => [metric, value]);
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const RECORD = '{"temp":21.5,"hum":45}';
const BOTH = [
  ['temp', 21.5],
  ['hum', 45],
];
const ONE = [['temperature', 21.5]];

describe('a payload in another form', () => {
  const read: Record<string, readonly [payload: string | Uint8Array, readings: unknown]> = {
    'a number with a NUL': ['21.5\0', ONE],
    'a number in a buffer of 16 bytes': ['21.5'.padEnd(16, '\0'), ONE],
    'a number with a unit and a NUL': ['21.5 °C\0', ONE],
    'a number with a byte order mark': ['\ufeff21.5', ONE],
    'a number with a line end': ['21.5\r\n', ONE],
    'a word with a NUL': ['ON\0', [['temperature', 1]]],
    'JSON with a NUL': [`${RECORD}\0`, BOTH],
    'line protocol with a NUL': ['m temp=21.5\0', [['m.temp', 21.5]]],
    'JSON in gzip': [gzipSync(RECORD), BOTH],
    'a number in gzip': [gzipSync('21.5'), ONE],
    'JSON in zlib': [deflateSync(RECORD), BOTH],
    'JSON in zlib, best compression': [deflateSync(RECORD, { level: 9 }), BOTH],
    'JSON lines in UTF-16 in gzip': [
      gzipSync(Buffer.from('\ufeff{"temp":21.5}\n{"hum":45}', 'utf16le')),
      BOTH,
    ],
    'UTF-16 with a byte order mark': [Buffer.from(`\ufeff${RECORD}`, 'utf16le'), BOTH],
    'UTF-16, big endian': [Buffer.from('\ufeff21.5 °C', 'utf16le').swap16(), ONE],
    'UTF-16 without a byte order mark': [Buffer.from(RECORD, 'utf16le'), BOTH],
    'UTF-16 without a byte order mark, big endian': [Buffer.from(RECORD, 'utf16le').swap16(), BOTH],
    'a number in Latin-1': [Buffer.from('21.5 °C', 'latin1'), ONE],
    'JSON in Latin-1': [Buffer.from('{"Küche":21.5}', 'latin1'), [['Küche', 21.5]]],
    'JSON lines': ['{"temp":21.5}\n{"hum":45}\n', BOTH],
    'JSON objects in a row': ['{"temp":21.5}{"hum":45}', BOTH],
    'JSON lines over several lines': ['{\n"temp":21.5\n}\n\n{\n"hum":45\n}', BOTH],
    'single quotes': ["{'temp': 21.5, 'hum': 45}", BOTH],
    'a dictionary of Python': [
      `{'temp': 21.5, 'ok': True, 'off': False, 'x': None, 'name': "it's"}`,
      [
        ['temp', 21.5],
        ['ok', 1],
        ['off', 0],
        ['name', "it's"],
      ],
    ],
    'quotes in single quotes': [
      `{'a': 'it\\'s "x"', "b": "it's"}`,
      [
        ['a', `it's "x"`],
        ['b', "it's"],
      ],
    ],
    'names without quotes': ['{temp: 21.5, hum: 45}', BOTH],
    'a comma after the last element': ['{"temp":21.5,"hum":45,}', BOTH],
    'an array with n and value': ['[{"n":"temp","value":21.5},{"n":"hum","value":45}]', BOTH],
    'an array with one n and value': ['[{"n":"temperature","value":21.5}]', ONE],
    'an array with name and value': ['[{"name":"temp","value":21.5},{"name":"hum","value":45}]', BOTH],
    SenML: ['[{"n":"temp","v":21.5},{"n":"hum","v":45}]', BOTH],
    'CSV with a header row': ['temp,hum\n21.5,45', BOTH],
    'CSV with semicolons, quotes and a line end': ['"temp";"hum"\r\n"21.5";"45"\r\n', BOTH],
    'CSV with an empty cell': ['temp\thum\n21.5\t', ONE.map(() => ['temp', 21.5])],
    'names and numbers': ['temp=21.5&hum=45', BOTH],
    'names and numbers in lines': ['temp: 21.5\nhum: 45', BOTH],
    'names and numbers with spaces': ['temp=21.5 hum=45', BOTH],
    'names and numbers with colons': ['temp:21.5;hum:45;', BOTH],
    'a map of MessagePack': [hex('82 a474656d70 cb4035800000000000 a368756d 2d'), BOTH],
    'MessagePack of 32 bits': [hex('81 a474656d70 ca41accccd'), [['temp', 21.6]]],
    'MessagePack with every size': [
      hex(
        'de0007 d90161 cc80 da000162 cd0100 db0000000163 ce00010000 a164 d0ff a165 d1ff00 a166 d2ffff0000 a167 e0',
      ),
      [
        ['a', 128],
        ['b', 256],
        ['c', 65_536],
        ['d', -1],
        ['e', -256],
        ['f', -65_536],
        ['g', -32],
      ],
    ],
    'MessagePack inside each other': [hex('81 a3616972 81 a3636f32 cd019c'), [['air.co2', 412]]],
    'a map of CBOR': [hex('a2 6474656d70 fb4035800000000000 6368756d 182d'), BOTH],
    'CBOR inside each other': [encodeCbor({ air: { co2: 412 } }), [['air.co2', 412]]],
  };
  for (const [name, [payload, readings]] of Object.entries(read)) {
    it(`is read: ${name}`, () => assert.deepEqual(values(payload), readings));
  }

  it('has the times of its records', () => {
    const times = ['{"t":1795262398,"v":1}\n{"t":1795262399,"v":2}', 't,v\n1795262398,1\n1795262399,2'];
    for (const payload of times) {
      assert.deepEqual(
        brief(decode('auto', payload)),
        [
          [CONTEXT.device, 'temperature', 1, 2e6],
          [CONTEXT.device, 'temperature', 2, 1e6],
        ],
        payload,
      );
    }
    const packed = hex('92 82 a174 ce6b019b3e a176 01 82 a174 ce6b019b3f a176 02');
    assert.deepEqual(
      decode('auto', packed).map(({ time }) => time / 1e6),
      [1_795_267_390, 1_795_267_391],
    );
    assert.equal(refuse('auto', '{"v":1}\n{"v":2}').reason, 'invalid_time', 'none would overwrite another');
  });

  it('is read by a mapping too', () => {
    const mapped = compileMapping({ rename: { temp: 't1' } });
    const others = [
      'temp,hum\n21.5,45',
      `${RECORD}\0`,
      gzipSync(RECORD),
      hex('a2 6474656d70 f94d60 6368756d 182d'),
    ];
    for (const payload of others) {
      const decoded = mapped(Buffer.from(payload as string), CONTEXT);
      assert.ok(!(decoded instanceof DecodeError), `${decoded}`);
      assert.deepEqual(
        decoded.map(({ metric }) => metric),
        ['t1', 'hum'],
      );
    }
    const texts = compileMapping({ values: { '*': 'text' } });
    const [reading] = texts(Buffer.from('heating\0'), CONTEXT) as readonly Reading[];
    assert.equal(reading?.value, 'heating');
  });

  it('is named when a part of its meaning is not in the payload', () => {
    const named: Record<string, RegExp> = {
      '0x1F': /"0x1F" is a hexadecimal number: send it as a decimal number, 31/,
      '0a1bff00': /bytes in hexadecimal/,
      '21.5;45;1013': /several values \(CSV\) without their names/,
      '21.5,45.2,1013': /several values \(CSV\) without their names/,
      '1795262399,21.5\n1795262400,21.6': /CSV\) without a header row/,
      'temp,hum\n21.5,45,7':
        /CSV\) without a header row of their names, or with rows of other lengths or separators in quotes/,
      '21.5 45.1': /several numbers/,
      '<temp>21.5</temp>': /XML/,
      '1 234': /"1 234": its spaces can separate thousands or parts: set decimal: comma or decimal: point/,
      '1 234,5': /its spaces can separate thousands or parts: set decimal: comma in the mapping/,
      '1 234.5': /its spaces can separate thousands or parts: set decimal: point in the mapping/,
      '1.234.567': /its points can separate thousands or parts: set decimal: comma in the mapping/,
      'state=on': /names and values/,
      '$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47': /NMEA 0183/,
      '!AIVDM,1,1,,A,13u?etPv2;0n:dDPwUM1U1Cb069D,0*24': /NMEA 0183/,
      '/ISk5\\2MT382-1000\r\n\r\n1-3:0.2.8(50)\r\n!522B\r\n': /telegram of a meter/,
      '1-0:1.8.0(000123.456*kWh)': /telegram of a meter/,
      'AQFnAQo=': /Base64/,
      'eyJ0ZW1wIjoyMS41fQ==': /Base64/,
      'temp=21,5&hum=45': /names and values/,
      'temp=21.5&hum=': /names and values/,
      'temp=21.5&temp=22': /names and values.* twice/,
      'temp: 21.5 °C\nhum: 45 %': /names and values/,
      'T=21.5,H=45,OK': /names and values/,
      'temp=21.5 state=true': /names and values/,
      'temp=21.5 hum=45 1795262400': /names and values/,
      'T=21.5C H=45': /names and values/,
      'time=12:30 temp=21.5': /names and values/,
      'm f=1\ntemp=21.5 hum=45': /unable to parse|names and values/,
    };
    for (const [payload, message] of Object.entries(named)) {
      const error = refuse('auto', payload);
      assert.equal(error.reason, 'malformed');
      assert.match(error.message, message, payload);
    }
    // The fourth and the fifth have a break (ff) in place of a value.
    for (const payload of [
      '810115',
      'a10115',
      '82a174 15 a174 16',
      '81a16101ff',
      'a2617401 6175ff',
      'a2 6474656d70 15 6474656d70 16',
    ])
      assert.match(refuse('auto', hex(payload)).message, /CBOR or MessagePack/, payload);
    assert.match(refuse('auto', gzipSync('hello there')).message, /^gzip: "hello there" is not a number/);
    assert.match(
      refuse('auto', gzipSync(RECORD).subarray(0, 20)).message,
      /^gzip: it cannot be decompressed/,
    );
  });

  it('is not guessed', () => {
    for (const payload of ['heating', 'a,b', '12:30', '{"a":1}\n{"a":', 'a b=c', "it's", '{a b: 1}'])
      assert.equal(refuse('auto', payload).reason, 'malformed', payload);
    const bytes = ['05', 'ff0180', 'ca41accccd', 'c3', '81a474656d70', '90', '81a161c1', '8101 01', 'b021b0'];
    for (const payload of bytes) assert.equal(refuse('auto', hex(payload)).reason, 'malformed', payload);
    assert.equal(refuse('auto', Buffer.from('größe', 'latin1')).position, 'byte 2');
  });

  it('has the notes of JSON when it is JSON lines', () => {
    const ignored: string[] = [];
    const notes = { unit: () => {}, ignored: (field: string) => ignored.push(field) };
    const lines = '{"a":1,"a":2}\n{"b":9007199254740993}';
    const readings = formats.auto!(Buffer.from(lines), { ...CONTEXT, notes }) as readonly Reading[];
    assert.deepEqual(
      readings.map(({ metric, value }) => [metric, value]),
      [
        ['a', 2],
        ['b', '9007199254740993'],
      ],
    );
    assert.deepEqual(ignored, ['a', 'b']);
  });

  it('is CSV in which all numbers have a decimal comma, a unit or a sign', () => {
    assert.deepEqual(values('temp;hum\n21,5;45,3'), [
      ['temp', '21,5'],
      ['hum', '45,3'],
    ]);
    assert.deepEqual(values('temp;hum\n21,5 °C;45 %'), BOTH);
    assert.deepEqual(values('temp,hum\n+21.5,45%'), BOTH);
    const comma = compileMapping({ decimal: 'comma' });
    for (const [payload, value] of [
      ['temp;hum\n21,5;45', 21.5],
      ['temp;hum\n1.234;45', 1234],
      ['temp=1.234;hum=45', 1234],
      ['temp;hum\n1234;45', 1234],
    ] as const) {
      const readings = comma(Buffer.from(payload), CONTEXT) as readonly Reading[];
      assert.deepEqual(
        readings.map(({ metric, value }) => [metric, value]),
        [
          ['temp', value],
          ['hum', 45],
        ],
        payload,
      );
    }
    assert.equal(refuse('auto', 'first,second\nnever,ever').reason, 'malformed');
  });

  it('is an array of maps in CBOR, which is no SenML pack when its keys are texts', () => {
    assert.deepEqual(values(encodeCbor([{ temp: 21.5 }, { hum: 45 }])), BOTH);
    assert.equal(refuse('auto', encodeCbor([{ temp: 21.5 }, { temp: 22 }])).reason, 'invalid_time');
  });

  it('has a note when it is read with an assumption', () => {
    const doubts: string[] = [];
    const notes = {
      unit: () => {},
      ignored: () => {},
      doubt: (field: string, why: string) => doubts.push(`${field}: ${why}`),
    };
    formats.auto!(Buffer.from('21.5 °C', 'latin1'), { ...CONTEXT, notes });
    assert.deepEqual(doubts, ['(payload): it is not UTF-8, and is read as Latin-1']);
  });
});

describe('the bounds of forms', () => {
  it('stop decompression, one inside another too', () => {
    const bomb = gzipSync(Buffer.alloc(8 << 20));
    assert.equal(refuse('auto', bomb).reason, 'too_large');
    assert.equal(refuse('auto', gzipSync(bomb)).reason, 'too_large');
    assert.equal(refuse('auto', deflateSync(Buffer.alloc(2 << 20))).reason, 'too_large');
    let nested: Uint8Array = Buffer.from('21.5');
    for (let i = 0; i < 6; i++) nested = gzipSync(nested);
    assert.ok(formats.auto!(nested, CONTEXT) instanceof DecodeError);
  });

  it('stop at the number of values and readings', () => {
    const many = 20_000;
    assert.equal(refuse('auto', '{"v":1}\n'.repeat(many)).reason, 'too_many_readings');
    assert.equal(refuse('auto', `a,b\n${'1,2\n'.repeat(many)}`).reason, 'too_many_readings');
    const values = Buffer.concat([hex('81 a161 dd000493e0'), Buffer.alloc(300_000)]);
    assert.equal(refuse('auto', values).reason, 'too_many_readings');
  });

  it('allocate nothing for a length that is not true, and refuse deep nesting', () => {
    for (const payload of [
      'dd7fffffff',
      'df7fffffff',
      '81a161dbffffffff',
      '81a161c6ffffffff',
      '81a161dd7fffffff01',
    ])
      assert.ok(formats.auto!(hex(payload), CONTEXT) instanceof DecodeError, payload);
    assert.ok(formats.auto!(hex(`${'91'.repeat(100_000)}80`), CONTEXT) instanceof DecodeError);
    assert.ok(formats.auto!(hex(`${'81a161'.repeat(50_000)}01`), CONTEXT) instanceof DecodeError);
  });

  it('hold for payloads that are difficult to search', () => {
    const size = 200_000;
    const difficult = [
      `{"a":"${'\\"'.repeat(size)}`,
      `{'${"\\'".repeat(size)}`,
      `{${','.repeat(size)}`,
      `{a${' '.repeat(size)}`,
      `1${'\t'.repeat(30_000)}x`,
      `${'1 '.repeat(30_000)}x`,
      `${'a='.repeat(4000)}`,
      `a,b\n${','.repeat(size)}`,
      `{"a":1}${' '.repeat(size)}{`,
      `${'{}'.repeat(9000)}x`,
      `0x${'f'.repeat(60_000)}`,
      `nan${'{"'.repeat(size)}`,
    ];
    for (const payload of difficult) {
      const bytes = Buffer.from(payload);
      for (const form of forms) form.read(bytes);
      const decoded = formats.auto!(bytes, CONTEXT);
      if (decoded instanceof DecodeError) assert.ok(decoded.message.length < 700, decoded.message);
    }
  });
});
