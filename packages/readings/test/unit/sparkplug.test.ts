import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  DecodeError,
  deviceNameProblem,
  MAX_READINGS_PER_PAYLOAD,
  metricNameProblem,
  type Notes,
  type Reading,
  SparkplugDecoder,
} from '@tidegauge/readings';
import fc from 'fast-check';
import { DBIRTH, encode, type Metric, NBIRTH, Payload, TIMESTAMP } from '../sparkplug-payloads.ts';
import { NAMELESS, RECEIVED } from './helpers.ts';

const NODE = 'spBv1.0/Sparkplug B Devices';
const topicOf = (kind: string, device = '') => `${NODE}/${kind}/JSON Scada${device && `/${device}`}`;

function host(maxBytes?: number) {
  const decoder = new SparkplugDecoder(maxBytes);
  const replies: string[] = [];
  const ignored: string[] = [];
  const units: string[] = [];
  const notes: Notes = {
    ignored: (field, why) => void ignored.push(`${field}: ${why}`),
    unit: (device, metric, unit) => void units.push(`${device} ${metric} ${unit}`),
  };
  let received = RECEIVED;
  const send = (topic: string, payload: Uint8Array, seconds = 0) => {
    received += 1 + seconds * 1e6;
    const result = decoder.decode(payload, { ...NAMELESS, received, topic, notes });
    if (result.reply !== null) replies.push(result.reply.topic);
    return result;
  };
  const readings = (topic: string, payload: Uint8Array, seconds = 0) => {
    const { decoded } = send(topic, payload, seconds);
    if (decoded instanceof DecodeError) assert.fail(`${decoded}`);
    return decoded.map(({ device, metric, value, time }) => [device, metric, value, time]);
  };
  const refused = (topic: string, payload: Uint8Array, seconds = 0) => {
    const { decoded } = send(topic, payload, seconds);
    assert.ok(decoded instanceof DecodeError, 'it should have been refused');
    return decoded;
  };
  return { decoder, replies, ignored, units, send, readings, refused };
}

const TIME = TIMESTAMP * 1000;
const OF_NODE = 'Sparkplug~20B~20Devices/JSON~20Scada';

