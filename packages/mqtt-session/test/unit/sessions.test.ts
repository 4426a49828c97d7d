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
    const { session } = sessions.open(name, NOBODY, false, 3600);
    sessions.closed(session, { topic: name, payload, qos: 1, delaySeconds: 600 });
  };
  for (let number = 0; number < 1000; number++) leave(`sensors/${number}`);
  const waiting = 1000 - published.length;
  assert.ok(waiting > 0 && waiting * payload.length <= 4 * MIB, `${waiting} wait`);
  // A client that returns in time makes room for another one.
  const before = published.length;
  sessions.open('sensors/0', NOBODY, false, 3600);
  leave('another');
  assert.equal(published.length, before);
  leave('a third');
  assert.equal(published.length, before + 1);
  // The end of a session publishes its will, once.
  sessions.sweep(Number.POSITIVE_INFINITY);
  assert.equal(published.length, 1002 - 1);
});

test('QoS 2 messages without PUBREL have a bound: at it the session with the most of them ends', () => {
  const sessions = new Sessions({ maximum: 100, maximumExpirySeconds: 3600, onWill() {} });
  const ended: string[] = [];
  const open = (name: string) => {
    const connection = { ...NOBODY, exceed: () => void ended.push(name) };
    return sessions.open(name, connection, false, 3600).session;
  };
  const fill = (name: string, count: number) => {
    const session = open(name);
    for (let id = 1; id <= count; id++) sessions.stored(session, id);
    return session;
  };
  const small = fill('small', 10);
  for (let number = 0; number < 4; number++) fill(`large-${number}`, 65_535);
  // A session without a connection keeps its messages.
  sessions.closed(sessions.open('large-2', NOBODY, false, 3600).session, null);
  fill('another', 10);
  assert.equal(sessions.isFull, true);
  sessions.endLargest();
  assert.equal(sessions.isFull, false);
  assert.deepEqual(ended, ['large-0']);
  assert.equal(sessions.size, 5);
  assert.equal(sessions.release(small, 1), true);
});
