import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  compileMapping,
  DecodeError,
  formatNames,
  formatOfMediaType,
  formats,
  influxDecoder,
  SparkplugDecoder,
} from '@tidegauge/readings';
import { brief, decode, NAMELESS, RECEIVED, refuse } from './helpers.ts';

describe('the auto format', () => {
  it('recognises plain values, JSON, SenML and line protocol', () => {
    const same: [string, unknown][] = [
      ['plain', '21.5'],
      ['plain', ' ON\n'],
      ['json', '"open"'],
      ['json', ` {"t":${RECEIVED},"v":1}`],
      ['json', '\ufeff{"temperature":1,"humidity":2}'],
      [
        'json',
        [
          { time: 1, v: 1 },
          { time: 2, v: 2, metric: 'x' },
        ],
      ],
      ['json', [{ t: 1, bv: 3.7, n: 5 }]],
      ['senml-json', [{ n: 'x', v: 1, t: -5 }]],
      ['senml-json', [{ bn: 'urn:dev:ow:1:' }, { n: 'x', vb: true }]],
      ['influx', 'cpu,host=pi usage=1.5'],
      ['influx', `# a comment\nm v=1 ${RECEIVED}000`],
    ];
    for (const [format, payload] of same) {
      assert.deepEqual(decode('auto', payload), decode(format, payload), JSON.stringify(payload));
    }
  });

  it('refuses a payload that it does not recognise, with the message of the most similar format', () => {
    assert.equal(refuse('auto', '').reason, 'empty_payload');
    assert.equal(refuse('auto', '  ').reason, 'empty_payload');
    assert.match(refuse('auto', 'hello').message, /not a number, true, false, on or off/);
    assert.match(refuse('auto', '{"v":').message, /not JSON/);
    assert.match(refuse('auto', '[').message, /not JSON/);
    assert.match(refuse('auto', '[{"n":"a b","v":1}]').message, /name "a b"/);
  });
});

describe('the table of formats', () => {
  it('has each format by name, and nothing else', () => {
    assert.deepEqual(formatNames, ['auto', 'plain', 'text', 'json', 'senml-json', 'senml-cbor', 'influx']);
    for (const name of ['constructor', '__proto__', 'toString']) assert.equal(formats[name], undefined);
    assert.ok(Object.isFrozen(formats));
  });

  it('finds a format by media type, with any case and parameters', () => {
    assert.equal(formatOfMediaType('application/json'), 'json');
    assert.equal(formatOfMediaType('Application/JSON; charset=utf-8'), 'json');
    assert.equal(formatOfMediaType('application/senml+json'), 'senml-json');
    assert.equal(formatOfMediaType('application/senml+cbor'), 'senml-cbor');
    assert.equal(formatOfMediaType('text/plain;charset=utf-8'), 'plain');
    for (const type of ['', 'image/png', 'constructor', 'json'])
      assert.equal(formatOfMediaType(type), null, type);
  });
});

describe('a bad payload', () => {
  const table: [string, string | Uint8Array, string, RegExp][] = [
    ['an empty payload', '', 'empty_payload', /^the payload has no bytes$/],
    [
      '1 MB of garbage',
      Buffer.alloc(1 << 20, 0x9c),
      'malformed',
      /^the payload is not UTF-8 text \(at byte 0\)$/,
    ],
    [
      '1 MB of text',
      'tide'.repeat(1 << 18),
      'malformed',
      /^"(tide){10}"… is not a number, true, false, on or off/,
    ],
    [
      'a SenML pack with one bad record',
      '[{"bn":"pump/","n":"flow","v":1},{"n":"head","v":"high"},{"n":"rpm","v":900}]',
      'invalid_value',
      /^"v" is "high"; it must be a number \(at record 2 of 3\)$/,
    ],
    [
      'a time in the year 9999',
      '{"t":"9999-12-31T23:59:59Z","v":1}',
      'invalid_time',
      /^"t" is "9999-12-31T23:59:59Z"; a time is a number since 1970 or ISO 8601, until June 2255$/,
    ],
    [
      'a time in the year 9999 in SenML',
      '[{"n":"x","t":253402300799,"v":1}]',
      'invalid_time',
      /^the time, "bt" plus "t", is 253402300799 s; SenML counts seconds since 1970.* \(at record 1 of 1\)$/,
    ],
    [
      'a cut-off message',
      '{"t":1795262400,"v":2',
      'malformed',
      /"," or "}" should be, the payload ends \(at byte 21\)$/,
    ],
  ];
  for (const [name, payload, reason, words] of table) {
    it(`such as ${name} is refused as ${reason}, with a readable message`, () => {
      const error = refuse('auto', payload);
      assert.equal(error.reason, reason);
      assert.match(`${error}`, words);
    });
  }

  it('is refused completely, including its valid readings', () => {
    const good = { ts: 1, v: 1 };
    assert.equal(decode('auto', [good, { ...good, ts: 2 }]).length, 2);
    assert.equal(refuse('auto', [good, { ...good, ts: -2 }]).position, 'record 2 of 2');
  });

  it('reports what is missing when neither the topic nor the payload contains it', () => {
    assert.match(
      refuse('auto', '{"v":1}', NAMELESS).message,
      /neither the topic nor the payload names a device/,
    );
    const named = { v: 1, device: 'probe' };
    assert.match(refuse('json', named, NAMELESS).message, /neither the topic nor the payload names a metric/);
    assert.deepEqual(brief(decode('auto', named, NAMELESS)), [['probe', 'v', 1, 0]]);
    assert.deepEqual(brief(decode('auto', { ...named, metric: 'flow' }, NAMELESS)), [
      ['probe', 'flow', 1, 0],
    ]);
  });
});

describe('a mistake of a decoder', () => {
  it('is an error, because an exception would end the connection of the sender again and again', () => {
    const noBytes = null as unknown as Uint8Array;
    const sparkplug = new SparkplugDecoder();
    const birth = { ...NAMELESS, topic: 'spBv1.0/g/NBIRTH/n' };
    const decoders = [...Object.values(formats), compileMapping({}), influxDecoder()];
    for (const [index, each] of decoders.entries()) {
      const decoded = each(noBytes, NAMELESS);
      assert.ok(decoded instanceof DecodeError, `${index}`);
      assert.equal(decoded.reason, 'unsupported');
      assert.match(decoded.message, /^the decoder failed \(TypeError: .*please report it/);
    }
    assert.match(`${sparkplug.replay(noBytes, birth)}`, /^the decoder failed/);
    assert.match(`${sparkplug.decode(noBytes, birth).decoded}`, /^the decoder failed/);
  });
});
