import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import mqtt from 'mqtt';
import { startEmbeddedBroker } from '../../src/embedded-broker.ts';

// CONNECT of MQTT 3.1.1, clean, client id "x".
const CONNECT = Buffer.from([0x10, 13, 0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 2, 0, 60, 0, 1, 0x78]);

async function start(context: TestContext) {
  const lines: string[] = [];
  const broker = await startEmbeddedBroker({ port: 0, log: (line) => lines.push(line) });
  context.after(() => broker.close());
  const dial = async () => {
    const socket = connect(broker.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.resume();
    context.after(() => socket.destroy());
    await once(socket, 'connect');
    return socket;
  };
  return { broker, lines, dial };
}

function text(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes]);
}

for (const [what, first] of [
  ['before CONNECT', Buffer.alloc(0)],
  ['after CONNECT', CONNECT],
] as const) {
  test(`a packet of 150 MB ${what} is refused by its header`, async (context) => {
    const { lines, dial } = await start(context);
    const sockets = await Promise.all([dial(), dial(), dial(), dial()]);
    const before = process.memoryUsage().rss;
    for (const socket of sockets) {
      if (first.length > 0) socket.write(first);
      await delay(100);
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      // Remaining length 150,000,000.
      socket.write(
        Buffer.from(first.length > 0 ? [0x32, 0x80, 0xa3, 0xc3, 0x47] : [0x10, 0x80, 0xa3, 0xc3, 0x47]),
      );
      for (let n = 0; n < 150 && !socket.destroyed; n += 1) {
        if (!socket.write(Buffer.alloc(1_000_000)))
          await Promise.race([once(socket, 'drain'), closed]).catch(() => {});
      }
      await closed;
    }
    assert.match(lines[0] ?? '', /its packet has 150000000 bytes, at most \d+ are taken/);
    assert.ok(process.memoryUsage().rss - before < 150e6);
  });
}

for (const [what, topic, words] of [
  ['NUL', Buffer.from('sensors/a\0b/t'), /NUL/],
  ['invalid UTF-8', Buffer.from([0x73, 0x2f, 0xc3, 0x28]), /UTF-8/],
  ['65,000 characters', Buffer.alloc(65_000, 0x61), /at most 1024 characters/],
] as const) {
  test(`a topic with ${what} disconnects its publisher with a logged reason; others continue`, async (context) => {
    const { broker, lines, dial } = await start(context);
    const reader = await mqtt.connectAsync(broker.url, { reconnectPeriod: 0 });
    context.after(() => reader.endAsync(true));
    const got: string[] = [];
    reader.on('message', (name) => got.push(name));
    await reader.subscribeAsync('#', { qos: 1 });
    const socket = await dial();
    const body = Buffer.concat([text(topic), Buffer.from([0, 1]), Buffer.from('1')]);
    const length =
      body.length < 128
        ? [body.length]
        : [(body.length & 0x7f) | 0x80, ((body.length >> 7) & 0x7f) | 0x80, body.length >> 14];
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.write(Buffer.concat([CONNECT, Buffer.from([0x32, ...length]), body]));
    await closed;
    await reader.publishAsync('good', '1', { qos: 1 });
    for (const deadline = Date.now() + 5000; got.length === 0 && Date.now() < deadline; ) await delay(10);
    assert.deepEqual(got, ['good']);
    assert.match(lines[0] ?? '', words);
  });
}
