import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import {
  cleanName,
  compileMapping,
  compileTopicTemplate,
  type Decode,
  type DecodeContext,
  DecodeError,
  deviceNameProblem,
  formatNames,
  formats,
  type MappingOptions,
  metricNameProblem,
  presetNames,
  presets,
  presetTopic,
  type Reading,
  restoreName,
  SparkplugDecoder,
  splitLines,
  templateNames,
} from '@tidegauge/readings';
import { encode as encodeCbor } from 'cborg';
import { Parsed } from '../src/codecs/forms/form.ts';
import { MAX_INFLATED } from '../src/codecs/forms/gzip.ts';
import { forms } from '../src/codecs/forms/index.ts';
import { checkDecoded } from './check-decoded.ts';
import { RECEIVED } from './senders/decode-message.ts';
import { senderMessages } from './senders/index.ts';
import { DBIRTH, encode as encodeSparkplug, NBIRTH } from './sparkplug-payloads.ts';

const CONTEXT: DecodeContext = { device: 'site-3/probe-7', metric: 'temperature', received: RECEIVED };
const NAMELESS: DecodeContext = { device: null, metric: null, received: RECEIVED };

const bytes = (texts: readonly string[]): Buffer[] => texts.map((text) => Buffer.from(text));
const payloads = bytes(senderMessages.map(({ payload }) => payload));

const tokens = bytes([
  ...['{', '}', '[', ']', '"', ':', ',', '\\', '\\u0000', '\\ud800', ' ', '\n', '=', '-', '+', '.', '#'],
  ...[
    'null',
    'true',
    'false',
    'NaN',
    '-Infinity',
    '1e999',
    '-1e308',
    '5e-324',
    '99999999999999999999',
    '0.1',
    '-0',
  ],
  ...[
    '"__proto__":{"a":1},',
    '"constructor":1,',
    '"v":1,',
    '"t":1795262400,',
    '"t":"2026-11-21T12:00:00+14:00",',
  ],
  ...[
    '"time":"',
    '"device":"a/b",',
    '"metric":"m",',
    '"seq":9007199254740993,',
    '"boot":"b",',
    '"unit":"°C",',
  ],
  ...[
    '"bn":"a:",',
    '"bt":1e9,',
    '"bver":99,',
    '"n":"a",',
    '"u":"%RH",',
    '"vs":"x",',
    '"vd":"_-8",',
    '"s":1,',
  ],
  ...[
    'a.b.0.',
    '~20',
    '%',
    ' °C',
    '1,5',
    '0x1F',
    'ON',
    'unavailable',
    '/',
    '..',
    '{device}',
    '+',
    '#',
    '€',
    '\u{1f4a7}',
  ],
  ...[
    '1795262400',
    '1795262400000',
    '2026-11-21',
    '24:00:00',
    'i',
    'u',
    't',
    '\0',
    '\ufeff',
    '\u2028',
    '\r\n',
  ],
]);

const jsonSeeds = bytes([
  `{"t":${RECEIVED},"v":21.5,"boot":"a1","seq":17}`,
  '{"ts":"2026-11-21T11:59:59.25+01:00","temperature":21.5,"door":"open","on":true}',
  '[{"t":1795262400,"v":1},{"t":1795262401,"device":"pump","metric":"flow","value":2.5e-3}]',
]);
const senmlSeeds = bytes([
  '[{"bn":"urn:dev:ow:10e2073a01080063:","bt":1795262300,"bu":"A","bv":1,"bver":5,"n":"voltage","u":"V","v":120.1},' +
    '{"n":"current","t":-5,"v":1.2},{"n":"label","vs":"Room"},{"n":"tag","vd":"aGkgCg"},{"n":"e","s":4}]',
  '[{"bn":"a/","n":"b","vb":true,"ut":60},{"bs":1,"n":"c","s":2}]',
]);
const lineSeeds = bytes([
  'cpu,host=pi,b\\ c=d\\=e a=1.5,b=2i,c="x \\"y\\" \\\\",d=t 1795262400000000000\nmem used=1u\n# comment\n',
  'weather,location=us-midwest temperature=82 1465839830100400200',
]);
const cborSeeds = [
  [
    new Map<number, unknown>([
      [-2, 'urn:dev:ow:10e2073a0108006:'],
      [-3, 1795262300.5],
      [-4, 'A'],
      [-1, 5],
      [0, 'voltage'],
      [2, 120.1],
    ]),
    new Map<number, unknown>([
      [0, 'current'],
      [6, -5],
      [2, 1.5],
    ]),
    new Map<number, unknown>([
      [0, 'label'],
      [3, 'Room'],
      [4, true],
    ]),
    new Map<number, unknown>([[8, Buffer.from([1, 2])]]),
  ],
].map((pack) => encodeCbor(pack));
const moreCbor = ['82a4211a6afd2f00200a006161020183', '81a102c48221196ab3', '9fbf006161 02f93e00ffff'].map(
  (text) => Buffer.from(text.replaceAll(' ', ''), 'hex'),
);
const packed = [
  '82a474656d70cb4035800000000000a368756d2d',
  '9281a174ce6b019b3e82a176d1ff00a165d6ff5f5e1000',
  'df0000000181',
].map((text) => Buffer.from(text, 'hex'));
const formSeeds = [
  ...bytes([
    '21.5\0\0',
    '{"t":1795262400,"v":1}\n{"t":1795262401,"v":2}\n',
    `{'temp': 21.5, 'ok': True, "x": None, n: 'it\\'s',}`,
    'time,temp,hum\n2026-11-21T11:00:00Z,21.5,45\n2026-11-21T11:01:00Z,,46\n',
    'temp=21.5&hum=45',
    'T:21.5;H:45',
    '0x1F',
    '21.5;45;1013',
    '[{"n":"temp","value":21.5},{"n":"hum","value":45}]',
  ]),
  ...packed,
  gzipSync('{"temp":21.5}'),
  Buffer.from('\ufeff{"temp":21.5}', 'utf16le'),
  Buffer.from('{"Küche":21.5,"unit":"°C"}', 'latin1'),
  encodeCbor({ temp: 21.5, air: { co2: 412 } }),
];
const seedsOf: Readonly<Record<string, readonly Uint8Array[]>> = {
  auto: [...payloads, ...jsonSeeds, ...senmlSeeds, ...lineSeeds, ...cborSeeds, ...moreCbor, ...formSeeds],
  plain: bytes(['21.5', '-1e3', 'on', 'false', ' 7 \n']),
  text: bytes(['open', 'größe', '21.5']),
  json: [...payloads, ...jsonSeeds],
  'senml-json': senmlSeeds,
  'senml-cbor': [...cborSeeds, ...moreCbor],
  influx: lineSeeds,
};

