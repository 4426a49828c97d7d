import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProtocolError } from '../../src/errors.ts';
import { FrameReader } from '../../src/frame-reader.ts';
import { decodePublish, TopicAliases } from '../../src/publish.ts';
import { type ConnectRequest, decodeConnect, Refusal } from '../../src/server/connect.ts';
import { RawClient } from '../support/raw-client.ts';
import { serve } from '../support/serve.ts';

// What the standard does not allow, with the number of its statement (MQTT 5) or its section.

const MALFORMED = 0x81;
const PROTOCOL_ERROR = 0x82;
const UNSUPPORTED_VERSION = 0x84;
const TOPIC_NAME_INVALID = 0x90;
const TOPIC_ALIAS_INVALID = 0x94;

type Bytes = string | readonly number[] | Buffer;

function bytesOf(...parts: readonly Bytes[]): Buffer {
  return Buffer.concat(parts.map((part) => Buffer.from(part as string)));
}

/** A field with its length. */
function field(...parts: readonly Bytes[]): Buffer {
  const bytes = bytesOf(...parts);
  return bytesOf([bytes.length >> 8, bytes.length & 0xff], bytes);
}

function packet(header: number, ...parts: readonly Bytes[]): Buffer {
  const body = bytesOf(...parts);
  assert.ok(body.length < 128);
  return bytesOf([header, body.length], body);
}

/** Properties with their length. */
function list(...parts: readonly Bytes[]): Buffer {
  const bytes = bytesOf(...parts);
  return bytesOf([bytes.length], bytes);
}

interface Connect {
  readonly name?: string;
  readonly version?: number;
  readonly flags?: number;
  readonly properties?: Bytes;
  readonly payload?: readonly Bytes[];
}

/** A CONNECT of MQTT 5 without a will or a login. */
function connect({
  name = 'MQTT',
  version = 5,
  flags = 2,
  properties,
  payload = [field('c')],
}: Connect): Buffer {
  const lists = version === 5 ? [properties ?? [0]] : [];
  return packet(0x10, field(name), [version, flags, 0, 60], ...lists, ...payload);
}

function decode(options: Connect): ConnectRequest {
  return decodeConnect(connect(options), 2);
}

function codeOf(run: () => unknown): number | null {
  try {
    run();
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    if (error instanceof ProtocolError) return error.reasonCode;
    throw error;
  }
}

const ILL_FORMED = [0x61, 0xc3];
const SURROGATE = [0xed, 0xa0, 0x80];
const will = (properties: Bytes, topic: Bytes = 'w') => [field('c'), properties, field(topic), field('x')];