describe('Sparkplug B', () => {
  it('decodes births, and the aliases of data messages after them', () => {
    const { readings, replies, units, ignored, send } = host();
    assert.deepEqual(readings(topicOf('NBIRTH'), NBIRTH), [
      [OF_NODE, '~online', 1, TIME],
      [OF_NODE, 'Properties.Hardware~20Make', 'Sonic', TIME],
      [OF_NODE, 'Supply~20Voltage', 12.1, TIME],
    ]);
    assert.deepEqual(units, [`${OF_NODE} Supply~20Voltage V`]);
    assert.equal(ignored.length, 3);
    assert.deepEqual(readings(topicOf('DBIRTH', 'Pump 1'), DBIRTH), [
      [`${OF_NODE}/Pump~201`, '~online', 1, TIME],
      [`${OF_NODE}/Pump~201`, 'Inputs.A', 0, TIME],
      [`${OF_NODE}/Pump~201`, 'Inputs.Level', -5, TIME],
    ]);
    const ndata = encode(2, [{ alias: 0, timestamp: TIMESTAMP + 1, float_value: 12.3 }]);
    assert.deepEqual(readings(topicOf('NDATA'), ndata), [[OF_NODE, 'Supply~20Voltage', 12.3, TIME + 1000]]);
    const ddata = encode(3, [
      { alias: 10, boolean_value: true },
      { name: 'Inputs/Level', int_value: 7, is_historical: true, timestamp: 1 },
    ]);
    assert.deepEqual(readings(topicOf('DDATA', 'Pump 1'), ddata), [
      [`${OF_NODE}/Pump~201`, 'Inputs.A', 1, TIME],
      [`${OF_NODE}/Pump~201`, 'Inputs.Level', 7, 1000],
    ]);
    for (const [topic, payload] of [
      ['spBv1.0/STATE/host', Buffer.from('{"online":true}')],
      [topicOf('NCMD'), encode(null, [])],
      [topicOf('DCMD', 'Pump 1'), Buffer.from('x')],
    ] as const)
      assert.deepEqual(send(topic, payload).decoded, []);
    assert.deepEqual(replies, []);
  });

  it('keeps a data message with the names of its birth, so that it can be decoded later', () => {
    const { decoder, send } = host();
    send(topicOf('NBIRTH'), NBIRTH);
    const topic = topicOf('NDATA');
    const payload = encode(1, [
      { alias: 0, float_value: 12.3 },
      { name: 'Properties/Hardware Make', string_value: 'b' },
    ]);
    const { decoded, payload: kept } = send(topic, payload);
    assert.notDeepEqual(kept, payload);
    const context = { ...NAMELESS, received: (decoded as readonly Reading[])[0]!.received, topic };
    assert.deepEqual(decoder.replay(kept, context), decoded);
    assert.deepEqual(new SparkplugDecoder().replay(kept, context), decoded, 'another process decodes it too');
    assert.equal(send(topicOf('NBIRTH'), NBIRTH).payload, NBIRTH);
  });

  it('requests a rebirth when a birth is missing, and decodes the message after it', () => {
    const { decoder, replies, refused, send } = host();
    const topic = topicOf('NDATA');
    const payload = encode(9, [{ alias: 0, float_value: 1 }]);
    const error = refused(topic, payload);
    assert.equal(error.reason, 'no_birth');
    assert.match(`${error}`, /alias 0 is unknown, .*a rebirth is requested; replay .*metric 1 of 1/);
    assert.deepEqual(replies, [topicOf('NCMD')]);
    assert.ok(decoder.replay(payload, { ...NAMELESS, topic }) instanceof DecodeError);
    send(topicOf('NBIRTH'), NBIRTH);
    const replayed = decoder.replay(payload, { ...NAMELESS, topic });
    assert.ok(!(replayed instanceof DecodeError));
    assert.equal(replayed[0]!.metric, 'Supply~20Voltage');
    const complete = host();
    const named = encode(9, [{ name: 'a', datatype: 10, double_value: 1 }]);
    assert.equal(complete.readings(topic, named).length, 1, 'names and types need no birth');
    assert.equal(complete.replies.length, 1);
  });

  it('sends the command of the specification', () => {
    const { send } = host();
    const { reply } = send(topicOf('NDATA'), encode(0, []));
    const command = Payload.toObject(Payload.decode(reply!.payload), { longs: Number });
    assert.deepEqual(command, {
      timestamp: Math.floor((RECEIVED + 1) / 1000),
      metrics: [{ name: 'Node Control/Rebirth', datatype: 11, boolean_value: true }],
    });
  });

  it('does not use births before missing sequence numbers, and requests them again', () => {
    const { readings, refused, replies, send } = host();
    send(topicOf('NBIRTH'), NBIRTH);
    const value = (seq: number) => encode(seq, [{ alias: 0, float_value: seq }]);
    for (let n = 1; n < 600; n++) assert.equal(readings(topicOf('NDATA'), value(n % 256)).length, 1);
    assert.deepEqual(replies, [], 'numbers go from 255 to 0');
    readings(topicOf('NDATA'), value(599 % 256));
    assert.deepEqual(replies, [], 'a message that the broker sent twice');
    const named = encode(601 % 256, [{ name: 'x', datatype: 10, double_value: 1 }]);
    assert.equal(readings(topicOf('NDATA'), named).length, 1, 'it needs no birth');
    assert.equal(replies.length, 1);
    assert.equal(refused(topicOf('NDATA'), value(602 % 256)).reason, 'no_birth');
    readings(topicOf('NDATA'), named, 29);
    assert.equal(replies.length, 1, 'one request in 30 s');
    readings(topicOf('NDATA'), named, 2);
    assert.equal(replies.length, 2, 'until a birth arrives');
    send(topicOf('NBIRTH'), NBIRTH);
    assert.equal(readings(topicOf('NDATA'), value(1)).length, 1);
    assert.equal(replies.length, 2);
  });

  it('uses no births from before messages that may have been missed', () => {
    const { decoder, refused, send } = host();
    send(topicOf('NBIRTH'), NBIRTH);
    decoder.forget();
    assert.equal(refused(topicOf('NDATA'), encode(1, [{ alias: 0, float_value: 1 }])).reason, 'no_birth');
  });

  it('stores whether nodes and devices are online', () => {
    const { decoder, readings, send } = host();
    const online = (topic: string, payload: Uint8Array) =>
      readings(topic, payload).filter(([, metric]) => metric === '~online');
    assert.deepEqual(online(topicOf('NBIRTH'), NBIRTH), [[OF_NODE, '~online', 1, TIME]]);
    assert.deepEqual(online(topicOf('DBIRTH', 'd'), DBIRTH), [[`${OF_NODE}/d`, '~online', 1, TIME]]);
    assert.deepEqual(online(topicOf('NDATA'), encode(2, [])), []);
    assert.deepEqual(online(topicOf('DDEATH', 'd'), encode(3, [])), [[`${OF_NODE}/d`, '~online', 0, TIME]]);
    const death = (bdSeq: number) => encode(null, [{ name: 'bdSeq', datatype: 4, long_value: bdSeq }]);
    assert.deepEqual(online(topicOf('NDEATH'), death(7)), [], 'a death of another session');
    const topic = topicOf('NDEATH');
    const { decoded, payload } = send(topic, death(0));
    const [found] = decoded as readonly Reading[];
    assert.ok(found!.value === 0 && found!.time > RECEIVED, 'a node writes its death when it connects');
    assert.deepEqual(decoder.replay(payload, { ...NAMELESS, topic, received: found!.received }), decoded);
  });

  it('never gives one alias the value of another metric, or one time two values', () => {
    const { readings, refused, replies } = host();
    const birth = encode(0, [
      { name: 'a', alias: 1, datatype: 9, float_value: 1 },
      { name: 'b', alias: 1, datatype: 9, float_value: 2 },
    ]);
    assert.equal(readings(topicOf('NBIRTH'), birth).length, 3);
    assert.equal(refused(topicOf('NDATA'), encode(1, [{ alias: 1, float_value: 5 }])).reason, 'no_birth');
    assert.equal(replies.length, 1);
    const data = (first: number, second: number) =>
      encode(2, [
        { name: 'a', float_value: first },
        { name: 'a', float_value: second },
      ]);
    assert.match(refused(topicOf('NDATA'), data(5, 6)).message, /a second .* a of the same time/);
    assert.equal(readings(topicOf('NDATA'), data(5, 5)).length, 2);
  });

  it('stores the quality of metrics', () => {
    const { readings, refused } = host();
    const properties = (value: Metric) => ({ keys: ['Quality'], values: [value] });
    const metric = { name: 'a', datatype: 10, double_value: 999 };
    const birth = encode(0, [
      { ...metric, properties: properties({ type: 3, int_value: 0 }) },
      { name: 'b', datatype: 10, is_null: true, properties: properties({ type: 4, long_value: 500 }) },
      { name: 'c', datatype: 10, double_value: 1, properties: properties({ type: 12, string_value: 'x' }) },
    ]);
    assert.deepEqual(
      readings(topicOf('DBIRTH', 'd'), birth).map(([, name, value]) => [name, value]),
      [
        ['~online', 1],
        ['a', 999],
        ['a~quality', 0],
        ['b~quality', 500],
        ['c', 1],
      ],
    );
    const many = Array.from({ length: MAX_READINGS_PER_PAYLOAD }, () => metric);
    assert.equal(readings(topicOf('DBIRTH', 'd'), encode(0, many)).length, MAX_READINGS_PER_PAYLOAD + 1);
    many[7] = { ...metric, properties: properties({ type: 3, int_value: 0 }) } as typeof metric;
    assert.equal(refused(topicOf('DBIRTH', 'd'), encode(0, many)).reason, 'too_many_readings');
  });

  it('ends a session at the death of this session only', () => {
    const { send, readings, refused } = host();
    const birth = (bdSeq: number) =>
      encode(0, [
        { name: 'bdSeq', datatype: 8, long_value: bdSeq },
        { name: 'x', alias: 1, datatype: 10, double_value: 1 },
      ]);
    const death = (bdSeq: number) => encode(null, [{ name: 'bdSeq', datatype: 8, long_value: bdSeq }]);
    const data = encode(1, [{ alias: 1, double_value: 2 }]);
    send(topicOf('NBIRTH'), birth(7));
    send(topicOf('NDEATH'), death(6));
    assert.equal(readings(topicOf('NDATA'), data).length, 1);
    send(topicOf('NDEATH'), death(7));
    assert.equal(refused(topicOf('NDATA'), data).reason, 'no_birth');
  });

  it('does not use the aliases of another device, of a dead device or of an earlier birth', () => {
    const { send, refused, readings } = host();
    send(topicOf('NBIRTH'), NBIRTH);
    send(topicOf('DBIRTH', 'a'), DBIRTH);
    const data = (seq: number) => encode(seq, [{ alias: 10, boolean_value: true }]);
    assert.equal(refused(topicOf('DDATA', 'b'), data(2)).reason, 'no_birth');
    assert.equal(readings(topicOf('DDATA', 'a'), data(3)).length, 1);
    send(topicOf('DDEATH', 'a'), encode(4, []));
    assert.equal(refused(topicOf('DDATA', 'a'), data(5)).reason, 'no_birth');
    send(topicOf('DBIRTH', 'a'), DBIRTH);
    send(topicOf('NBIRTH'), NBIRTH);
    assert.equal(refused(topicOf('DDATA', 'a'), data(1)).reason, 'no_birth');
  });

  it('reads every data type, and lists what it cannot store', () => {
    const { readings, ignored } = host();
    const one = (name: string, datatype: number, more: Metric) => ({ name, datatype, ...more });
    const birth = encode(0, [
      one('i8', 1, { int_value: 0xff }),
      one('i8b', 1, { int_value: 0xffffffff }),
      one('i16', 2, { int_value: 0xfffe }),
      one('i32', 3, { int_value: 0x80000000 }),
      one('i64', 4, { long_value: '18446744073709551615' }),
      one('u8', 5, { int_value: 255 }),
      one('u32', 7, { long_value: 4294967295 }),
      one('u32b', 7, { int_value: 4294967295 }),
      one('u64', 8, { long_value: '18446744073709551615' }),
      one('f', 9, { float_value: 21.3 }),
      one('d', 10, { double_value: 0.1 }),
      one('b', 11, { boolean_value: true }),
      one('s', 12, { string_value: 'ü' }),
      one('t', 13, { long_value: TIMESTAMP }),
      one('uuid', 15, { string_value: 'u' }),
      one('null', 9, { is_null: true }),
      one('nothing', 9, {}),
      one('nan', 10, { double_value: Number.NaN }),
      one('set', 16, { dataset_value: Buffer.from('x') }),
      one('bytes', 17, { bytes_value: Buffer.from('x') }),
      one('template', 19, { template_value: Buffer.alloc(100, 0x9a) }),
      one('array', 22, { bytes_value: Buffer.from('x') }),
      one('mismatch', 12, { int_value: 1 }),
      one('long', 12, { string_value: 'x'.repeat(5000) }),
      one('new', 99, { int_value: 1 }),
    ]);
    assert.deepEqual(
      readings(topicOf('NBIRTH'), birth).map(([, metric, value]) => [metric, value]),
      [
        ['~online', 1],
        ['i8', -1],
        ['i8b', -1],
        ['i16', -2],
        ['i32', -(2 ** 31)],
        ['i64', -1],
        ['u8', 255],
        ['u32', 4294967295],
        ['u32b', 4294967295],
        ['u64', 2 ** 64],
        ['f', 21.3],
        ['d', 0.1],
        ['b', 1],
        ['s', 'ü'],
        ['t', TIMESTAMP],
        ['uuid', 'u'],
      ],
    );
    assert.deepEqual(ignored, [
      'u64: it is a whole number beyond 2^53, so its last digits are rounded',
      'null: it is null',
      'nothing: it is null',
      'nan: it is not a finite number',
      'set: the data type DataSet is not supported',
      'bytes: the data type Bytes is not supported',
      'template: the data type Template is not supported',
      'array: the data type Int8Array is not supported',
      'mismatch: its value does not have its data type, String',
      'long: it is a text that cannot be stored',
      'new: its value does not have its data type, type 99',
    ]);
  });

  it('refuses other topics, other bytes and impossible times', () => {
    const { refused, readings } = host();
    for (const topic of [
      'a/b',
      'spBv1.0/g/NBIRTH',
      'spBv1.0/g/NBIRTH/n/d',
      'spBv1.0/g/DDATA/n',
      'spBv1.0/g/X/n',
      NODE,
    ])
      assert.equal(refused(topic, NBIRTH).reason, 'unsupported', topic);
    for (const bytes of ['x', '{"timestamp":1}', '\x12\xff', '\x12\x03\x0a\x01\xff', '\x0b', '\x12\x02\x50'])
      assert.equal(refused(topicOf('NBIRTH'), Buffer.from(bytes, 'latin1')).reason, 'malformed', bytes);
    const at = (timestamp: number) =>
      encode(0, [{ name: 'x', datatype: 11, boolean_value: true, timestamp }]);
    assert.equal(refused(topicOf('NBIRTH'), at(RECEIVED / 1000 + 86_400_001)).reason, 'invalid_time');
    assert.equal(refused(topicOf('NBIRTH'), at(1e15)).reason, 'invalid_time');
    const untimed = encode(0, [{ name: 'x', datatype: 11, boolean_value: true }], null);
    assert.ok((readings(topicOf('NBIRTH'), untimed)[1]![3] as number) > RECEIVED);
    const many = encode(
      0,
      Array.from({ length: MAX_READINGS_PER_PAYLOAD + 1 }, () => ({})),
    );
    assert.equal(refused(topicOf('NBIRTH'), many).reason, 'too_many_readings');
  });

  it('bounds the memory of births, and the number of requests', () => {
    const { send, replies, refused } = host(100_000);
    const node = (n: number, kind: string) => `spBv1.0/g/${kind}/node-${n}`;
    const birth = encode(
      0,
      Array.from({ length: 20 }, (_, n) => ({ name: `m${n}`, alias: n, datatype: 11, boolean_value: true })),
    );
    const data = encode(1, [{ alias: 1, boolean_value: true }]);
    for (let n = 0; n < 100; n++) {
      send(node(n, 'NBIRTH'), birth);
      assert.ok(!(send(node(0, 'NDATA'), data).decoded instanceof DecodeError), 'a node in use is kept');
    }
    assert.equal(refused(node(1, 'NDATA'), data).reason, 'no_birth');
    for (let n = 1000; n < 2000; n++) send(node(n, 'NDATA'), data);
    assert.equal(replies.length, 1, 'one request in 50 ms');
    for (let n = 0; n < 100; n++) send(`spBv1.0/another/NBIRTH/node-${n}`, birth);
    const kept = send(node(0, 'NDATA'), encode(2, [{ alias: 1, boolean_value: true }]));
    assert.ok(!(kept.decoded instanceof DecodeError), 'another group does not remove it');
    const small = host(100);
    small.send(node(0, 'NBIRTH'), birth);
    assert.equal(small.refused(node(0, 'NDATA'), data).reason, 'no_birth');
  });

  it('ends a session by a death without a number, or of a birth without one, or of an unknown node', () => {
    const birth = (more: readonly Metric[]) =>
      encode(0, [{ name: 'x', alias: 1, datatype: 10, double_value: 1 }, ...more]);
    const bdSeq = { name: 'bdSeq', datatype: 8, long_value: 7 };
    for (const [born, dead] of [
      [[bdSeq], []],
      [[], [bdSeq]],
      [[], []],
    ] as const) {
      const { send, readings, refused } = host();
      send(topicOf('NBIRTH'), birth(born));
      assert.equal(readings(topicOf('NDEATH'), encode(null, dead)).length, 1);
      assert.equal(refused(topicOf('NDATA'), encode(1, [{ alias: 1, double_value: 2 }])).reason, 'no_birth');
    }
    assert.equal(host().readings(topicOf('NDEATH'), encode(null, [bdSeq])).length, 1);
  });

  it('frees the memory of births that are repeated, and of devices that died', () => {
    const { send, readings, refused } = host(20_000);
    send(topicOf('NBIRTH'), NBIRTH);
    const birth = encode(0, [
      ...Array.from({ length: 20 }, (_, n) => ({
        ...{ name: 'm'.repeat(100) + n, alias: n, datatype: 11, boolean_value: true },
      })),
      { alias: 99, datatype: 11, boolean_value: true },
    ]);
    const data = encode(null, [{ alias: 0, float_value: 1 }]);
    for (let round = 0; round < 20; round++) {
      const unnamed = refused('spBv1.0/g/NBIRTH/other', birth);
      assert.equal(unnamed.reason, 'no_birth', 'a metric of a birth has a name');
      refused('spBv1.0/g/DBIRTH/other/d', birth);
      assert.equal(readings(topicOf('NDATA'), data).length, 1);
      if (round % 2 === 0) send('spBv1.0/g/DDEATH/other/d', encode(null, []));
    }
    for (let n = 0; n < 4; n++) refused(`spBv1.0/g/DBIRTH/other/d${n}`, birth);
    assert.equal(readings(topicOf('NDATA'), data).length, 1, 'the group with the most loses');
    assert.equal(refused('spBv1.0/g/NDATA/other', encode(null, [{ alias: 1 }])).reason, 'no_birth');
  });

  it('gives valid readings or a short reason for any bytes, in bounded time', () => {
    const metric = fc.record(
      {
        name: fc.oneof(fc.string(), fc.constantFrom('a', 'a/b', 'bdSeq', '.', '//', 'x'.repeat(100))),
        alias: fc.nat(3),
        timestamp: fc.oneof(fc.nat(), fc.constantFrom(TIMESTAMP, 2 ** 53)),
        datatype: fc.nat(40),
        is_null: fc.boolean(),
        int_value: fc.nat(),
        double_value: fc.double(),
        string_value: fc.string(),
      },
      { requiredKeys: [] },
    );
    const valid = fc
      .tuple(fc.option(fc.nat(255)), fc.array(metric, { maxLength: 5 }))
      .map(([seq, metrics]) => encode(seq, metrics));
    const damaged = fc
      .tuple(valid, fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { maxLength: 3 }))
      .map(([bytes, changes]) => {
        const copy = Uint8Array.from(bytes);
        for (const [at, byte] of changes) if (copy.length > 0) copy[at % copy.length] = byte;
        return copy;
      });
    const payload = fc.oneof(valid, damaged, fc.uint8Array({ maxLength: 60 }));
    const kind = fc.constantFrom('NBIRTH', 'NDATA', 'NDEATH', 'DBIRTH', 'DDATA', 'DDEATH', 'NCMD');
    const messages = fc.array(fc.tuple(kind, payload), { maxLength: 12 });
    fc.assert(
      fc.property(messages, (all) => {
        const { send, decoder } = host();
        for (const [name, bytes] of all) {
          const topic = topicOf(name, name.startsWith('D') ? 'd' : '');
          const { decoded, payload: kept } = send(topic, bytes);
          if (decoded instanceof DecodeError) {
            assert.ok(decoded.message.length < 500);
            continue;
          }
          for (const { device, metric: word, time } of decoded) {
            assert.equal(deviceNameProblem(device), null);
            assert.equal(metricNameProblem(word), null, word);
            assert.ok(Number.isSafeInteger(time));
          }
          if (decoded.length === 0) continue;
          const context = { ...NAMELESS, received: decoded[0]!.received, topic };
          assert.deepEqual(decoder.replay(kept, context), decoded);
          assert.deepEqual(new SparkplugDecoder().replay(kept, context), decoded);
        }
      }),
      { numRuns: 1500 },
    );
    const started = performance.now();
    const MB = 1 << 20;
    for (const bytes of [
      Buffer.alloc(MB, 0x12),
      Buffer.alloc(MB, 0x0b),
      Buffer.alloc(MB, 0x80),
      Buffer.concat(Array.from({ length: MB / 2 }, () => Buffer.from([0x12, 0x00]))),
      encode(0, [{ name: 'x'.repeat(MB), datatype: 12, string_value: '/'.repeat(MB) }]),
      encode(0, [{ name: '/'.repeat(MB), datatype: 10, double_value: 1 }]),
    ])
      host().send(topicOf('NBIRTH'), bytes);
    assert.ok(performance.now() - started < 10_000);
  });
});
