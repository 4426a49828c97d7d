import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { record } from '../support/recorder.ts';
import { type Peer, startScriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/wait.ts';

function pings(peer: Peer): number {
  return peer.packets.filter((packet) => packet.cmd === 'pingreq').length;
}

const MESSAGE = { cmd: 'publish', topic: 't/a', payload: '1', qos: 0, dup: false, retain: false };

describe('keep-alive', { concurrency: true }, () => {
  test('while the application pauses, PINGREQ is sent on schedule and silence does not disconnect', async (t) => {
    const server = await startScriptedServer(t, { pingresp: false });
    const { session, changes } = record(t, { url: server.url, keepAliveSeconds: 1 });
    await session.connect();
    session.pause();
    const peer = server.peers[0]!;
    await until('three PINGREQs', () => pings(peer) === 3);
    assert.deepEqual(
      changes.map(({ connected }) => connected),
      [true],
    );
  });

  test('a peer that disappeared without closing the connection is detected within two keep-alives', async (t) => {
    const server = await startScriptedServer(t, { pingresp: false });
    const { session, changes } = record(t, { url: server.url, keepAliveSeconds: 1 });
    await session.connect();
    const upAt = performance.now();
    await until('the loss', () => changes.length >= 2);
    assert.ok(performance.now() - upAt < 2300);
    assert.equal(changes[1]!.error?.code, 'TIMEOUT');
    await until('a reconnection', () => server.peers.length >= 2);
  });

  test('received messages keep the connection alive when PINGRESP does not arrive', async (t) => {
    const server = await startScriptedServer(t, { pingresp: false });
    const { session, messages, changes } = record(t, { url: server.url, keepAliveSeconds: 1 });
    await session.connect();
    const peer = server.peers[0]!;
    const timer = setInterval(() => peer.send(MESSAGE), 200);
    t.after(() => clearInterval(timer));
    await until('PINGREQ three times, for nothing is sent', () => pings(peer) === 3);
    assert.ok(messages.length > 5);
    assert.equal(changes.length, 1);
  });

  test("the broker's keep-alive replaces ours", async (t) => {
    const connack = (): object => ({ properties: { serverKeepAlive: 1 } });
    const server = await startScriptedServer(t, { connack });
    const { session } = record(t, { url: server.url, keepAliveSeconds: 3600 });
    await session.connect();
    await until('PINGREQ', () => pings(server.peers[0]!) === 1, 2000);
  });
});