const CONNECTS: readonly (readonly [string, Connect, number | null])[] = [
  ['nothing wrong', {}, null],
  ['nothing wrong, MQTT 3.1', { name: 'MQIsdp', version: 3 }, null],
  ['nothing wrong, a bridge of 3.1.1', { version: 0x84 }, null],
  ['U+FFFD, which is a character', { flags: 0x82, payload: [field('\ufffd'), field('\ufffd')] }, null],
  ['3.1.2-1: MQIsdp at level 5', { name: 'MQIsdp' }, UNSUPPORTED_VERSION],
  ['3.1.2-1: MQIsdp at level 4', { name: 'MQIsdp', version: 4 }, UNSUPPORTED_VERSION],
  ['3.1.2-1: MQTT at level 3', { version: 3 }, UNSUPPORTED_VERSION],
  ['3.1.2-1: level 0x85', { version: 0x85 }, UNSUPPORTED_VERSION],
  ['3.1.2-1: another name', { name: 'mqtt' }, MALFORMED],
  ['3.1.2-3: the reserved flag', { flags: 3 }, MALFORMED],
  ['3.1.2-11: a QoS and no will', { flags: 0x0a }, MALFORMED],
  ['3.1.2-13: retain and no will', { flags: 0x22 }, MALFORMED],
  ['3.1.2-12: a will with QoS 3', { flags: 0x1e, payload: will([0]) }, MALFORMED],
  ['4.13: bytes after the end', { payload: [field('c'), [0]] }, MALFORMED],
  ['4.13: bytes after the end, 3.1.1', { version: 4, payload: [field('c'), [0]] }, MALFORMED],
  ['4.13: a user name that is not there', { flags: 0x82 }, MALFORMED],
  ['4.13: a password that ends early', { flags: 0x42, payload: [field('c'), [0, 9, 1]] }, MALFORMED],
  [
    '3.1.1, 3.1.2-22: a password and no user',
    { version: 4, flags: 0x42, payload: [field('c'), field('p')] },
    MALFORMED,
  ],
  ['1.5.4-1: a client id', { payload: [field(ILL_FORMED)] }, MALFORMED],
  ['1.5.4-1: a surrogate', { payload: [field(SURROGATE)] }, MALFORMED],
  ['1.5.4-2: NUL in a client id', { payload: [field('a\0')] }, MALFORMED],
  ['1.5.4-2: NUL in a user name', { flags: 0x82, payload: [field('c'), field('u\0')] }, MALFORMED],
  [
    '1.5.4-1: a user name, 3.1.1',
    { version: 4, flags: 0x82, payload: [field('c'), field(ILL_FORMED)] },
    MALFORMED,
  ],
  ['1.5.5-1: a length in more bytes than needed', { properties: [0x80, 0] }, MALFORMED],
  ['2.2.2.2: a property of another packet', { properties: list([0x03], field('t')) }, MALFORMED],
  ['2.2.2.2: a property that ends early', { properties: list([0x11, 0, 0]) }, MALFORMED],
  [
    '3.1.2.11.2: the session expiry twice',
    { properties: list([0x11, 0, 0, 0, 1, 0x11, 0, 0, 0, 1]) },
    PROTOCOL_ERROR,
  ],
  ['3.1.2.11.3: Receive Maximum 0', { properties: list([0x21, 0, 0]) }, PROTOCOL_ERROR],
  ['3.1.2.11.6: Request Response Information 2', { properties: list([0x19, 2]) }, PROTOCOL_ERROR],
  ['3.1.2.11.10: Authentication Data alone', { properties: list([0x16], field('x')) }, PROTOCOL_ERROR],
  ['a will', { flags: 6, payload: will(list([0x01, 1, 0x18, 0, 0, 0, 1])) }, null],
  ['3.1.3.2.3: a will with payload format 2', { flags: 6, payload: will(list([0x01, 2])) }, PROTOCOL_ERROR],
  [
    '3.1.3.2.2: a delay twice',
    { flags: 6, payload: will(list([0x18, 0, 0, 0, 1, 0x18, 0, 0, 0, 1])) },
    PROTOCOL_ERROR,
  ],
  ['3.1.3.2.6: a wildcard', { flags: 6, payload: will(list([0x08], field('a/#'))) }, PROTOCOL_ERROR],
  ['3.1.3.2: a property of PUBLISH only', { flags: 6, payload: will(list([0x23, 0, 1])) }, MALFORMED],
  ['3.1.3-11: a will topic with NUL', { flags: 6, payload: will([0], 'w\0') }, MALFORMED],
  ['3.3.2-2: a will topic with a wildcard', { flags: 6, payload: will([0], 'w/+') }, TOPIC_NAME_INVALID],
  ['4.7.3-1: an empty will topic', { flags: 6, payload: will([0], '') }, TOPIC_NAME_INVALID],
];

test('a CONNECT that the standard does not allow is refused with its reason', () => {
  for (const [what, options, expected] of CONNECTS)
    assert.equal(
      codeOf(() => decode(options)),
      expected,
      what,
    );
  assert.equal(
    codeOf(() => decodeConnect(bytesOf([0x11], connect({}).subarray(1)), 2)),
    MALFORMED,
    '2.1.3-1',
  );
});

test('a password has all of its bytes', () => {
  for (const password of [[0], [0x70, 0], ILL_FORMED, []]) {
    const { password: found } = decode({ flags: 0xc2, payload: [field('c'), field('u'), field(password)] });
    assert.deepEqual([...found!], password);
  }
});

/** A PUBLISH of MQTT 5 with QoS 1, unless the header has another. */
const publish = (properties: Bytes, header = 0x32, id: Bytes = [0, 7], topic: Bytes = 't') =>
  packet(header, field(topic), id, properties, 'x');

