import { compileMapping, type Decode, formats, SparkplugDecoder, splitLines } from '@tidegauge/readings';

// Payloads that make a decoder use much memory or time for their size.

export interface WorstPayload {
  readonly name: string;
  /** The decoders that read it. */
  readonly decoders: readonly string[];
  /** A payload of about this many bytes. */
  readonly make: (bytes: number) => Buffer;
}

const stateless = (name: string) => formats[name]!;

/** Each decoder that a message from MQTT or HTTP can reach, by its name. */
export const decoders: Readonly<Record<string, Decode>> = {
  ...formats,
  mapping: compileMapping({}),
  'mapping-with-texts': compileMapping({ parse: { a: 'json', b: 'json' }, metric: '{a}.{field}' }),
  'lines-of-http': (payload, context) => {
    const { valid } = splitLines(payload, {}, { ...context, metric: null }, 2000);
    return valid.length === 0 ? [] : stateless('influx')(valid[0]!, { ...context, metric: null });
  },
  'sparkplug-b': (payload, context) =>
    new SparkplugDecoder().decode(payload, { ...context, device: null, topic: 'spBv1.0/g/NBIRTH/n' }).decoded,
};

const JSON_DECODERS = ['auto', 'json', 'senml-json', 'mapping', 'mapping-with-texts'];
const LINE_DECODERS = ['auto', 'influx', 'lines-of-http'];
const TEXT_DECODERS = ['auto', 'plain', 'text', 'mapping'];

const repeated = (unit: string, head = '', tail = '') => {
  return (bytes: number) =>
    Buffer.from(head + unit.repeat((bytes - head.length) / Buffer.byteLength(unit)) + tail);
};

/** Texts with a number in each, until the size is reached. */
const counted = (each: (index: number) => string, head: string, tail: string, most = 1e7) => {
  return (bytes: number) => {
    const text = Buffer.alloc(bytes, ' ');
    let at = text.write(head);
    for (let index = 0; index < most && at < bytes - tail.length - 600; index++)
      at += text.write(each(index), at);
    at += text.write(tail, at);
    return text.subarray(0, at);
  };
};

const filled = (...bytes: number[]) => {
  return (size: number) => Buffer.alloc(size, Buffer.from(bytes));
};

/** A protobuf field of bytes. */
function field(number: number, content: Uint8Array): Buffer {
  const head: number[] = [];
  const varint = (value: number) => {
    for (; value > 127; value >>>= 7) head.push((value & 127) | 128);
    head.push(value);
  };
  varint(number * 8 + 2);
  varint(content.length);
  return Buffer.concat([Buffer.from(head), content]);
}

const VALUE = Buffer.from([0x20, 10, 0x69, 0, 0, 0, 0, 0, 0, 0, 0]);

function metrics(make: (index: number) => Uint8Array, most = 1e7): (bytes: number) => Buffer {
  return (bytes) => {
    const all: Buffer[] = [];
    for (let index = 0, size = 0; index < most && size < bytes; index++) {
      all.push(field(2, make(index)));
      size += all.at(-1)!.length;
    }
    return Buffer.concat(all);
  };
}

const of = (decoders: readonly string[], payloads: Readonly<Record<string, WorstPayload['make']>>) =>
  Object.entries(payloads).map(([name, make]) => ({ name, decoders, make }));