/** The kind of a result: the reason without the parts that quote the payload, or how many values of which types. */
function kindOf(decoded: readonly Reading[] | DecodeError): string {
  if (decoded instanceof DecodeError) {
    return `${decoded.reason} ${decoded.message.replaceAll(/"(?:[^"\\]|\\.)*"|[\d.]+/g, '').slice(0, 120)}`;
  }
  const types = [...new Set(decoded.map(({ value, quality }) => `${typeof value} ${quality}`))].sort();
  return `${32 - Math.clz32(decoded.length)} ${types.join()}`;
}

const ofFormats = formatNames.map((name) => ({
  name,
  corpus: seedsOf[name] ?? payloads,
  tokens,
  run: (input: Buffer): string => {
    const kinds = [CONTEXT, NAMELESS].map((context) => {
      const decoded = formats[name]!(input, context);
      checkDecoded(decoded, context, { mayBeEmpty: name === 'auto' || name === 'json' });
      return kindOf(decoded);
    });
    return kinds.join('; ');
  },
}));

// Forms. Every form reads the payload, as if no other had its sign.

const ofForms = {
  name: 'forms',
  corpus: [...formSeeds, ...jsonSeeds, ...lineSeeds],
  tokens,
  run: (input: Buffer): string => {
    const kinds = forms.map(({ read }) => {
      const content = read(input);
      if (content === null || content instanceof DecodeError) return content === null ? '' : kindOf(content);
      if (!(content instanceof Parsed)) {
        assert.ok(content.length <= Math.max(MAX_INFLATED, 3 * input.length), `${content.length} bytes`);
        return `${32 - Math.clz32(content.length)} bytes`;
      }
      return Array.isArray(content.root) ? 'records' : typeof content.root;
    });
    return kinds.join('; ');
  },
};

// Mappings. Input: two bytes that select a route, then the payload.

const notes = { unit: () => {}, ignored: () => {} };
const ofPresets = presetNames.flatMap((name) => {
  const { base, routes } = presets[name]!;
  return routes.map(({ topic, mapping }) => ({ topic: presetTopic(base, topic), mapping }));
});
const ofMessages = senderMessages.flatMap(({ template, mapping }) =>
  mapping === undefined ? [] : [{ topic: template!, mapping: mapping as MappingOptions }],
);
const mappings = [...ofPresets, ...ofMessages].flatMap(({ topic, mapping }) => {
  if (mapping === 'ignore') return [];
  const captures = templateNames(mapping);
  return [{ template: compileTopicTemplate(topic, { captures }), captures, mapping }];
});

const mappingInputs = senderMessages.map(({ topic, payload, mapping }) => {
  const found = mappings.findIndex(
    (each) => (mapping === undefined || each.mapping === mapping) && each.template.match(topic) !== null,
  );
  return Buffer.concat([Buffer.of(Math.max(found, 0) >> 8, Math.max(found, 0) & 0xff), Buffer.from(payload)]);
});

/** Each mapping has bounded caches. A route has one mapping, and this target has all, so it makes them again. */
const INPUTS_PER_DECODER = 2000;
let inputs = 0;
const decoders = new Map<number, Decode>();

function decoderOf(route: number): Decode {
  if (++inputs % INPUTS_PER_DECODER === 0) decoders.clear();
  const decode = decoders.get(route) ?? compileMapping(mappings[route]!.mapping);
  decoders.set(route, decode);
  return decode;
}

