import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Packet } from 'mqtt-packet';
import { RawClient } from '../support/raw-client.ts';
import { ANYONE, serve } from '../support/serve.ts';
import { until } from '../support/wait.ts';

// What the connections of one client may take together, with real sockets from several addresses.

const byName = async ({ username }: { username: string | null }) => ({ ...ANYONE, name: username });
const as = (username: string, clientId: string) => ({ clientId, username, password: Buffer.from('x') });
const addressOf = (number: number) => `127.0.0.${2 + (number % 10)}`;

function busy(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

test('one login from several addresses cannot take all places, and another one gets in', async (context) => {
  const { port, server } = await serve(context, {
    limits: { maxConnections: 20, maxConnectionsPerClient: 10 },
    user: byName,
  });
  for (let number = 0; number < 12; number++)
    await RawClient.login(port, 5, as('hostile', `h${number}`), addressOf(number));
  assert.equal(server.stats.ended.connections_of_client, 2);
  const innocent = await RawClient.login(port, 5, as('innocent', 'i'), addressOf(0));
  assert.equal((innocent.packets[0] as { reasonCode: number }).reasonCode, 0);
});

test('at the bound of all connections the login with the most loses its idlest one', async (context) => {
  const { port, server } = await serve(context, {
    limits: { maxConnections: 10, maxConnectionsPerClient: 8 },
    user: byName,
  });
  const hostile: RawClient[] = [];
  for (let number = 0; number < 7; number++)
    hostile.push(await RawClient.login(port, 5, as('hostile', `h${number}`), addressOf(number)));
  const others: RawClient[] = [];
  for (let number = 0; number < 3; number++)
    others.push(await RawClient.login(port, 5, as('other', `o${number}`)));
  hostile[0]!.send({ cmd: 'pingreq' });
  await hostile[0]!.until(2);
  const innocent = await RawClient.login(port, 5, as('innocent', 'i'));
  assert.equal((innocent.packets[0] as { reasonCode: number }).reasonCode, 0);
  await hostile[1]!.untilClosed();
  assert.equal((hostile[1]!.packets[1] as { reasonCode: number }).reasonCode, 0x97);
  assert.deepEqual(
    [...hostile, ...others, innocent].map(({ closed }) => closed),
    [false, true, ...Array.from({ length: 9 }, () => false)],
  );
  // A client that reconnects replaces its earlier connection and needs no place.
  const again = await RawClient.login(port, 5, as('hostile', 'h0'));
  assert.equal((again.packets[0] as { reasonCode: number }).reasonCode, 0);
  // The one with the most gets no place of another client.
  const more = await RawClient.login(port, 5, as('hostile', 'h9'));
  assert.equal((more.packets[0] as { reasonCode: number }).reasonCode, 0x97);
  assert.equal(server.connections <= 11, true);
});

test('connections that have not logged in do not end one that has', async (context) => {
  const { port, server } = await serve(context, { limits: { maxConnections: 4 }, user: byName });
  const clients = [];
  for (const name of ['a', 'b', 'c']) clients.push(await RawClient.login(port, 5, as(name, name)));
  const silent = await Promise.all(
    Array.from({ length: 100 }, (_, number) => RawClient.open(port, 5, addressOf(number))),
  );
  await until('some gave way', () => server.stats.ended.connections > 0);
  assert.ok(server.connections <= 3 + 32 + 4 + silent.filter(({ closed }) => closed).length);
  const innocent = await RawClient.login(port, 5, as('innocent', 'i'), '127.0.0.200');
  assert.equal((innocent.packets[0] as { reasonCode: number }).reasonCode, 0);
  assert.ok(clients.every(({ closed }) => !closed));
});

test('the connections of a client pause together, also new ones, and another client is read', async (context) => {
  const { port, messages, received } = await serve(context, { user: byName });
  const one = await RawClient.login(port, 5, as('hostile', 'h0'));
  const two = await RawClient.login(port, 5, as('hostile', 'h1'));
  const innocent = await RawClient.login(port, 5, as('innocent', 'i'));
  one.publish(1);
  await received(1);
  const { client } = messages[0]!.connection;
  assert.equal(client.name, 'user hostile');
  client.pause();
  const three = await RawClient.login(port, 5, as('hostile', 'h2'));
  for (const each of [one, two, three]) each.publish(2);
  innocent.publish(1);
  await received(2);
  assert.equal(messages[1]!.connection.client.name, 'user innocent');
  client.resume();
  await received(5);
});

test('a connection that logs in while its client is paused is not read', async (context) => {
  const { port, server, messages, received } = await serve(context, { user: byName });
  const one = await RawClient.login(port, 5, as('hostile', 'h0'));
  one.publish(1);
  await received(1);
  messages[0]!.connection.client.pause();
  const two = await RawClient.login(port, 5, as('hostile', 'h1'));
  const before = server.stats.receivedBytes;
  const payload = Buffer.alloc(60_000);
  for (let id = 1; id <= 200; id += 1)
    two.send({
      cmd: 'publish',
      topic: 'sensors/a/t',
      payload,
      qos: 1,
      messageId: id,
      dup: false,
      retain: false,
    });
  const innocent = await RawClient.login(port, 5, as('innocent', 'i'));
  for (let id = 1; id <= 20; id += 1) {
    innocent.publish(id);
    await received(1 + id);
  }
  // What was on its way: 12 MB were sent.
  assert.ok(server.stats.receivedBytes - before < 500_000, `${server.stats.receivedBytes - before} bytes`);
});

test('a client whose packets take long does not keep others waiting for all of them', async (context) => {
  const { port, messages, received } = await serve(context, {
    limits: { receiveMaximum: 1000 },
    user: byName,
    // As the decoding of a message, with a lot of it.
    onMessage: () => busy(1),
  });
  const hostile: RawClient[] = [];
  for (let number = 0; number < 20; number++)
    hostile.push(await RawClient.login(port, 5, as('hostile', `h${number}`), addressOf(number)));
  const innocent = await RawClient.login(port, 5, as('innocent', 'i'));
  for (const client of hostile) for (let id = 1; id <= 50; id += 1) client.publish(id);
  innocent.publish(1);
  await received(1001);
  const place = messages.findIndex(({ connection }) => connection.client.name === 'user innocent');
  assert.ok(place < 200, `${place} of 1000 messages came first`);
});

test('control packets have a bound for all connections of a client together, in bytes too', async (context) => {
  const { port, server } = await serve(context, { user: byName });
  const topic = 'a'.repeat(60_000 / 4);
  const subscribe = {
    cmd: 'subscribe',
    messageId: 1,
    subscriptions: [{ topic, qos: 0 }],
  } as unknown as Packet;
  const hostile: RawClient[] = [];
  for (let number = 0; number < 6; number++)
    hostile.push(await RawClient.login(port, 5, as('hostile', `h${number}`)));
  const innocent = await RawClient.login(port, 5, as('innocent', 'i'));
  for (const client of hostile) client.send(subscribe);
  await until('a connection ends', () => server.stats.ended.quota > 0);
  innocent.send(subscribe);
  assert.equal((await innocent.until(2))[1]!.cmd, 'suback');
});