export const worstPayloads: readonly WorstPayload[] = [
  ...of(JSON_DECODERS, {
    'empty arrays': repeated('[],', '[', '[]]'),
    'empty objects': repeated('{},', '[', '{}]'),
    'different keys': counted((index) => `"k${index}":1,`, '{', '"k":1}'),
    'different keys below a key': counted((index) => `"k${index}":1,`, '{"x":{', '"k":1}}'),
    'different shapes': counted((index) => `{"a${index}":1,"b${index}":2},`, '[', '{}]'),
    records: repeated('{"v":1},', '[', '{"v":1}]'),
    'long records': counted(
      (index) => `{"t":${1.79e9 + index},"v":"${'x'.repeat(500)}"},`,
      '[',
      '{"v":1}]',
      9999,
    ),
    'open arrays': repeated('['),
    'open objects': repeated('{"a":'),
    'nested arrays': (bytes) => Buffer.from('['.repeat(bytes / 2) + ']'.repeat(bytes / 2)),
    'one text': repeated('a', '"', '"'),
    'one wide text': repeated('語', '"', '"'),
    'one escaped text': repeated('\\u8a9e', '"', '"'),
    'one key': repeated('a', '{"', '":1}'),
    'texts and NaN': repeated('"",', '[', 'NaN]'),
    'many NaN': repeated('NaN,', '[', 'NaN]'),
    'NaN without commas': repeated('nan ', '[', ']'),
    'a text of JSON': repeated('[],', '{"a":"[', '[]]","b":1}'),
    'a long value of a template': (bytes) =>
      Buffer.from(
        `{"a":"${'é'.repeat(bytes / 4)}",${Array.from({ length: bytes / 20 }, (_, index) => `"k${index}":1`).join()}}`,
      ),
    'one key again and again': repeated('"abcdef":1,', '{', '"abcdef":1}'),
    'many keys and one twice': counted((index) => `"k${index}":1,`, '{"k":1,"k":2,', '"k":1}', 119_000),
    'objects and one key twice': repeated('{"abcdefghijkl":1},', '[{"a":1,"a":2},', '{"a":1}]'),
    'long numbers': repeated('9007199254740993,', '[', '1]'),
    'long numbers with names': counted((index) => `"k${index}":9007199254740993,`, '{', '"k":1}'),
    'one long number': repeated('9', '[', ']'),
    'texts and one long number': repeated('"abcdef",', '[', '9007199254740993]'),
    'an array after the bound': repeated('1,', '[', '1'),
  }),
  ...of(['senml-json', 'senml-cbor', 'auto'], {
    'a long unit of the base': (bytes) =>
      Buffer.from(
        `[{"bn":"${'d'.repeat(200)}:m","bu":"${'u'.repeat(bytes / 2)}"},${'{"v":1,"t":-1},'.repeat(Math.min(9000, bytes / 32))}{"v":1}]`,
      ),
  }),
  ...of(['senml-cbor', 'auto'], {
    'maps in CBOR': (bytes) => Buffer.concat([Buffer.of(0x9f), Buffer.alloc(bytes, 0xa0), Buffer.of(0xff)]),
    'arrays in CBOR': (bytes) => Buffer.concat([Buffer.of(0x9f, 0xa0), Buffer.alloc(bytes, 0x80)]),
    'nested arrays in CBOR': filled(0x81),
    'nested tags in CBOR': filled(0xc4),
    'a text of no end in CBOR': filled(0x7f, 0x60),
    'a promised length in CBOR': filled(0x9b, 0, 0, 0, 1, 0, 0, 0, 0),
  }),
  ...of(LINE_DECODERS, {
    fields: counted((index) => `f${index}=1,`, 'm ', 'f=1'),
    tags: counted((index) => `,t${index}=1`, 'm', ' f=1'),
    lines: repeated('m f=1\n'),
    'lines that are none': repeated('m\n'),
    'lines with many tags': repeated(
      `m${Array.from({ length: 250 }, (_, tag) => `,t${tag}=${tag}`).join('')} f=1\n`,
    ),
    comments: repeated('#\n', '', 'm f=1\n'),
    'one value': repeated('a', 'm f="', '"'),
    'one escaped value': repeated('\\"', 'm f="', '"'),
    'one escaped name': repeated('\\ ', 'm', ' f=1'),
    'one escaped tag': repeated('\\ ', 'm,t=', ' f=1'),
    'one escaped field': repeated('\\ ', 'm f', '=1'),
    'long names': counted((index) => `f${index}${'é'.repeat(200)}=1,`, 'm ', 'f=1'),
  }),
  ...of(TEXT_DECODERS, {
    digits: filled(0x31),
    spaces: filled(0x20),
    'no UTF-8': filled(0xff),
    'replacement characters and no UTF-8': repeated('\ufffd', '', '\xff'),
    'a word': filled(0x61),
    'equals signs': repeated('=x '),
  }),
  ...of(['auto', 'mapping'], {
    'JSON lines': repeated('{"a":1}\n'),
    'names without quotes': repeated('a ', '{'),
    'single quotes': repeated("'a',", '['),
    'rows of CSV': repeated('1,2\n', 'a,b\n'),
    'one row of CSV': repeated('1,', 'a,b\n'),
    NULs: repeated('\0', '21.5'),
    'UTF-16': repeated('1\0'),
    'MessagePack, arrays': filled(0x91),
    'MessagePack, maps': repeated('\u0001', '\x81\xa1a'),
    'a column of times': repeated('1795262400,', '{"t":[', '1],"v":[1,2]}'),
    pairs: repeated('[1795262400,1],', '[', '[1795262401,1]]'),
    histories: repeated('{"t":1795262400,"v":1},', '{"h":[', '{"t":1795262401,"v":1}]}'),
  }),
  ...of(['sparkplug-b'], {
    'empty metrics': filled(0x12, 0),
    'unknown fields': filled(0x20, 0),
    'long names of metrics': metrics(
      (index) => Buffer.concat([field(1, Buffer.from(`${index}${'é'.repeat(400)}`)), VALUE]),
      9999,
    ),
    'many properties': metrics(() => field(9, Buffer.alloc(3000, Buffer.of(0x0a, 1, 0x61)))),
    'one name again and again': (bytes) => field(2, Buffer.alloc(bytes, Buffer.of(0x0a, 1, 0x61))),
    'a birth': metrics((index) => Buffer.concat([field(1, Buffer.from(`m${index}`)), VALUE])),
  }),
];
