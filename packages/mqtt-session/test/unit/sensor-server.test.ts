import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import type { Packet } from 'mqtt-packet';
import type { LoginProblem, User } from '../../src/server/index.ts';
import { RawClient } from '../support/raw-client.ts';
import { ANYONE, serve } from '../support/serve.ts';

const cmds = (packets: readonly Packet[]) =>
  packets.map(({ cmd, messageId }) => `${cmd} ${messageId ?? ''}`.trim());

for (const version of [4, 5] as const) {
  test(`MQTT ${version}: acknowledgements follow the application, in the order of receipt`, async (context) => {
    const { port, acknowledge, received } = await serve(context);
    const client = await RawClient.login(port, version);
    for (const id of [7, 8, 9]) client.publish(id);
    await received(3);
    await sleep(50);
    assert.deepEqual(cmds(client.packets), ['connack']);
    acknowledge(2, 1);
    await sleep(50);
    assert.deepEqual(cmds(client.packets), ['connack']);
    acknowledge(0);
    assert.deepEqual(cmds(await client.until(4)), ['connack', 'puback 7', 'puback 8', 'puback 9']);
  });

  test(`MQTT ${version}: a QoS 2 message that is sent again in its session is delivered once`, async (context) => {
    const { port, acknowledge, received, messages, server } = await serve(context);
    const lasting = version === 5 ? { properties: { sessionExpiryInterval: 60 } } : {};
    const first = await RawClient.login(port, version, { clean: false, ...lasting });
    first.publish(5, { qos: 2 });
    await received(1);
    first.socket.destroy();
    const second = await RawClient.login(port, version, { clean: false, ...lasting });
    assert.equal((second.packets[0] as { sessionPresent: boolean }).sessionPresent, true);
    second.publish(5, { qos: 2, dup: true });
    second.publish(6);
    await received(2);
    acknowledge(1);
    await sleep(50);
    assert.deepEqual(cmds(second.packets), ['connack'], 'neither is stored before the first message is');
    acknowledge(0);
    assert.deepEqual(cmds(await second.until(3)), ['connack', 'pubrec 5', 'puback 6']);
    second.publish(5, { qos: 2, dup: true });
    await second.until(4);
    second.send({ cmd: 'pubrel', messageId: 5 }, { cmd: 'pubrel', messageId: 5 });
    const all = await second.until(6);
    assert.deepEqual(cmds(all).slice(3), ['pubrec 5', 'pubcomp 5', 'pubcomp 5']);
    if (version === 5)
      assert.deepEqual(
        [all[4], all[5]].map((p) => (p as { reasonCode: number }).reasonCode),
        [0, 0x92],
      );
    second.publish(5, { qos: 2 });
    await received(3);
    assert.equal(server.stats.duplicates, 2);
    assert.deepEqual(
      messages.map(({ message }) => message.packetId),
      [5, 6, 5],
    );
  });

  test(`MQTT ${version}: a subscription is refused, and the connection continues`, async (context) => {
    const { port } = await serve(context, { isAutomatic: true });
    const client = await RawClient.login(port, version);
    client.send(
      {
        cmd: 'subscribe',
        messageId: 3,
        subscriptions: [
          { topic: 'a/#', qos: 1 },
          { topic: 'b', qos: 0 },
        ],
      },
      { cmd: 'unsubscribe', messageId: 4, unsubscriptions: ['a/#'] },
      { cmd: 'pingreq' },
    );
    client.publish(5);
    const packets = await client.until(5);
    assert.deepEqual(cmds(packets), ['connack', 'suback 3', 'unsuback 4', 'pingresp', 'puback 5']);
    const code = version === 5 ? 0x83 : 0x80;
    assert.deepEqual((packets[1] as { granted: number[] }).granted, [code, code]);
  });

  test(`MQTT ${version}: a message on a foreign topic is not acknowledged as stored`, async (context) => {
    const { port, messages, server } = await serve(context, { isAutomatic: true });
    const client = await RawClient.login(port, version);
    client.publish(1, { qos: 0, topic: 'other/t', messageId: undefined });
    client.publish(2, { topic: 'other/t' });
    if (version === 4) await client.untilClosed();
    else {
      client.publish(3);
      const packets = await client.until(3);
      assert.deepEqual(
        packets.slice(1).map((p) => (p as { reasonCode: number }).reasonCode),
        [0x87, 0],
      );
    }
    assert.equal(server.stats.denied, 2);
    assert.deepEqual(
      messages.map(({ message }) => message.packetId),
      version === 4 ? [] : [3],
    );
  });

  test(`MQTT ${version}: a will is published when the connection breaks, and not after DISCONNECT`, async (context) => {
    const { port, wills } = await serve(context);
    const will = { topic: 'sensors/a/state', payload: Buffer.from('lost'), qos: 1, retain: true };
    const orderly = await RawClient.login(port, version, { clientId: 'x', will });
    orderly.send({ cmd: 'disconnect' });
    await orderly.untilClosed();
    assert.deepEqual(wills, []);
    const broken = await RawClient.login(port, version, { clientId: 'x', will });
    broken.socket.destroy();
    for (let i = 0; wills.length === 0 && i < 100; i++) await sleep(10);
    assert.deepEqual(wills, ['sensors/a/state lost']);
  });

  test(`MQTT ${version}: a second connection with the client id takes the session over`, async (context) => {
    const { port, server } = await serve(context);
    const first = await RawClient.login(port, version);
    const second = await RawClient.login(port, version);
    await first.untilClosed();
    if (version === 5) assert.equal((first.packets[1] as { reasonCode: number }).reasonCode, 0x8e);
    second.send({ cmd: 'pingreq' });
    await second.until(2);
    assert.equal(server.stats.ended.taken_over, 1);
  });

  test(`MQTT ${version}: refused logins get their code`, async (context) => {
    let answer: LoginProblem = 'credentials';
    const { port, refused } = await serve(context, { user: async () => answer });
    const codes: unknown[] = [];
    for (answer of ['credentials', 'not_authorized', 'busy'] as const) {
      const client = await RawClient.login(port, version);
      const { reasonCode, returnCode } = client.packets[0] as { reasonCode?: number; returnCode?: number };
      codes.push(reasonCode ?? returnCode);
      await client.untilClosed();
    }
    assert.deepEqual(codes, version === 5 ? [0x86, 0x87, 0x89] : [4, 5, 3]);
    assert.deepEqual(refused, ['credentials', 'not_authorized', 'busy']);
  });
}

