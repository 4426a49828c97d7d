import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Packet } from 'mqtt-packet';
import { MqttSession, MqttSessionError, type UndecodableMessage } from '../../src/index.ts';
import { record } from '../support/recorder.ts';
import { type Peer, startScriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/wait.ts';

function publish(messageId: number, rest: object = {}): object {
  const base = { cmd: 'publish', topic: 't/a', payload: `${messageId}`, qos: 1, dup: false, retain: false };
  return { ...base, messageId, ...rest };
}

function sent(peer: Peer, cmd: string): Packet[] {
  return peer.packets.filter((packet) => packet.cmd === cmd);
}

function code(expected: string, message = /./): (error: unknown) => boolean {
  return (error) =>
    error instanceof MqttSessionError && error.code === expected && message.test(error.message);
}

test('CONNECT announces a persistent session, its limits, and no topic aliases', async (t) => {
  const server = await startScriptedServer(t);
  const { session } = record(t, { url: server.url, username: 'u', password: 'p', receiveMaximum: 7 });
  await session.connect();
  const { connect } = server.peers[0]!;
  assert.equal(connect.protocolVersion, 5);
  assert.equal(connect.clean, false);
  assert.equal(connect.keepalive, 30);
  assert.equal(connect.username, 'u');
  assert.equal(String(connect.password), 'p');
  assert.deepEqual(
    { ...connect.properties },
    {
      sessionExpiryInterval: 7 * 24 * 3600,
      receiveMaximum: 7,
      topicAliasMaximum: 0,
      requestProblemInformation: true,
    },
  );
});

test('acknowledgements released backwards are sent in receive order', async (t) => {
  const server = await startScriptedServer(t);
  const { session, messages } = record(t, { url: server.url });
  await session.connect();
  const peer = server.peers[0]!;
  for (let id = 1; id <= 5; id += 1) peer.send(publish(id));
  await until('five messages', () => messages.length === 5);
  for (const message of messages.toReversed()) session.acknowledge(message);
  for (const message of messages) session.acknowledge(message);
  await until('five PUBACKs', () => sent(peer, 'puback').length === 5);
  assert.deepEqual(
    sent(peer, 'puback').map((packet) => packet.messageId),
    [1, 2, 3, 4, 5],
  );
  assert.deepEqual([session.stats.received, session.stats.acknowledged, session.stats.inFlight], [5, 5, 0]);
});

for (const protocolVersion of [5, 4] as const) {
  test(`a message is published with QoS 0, and none is queued without a connection, MQTT ${protocolVersion}`, async (t) => {
    const server = await startScriptedServer(t);
    const { session } = record(t, { url: server.url, protocolVersion });
    assert.equal(session.publish('a/b', Buffer.from('early')), false);
    await session.connect();
    const chunk = Buffer.from('..payload..');
    assert.equal(session.publish('a/b', chunk.subarray(2, 9)), true);
    assert.equal(session.publish('a/b', Buffer.alloc(300_000)), false, 'more than may wait');
    for (const topic of ['', 'a/+', '#', 'a\0', 'x'.repeat(70_000)])
      assert.throws(() => session.publish(topic, chunk), TypeError, topic.slice(0, 5));
    const peer = server.peers[0]!;
    await until('a PUBLISH', () => sent(peer, 'publish').length === 1);
    const [packet] = sent(peer, 'publish');
    assert.ok(packet?.cmd === 'publish');
    assert.deepEqual(
      [packet.topic, String(packet.payload), packet.qos, packet.retain],
      ['a/b', 'payload', 0, false],
    );
    await session.close();
    assert.equal(session.publish('a/b', chunk), false);
  });

  test(`reading stops when the queue is full and continues when it has space, MQTT ${protocolVersion}`, async (t) => {
    const server = await startScriptedServer(t);
    const { session, messages } = record(t, { url: server.url, protocolVersion, receiveMaximum: 2 });
    await session.connect();
    const peer = server.peers[0]!;
    for (let id = 1; id <= 5; id += 1) peer.send(publish(id));
    for (const expected of [2, 3, 4, 5]) {
      await until(`${expected} messages`, () => messages.length === expected);
      session.acknowledge(messages[expected - 2]!);
    }
    session.acknowledge(messages[4]!);
    await until('five PUBACKs', () => sent(peer, 'puback').length === 5);
    assert.equal(server.peers.length, 1);
  });
}

test('a message of an earlier connection is not acknowledged on the next one', async (t) => {
  const server = await startScriptedServer(t, { connack: (_, n) => ({ sessionPresent: n > 1 }) });
  const { session, messages, changes } = record(t, { url: server.url });
  await session.connect();
  server.peers[0]!.send(publish(9));
  await until('the message', () => messages.length === 1);
  server.peers[0]!.socket.destroy();
  await until('the reconnection', () => changes.length === 3);
  server.peers[1]!.send(publish(9, { dup: true }));
  await until('the message again', () => messages.length === 2);
  session.acknowledge(messages[0]!);
  server.peers[1]!.send(publish(10));
  await until('another message', () => messages.length === 3);
  assert.equal(sent(server.peers[1]!, 'puback').length, 0);
  session.acknowledge(messages[1]!);
  await until('PUBACK of the second delivery', () => sent(server.peers[1]!, 'puback').length === 1);
  assert.equal(session.stats.reconnects, 1);
});

test('a QoS 2 message is delivered once, regardless of what the broker sends again', async (t) => {
  const server = await startScriptedServer(t, { connack: (_, n) => ({ sessionPresent: n > 1 }) });
  const { session, messages, changes } = record(t, { url: server.url });
  await session.connect();
  const first = server.peers[0]!;
  first.send(publish(5, { qos: 2 }));
  first.send(publish(5, { qos: 2, dup: true }));
  first.send(publish(6, { qos: 2 }));
  await until('two messages', () => messages.length === 2);
  assert.equal(sent(first, 'pubrec').length, 0, 'PUBREC waits for the application');
  session.acknowledge(messages[1]!);
  session.acknowledge(messages[0]!);
  await until('PUBRECs', () => sent(first, 'pubrec').length === 2);
  assert.deepEqual(
    sent(first, 'pubrec').map((packet) => packet.messageId),
    [5, 6],
  );
  assert.equal(session.stats.inFlight, 2);
  first.socket.destroy();
  await until('the reconnection', () => changes.length === 3);

  const second = server.peers[1]!;
  second.send(publish(5, { qos: 2, dup: true }));
  await until('PUBREC again', () => sent(second, 'pubrec').length === 1);
  second.send({ cmd: 'pubrel', messageId: 5 });
  second.send({ cmd: 'pubrel', messageId: 6 });
  second.send({ cmd: 'pubrel', messageId: 7 });
  await until('PUBCOMPs', () => sent(second, 'pubcomp').length === 3);
  const completions = sent(second, 'pubcomp') as { messageId?: number; reasonCode?: number }[];
  assert.deepEqual(
    completions.map(({ messageId, reasonCode }) => [messageId, reasonCode]),
    [
      [5, 0],
      [6, 0],
      [7, 0x92],
    ],
  );
  second.send(publish(5, { qos: 2 }));
  await until('a new message with an old id', () => messages.length === 3);
  assert.deepEqual([session.stats.duplicates, session.stats.received], [2, 3]);
});

test('the record of received QoS 2 messages is deleted when the session is lost', async (t) => {
  const server = await startScriptedServer(t);
  const { session, messages, changes } = record(t, { url: server.url });
  await session.connect();
  server.peers[0]!.send(publish(5, { qos: 2 }));
  await until('the message', () => messages.length === 1);
  session.acknowledge(messages[0]!);
  await until('PUBREC', () => sent(server.peers[0]!, 'pubrec').length === 1);
  server.peers[0]!.socket.destroy();
  await until('the reconnection', () => changes.length === 3);
  server.peers[1]!.send(publish(5, { qos: 2, dup: true }));
  await until('another message of that id', () => messages.length === 2);
});

test('pause stops after the current message, and resume continues with the next', async (t) => {
  const server = await startScriptedServer(t);
  const seen: string[] = [];
  const { session } = record(t, {
    url: server.url,
    onMessage: (message) => {
      seen.push(String(message.payload));
      session.pause();
    },
  });
  await session.connect();
  const all = ['1', '2', '3', '4'];
  for (const id of all) server.peers[0]!.send(publish(0, { qos: 0, payload: id }));
  for (let i = 1; i <= all.length; i += 1) {
    await until(`message ${i}`, () => seen.length === i);
    await delay(20);
    assert.deepEqual(seen, all.slice(0, i));
    session.resume();
  }
});

const refusals: readonly (readonly [object, string, RegExp])[] = [
  [{ reasonCode: 0x86 }, 'BAD_CREDENTIALS', /Bad User Name or Password/],
  [{ reasonCode: 0x87 }, 'NOT_AUTHORIZED', /Not authorized/],
  [{ reasonCode: 0x85 }, 'BAD_CLIENT_ID', /Client Identifier not valid/],
  [{ reasonCode: 0x8a, properties: { reasonString: 'go away' } }, 'REFUSED', /Banned \(0x8a\): go away/],
  [{ reasonCode: 0x9d, properties: { serverReference: 'b2:1883' } }, 'REFUSED', /Server moved .*b2:1883/],
];

for (const [answer, expected, message] of refusals) {
  test(`connect rejects at once with ${expected} and the broker's reason: ${message.source}`, async (t) => {
    const server = await startScriptedServer(t, { connack: () => answer });
    const { session } = record(t, { url: server.url });
    await assert.rejects(session.connect(), (error) => {
      assert.ok(code(expected, message)(error), String(error));
      return (error as MqttSessionError).hint !== null;
    });
    assert.equal(server.peers.length, 1);
  });
}

test('the connection to a busy broker is retried', async (t) => {
  const server = await startScriptedServer(t, { connack: (_, n) => ({ reasonCode: n < 4 ? 0x89 : 0 }) });
  const { session, log } = record(t, { url: server.url });
  await session.connect();
  assert.equal(server.peers.length, 4);
  assert.equal(log.filter(({ object }) => /Server busy \(0x89\)/.test(String(object.reason))).length, 3);
});

test('after a refusal of MQTT 5 the session uses 3.1.1 without delay, unless version 5 is required', async (t) => {
  const server = await startScriptedServer(t, {
    connack: (connect) => (connect.protocolVersion === 5 ? { reasonCode: 0x84 } : {}),
  });
  const { session } = record(t, { url: server.url, reconnectMinMs: 60_000, reconnectMaxMs: 60_000 });
  await session.connect();
  assert.deepEqual(
    server.peers.map(({ connect }) => connect.protocolVersion),
    [5, 4],
  );
  const strict = record(t, { url: server.url, protocolVersion: 5 });
  await assert.rejects(strict.session.connect(), code('UNSUPPORTED_VERSION'));
});

test('a broker that closes the connection of MQTT 5 without an answer is used with 3.1.1', async (t) => {
  const server = await startScriptedServer(t, {
    connack: ({ protocolVersion }) => {
      if (protocolVersion === 4) return {};
      setImmediate(() => server.peers.at(-1)!.socket.destroy());
      return 'silent';
    },
  });
  const { session } = record(t, { url: server.url });
  await session.connect();
  assert.deepEqual(
    server.peers.map(({ connect }) => connect.protocolVersion),
    [5, 4],
  );
});

test('the error of a refused subscription contains the filter and the reason', async (t) => {
  const suback = (filters: readonly string[]): number[] => filters.map((f) => (f === 'secret/#' ? 0x87 : 1));
  const server = await startScriptedServer(t, { suback });
  const subscriptions = [
    { filter: 't/#', qos: 1 },
    { filter: 'secret/#', qos: 1 },
  ] as const;
  const refused = record(t, { url: server.url, subscriptions });
  const named = code('SUBSCRIPTION_REFUSED', /"secret\/#": Not authorized \(0x87\)/);
  await assert.rejects(refused.session.connect(), named);

  const { session } = record(t, { url: server.url, subscriptions: [subscriptions[0]] });
  await session.connect();
  await assert.rejects(session.setSubscriptions([...subscriptions, { filter: 'more', qos: 1 }]), named);
  assert.deepEqual(
    session.subscriptions.map(({ filter }) => filter),
    ['t/#', 'more'],
  );
  assert.equal(session.connected, true);
});

test('subscriptions change by difference, and each new connection subscribes again', async (t) => {
  const server = await startScriptedServer(t, { connack: (_, n) => ({ sessionPresent: n > 1 }) });
  const { session, changes } = record(t, { url: server.url, subscriptions: [{ filter: 'a', qos: 1 }] });
  await session.connect();
  await session.setSubscriptions([
    { filter: 'a', qos: 1 },
    { filter: 'b', qos: 1, shareGroup: 'g' },
  ]);
  await session.setSubscriptions([{ filter: 'b', qos: 1, shareGroup: 'g' }]);
  const requested = (peer: Peer): unknown[] =>
    peer.packets.map((packet) => {
      if (packet.cmd === 'subscribe') return packet.subscriptions.map(({ topic, rh }) => [topic, rh]);
      return packet.cmd === 'unsubscribe' ? packet.unsubscriptions : packet.cmd;
    });
  assert.deepEqual(requested(server.peers[0]!), [[['a', 1]], [['$share/g/b', 1]], ['a']]);
  server.peers[0]!.socket.destroy();
  await until('the reconnection', () => changes.length === 3);
  // The broker reports that it has the session, but it may have restarted with an older state of the session.
  assert.deepEqual(requested(server.peers[1]!), [[['$share/g/b', 1]]]);

  const waiting = session.setSubscriptions([{ filter: 'c', qos: 0 }]);
  server.peers[1]!.socket.destroy();
  await waiting;
  assert.deepEqual(
    session.subscriptions.map(({ filter }) => filter),
    ['c'],
  );
});

test('a new process with an existing session removes subscriptions that it does not need', async (t) => {
  const server = await startScriptedServer(t, { connack: () => ({ sessionPresent: true }) });
  const { session } = record(t, {
    url: server.url,
    subscriptions: [{ filter: 'kept', qos: 1 }],
    previousSubscriptions: [
      { filter: 'kept', qos: 1 },
      { filter: 'gone', qos: 1, shareGroup: 'g' },
    ],
  });
  await session.connect();
  const [subscribe, unsubscribe] = server.peers[0]!.packets;
  assert.ok(subscribe?.cmd === 'subscribe' && subscribe.subscriptions[0]?.rh === 1);
  assert.deepEqual(unsubscribe?.cmd === 'unsubscribe' && unsubscribe.unsubscriptions, ['$share/g/gone']);
});

test('a session that was taken over reports an error, and waits long before it reconnects', async (t) => {
  const server = await startScriptedServer(t);
  const { session, changes, log } = record(t, { url: server.url, reconnectMinMs: 1, reconnectMaxMs: 400 });
  await session.connect();
  server.peers[0]!.send({ cmd: 'disconnect', reasonCode: 0x8e, properties: { reasonString: 'other one' } });
  await until('the loss', () => changes.length === 2);
  assert.equal(changes[1]!.error?.code, 'TAKEN_OVER');
  assert.match(changes[1]!.error!.message, /Session taken over \(0x8e\): other one/);
  const line = log.find(({ level }) => level === 'error');
  assert.ok(Number(line?.object.retryInMs) >= 200);
  await until('the return', () => server.peers.length === 2);
});

test('short connections do not reset the reconnection delay', async (t) => {
  const server = await startScriptedServer(t);
  const { session, changes, log } = record(t, { url: server.url, reconnectMinMs: 1, reconnectMaxMs: 1000 });
  await session.connect();
  for (let loss = 1; loss <= 5; loss += 1) {
    await until(`connection ${loss}`, () => changes.length === 2 * loss - 1);
    server.peers[loss - 1]!.socket.destroy();
  }
  await until('five losses', () => changes.length >= 10);
  const attempts = log.filter(({ level }) => level === 'warn').map(({ object }) => object.attempt);
  assert.deepEqual(attempts, [1, 2, 3, 4, 5]);
});

const broken: readonly (readonly [string, Buffer, number, RegExp])[] = [
  ['a SUBACK that nobody waits for', Buffer.from([0x90, 4, 0, 99, 0, 0]), 0x82, /SUBACK/],
  ['AUTH', Buffer.from([0xf0, 2, 0x18, 0]), 0x82, /authentication/],
  ['a second CONNACK', Buffer.from([0x20, 3, 0, 0, 0]), 0x82, /CONNACK/],
  ["a client's packet", Buffer.from([0xc0, 0]), 0x82, /PINGREQ/],
  ['a reserved type', Buffer.from([0x00, 0]), 0x81, /malformed/],
  ['a truncated SUBACK', Buffer.from([0x90, 1, 0]), 0x81, /type 9/],
  ['a PINGRESP with reserved bits', Buffer.from([0xd1, 0]), 0x81, /type 13, with reserved bits/],
  ['a PINGRESP with a body', Buffer.from([0xd0, 1, 0]), 0x81, /type 13, with a body/],
  [
    'an UNSUBACK without properties',
    Buffer.from([0xb0, 2, 0, 9]),
    0x81,
    /type 11, with a field that ends early/,
  ],
  [
    'a PUBACK with more than its properties',
    Buffer.from([0x40, 5, 0, 9, 0, 0, 0]),
    0x81,
    /length of its properties/,
  ],
  [
    "a PUBACK with another packet's property",
    Buffer.from([0x40, 7, 0, 9, 0, 3, 0x21, 0, 5]),
    0x81,
    /property 0x21/,
  ],
  ['a PUBACK with half a property', Buffer.from([0x40, 7, 0, 9, 0, 3, 0x1f, 0, 5]), 0x81, /ends early/],
  [
    'a DISCONNECT that repeats a property',
    Buffer.from([0xe0, 10, 0, 8, 0x1f, 0, 1, 0x61, 0x1f, 0, 1, 0x62]),
    0x82,
    /a repeated property/,
  ],
  ['a PUBREL with wrong flags', Buffer.from([0x60, 2, 0, 1]), 0x81, /PUBREL/],
  ['a SUBACK above the maximum', Buffer.from([0x90, 0xff, 0xff, 0x7f]), 0x95, /maximumPacketSize is 1000/],
];

for (const [what, bytes, reasonCode, message] of broken) {
  test(`${what} ends the connection with 0x${reasonCode.toString(16)}, and the session continues`, async (t) => {
    const server = await startScriptedServer(t);
    const { session, changes } = record(t, { url: server.url, maximumPacketSize: 1000 });
    await session.connect();
    const peer = server.peers[0]!;
    peer.socket.write(bytes);
    await until('DISCONNECT', () => sent(peer, 'disconnect').length === 1);
    assert.equal((sent(peer, 'disconnect')[0] as { reasonCode?: number }).reasonCode, reasonCode);
    assert.equal(changes[1]?.error?.code, 'PROTOCOL');
    assert.match(changes[1]!.error!.message, message);
    await until('a reconnection', () => session.connected);
  });
}

const unsolicited: readonly (readonly [string, Buffer, Buffer | null])[] = [
  ['a PUBACK', Buffer.from([0x40, 2, 0, 9]), null],
  ['a PUBACK with a failure', Buffer.from([0x40, 3, 0, 9, 0x80]), null],
  ['an UNSUBACK', Buffer.from([0xb0, 4, 0, 9, 0, 0x11]), null],
  ['a PUBCOMP', Buffer.from([0x70, 2, 0, 9]), null],
  ['a PUBREC with a failure', Buffer.from([0x50, 3, 0, 9, 0x80]), null],
  ['a PUBREC, which is answered,', Buffer.from([0x50, 2, 0, 9]), Buffer.from([0x62, 3, 0, 9, 0x92])],
];

for (const [what, bytes, answer] of unsolicited) {
  test(`${what} that nobody waits for does not end the connection`, async (t) => {
    const server = await startScriptedServer(t);
    const { session, messages } = record(t, { url: server.url });
    await session.connect();
    const peer = server.peers[0]!;
    const received: Buffer[] = [];
    peer.socket.on('data', (data: Buffer) => received.push(data));
    peer.socket.write(bytes);
    peer.send(publish(1));
    await until('the next message', () => messages.length === 1);
    if (answer !== null) await until('the answer', () => Buffer.concat(received).equals(answer));
    assert.equal(server.peers.length, 1);
    assert.ok(session.connected);
  });
}

const badConnacks: readonly (readonly [string, 4 | 5, Buffer])[] = [
  ['without a return code', 4, Buffer.from([0x20, 1, 0])],
  ['without a body', 4, Buffer.from([0x20, 0])],
  ['that is too long', 4, Buffer.from([0x20, 3, 0, 0, 0])],
  ['with reserved flags', 4, Buffer.from([0x20, 2, 2, 0])],
  ['without properties', 5, Buffer.from([0x20, 2, 0, 0])],
  ['with a Receive Maximum of 0', 5, Buffer.from([0x20, 6, 0, 0, 3, 0x21, 0, 0])],
  ['with a property of PUBLISH', 5, Buffer.from([0x20, 5, 0, 0, 2, 0x01, 1])],
];

for (const [what, protocolVersion, bytes] of badConnacks) {
  test(`a CONNACK ${what} is no success, MQTT ${protocolVersion}`, async (t) => {
    const server = await startScriptedServer(t, { connack: () => 'silent' });
    const { session, log } = record(t, { url: server.url, protocolVersion });
    const connecting = session.connect();
    connecting.catch(() => {});
    await until('CONNECT', () => server.peers.length === 1);
    server.peers[0]!.socket.write(bytes);
    await until('the error', () => log.some(({ object }) => object.code === 'PROTOCOL'));
    assert.equal(session.connected, false);
  });
}

/** The bytes of a PUBLISH with this topic. They are made here, because no library writes malformed packets. */
function rawPublish(qos: number, id: number, topic: Buffer, rest: Buffer, mqtt5: boolean): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(topic.length);
  const packetId = qos === 0 ? Buffer.alloc(0) : Buffer.from([id >> 8, id & 0xff]);
  const body = Buffer.concat([length, topic, packetId, mqtt5 ? Buffer.from([0]) : Buffer.alloc(0), rest]);
  return Buffer.concat([header(0x30 | (qos << 1), body.length), body]);
}

