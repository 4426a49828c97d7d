import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { queryObjects } from 'node:v8';
import type { Packet } from 'mqtt-packet';
import { SensorConnection } from '../../src/server/sensor-connection.ts';
import { RawClient } from '../support/raw-client.ts';
import { ANYONE, serve } from '../support/serve.ts';
import { until } from '../support/wait.ts';

/** A packet with a body of any size. */
function packet(firstByte: number, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from([firstByte, ...varint(body.length)]), body]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  do {
    bytes.push((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    value >>= 7;
  } while (value > 0);
  return bytes;
}

const FILTERS = Buffer.alloc(4 * 1024 * 1024, Buffer.from([0, 1, 0x61, 0]));
const NAMES = Buffer.alloc(3 * 1024 * 1024, Buffer.from([0, 1, 0x61]));
const USER_PROPERTIES = Buffer.alloc(7 * 512 * 1024, Buffer.from([0x26, 0, 1, 0x61, 0, 1, 0x62]));

for (const [what, bytes] of Object.entries({
  SUBSCRIBE: packet(0x82, Buffer.concat([Buffer.from([0, 1, 0]), FILTERS])),
  UNSUBSCRIBE: packet(0xa2, Buffer.concat([Buffer.from([0, 1, 0]), NAMES])),
  DISCONNECT: packet(
    0xe0,
    Buffer.concat([Buffer.from([0, ...varint(USER_PROPERTIES.length)]), USER_PROPERTIES]),
  ),
})) {
  test(`a ${what} of a million entries is not decoded`, async (context) => {
    const { port, server } = await serve(context);
    const client = await RawClient.login(port, 5);
    client.socket.write(bytes);
    await client.untilClosed();
    assert.equal(server.stats.ended.protocol, 1);
    assert.equal(server.stats.subscriptionsRefused, 0);
    assert.equal((client.packets[1] as { reasonCode: number }).reasonCode, 0x95);
    // Smaller ones are answered.
    const other = await RawClient.login(port, 5);
    other.socket.write(packet(0x82, Buffer.concat([Buffer.from([0, 1, 0]), FILTERS.subarray(0, 16_000)])));
    assert.equal((await other.until(2))[1]!.cmd, 'suback');
  });
}

test('a client that sends control packets without end loses its connection, and messages are not counted', async (context) => {
  const { port, server } = await serve(context, { isAutomatic: true });
  const flooder = await RawClient.login(port, 5, { clientId: 'flooder' });
  flooder.socket.write(Buffer.alloc(10_000, Buffer.from([0xc0, 0])));
  await flooder.untilClosed();
  assert.equal(server.stats.ended.quota, 1);
  assert.equal((flooder.packets.at(-1) as { reasonCode: number }).reasonCode, 0x97);
  const busy = await RawClient.login(port, 4, { clientId: 'busy' });
  for (let id = 1; id <= 3000; id++) busy.publish(id, { qos: 2 });
  await busy.until(3001);
  busy.send(
    ...Array.from({ length: 3000 }, (_, index) => ({ cmd: 'pubrel', messageId: index + 1 }) as Packet),
  );
  assert.equal((await busy.until(6001)).length, 6001);
});

test('packets that arrive in part have a bound, at which the client with the most of them gives way', async (context) => {
  const { port, server } = await serve(context, {
    limits: { maxPartialBytes: 200_000 },
    isAutomatic: true,
    clientOf: () => 'one address',
    user: async ({ username }) => ({ ...ANYONE, name: username }),
  });
  const login = (clientId: string, username: string) =>
    RawClient.login(port, 5, { clientId, username, password: Buffer.from('x') });
  const begin = Buffer.from([0x30, 0xe0, 0xd4, 0x03, 0, 1]); // 60,000 bytes
  const stalled: RawClient[] = [];
  for (const name of ['a', 'b', 'c']) {
    const client = await login(name, 'hostile');
    client.socket.write(begin);
    stalled.push(client);
    await sleep(20);
  }
  // A message of an honest sensor, in two parts.
  const honest = await login('d', 'honest');
  const message = packet(
    0x32,
    Buffer.from([0, 9, ...Buffer.from('sensors/a'), 0, 7, 0, ...Buffer.alloc(50_000)]),
  );
  honest.socket.write(message.subarray(0, 100));
  await stalled[0]!.untilClosed();
  assert.equal((stalled[0]!.packets[1] as { reasonCode: number }).reasonCode, 0x97);
  honest.socket.write(message.subarray(100));
  assert.equal((await honest.until(2))[1]!.cmd, 'puback');
  assert.deepEqual(
    [...stalled, honest].map(({ closed }) => closed),
    [true, false, false, false],
  );
  // The hostile client itself has no more room than the bound.
  for (const name of ['e', 'f']) (await login(name, 'hostile')).socket.write(begin);
  await stalled[1]!.untilClosed();
  assert.equal(server.stats.ended.quota, 2);
});

test('connections that do not read their last packet are bounded, also after many that were reset', async (context) => {
  const { port, server } = await serve(context);
  for (let number = 0; number < 40; number++)
    (await RawClient.login(port, 5, { clientId: `reset-${number}` })).socket.resetAndDestroy();
  await until('they are closed', () => server.connections === 0);
  for (let number = 0; number < 40; number++) {
    const { socket } = await RawClient.login(port, 5, { clientId: `ended-${number}` });
    socket.pause();
    socket.write(Buffer.of(0, 0));
  }
  await until('they have ended', () => server.stats.ended.protocol === 40);
  await until('32 of them wait', () => server.connections <= 32, 500);
});

test('connections leave nothing in memory, however they end', async (context) => {
  const { port, server } = await serve(context, {
    user: async ({ username }) => (username === null ? ANYONE : 'credentials'),
  });
  const will = { topic: 'sensors/w/t', payload: Buffer.from('w'), qos: 1, retain: false };
  const ends: Readonly<Record<string, (socket: Socket) => void>> = {
    reset: (socket) => socket.resetAndDestroy(),
    'no DISCONNECT': (socket) => void socket.end(),
    DISCONNECT: (socket) => void socket.end(Buffer.of(0xe0, 0)),
    'a wrong packet': (socket) => void socket.write(Buffer.of(0, 0)),
  };
  for (const [how, end] of Object.entries(ends)) {
    for (const options of [{}, { will }, { username: 'u', password: Buffer.from('wrong') }]) {
      for (let number = 0; number < 10; number++)
        end((await RawClient.login(port, 4, { clientId: `${number}`, ...options })).socket);
    }
    await until('they are closed', () => server.connections === 0);
    // V8 can still have the last ones.
    const left = Number(queryObjects(SensorConnection));
    assert.ok(left < 5, `${how}: ${left} are left`);
  }
});

test('the addresses of one client share its number of connections', async (context) => {
  const { port, server } = await serve(context, {
    limits: { maxConnectionsPerClient: 2 },
    clientOf: () => '2001:db8:0:0::/64',
  });
  const clients: RawClient[] = [];
  for (const [index, localAddress] of ['127.0.0.1', '127.0.0.2', '127.0.0.3'].entries())
    clients.push(await RawClient.login(port, 4, { clientId: `${index}` }, localAddress));
  await clients[2]!.untilClosed();
  assert.equal((clients[2]!.packets[0] as { returnCode: number }).returnCode, 3);
  assert.equal(server.stats.ended.connections_of_client, 1);
  clients[0]!.socket.destroy();
  await until('a place is free', () => server.connections === 1);
  assert.equal((await RawClient.login(port)).packets.length, 1);
});

test('wills that become due while nothing is read wait, with a bound in bytes', async (context) => {
  const { port, server, wills, refused } = await serve(context, {
    user: async ({ username }) => ({ ...ANYONE, name: username }),
  });
  server.pause();
  const payload = Buffer.alloc(15_000, 'w');
  const will = { topic: 'sensors/w/t', payload, qos: 1, retain: false };
  for (let number = 0; number < 300; number++) {
    const client = await RawClient.login(port, 4, { clientId: `${number}`, will });
    client.socket.destroy();
  }
  for (let i = 0; server.connections > 0 && i < 200; i++) await sleep(10);
  assert.equal(wills.length, 0);
  const left = refused.filter((reason) => reason === 'will').length;
  assert.ok(left > 200 && left < 300, `${left}`);
  // The one of another client has room.
  const innocent = { clientId: 'innocent', username: 'innocent', password: Buffer.from('x'), will };
  (await RawClient.login(port, 4, innocent)).socket.destroy();
  await until('it has left', () => server.connections === 0);
  assert.equal(refused.filter((reason) => reason === 'will').length, left);
  server.resume();
  assert.equal(wills.length, 301 - left);
  assert.equal(server.stats.wills, 301 - left);
});

test('wills of a client that is not read wait, and those of others do not', async (context) => {
  const { port, server, messages, received, wills, refused } = await serve(context, {
    user: async ({ username }) => ({ ...ANYONE, name: username }),
  });
  const as = (username: string, clientId: string, text: string) => ({
    ...{ clientId, username, password: Buffer.from('x') },
    will: { topic: 'sensors/w/t', payload: Buffer.from(text), qos: 1, retain: false } as const,
  });
  const hostile = await RawClient.login(port, 5, as('hostile', 'h', 'last'));
  hostile.publish(1);
  await received(1);
  const { client } = messages[0]!.connection;
  client.pause();
  for (let number = 0; number < 80; number++)
    (await RawClient.login(port, 4, as('hostile', `${number}`, 'x'.repeat(15_000)))).socket.destroy();
  (await RawClient.login(port, 4, as('innocent', 'i', 'innocent'))).socket.destroy();
  hostile.socket.destroy();
  await until('they have left', () => server.connections === 0);
  assert.deepEqual(wills, ['sensors/w/t innocent']);
  // It has half of the room.
  const left = refused.filter((reason) => reason === 'will').length;
  assert.ok(left > 50 && left < 70, `${left}`);
  client.resume();
  assert.equal(wills.length, 82 - left);
  assert.equal(server.stats.wills, 82 - left);
});

test('a client that its own will pauses keeps the others for later', async (context) => {
  let pause = () => {};
  const { port, server, messages, received, wills } = await serve(context, {
    user: async ({ username }) => ({ ...ANYONE, name: username }),
    onWill: () => pause(),
  });
  const login = { username: 'u', password: Buffer.from('x') };
  const first = await RawClient.login(port, 5, { clientId: 'first', ...login });
  first.publish(1);
  await received(1);
  const { client } = messages[0]!.connection;
  pause = () => client.pause();
  const will = { topic: 'sensors/w/t', payload: Buffer.from('w'), qos: 1, retain: false } as const;
  for (const clientId of ['a', 'b', 'c'])
    (await RawClient.login(port, 5, { clientId, ...login, will })).socket.destroy();
  await until('they have left', () => server.connections === 1);
  for (const count of [1, 2, 3]) {
    assert.equal(wills.length, count);
    client.resume();
  }
});

test('a connection ends within about a second when its login has ended, without its will', async (context) => {
  const revoked = new Set<string>();
  const { port, server, wills } = await serve(context, {
    user: async ({ clientId }) => ({ ...ANYONE, isCurrent: () => !revoked.has(clientId) }),
  });
  const will = { topic: 'sensors/w/t', payload: Buffer.from('w'), qos: 1, retain: false };
  const former = await RawClient.login(port, 5, { clientId: 'former', will });
  const other = await RawClient.login(port, 5, { clientId: 'other' });
  revoked.add('former');
  await former.untilClosed();
  assert.equal((former.packets[1] as { reasonCode: number }).reasonCode, 0x87);
  assert.equal(other.closed, false);
  assert.equal(server.stats.ended.not_authorized, 1);
  assert.deepEqual(wills, []);
});