test('MQTT 5: topic aliases, limits and an assigned client id are announced and work', async (context) => {
  const { port, messages, received } = await serve(context, { limits: { receiveMaximum: 10 } });
  const client = await RawClient.login(port, 5, { clientId: '' });
  const { properties } = client.packets[0] as { properties: Record<string, unknown> };
  assert.match(String(properties.assignedClientIdentifier), /^auto-/);
  assert.equal(properties.receiveMaximum, 10);
  assert.equal(properties.topicAliasMaximum, 16);
  client.publish(1, { properties: { topicAlias: 2 } });
  client.publish(2, { topic: '', properties: { topicAlias: 2 } });
  await received(2);
  assert.deepEqual(
    messages.map(({ message }) => message.topic),
    ['sensors/a/t', 'sensors/a/t'],
  );
  client.publish(3, { topic: '', properties: { topicAlias: 3 } });
  await client.untilClosed();
  assert.equal((client.packets.at(-1) as { reasonCode: number }).reasonCode, 0x82);
});

test('MQTT 5: a will with a delay is not published when the client returns in time', async (context) => {
  const { port, wills } = await serve(context);
  const properties = { sessionExpiryInterval: 60 };
  const will = {
    topic: 'sensors/a/state',
    payload: Buffer.from('lost'),
    qos: 0,
    retain: false,
    properties: { willDelayInterval: 1 },
  };
  const first = await RawClient.login(port, 5, { clean: false, properties, will });
  first.socket.destroy();
  const second = await RawClient.login(port, 5, { clean: false, properties, will });
  await sleep(1200);
  assert.deepEqual(wills, []);
  second.socket.destroy();
  await sleep(1300);
  assert.deepEqual(wills, ['sensors/a/state lost']);
});

test('an unknown version is refused with the code of its format', async (context) => {
  const { port } = await serve(context);
  for (const [version, answer] of [
    [6, '2003008400'],
    [2, '20020001'],
  ] as const) {
    const client = await RawClient.open(port);
    client.socket.write(Buffer.from([0x10, 13, 0, 4, 0x4d, 0x51, 0x54, 0x54, version, 2, 0, 0, 0, 1, 0x61]));
    const [bytes] = await new Promise<[Buffer]>((resolve) =>
      client.socket.once('data', (data) => resolve([data as Buffer])),
    );
    assert.equal(bytes.toString('hex'), answer);
    await client.untilClosed();
  }
});

test('reading stops at the bound on messages and on bytes of a connection', async (context) => {
  const limits = { receiveMaximum: 5, maxInFlightBytes: 5000 };
  const { port, messages, received, acknowledge } = await serve(context, { limits });
  const client = await RawClient.login(port);
  for (let id = 1; id <= 12; id++) client.publish(id);
  await received(5);
  await sleep(50);
  assert.equal(messages.length, 5);
  acknowledge(0, 1, 2, 3, 4);
  await received(10);
  acknowledge(5, 6, 7, 8, 9);
  await received(12);
  acknowledge(10, 11);
  for (let id = 13; id <= 16; id++) client.publish(id, { payload: Buffer.alloc(3000) });
  await received(14);
  await sleep(50);
  assert.equal(messages.length, 14);
  acknowledge(12, 13);
  await received(16);
});