function header(first: number, length: number): Buffer {
  const remaining: number[] = [];
  for (let left = length; left > 0; left = Math.floor(left / 128)) {
    remaining.push((left % 128) | (left > 127 ? 0x80 : 0));
  }
  return Buffer.from([first, ...remaining]);
}

const LARGE = 9 * 1024 * 1024;
const undecodable: readonly (readonly [string, Buffer, Buffer, string, RegExp])[] = [
  ['NUL in its topic', Buffer.from('t/a\0b'), Buffer.from('21.5'), 'malformed', /UTF-8/],
  [
    'invalid UTF-8 in its topic',
    Buffer.from([0x74, 0x2f, 0xc3, 0x28]),
    Buffer.from('1'),
    'malformed',
    /UTF-8/,
  ],
  ['a surrogate in its topic', Buffer.from([0x74, 0xed, 0xa0, 0x80]), Buffer.from('1'), 'malformed', /UTF-8/],
  ['a wildcard in its topic', Buffer.from('t/#'), Buffer.from('1'), 'malformed', /wildcard/],
  ['an empty topic', Buffer.alloc(0), Buffer.from('1'), 'malformed', /empty topic/],
  ['more bytes than allowed', Buffer.from('t/large'), Buffer.alloc(LARGE, 0x31), 'too_large', /at most 1000/],
  [
    'a topic above the maximum',
    Buffer.alloc(701, 0x74),
    Buffer.from('21.5'),
    'topic_too_long',
    /701 bytes, and at most 700/,
  ],
  ['the longest topic and too many bytes', Buffer.alloc(65_535, 0x74), Buffer.from('1'), 'too_large', /1000/],
];

