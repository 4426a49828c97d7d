import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import mqttPacket, { type IPublishPacket } from 'mqtt-packet';
import { ProtocolError } from '../../src/errors.ts';
import { FrameReader, type OnFrame } from '../../src/frame-reader.ts';
import { decodePublish, type InboundMessage, salvagePublish } from '../../src/publish.ts';

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).filter((s) => !s.includes('\0'));
const topic = text.filter((s) => !/[+#]/.test(s));
const binary = fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes));

// `userProperties` values and identifiers are non-empty: mqtt-packet's parser loses repeated falsy ones.
const properties = fc.record(
  {
    payloadFormatIndicator: fc.boolean(),
    messageExpiryInterval: fc.nat(0xffffffff),
    contentType: text,
    responseTopic: text,
    correlationData: binary.filter((bytes) => bytes.length > 0),
    subscriptionIdentifier: fc.integer({ min: 1, max: 268435455 }),
    userProperties: fc.dictionary(text, fc.oneof(text, fc.array(text, { minLength: 2, maxLength: 3 })), {
      minKeys: 1,
      maxKeys: 3,
    }),
  },
  { requiredKeys: [] },
);

const publish = fc.record({
  cmd: fc.constant('publish' as const),
  topic,
  payload: fc.oneof(
    binary,
    fc.integer({ min: 0, max: 70_000 }).map((length) => Buffer.alloc(length, 7)),
  ),
  qos: fc.constantFrom(0, 1, 2),
  retain: fc.boolean(),
  dup: fc.boolean(),
  messageId: fc.integer({ min: 1, max: 65535 }),
  properties,
});

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end));
}

function readAll(chunks: readonly Buffer[], version: 4 | 5): InboundMessage[] {
  const messages: InboundMessage[] = [];
  const onFrame: OnFrame = (buffer, start, body, end) => {
    messages.push(decodePublish(buffer, start, body, end, version === 5));
  };
  const reader = new FrameReader(1_000_000, onFrame, () => {});
  for (const chunk of chunks) reader.push(chunk);
  return messages;
}

function parseAll(bytes: Buffer, version: 4 | 5): IPublishPacket[] {
  const packets: IPublishPacket[] = [];
  const parser = mqttPacket.parser({ protocolVersion: version });
  parser.on('packet', (packet) => packets.push(packet as IPublishPacket));
  parser.on('error', (error) => assert.fail(error));
  parser.parse(bytes);
  return packets;
}

for (const version of [4, 5] as const) {
  test(`PUBLISH packets of MQTT ${version}, split anywhere, decode as mqtt-packet decodes them`, () => {
    fc.assert(
      fc.property(
        fc.array(publish, { minLength: 1, maxLength: 6 }),
        fc.array(fc.nat(), { maxLength: 12 }),
        (packets, places) => {
          const bytes = Buffer.concat(
            packets.map((packet) =>
              mqttPacket.generate(packet as IPublishPacket, { protocolVersion: version }),
            ),
          );
          const ours = readAll(cut(bytes, places), version);
          const theirs = parseAll(bytes, version);
          assert.equal(ours.length, packets.length);
          for (const [i, message] of ours.entries()) {
            const { topic, payload, qos, retain, dup, messageId, properties } = theirs[i]!;
            assert.equal(message.topic, topic);
            assert.ok(message.payload.equals(payload as Buffer));
            assert.deepEqual([message.qos, message.retain, message.dup], [qos, retain, dup]);
            assert.equal(message.packetId, qos === 0 ? 0 : messageId);
            assert.deepEqual(plain(message.properties), plain(properties ?? null));
          }
        },
      ),
      { numRuns: 300 },
    );
  });
}

function plain(value: object | null): unknown {
  return value === null ? null : JSON.parse(JSON.stringify(value));
}

test('damaged properties of an accepted message decode to an object or to null', () => {
  const damage = fc.record({ at: fc.nat(), to: fc.integer({ min: 0, max: 255 }) });
  fc.assert(
    fc.property(publish, fc.array(damage, { maxLength: 3 }), (packet, damages) => {
      const bytes = mqttPacket.generate(packet as IPublishPacket, { protocolVersion: 5 });
      for (const { at, to } of damages) bytes[at % bytes.length] = to;
      let messages: InboundMessage[] = [];
      try {
        messages = readAll([bytes], 5);
      } catch (error) {
        assert.ok(error instanceof ProtocolError);
      }
      for (const { properties } of messages) assert.ok(properties === null || typeof properties === 'object');
    }),
    { numRuns: 1000 },
  );
});

test('any bytes either decode or give a ProtocolError, for any chunks', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 200 }),
      fc.array(fc.nat(), { maxLength: 8 }),
      fc.constantFrom(4 as const, 5 as const),
      (bytes, places, version) => {
        try {
          readAll(cut(Buffer.from(bytes), places), version);
        } catch (error) {
          assert.ok(error instanceof ProtocolError, String(error));
          assert.ok(error.reasonCode >= 0x80);
        }
      },
    ),
    { numRuns: 2000 },
  );
});