test('a paused server reads nothing, keeps its connections, and continues', async (context) => {
  const { port, server, received, messages } = await serve(context);
  const clients = await Promise.all(
    ['a', 'b', 'c'].map((clientId) => RawClient.login(port, 4, { clientId, keepalive: 1 })),
  );
  server.pause();
  for (const client of clients) for (let id = 1; id <= 50; id++) client.publish(id);
  await sleep(2700);
  assert.equal(messages.length, 0);
  server.resume();
  await received(150);
  assert.equal(server.stats.ended.keep_alive, 0);
});

test('silent and slow clients end', async (context) => {
  const { port, server } = await serve(context, { limits: { connectTimeoutMs: 500 } });
  const slow = await RawClient.open(port);
  slow.socket.write(Buffer.from([0x10]));
  await slow.untilClosed();
  assert.equal(server.stats.ended.connect_timeout, 1);
  const silent = await RawClient.login(port, 4, { clientId: 'a', keepalive: 1 });
  await silent.untilClosed();
  assert.equal(server.stats.ended.keep_alive, 1);
});

test('a 3.1.1 message above the maximum is reported and acknowledged, and the next one arrives', async (context) => {
  const { port, messages, received } = await serve(context, {
    limits: { maximumPacketSize: 1000 },
    isAutomatic: true,
  });
  const client = await RawClient.login(port);
  client.publish(1, { payload: Buffer.alloc(5000) });
  client.publish(2, { topic: `sensors/${'x'.repeat(2000)}`, payload: '' });
  client.publish(3);
  await received(3);
  assert.deepEqual(
    messages.map(({ message }) => 'reason' in message && message.reason),
    ['too_large', 'too_large', false],
  );
  assert.deepEqual(cmds(await client.until(4)).slice(1), ['puback 1', 'puback 2', 'puback 3']);
  const modern = await RawClient.login(port, 5);
  modern.publish(1, { payload: Buffer.alloc(5000) });
  await modern.untilClosed();
  assert.equal((modern.packets[1] as { reasonCode: number }).reasonCode, 0x95);
});

test('a stop sends the acknowledgements that are ready and no others', async (context) => {
  const { port, server, received, acknowledge } = await serve(context);
  const client = await RawClient.login(port, 5);
  for (const id of [1, 2]) client.publish(id);
  await received(2);
  acknowledge(0);
  await server.close();
  await client.untilClosed();
  assert.deepEqual(cmds(client.packets), ['connack', 'puback 1', 'disconnect']);
});

test('any bytes get an answer, or end one connection', async (context) => {
  const { port } = await serve(context, { isAutomatic: true, limits: { receiveMaximum: 20 } });
  const witness = await RawClient.login(port, 4, { clientId: 'witness' });
  const hello = Buffer.from([0x10, 13, 0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 2, 0, 0, 0, 1, 0x61]);
  const hello5 = Buffer.from([0x10, 14, 0, 4, 0x4d, 0x51, 0x54, 0x54, 5, 2, 0, 0, 0, 0, 1, 0x61]);
  const type = fc.constantFrom(0x10, 0x30, 0x32, 0x34, 0x3d, 0x40, 0x62, 0x82, 0xa2, 0xc0, 0xe0, 0xf0);
  const packet = fc
    .tuple(type, fc.uint8Array({ maxLength: 40 }), fc.integer({ min: -1, max: 2 }))
    .map(([first, body, off]) => Buffer.from([first, Math.max(0, body.length + off), ...body]));
  let sent = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(hello, hello5, Buffer.alloc(0)),
      fc.array(packet, { maxLength: 8 }),
      async (first, rest) => {
        const client = await RawClient.open(port);
        client.socket.write(Buffer.concat([first, ...rest]));
        client.socket.removeAllListeners('data').resume();
        client.socket.end();
        await client.untilClosed();
        sent += 1;
        if (sent % 20 === 0) {
          witness.publish(sent);
          const { length } = witness.packets;
          await witness.until(length + 1);
          assert.equal(witness.closed, false);
        }
      },
    ),
    { numRuns: 200 },
  );
});

test('the check of a login ends with its connection, unless the client sent more than its CONNECT', async (context) => {
  const checks: { id: string; signal: AbortSignal; decide(user: User): void }[] = [];
  const { port, messages, received } = await serve(context, {
    user: ({ clientId: id }, _peer, signal) =>
      new Promise((decide) => void checks.push({ id, signal, decide })),
  });
  const begin = async (clientId: string) => {
    const client = await RawClient.open(port);
    client.send({ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, clientId } as Packet);
    while (checks.at(-1)?.id !== clientId) await sleep(1);
    return { client, check: checks.at(-1)! };
  };
  for (const how of ['end', 'destroy', 'resetAndDestroy'] as const) {
    const { client, check } = await begin(how);
    client.socket[how]();
    while (!check.signal.aborted) await sleep(1);
  }
  // A client that does not wait for the answer, and leaves.
  const { client, check } = await begin('hasty');
  client.publish(0, { qos: 0 });
  client.socket.end();
  check.decide(ANYONE);
  await received(1);
  assert.equal(messages[0]!.message.topic, 'sensors/a/t');
  // A login that is decided has nothing to end.
  assert.equal(check.signal.aborted, false);
});