for (const protocolVersion of [5, 4] as const) {
  for (const qos of [0, 1, 2] as const) {
    for (const [what, topic, payload, reason, problem] of undecodable) {
      test(`a message with ${what} is reported, and what follows arrives: QoS ${qos}, MQTT ${protocolVersion}`, async (t) => {
        const server = await startScriptedServer(t);
        const odd: UndecodableMessage[] = [];
        const { session, messages } = record(t, {
          url: server.url,
          protocolVersion,
          maximumPacketSize: 1000,
          maximumTopicBytes: 700,
          onUndecodable: (message) => odd.push(message),
        });
        await session.connect();
        const peer = server.peers[0]!;
        const bytes = rawPublish(qos, 7, topic, payload, protocolVersion === 5);
        peer.send(publish(6));
        peer.socket.write(bytes);
        peer.send(publish(8));
        await until('both neighbours', () => messages.length === 2);
        assert.equal(odd.length, 1);
        const { qos: seen, packetId, size } = odd[0]!;
        assert.deepEqual([seen, packetId, size], [qos, qos === 0 ? 0 : 7, bytes.length]);
        assert.equal(odd[0]!.reason, reason);
        assert.match(odd[0]!.problem, problem);
        assert.doesNotMatch(odd[0]!.topic, /\0/);
        assert.ok(odd[0]!.topic.length <= 512);
        assert.equal(odd[0]!.payload.length, reason === 'too_large' ? 0 : payload.length);
        for (const message of [...messages, ...odd]) session.acknowledge(message);
        await until('PUBACKs', () => sent(peer, 'puback').length === (qos === 1 ? 3 : 2));
        if (qos === 2) await until('PUBREC', () => sent(peer, 'pubrec').length === 1);
        if (qos === 1)
          assert.deepEqual(
            sent(peer, 'puback').map(({ messageId }) => messageId),
            [6, 7, 8],
          );
        assert.equal(server.peers.length, 1, 'the connection stays');
        assert.equal(session.stats.undecodable, 1);
      });
    }
  }
}

