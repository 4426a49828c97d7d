import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Will } from '../../src/server/connect.ts';
import { Sessions } from '../../src/server/sessions.ts';

const NOBODY = { takeOver() {}, exceed() {}, release() {} };
const MIB = 1024 * 1024;

test('wills that wait have a bound in bytes: beyond it they are published at once', (context) => {
  const published: Will[] = [];
  const sessions = new Sessions({
    maximum: 10_000,
    maximumExpirySeconds: 3600,
    onWill: (will) => published.push(will),
  });
  context.after(() => sessions.clear());
  const payload = Buffer.alloc(16 * 1024);
  const leave = (name: string) => {
    const { session } = sessions.open(name, name, NOBODY, false, 3600);
    sessions.closed(session, { topic: name, payload, qos: 1, delaySeconds: 600 });
  };
  for (let number = 0; number < 1000; number++) leave(`sensors/${number}`);
  const waiting = 1000 - published.length;
  assert.ok(waiting > 0 && waiting * payload.length <= 4 * MIB, `${waiting} wait`);
  // A client that returns in time makes room for another one.
  const before = published.length;
  sessions.open('sensors/0', 'sensors/0', NOBODY, false, 3600);
  leave('another');
  assert.equal(published.length, before);
  leave('a third');
  assert.equal(published.length, before + 1);
  // The end of a session publishes its will, once.
  sessions.sweep(Number.POSITIVE_INFINITY);
  assert.equal(published.length, 1002 - 1);
});

test('a client cannot fill the room of wills that wait', (context) => {
  const published: string[] = [];
  const sessions = new Sessions({
    maximum: 10_000,
    maximumExpirySeconds: 3600,
    onWill: ({ topic }) => published.push(topic),
  });
  context.after(() => sessions.clear());
  const leave = (client: string, key: string) => {
    const { session } = sessions.open(key, client, NOBODY, false, 3600);
    sessions.closed(session, { topic: client, payload: Buffer.alloc(16 * 1024), qos: 1, delaySeconds: 600 });
  };
  for (const client of ['one', 'two', 'three'])
    for (let number = 0; number < 1000; number++) leave(client, `${client} ${number}`);
  published.length = 0;
  leave('innocent', 'innocent');
  assert.deepEqual(published, []);
});

const UNRELEASED = 262_144;

function openSessions(maximum = 10_000) {
  const sessions = new Sessions({ maximum, maximumExpirySeconds: 3600, onWill() {} });
  const ended: string[] = [];
  const open = (client: string, key = client) => {
    const connection = { ...NOBODY, exceed: () => void ended.push(key) };
    return sessions.open(key, client, connection, false, 3600).session;
  };
  const fill = (client: string, key: string, count: number) => {
    const session = open(client, key);
    for (let id = 1; id <= count; id++) {
      sessions.makeRoom(session);
      sessions.stored(session, id);
    }
    return session;
  };
  return { sessions, ended, open, fill };
}

test('QoS 2 messages without PUBREL: half of the room is the most for a client, and its own sessions end', () => {
  const { sessions, ended, fill } = openSessions();
  const innocent = fill('innocent', 'innocent', 100);
  for (let number = 0; number < 6552; number++) fill('hostile', `hostile ${number}`, 40);
  assert.ok(ended.length > 1000 && ended.every((key) => key.startsWith('hostile')), `${ended.length}`);
  assert.equal(innocent.unreleased.size, 100);
  assert.equal(sessions.release(innocent, 1), true);
});

test('QoS 2 messages without PUBREL: when all of the room is taken, the client with the most pays', () => {
  const { sessions, ended, fill } = openSessions();
  const innocent = fill('innocent', 'innocent', 100);
  // Four clients below their share.
  for (const client of ['a', 'b', 'c', 'd'])
    for (const [number, count] of [65_535, client === 'c' ? 1 : 0].entries())
      fill(client, `${client} ${number}`, count);
  assert.deepEqual(ended, ['c 0']);
  assert.equal(innocent.unreleased.size, 100);
  assert.ok(UNRELEASED - 65_535 > 3 * 65_535);
  // A session without a connection ends in the same way.
  sessions.closed(fill('e', 'e 0', 65_000), null);
  fill('e', 'e 1', 60_000);
  assert.equal(innocent.unreleased.size, 100);
});

test('sessions: a client has half of them at most, and ends its own', () => {
  const { sessions, open } = openSessions(100);
  const innocent = open('innocent');
  sessions.closed(innocent, null);
  for (let number = 0; number < 1000; number++) sessions.closed(open('hostile', `hostile ${number}`), null);
  assert.equal(sessions.size, 51);
  assert.equal(sessions.open('innocent', 'innocent', NOBODY, false, 3600).isPresent, true);
  // Its newest ones are kept.
  assert.equal(sessions.open('hostile 999', 'hostile', NOBODY, false, 3600).isPresent, true);
});

test('sessions: when there are as many as there may be, the client with the most ends its oldest', () => {
  const { sessions, open } = openSessions(100);
  for (const client of ['one', 'two', 'three'])
    for (let number = 0; number < 40; number++) sessions.closed(open(client, `${client} ${number}`), null);
  for (let number = 0; number < 30; number++) sessions.closed(open(`client ${number}`), null);
  assert.equal(sessions.size, 100);
  for (let number = 0; number < 30; number++) {
    const { isPresent } = sessions.open(`client ${number}`, `client ${number}`, NOBODY, false, 3600);
    assert.equal(isPresent, true);
  }
});

test('a session without a login that continues from another address counts for that one', () => {
  const { sessions, open, fill } = openSessions(100);
  const session = fill('address one', 'key', 10);
  sessions.closed(session, null);
  const continued = open('address two', 'key');
  assert.equal(continued, session);
  assert.equal(continued.owner.name, 'address two');
  assert.equal(continued.owner.unreleased, 10);
});
