import assert from 'node:assert/strict';
import mqttPacket, { type Packet } from 'mqtt-packet';
import { decodeControl, Type } from '../src/control.ts';
import { ProtocolError } from '../src/errors.ts';
import { FrameReader } from '../src/frame-reader.ts';
import { decodePublish, salvagePublish } from '../src/publish.ts';

// Input: one byte that selects the version and how the stream is cut into chunks, then packets.

const properties = {
  payloadFormatIndicator: true,
  messageExpiryInterval: 3600,
  contentType: 'application/json',
  responseTopic: 'answers/1',
  correlationData: Buffer.from('c1'),
  subscriptionIdentifier: 200,
  userProperties: { unit: 'Cel', site: ['a', 'b'] },
};
const publish = { cmd: 'publish', topic: 'sensors/site-3/temperature', dup: false, retain: false } as const;
const packets: readonly Packet[] = [
  { cmd: 'connack', sessionPresent: true, reasonCode: 0, returnCode: 0 },
  { ...publish, payload: '21.5', qos: 0 },
  { ...publish, payload: '{"t":1795262400,"v":21.5}', qos: 1, messageId: 17, dup: true },
  { ...publish, payload: Buffer.alloc(300, 0x61), qos: 2, messageId: 65_535, retain: true },
  { cmd: 'pubrel', messageId: 17 },
  { cmd: 'suback', messageId: 1, granted: [0, 1, 128] },
  { cmd: 'unsuback', messageId: 2, granted: [0] },
  { cmd: 'pingresp' },
];
const packets5: readonly Packet[] = [
  { ...publish, payload: '21.5', qos: 1, messageId: 3, properties },
  {
    cmd: 'connack',
    sessionPresent: false,
    reasonCode: 0,
    properties: { serverKeepAlive: 30, reasonString: 'ok' },
  },
  { cmd: 'disconnect', reasonCode: 142, properties: { reasonString: 'taken over' } },
  { cmd: 'auth', reasonCode: 24, properties: { authenticationMethod: 'SCRAM' } },
];

const encode = (list: readonly Packet[], version: 4 | 5): Buffer =>
  Buffer.concat(list.map((packet) => mqttPacket.generate(packet, { protocolVersion: version })));
const of = (how: number, body: Buffer): Buffer => Buffer.concat([Buffer.of(how), body]);

const corpus: readonly Buffer[] = [
  of(0x00, encode(packets, 4)),
  of(0x83, encode([...packets, ...packets5], 5)),
  ...packets.map((packet, index) => of(index, encode([packet], 4))),
  ...[...packets, ...packets5].map((packet, index) => of(0x80 + index, encode([packet], 5))),
];

/** More packets repeat what fewer ones have, and take longer. */
const MAX_PACKETS = 16;
/** Longer streams repeat what shorter ones have, and take longer. */
const MAX_STREAM_BYTES = 2048;
const MAXIMUM_PACKET_SIZE = 700;
const MAXIMUM_TOPIC_BYTES = 512;

/** Reads a stream in chunks of `step` bytes, all at once with 0, and returns a description of each packet. */
function readStream(stream: Buffer, version: 4 | 5, step: number): string[] {
  const found: string[] = [];
  const isVersion5 = version === 5;
  const reader = new FrameReader(
    MAXIMUM_PACKET_SIZE,
    (buffer, start, body, end) => {
      if (found.length >= MAX_PACKETS) throw new ProtocolError(0, 'enough');
      assert.ok(
        body > start && body <= end && end <= buffer.length,
        `a packet from ${start} by ${body} to ${end}`,
      );
      if (buffer[start]! >> 4 === Type.PUBLISH) found.push(readPublish(buffer, start, body, end, isVersion5));
      else found.push(readControl(buffer.subarray(start, end), version));
    },
    (head, body, size) => {
      assert.ok(size > MAXIMUM_PACKET_SIZE && head.length <= size);
      const why = { size, maximumPacketSize: MAXIMUM_PACKET_SIZE };
      const { topic, packetId, reason } = salvagePublish(head, 0, body, head.length, isVersion5, why);
      found.push(`${reason} ${topic.length} ${packetId}`);
    },
  );
  try {
    for (let at = 0; at < stream.length; at += step || stream.length) {
      reader.push(stream.subarray(at, at + (step || stream.length)));
    }
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    found.push(error.message.replaceAll(/\d+/g, '0'));
  }
  return found;
}

function readPublish(buffer: Buffer, start: number, body: number, end: number, isVersion5: boolean): string {
  try {
    const message = decodePublish(buffer, start, body, end, isVersion5, MAXIMUM_TOPIC_BYTES);
    assert.ok(message.topic.length > 0 && !/[\0+#]/.test(message.topic), message.topic);
    assert.ok(message.qos === 0 || message.packetId > 0);
    assert.ok(message.payload.length <= end - start);
    return `publish ${message.qos} ${Object.keys(message.properties ?? {}).join()}`;
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    const salvaged = salvagePublish(buffer, start, body, end, isVersion5, error);
    assert.ok(salvaged.qos === 0 || salvaged.packetId > 0);
    assert.ok(salvaged.topic.length <= MAXIMUM_TOPIC_BYTES && !salvaged.topic.includes('\0'));
    assert.ok(salvaged.payload.length <= end - start);
    return `${salvaged.qos} ${error.message.replaceAll(/\d+/g, '0')}`;
  }
}

function readControl(frame: Buffer, version: 4 | 5): string {
  try {
    const packet = decodeControl(frame, version);
    return `${packet.cmd} ${Object.keys(packet).join()}`;
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return error.message.replaceAll(/\d+/g, '0');
  }
}

const STEPS = [0, 1, 2, 3, 5, 17, 256, 1000];

export const fuzzTargets = [
  {
    name: 'mqtt-packets',
    corpus,
    tokens: [0x30, 0x32, 0x3d, 0x20, 0x62, 0x90, 0xb0, 0xd0, 0xe0, 0xf0].map((type) =>
      Buffer.of(type, 2, 0, 1),
    ),
    run: (input: Buffer): string => {
      const how = input[0] ?? 0;
      const version = how >= 0x80 ? 5 : 4;
      const stream = input.subarray(1, MAX_STREAM_BYTES);
      const found = readStream(stream, version, 0);
      const step = STEPS[how % STEPS.length]!;
      if (step > 0)
        assert.equal(
          readStream(stream, version, step).join('\n'),
          found.join('\n'),
          `in chunks of ${step} bytes`,
        );
      return `${version} ${found.slice(-2).join('; ')}`;
    },
  },
];