const unacknowledgeable: readonly (readonly [string, Buffer])[] = [
  ['QoS 3', Buffer.from([0x36, 6, 0, 1, 0x74, 0, 7, 0])],
  ['packet identifier 0', Buffer.from([0x32, 6, 0, 1, 0x74, 0, 0, 0])],
  ['no topic', Buffer.from([0x32, 1, 0])],
  ['a topic longer than the packet', Buffer.from([0x32, 4, 0, 9, 0x74, 0x75])],
  ['no packet identifier', Buffer.from([0x32, 4, 0, 1, 0x74, 0])],
  ['nothing in it', Buffer.from([0x32, 0])],
];

for (const [what, bytes] of unacknowledgeable) {
  test(`a message with ${what} cannot be acknowledged, is reported, and what follows arrives`, async (t) => {
    const server = await startScriptedServer(t);
    const { session, messages, log } = record(t, { url: server.url });
    await session.connect();
    const peer = server.peers[0]!;
    peer.socket.write(bytes);
    peer.send(publish(8));
    await until('the next message', () => messages.length === 1);
    session.acknowledge(messages[0]!);
    await until('its PUBACK', () => sent(peer, 'puback').length === 1);
    assert.equal(sent(peer, 'puback')[0]!.messageId, 8);
    assert.equal(server.peers.length, 1);
    const lines = log.filter(({ level }) => level === 'error');
    assert.equal(lines.length, 1);
    assert.match(String(lines[0]!.object.problem), /PUBLISH/);
  });
}