test('a PUBLISH that arrives byte by byte is decoded', () => {
  const bytes = mqttPacket.generate({
    cmd: 'publish',
    topic: 'sensors/ä/温度',
    payload: Buffer.alloc(300, 1),
    qos: 1,
    dup: false,
    retain: false,
    messageId: 77,
  });
  const [message] = readAll(
    [...bytes].map((byte) => Buffer.from([byte])),
    4,
  );
  assert.equal(message?.topic, 'sensors/ä/温度');
  assert.equal(message?.packetId, 77);
  assert.equal(message?.payload.length, 300);
});

test('a pause during a packet stops the reader there, and resume continues with the next packet', () => {
  const ping = Buffer.from([0xd0, 0, 0xd0, 0, 0xd0, 0, 0xd0]);
  let seen = 0;
  const onFrame = (): void => {
    seen += 1;
    reader.paused = seen === 1;
  };
  const reader = new FrameReader(100, onFrame, () => {});
  reader.push(ping);
  assert.equal(seen, 1);
  reader.push(Buffer.from([0]));
  assert.equal(seen, 1, 'bytes that still come are kept');
  reader.resume();
  assert.equal(seen, 4);
});

test('a packet above the maximum, other than PUBLISH, is refused by its header, before memory is allocated', () => {
  const reader = new FrameReader(
    100,
    () => assert.fail('no packet'),
    () => assert.fail('no PUBLISH'),
  );
  assert.throws(
    () => reader.push(Buffer.from([0x90, 0xff, 0xff, 0xff, 0x7f])),
    (error: ProtocolError) => error.reasonCode === 0x95 && error.message.includes('268435460'),
  );
});

test('a PUBLISH above the maximum is skipped, split anywhere, and the packets around it are decoded', () => {
  const packet = (size: number) => {
    const payload = Buffer.alloc(size, 0x40);
    const base = { cmd: 'publish' as const, qos: 1 as const, dup: false, retain: false, messageId: 9 };
    return mqttPacket.generate({ ...base, topic: 'a', payload });
  };
  const large = fc.integer({ min: 100, max: 200_000 });
  fc.assert(
    fc.property(fc.array(large, { maxLength: 3 }), fc.array(fc.nat(), { maxLength: 12 }), (sizes, places) => {
      const bytes = Buffer.concat([packet(1), ...sizes.flatMap((size) => [packet(size), packet(2)])]);
      const taken: number[] = [];
      const passed: number[] = [];
      const reader = new FrameReader(
        100,
        (_buffer, start, _body, end) => taken.push(end - start),
        (head, body, size) => {
          assert.equal(head.subarray(body, body + 5).toString('hex'), '0001610009');
          assert.ok(head.length <= 65_544);
          passed.push(size);
        },
      );
      for (const chunk of cut(bytes, places)) reader.push(chunk);
      assert.deepEqual(
        passed,
        sizes.map((size) => packet(size).length),
      );
      assert.deepEqual(taken, [packet(1).length, ...sizes.map(() => packet(2).length)]);
    }),
    { numRuns: 200 },
  );
});

test('undecodable packets are salvaged without an exception, for any bytes', () => {
  const problem = new ProtocolError(0x81, 'nonsense');
  const large = { size: 1e9, maximumPacketSize: 100 };
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 200 }),
      fc.boolean(),
      fc.constantFrom(problem, large),
      (bytes, mqtt5, why) => {
        const message = salvagePublish(Buffer.from(bytes), 0, 1, bytes.length, mqtt5, why);
        assert.ok(message.qos === 0 || (message.qos < 3 && message.packetId > 0));
      },
    ),
    { numRuns: 2000 },
  );
});

const malformed: readonly (readonly [string, number, number[]])[] = [
  ['QoS 3', 0x81, [0x36, 5, 0, 1, 97, 0, 1]],
  ['no topic', 0x81, [0x30, 1, 0]],
  ['a topic longer than the packet', 0x81, [0x30, 3, 0, 9, 97]],
  ['an empty topic', 0x82, [0x30, 3, 0, 0, 0]],
  ['packet identifier 0', 0x82, [0x32, 6, 0, 1, 97, 0, 0, 0]],
  ['no packet identifier', 0x81, [0x32, 4, 0, 1, 97, 0]],
  ['no property length', 0x81, [0x30, 3, 0, 1, 97]],
  ['properties longer than the packet', 0x81, [0x30, 5, 0, 1, 97, 9, 1]],
  ['a property cut short', 0x81, [0x30, 6, 0, 1, 97, 2, 2, 0]],
  ['a property that PUBLISH does not have', 0x81, [0x30, 6, 0, 1, 97, 2, 0x11, 0]],
  ['a topic alias', 0x94, [0x30, 7, 0, 1, 97, 3, 0x23, 0, 1]],
  ['ill-formed UTF-8', 0x81, [0x30, 5, 0, 2, 0xc3, 0x28, 0]],
  ['U+0000 in the topic', 0x81, [0x30, 4, 0, 1, 0, 0]],
  ['a wildcard in the topic', 0x90, [0x30, 4, 0, 1, 0x23, 0]],
  ['a remaining length of five bytes', 0x81, [0x30, 0x80, 0x80, 0x80, 0x80, 1]],
];

for (const [what, reasonCode, bytes] of malformed) {
  test(`a PUBLISH with ${what} is refused with 0x${reasonCode.toString(16)}`, () => {
    assert.throws(
      () => readAll([Buffer.from(bytes)], 5),
      (error) => error instanceof ProtocolError && error.reasonCode === reasonCode,
    );
  });
}