const PUBLISHES: readonly (readonly [string, Buffer, number | null])[] = [
  [
    'nothing wrong',
    publish(list([0x01, 1, 0x02, 0, 0, 0, 1, 0x26], field('a'), field('b'), [0x26], field('a'), field('c'))),
    null,
  ],
  ['nothing wrong, a response topic', publish(list([0x08], field('a/b'), [0x09], field([0, 0xff]))), null],
  ['2.2.1-3: packet id 0', publish([0], 0x32, [0, 0]), PROTOCOL_ERROR],
  ['3.3.1-2: DUP with QoS 0', publish([0], 0x38, []), MALFORMED],
  ['3.3.1-4: QoS 3', publish([0], 0x36), MALFORMED],
  ['3.3.2-2: a wildcard', publish([0], 0x32, [0, 7], 'a/+'), TOPIC_NAME_INVALID],
  ['1.5.4-2: NUL in the topic', publish([0], 0x32, [0, 7], 'a\0'), MALFORMED],
  ['3.3.2.3.2: payload format 2', publish(list([0x01, 2])), PROTOCOL_ERROR],
  ['3.3.2.3.2: payload format twice', publish(list([0x01, 1, 0x01, 1])), PROTOCOL_ERROR],
  ['3.3.2.3.3: the expiry twice', publish(list([0x02, 0, 0, 0, 1, 0x02, 0, 0, 0, 1])), PROTOCOL_ERROR],
  ['3.3.2-14: a response topic with a wildcard', publish(list([0x08], field('a/#'))), PROTOCOL_ERROR],
  ['4.7.3-1: an empty response topic', publish(list([0x08], field(''))), PROTOCOL_ERROR],
  ['3.3.2-13: a response topic', publish(list([0x08], field(ILL_FORMED))), MALFORMED],
  [
    '3.3.2.3.5: the response topic twice',
    publish(list([0x08], field('a'), [0x08], field('a'))),
    PROTOCOL_ERROR,
  ],
  [
    '3.3.2.3.6: correlation data twice',
    publish(list([0x09], field('a'), [0x09], field('a'))),
    PROTOCOL_ERROR,
  ],
  [
    '3.3.2.3.9: the content type twice',
    publish(list([0x03], field('a'), [0x03], field('a'))),
    PROTOCOL_ERROR,
  ],
  ['3.3.4-6: a subscription identifier', publish(list([0x0b, 1])), MALFORMED],
  ['3.3.2-8: alias 0', publish(list([0x23, 0, 0])), TOPIC_ALIAS_INVALID],
  ['3.3.2-9: an alias above the maximum', publish(list([0x23, 0, 9])), TOPIC_ALIAS_INVALID],
  ['3.3.2.3.4: two aliases', publish(list([0x23, 0, 1, 0x23, 0, 1])), PROTOCOL_ERROR],
  ['2.2.2.2: a property of CONNECT', publish(list([0x11, 0, 0, 0, 1])), MALFORMED],
  ['1.5.5-1: a length in more bytes than needed', publish([0x80, 0]), MALFORMED],
];

test('a PUBLISH that the standard does not allow is refused with its reason', () => {
  for (const [what, bytes, expected] of PUBLISHES) {
    const run = () => decodePublish(bytes, 0, 2, bytes.length, true, 1024, new TopicAliases(8));
    assert.equal(codeOf(run), expected, what);
  }
  const reader = new FrameReader(
    1000,
    () => {},
    () => {},
  );
  assert.equal(
    codeOf(() => reader.push(bytesOf([0xc0, 0x80, 0]))),
    MALFORMED,
    '1.5.5-1: remaining length',
  );
});