test('a message of 250 MB above the maximum is skipped with little memory', async (t) => {
  const server = await startScriptedServer(t);
  const { session, messages } = record(t, { url: server.url, maximumPacketSize: 1000 });
  await session.connect();
  const { socket, send } = server.peers[0]!;
  const chunk = Buffer.alloc(1_000_000, 0x31);
  const begin = Buffer.from('0001740007', 'hex');
  socket.write(Buffer.concat([header(0x32, begin.length + 250 * chunk.length), begin]));
  // Other tests of this process can have left buffers that are not collected yet.
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  for (let n = 0; n < 250; n += 1) {
    if (!socket.write(chunk)) await once(socket, 'drain');
    most = Math.max(most, process.memoryUsage().arrayBuffers);
  }
  send(publish(8));
  await until('the next message', () => messages.length === 1);
  assert.equal(session.stats.undecodable, 1);
  assert.ok(most - before < 160 * 1024 * 1024, `${most - before} bytes of buffers more`);
});

test('connect times out when the broker does not answer CONNECT, and is retried', async (t) => {
  const server = await startScriptedServer(t, { connack: (_, n) => (n === 1 ? 'silent' : {}) });
  const { session, log } = record(t, { url: server.url, connectTimeoutMs: 100 });
  await session.connect();
  assert.match(String(log[0]!.object.reason), /did not accept a connection within 100 ms/);
});