const ofMappings = {
  name: 'mappings',
  corpus: mappingInputs,
  tokens,
  run: (input: Buffer): string => {
    const route = ((input[0] ?? 0) * 256 + (input[1] ?? 0)) % mappings.length;
    const { captures } = mappings[route]!;
    const captured = Object.fromEntries(captures.map((name) => [name, `the ${name}`]));
    const context = { ...CONTEXT, captured, notes };
    const decoded = decoderOf(route)(input.subarray(2), context);
    // A mapping names other devices with a template of its operator, so the device of the topic does not bind it.
    checkDecoded(decoded, { ...context, device: null }, { mayBeEmpty: true });
    return `${route} ${kindOf(decoded)}`;
  },
};

// Sparkplug. Input: two bytes that select the kinds of two messages, then their payload.

const KINDS = ['NBIRTH', 'NDATA', 'DBIRTH', 'DDATA', 'NDEATH', 'DDEATH'];
const sparkplugTopic = (kind: string): string =>
  `spBv1.0/plant 1/${kind}/edge${kind.startsWith('D') ? '/pump' : ''}`;
const MAX_BIRTH_BYTES = 64 * 1024;
const MAX_KEPT_BYTES = 4 << 20;

const ofSparkplug = {
  name: 'sparkplug-b',
  corpus: [
    NBIRTH,
    DBIRTH,
    encodeSparkplug(2, [
      { alias: 0, float_value: 12.3 },
      { name: 'Inputs/A', boolean_value: true, is_null: true },
    ]),
    encodeSparkplug(1, [
      { name: 'x', datatype: 8, long_value: 7 },
      { name: 'd', datatype: 16, dataset_value: Buffer.from([1, 2]) },
      { name: 't', datatype: 10, double_value: 1e300, timestamp: 0 },
    ]),
  ].flatMap((payload) =>
    [0x0001, 0x0203, 0x0103].map((how) => Buffer.concat([Buffer.of(how >> 8, how & 0xff), payload])),
  ),
  tokens: [...tokens, NBIRTH.subarray(8), DBIRTH.subarray(8)],
  run: (input: Buffer): string => {
    const payload = input.subarray(2);
    const decoder = new SparkplugDecoder(MAX_BIRTH_BYTES);
    decoder.decode(NBIRTH, { ...NAMELESS, topic: sparkplugTopic('NBIRTH') });
    const kinds: string[] = [];
    for (const selected of input.subarray(0, 2)) {
      const kind = KINDS[selected % KINDS.length]!;
      const context = { ...NAMELESS, topic: sparkplugTopic(kind), notes };
      const { decoded, payload: kept } = decoder.decode(payload, context);
      checkDecoded(decoded, context, { mayBeEmpty: true });
      if (!(decoded instanceof DecodeError)) {
        assert.ok(kept.length <= MAX_KEPT_BYTES, `${kept.length} bytes are kept of ${payload.length}`);
        assert.deepEqual(
          decoder.replay(kept, context),
          decoded,
          'a message that was kept is decoded differently',
        );
      }
      kinds.push(`${kind} ${kindOf(decoded)}`);
    }
    return kinds.join('; ');
  },
};

const ofLines = {
  name: 'influx-lines',
  corpus: lineSeeds,
  tokens,
  run: (input: Buffer): string => {
    const split = splitLines(input, {}, CONTEXT, 100);
    for (const part of split.valid) {
      const decoded = formats.influx!(part, CONTEXT);
      checkDecoded(decoded, CONTEXT, { mayBeEmpty: false });
      assert.ok(!(decoded instanceof DecodeError), `a valid line is refused: ${decoded}`);
    }
    assert.equal(split.refused === null, split.refusedLines === 0);
    return `${split.valid.length > 0} ${split.errors.map(kindOf).slice(0, 2).join('; ')}`;
  },
};

const templates = ['sensors/{device+}/{metric}', '{device}/+/{metric+}', 'a/{x}/{device}/#'].map((template) =>
  compileTopicTemplate(template, { captures: ['x'] }),
);

const ofNames = {
  name: 'names',
  corpus: bytes([
    ...senderMessages.map(({ topic }) => topic),
    'sensors/site 3/größe',
    'a/b/c/d',
    '~20~',
    '...',
  ]),
  tokens,
  run: (input: Buffer): string => {
    const text = input.toString();
    assert.equal(restoreName(cleanName(text)), text);
    const kinds = templates.map(({ match }) => {
      const names = match(text);
      if (names === null) return 'null';
      if (names instanceof DecodeError) return kindOf(names);
      assert.ok(names.device === null || deviceNameProblem(names.device) === null, `${names.device}`);
      assert.ok(names.metric === null || metricNameProblem(names.metric) === null, `${names.metric}`);
      return `${names.device?.split('/').length} ${names.metric !== null}`;
    });
    return kinds.join('; ');
  },
};

export const fuzzTargets = [...ofFormats, ofForms, ofMappings, ofSparkplug, ofLines, ofNames];