const OTHERS: readonly (readonly [string, Buffer, number])[] = [
  ['2.2.1-3: PUBREL with id 0', packet(0x62, [0, 0]), PROTOCOL_ERROR],
  ['3.6.1-1: PUBREL with other flags', packet(0x60, [0, 1]), MALFORMED],
  ['3.6.2: PUBREL with bytes after its end', packet(0x62, [0, 1, 0, 0, 0]), MALFORMED],
  ['3.6.2.1: PUBREL with the reason of another packet', packet(0x62, [0, 1, 0x10]), MALFORMED],
  ['3.6.2.2: PUBREL with a property of another packet', packet(0x62, [0, 1, 0, 2, 0x01, 1]), MALFORMED],
  ['2.2.1-3: SUBSCRIBE with id 0', packet(0x82, [0, 0, 0], field('a'), [1]), PROTOCOL_ERROR],
  ['3.8.3-2: SUBSCRIBE without a filter', packet(0x82, [0, 1, 0]), PROTOCOL_ERROR],
  ['3.8.1-1: SUBSCRIBE with other flags', packet(0x80, [0, 1, 0], field('a'), [1]), MALFORMED],
  ['3.8.3-5: SUBSCRIBE with reserved options', packet(0x82, [0, 1, 0], field('a'), [0x41]), MALFORMED],
  ['3.8.3.1: SUBSCRIBE with QoS 3', packet(0x82, [0, 1, 0], field('a'), [3]), MALFORMED],
  ['3.8.3.1: Retain Handling 3', packet(0x82, [0, 1, 0], field('a'), [0x31]), PROTOCOL_ERROR],
  ['3.8.3-1: SUBSCRIBE with NUL', packet(0x82, [0, 1, 0], field('a\0'), [1]), MALFORMED],
  [
    '3.8.2.1.2: a subscription identifier 0',
    packet(0x82, [0, 1], list([0x0b, 0]), field('a'), [1]),
    PROTOCOL_ERROR,
  ],
  ['4.7.3-1: SUBSCRIBE with an empty filter', packet(0x82, [0, 1, 0], field(''), [1]), PROTOCOL_ERROR],
  ['4.13: SUBSCRIBE that ends early', packet(0x82, [0, 1, 0], field('a')), MALFORMED],
  ['2.2.1-3: UNSUBSCRIBE with id 0', packet(0xa2, [0, 0, 0], field('a')), PROTOCOL_ERROR],
  ['3.10.3-2: UNSUBSCRIBE without a filter', packet(0xa2, [0, 1, 0]), PROTOCOL_ERROR],
  [
    '3.10.3-1: UNSUBSCRIBE with bytes that are no text',
    packet(0xa2, [0, 1, 0], field(ILL_FORMED)),
    MALFORMED,
  ],
  ['3.10.1-1: UNSUBSCRIBE with other flags', packet(0xa0, [0, 1, 0], field('a')), MALFORMED],
  ['3.12: PINGREQ with a body', packet(0xc0, [0]), MALFORMED],
  ['3.14.1-1: DISCONNECT with flags', packet(0xe1, [0]), MALFORMED],
  [
    '3.14.2.2: DISCONNECT with a repeated property',
    packet(0xe0, [0], list([0x11, 0, 0, 0, 0, 0x11, 0, 0, 0, 0])),
    PROTOCOL_ERROR,
  ],
  ['3.1.0-2: a second CONNECT', connect({}), PROTOCOL_ERROR],
  ['3.15: AUTH without a method', packet(0xf0), PROTOCOL_ERROR],
];

test('other packets that the standard does not allow end the connection with their reason', async (context) => {
  const { port, server } = await serve(context);
  for (const [what, bytes, expected] of OTHERS) {
    const client = await RawClient.login(port, 5);
    client.socket.write(bytes);
    await client.untilClosed();
    assert.equal((client.packets[1] as { reasonCode?: number }).reasonCode, expected, what);
  }
  assert.equal(server.stats.ended.protocol, OTHERS.length);
  // CONNACK has the reason too, where the version has one.
  const refused = await RawClient.open(port, 5);
  refused.socket.write(connect({ properties: list([0x16], field('x')) }));
  await refused.untilClosed();
  assert.equal((refused.packets[0] as { reasonCode?: number }).reasonCode, PROTOCOL_ERROR);
  assert.equal(server.stats.ended.protocol, OTHERS.length + 1);
});

test('3.1.2-24: no packet is larger than the client takes: it is left out, or the connection ends', async (context) => {
  const { port, server } = await serve(context);
  const none = await RawClient.login(port, 5, { properties: { maximumPacketSize: 4 } });
  await none.untilClosed();
  assert.deepEqual(none.packets, []);
  const few = await RawClient.login(port, 5, { properties: { maximumPacketSize: 50 } });
  const filters = Array.from({ length: 60 }, (_, index) => ({ topic: `t${index}`, qos: 0 as const }));
  few.send({ cmd: 'subscribe', messageId: 1, subscriptions: filters });
  await few.untilClosed();
  assert.deepEqual(
    few.packets.map(({ cmd }) => cmd),
    ['connack', 'disconnect'],
  );
  assert.equal(server.stats.ended.protocol, 2);
});