test('a SUBSCRIBE that the broker does not answer times out', async (t) => {
  let answers = 0;
  const suback = (): number[] | 'silent' => (answers++ === 0 ? 'silent' : [1]);
  const server = await startScriptedServer(t, { suback });
  const { session } = record(t, { url: server.url, connectTimeoutMs: 150 });
  await session.connect();
  // On a busy machine the answer can be late too.
  assert.ok(server.peers.length >= 2, `${server.peers.length}`);
});

test('connect retries while no broker listens, until it is aborted', async (t) => {
  const { session, log } = record(t, { url: 'mqtt://127.0.0.1:1' });
  const reason = new Error('enough');
  const controller = new AbortController();
  const connecting = session.connect(controller.signal);
  setTimeout(() => controller.abort(reason), 150);
  await assert.rejects(connecting, reason);
  assert.ok(log.length >= 2 && log.every(({ object }) => object.code === 'UNREACHABLE'));
  await assert.rejects(session.connect(), code('CLOSED'));
});

test('close sends the last acknowledgements, then a DISCONNECT packet', async (t) => {
  const server = await startScriptedServer(t);
  const { session, messages, changes } = record(t, { url: server.url });
  await session.connect();
  const peer = server.peers[0]!;
  for (let id = 1; id <= 3; id += 1) peer.send(publish(id));
  await until('three messages', () => messages.length === 3);
  session.acknowledge(messages[0]!);
  session.acknowledge(messages[2]!);
  await session.close();
  await session.close();
  await until('DISCONNECT', () => sent(peer, 'disconnect').length === 1);
  assert.deepEqual(
    peer.packets.slice(1).map((packet) => [packet.cmd, packet.messageId]),
    [
      ['puback', 1],
      ['disconnect', undefined],
    ],
  );
  await until('the change', () => changes.length === 2);
  assert.deepEqual(changes[1], { connected: false, error: null });
  session.acknowledge(messages[1]!);
  await assert.rejects(session.setSubscriptions([]), code('CLOSED'));
});

