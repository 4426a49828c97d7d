import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Packet } from 'mqtt-packet';
import type { User } from '../../src/server/index.ts';
import { RawClient } from '../support/raw-client.ts';
import { ANYONE, serve } from '../support/serve.ts';

/** A user who may receive messages on one/… */
const ONE: User = { ...ANYONE, mayReceive: (topic) => topic === 'one' || topic.startsWith('one/') };
const subscribe = (...filters: readonly string[]): Packet => ({
  cmd: 'subscribe',
  messageId: 3,
  subscriptions: filters.map((topic) => ({ topic, qos: 1 as const })),
});
const granted = (packet: Packet | undefined) => (packet as { granted: readonly number[] }).granted;
const texts = (packets: readonly Packet[]) =>
  packets.flatMap((packet) => (packet.cmd === 'publish' ? [`${packet.topic} ${packet.payload}`] : []));

for (const version of [4, 5] as const) {
  const refused = version === 5 ? 0x83 : 0x80;

  test(`MQTT ${version}: a client receives what the application sends on its own topics, and nothing else`, async (context) => {
    const { port, server } = await serve(context, { isAutomatic: true, user: async () => ONE });
    assert.equal(server.publish('one', Buffer.from('nobody')), false);
    const client = await RawClient.login(port, version);
    client.send(subscribe('one', 'one/a/#', 'two', '#', 'one/+', 'onee', '$share/g/one', 'sensors/a/t'));
    const [, answer] = await client.until(2);
    assert.deepEqual(granted(answer), [0, 0, ...Array.from({ length: 6 }, () => refused)]);
    assert.equal(server.stats.subscriptionsRefused, 6);
    for (const topic of ['one', 'one/a', 'one/a/b'])
      assert.ok(server.publish(topic, Buffer.from('x')), topic);
    for (const topic of ['one/b', 'two', 'onee', 'sensors/a/t'])
      assert.ok(!server.publish(topic, Buffer.from('x')), topic);
    // Messages of clients are never passed on.
    client.publish(9);
    await client.until(6);
    assert.deepEqual(texts(client.packets), ['one x', 'one/a x', 'one/a/b x']);
    client.send({ cmd: 'unsubscribe', messageId: 4, unsubscriptions: ['one', 'two'] });
    await client.until(7);
    assert.ok(!server.publish('one', Buffer.from('x')));
    client.socket.destroy();
    for (let i = 0; !server.subscribers.isEmpty && i < 500; i++) await sleep(10);
    assert.ok(server.subscribers.isEmpty);
  });

  test(`MQTT ${version}: subscriptions are a part of the session`, async (context) => {
    const { port, server } = await serve(context, { user: async () => ONE });
    const lasting = version === 5 ? { properties: { sessionExpiryInterval: 60 } } : {};
    const first = await RawClient.login(port, version, { clean: false, ...lasting });
    first.send(subscribe('one/#'));
    await first.until(2);
    // It takes the session over.
    const second = await RawClient.login(port, version, { clean: false, ...lasting });
    assert.ok(server.publish('one/a', Buffer.from('x')));
    assert.deepEqual(texts(await second.until(2)), ['one/a x']);
    const third = await RawClient.login(port, version, { clean: true });
    assert.ok(!server.publish('one/a', Buffer.from('x')));
    assert.deepEqual(texts(third.packets), []);
  });
}

test('the filters of a client, and what it does not read, are bounded', async (context) => {
  const { port, server } = await serve(context, { user: async () => ONE });
  const client = await RawClient.login(port, 4);
  client.send(subscribe(...Array.from({ length: 20 }, (_, index) => `one/${index}`)));
  const [, answer] = await client.until(2);
  assert.equal(granted(answer).filter((code) => code === 0).length, 16);
  const other = await RawClient.login(port, 4, { clientId: 'c2' });
  other.send(subscribe(`one/${'x'.repeat(1000)}`, `one/${'y'.repeat(100)}`));
  assert.deepEqual(granted((await other.until(2))[1]), [0, 0x80]);
  client.socket.pause();
  let sent = 0;
  // The kernel takes some megabytes before anything waits here.
  while (sent < 100_000 && server.publish('one/1', Buffer.alloc(8000))) sent++;
  assert.ok(sent < 100_000, 'messages for a client that does not read are left out');
  client.socket.resume();
  for (let i = 0; !server.publish('one/1', Buffer.from('again')) && i < 500; i++) await sleep(10);
  await client.until(sent + 3);
  assert.ok(texts(client.packets).includes('one/1 again'), 'and its connection continues');
});

test('a message that is larger than a client takes is left out, and so is one that it may no longer receive', async (context) => {
  let isAllowed = true;
  const user = async (): Promise<User> => ({ ...ANYONE, mayReceive: () => isAllowed });
  const { port, server } = await serve(context, { user });
  const client = await RawClient.login(port, 5, { properties: { maximumPacketSize: 100 } });
  client.send(subscribe('one'));
  await client.until(2);
  assert.ok(!server.publish('one', Buffer.alloc(100)));
  assert.ok(server.publish('one', Buffer.alloc(50)));
  isAllowed = false;
  assert.ok(!server.publish('one', Buffer.alloc(50)));
});
