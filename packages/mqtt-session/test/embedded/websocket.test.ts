import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { pipeline } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { startEmbeddedBroker } from '@tidegauge/lab';
import { createWebSocketStream, WebSocketServer } from 'ws';
import { MqttSessionError } from '../../src/index.ts';
import { publish, publishNumbers } from '../support/publisher.ts';
import { record } from '../support/recorder.ts';
import { until } from '../support/wait.ts';

/** Starts aedes with a WebSocket listener at /mqtt. */
async function startWebSocketBroker(t: TestContext): Promise<{ url: string; tcp: string; port: number }> {
  const broker = await startEmbeddedBroker({ port: 0 });
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, path: '/mqtt' });
  await once(server, 'listening');
  server.on('connection', (socket) => {
    const stream = createWebSocketStream(socket);
    pipeline(stream, connect(broker.port, '127.0.0.1'), stream, () => {});
  });
  t.after(async () => {
    for (const client of server.clients) client.terminate();
    await new Promise((resolve) => server.close(resolve));
    await broker.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `ws://127.0.0.1:${port}/mqtt`, tcp: broker.url, port: broker.port };
}

test('a session over WebSocket receives, acknowledges, pauses, and closes', async (t) => {
  const { url, tcp, port } = await startWebSocketBroker(t);
  const { session, messages } = record(t, { url });
  await session.connect();
  await publishNumbers(port, 't/numbers', 1000);
  await until('1000 messages', () => messages.length === 1000);
  for (const message of messages) session.acknowledge(message);
  await until('nothing in flight', () => session.stats.inFlight === 0);
  session.pause();
  const payload = Buffer.alloc(500_000, 'ws');
  await publish(tcp, [['t/big', payload]]);
  assert.equal(messages.length, 1000);
  session.resume();
  await until('the big message', () => messages.length === 1001);
  assert.ok(messages[1000]!.payload.equals(payload));
  await session.close();
  assert.equal(session.connected, false);
});

test('a path without a WebSocket rejects at once', async (t) => {
  const { url } = await startWebSocketBroker(t);
  const { session } = record(t, { url: url.replace('/mqtt', '/elsewhere') });
  await assert.rejects(session.connect(), (error) => {
    assert.ok(error instanceof MqttSessionError && error.code === 'REFUSED', String(error));
    return /HTTP status 4/.test(error.message) && /path/.test(error.hint ?? '');
  });
});