test('close ends a waiting connect', async (t) => {
  const { session } = record(t, {
    url: 'mqtt://127.0.0.1:1',
    reconnectMinMs: 60_000,
    reconnectMaxMs: 60_000,
  });
  const connecting = session.connect();
  const rejected = assert.rejects(connecting, code('CLOSED'));
  await session.close();
  await rejected;
});

const mistakes: readonly (readonly [object, RegExp])[] = [
  [{ url: 'not a url' }, /url is not a URL/],
  [{ url: 'http://localhost' }, /unknown scheme http:/],
  [{ url: 'mqtt://localhost/path' }, /has a path/],
  [{ clientId: '' }, /clientId/],
  [{ password: 'x' }, /needs a username/],
  [{ receiveMaximum: 0 }, /receiveMaximum must be a whole number from 1 to 65535, not 0/],
  [{ reconnectMinMs: 10, reconnectMaxMs: 5 }, /reconnectMaxMs must be a whole number from 10/],
  [{ protocolVersion: 3 }, /protocolVersion/],
  [{ subscriptions: [{ filter: 'a/#/b', qos: 1 }] }, /"a\/#\/b": # must be the last level/],
];

for (const [options, message] of mistakes) {
  test(`a mistake in the options rejects with the reason: ${message.source}`, async () => {
    const base = { url: 'mqtt://127.0.0.1', clientId: 'c', subscriptions: [], onMessage() {} };
    await assert.rejects(new MqttSession({ ...base, ...options }).connect(), code('MISCONFIGURED', message));
  });
}
