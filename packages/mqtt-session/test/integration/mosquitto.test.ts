import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type MosquittoOptions, startMosquitto } from '@tidegauge/lab';
import { findProgram } from '@tidegauge/lab/debian';
import { testWith } from '@tidegauge/lab/unavailable';
import { type InboundMessage, MqttSession, MqttSessionError } from '../../src/index.ts';
import { publish, publishNumbers } from '../support/publisher.ts';
import { record } from '../support/recorder.ts';
import { until } from '../support/wait.ts';

const test = await testWith('mosquitto', () => findProgram('mosquitto', 'mosquitto'));

async function start(t: { after(fn: () => Promise<void>): void }, options: MosquittoOptions = {}) {
  const broker = await startMosquitto(options);
  t.after(() => broker.stop());
  return broker;
}

test('subscriptions are sent again after a killed broker restarts without its sessions', async (t) => {
  const broker = await start(t);
  const { session, messages, changes } = record(t, { url: broker.url });
  await session.connect();
  await publish(broker.url, [['t/1', 'before']]);
  await until('the first message', () => messages.length === 1);
  await broker.kill();
  await until('the loss', () => changes.length === 2);
  session.acknowledge(messages[0]!);
  await broker.restart();
  await until('the return', () => changes.length === 3);
  await publish(broker.url, [['t/2', 'after']]);
  await until('the second message', () => messages.length === 2);
  session.acknowledge(messages[1]!);
  await until('nothing in flight', () => session.stats.inFlight === 0);
  assert.deepEqual(session.stats.reconnects, 1);
});

test('a broker that restarts with its sessions sends unacknowledged messages again', async (t) => {
  const broker = await start(t, { persistence: true });
  const { session, messages, changes } = record(t, { url: broker.url });
  await session.connect();
  await publish(broker.url, [
    ['t/1', 'acknowledged', { qos: 2 }],
    ['t/2', 'not yet'],
  ]);
  await until('two messages', () => messages.length === 2);
  session.acknowledge(messages[0]!);
  await until('one in flight', () => session.stats.inFlight === 1);
  await broker.restart();
  await until('the return', () => changes.at(-1)?.connected === true && changes.length === 3);
  await until('the message again', () => messages.length === 3);
  assert.equal(String(messages[2]!.payload), 'not yet');
  assert.equal(messages[2]!.dup, true);
  session.acknowledge(messages[2]!);
  await until('nothing in flight', () => session.stats.inFlight === 0);
});

test('connect waits for a broker that has not started yet', async (t) => {
  const broker = await start(t);
  await broker.kill();
  const { session, log } = record(t, { url: broker.url });
  const connecting = session.connect();
  await until('an attempt', () => log.length > 0);
  await broker.restart();
  await connecting;
  assert.equal(log[0]!.object.code, 'UNREACHABLE');
});

test('a takeover without a reason from the broker (mosquitto before 2.0.15) gives a hint', async (t) => {
  const { url } = await start(t);
  const options = { url, clientId: 'twin', reconnectMinMs: 60_000, reconnectMaxMs: 60_000 };
  const first = record(t, options);
  await first.session.connect();
  const second = record(t, options);
  await second.session.connect();
  await until('the takeover', () => first.changes.length === 2);
  assert.match(first.changes[1]!.error?.hint ?? '', /another process .* clientId/);
  assert.equal(second.session.connected, true);
});

for (const protocolVersion of [4, 5] as const) {
  test(`messages arrive one by one with a receive maximum of 1, MQTT ${protocolVersion}`, async (t) => {
    const { url, port } = await start(t);
    let open = 0;
    let most = 0;
    const { session, messages } = record(t, {
      url,
      protocolVersion,
      receiveMaximum: 1,
      onMessage: (message) => {
        messages.push(message);
        open += 1;
        most = Math.max(most, open);
        setImmediate(() => {
          open -= 1;
          session.acknowledge(message);
        });
      },
    });
    await session.connect();
    await publishNumbers(port, 't/numbers', 500);
    await until('500 messages', () => messages.length === 500);
    assert.equal(most, 1);
    assert.deepEqual(
      messages.map(({ payload }) => Number(payload)),
      Array.from({ length: 500 }, (_, i) => i),
    );
  });
}

test('a broker that exceeds the receive maximum is slowed down, not disconnected', async (t) => {
  // mosquitto 2.0.11 does so when it sends messages both from its queue and from publishers.
  const { url, port } = await start(t);
  let waiting: InboundMessage[] = [];
  const { session, messages } = record(t, {
    url,
    receiveMaximum: 100,
    onMessage: (message) => {
      messages.push(message);
      waiting.push(message);
    },
  });
  await session.connect();
  let most = 0;
  const release = setInterval(() => {
    most = Math.max(most, waiting.length);
    for (const message of waiting) session.acknowledge(message);
    waiting = [];
  }, 2);
  t.after(() => clearInterval(release));
  await publishNumbers(port, 't/numbers', 20_000);
  await until('20,000 messages', () => messages.length >= 20_000);
  assert.equal(messages.length, 20_000);
  assert.ok(most <= 100, `${most} messages waited`);
  assert.equal(session.stats.reconnects, 0);
});

test('a group shares messages: each message is sent to one of two sessions', async (t) => {
  const { url, port } = await start(t);
  const subscriptions = [{ filter: 't/#', qos: 1, shareGroup: 'workers' }] as const;
  const members = [record(t, { url, subscriptions }), record(t, { url, subscriptions })];
  for (const { session } of members) await session.connect();
  await publishNumbers(port, 't/numbers', 1000);
  await until('all messages', () => members[0]!.messages.length + members[1]!.messages.length === 1000);
  const numbers = members.flatMap(({ messages }) => messages.map(({ payload }) => Number(payload)));
  assert.equal(new Set(numbers).size, 1000);
  assert.ok(members.every(({ messages }) => messages.length > 0));
});

test('retained messages are sent after a new subscription, and not again after a restart', async (t) => {
  const { url } = await start(t);
  await publish(url, [['t/last', 'retained', { retain: true }]]);
  const clientId = 'restarted';
  const first = record(t, { url, clientId });
  await first.session.connect();
  await until('the retained message', () => first.messages.length === 1);
  assert.equal(first.messages[0]!.retain, true);
  first.session.acknowledge(first.messages[0]!);
  await first.session.close();

  const second = record(t, { url, clientId });
  await second.session.connect();
  await publish(url, [['t/last', 'live', { retain: true }]]);
  await until('the live message', () => second.messages.length > 0);
  assert.deepEqual(
    second.messages.map(({ payload, retain }) => [String(payload), retain]),
    [['live', false]],
  );
});

test('filters can change while messages flow', async (t) => {
  const { url } = await start(t);
  const { session, messages } = record(t, { url, subscriptions: [{ filter: 'a', qos: 1 }] });
  await session.connect();
  await session.setSubscriptions([{ filter: 'b', qos: 1 }]);
  await publish(url, [
    ['a', 'no'],
    ['b', 'yes'],
  ]);
  await until('a message', () => messages.length > 0);
  assert.deepEqual(
    messages.map(({ topic }) => topic),
    ['b'],
  );
});

test('properties of MQTT 5 messages arrive', async (t) => {
  const { url } = await start(t);
  const { session, messages } = record(t, { url });
  await session.connect();
  const mqtt = await import('mqtt');
  const client = await mqtt.connectAsync(url, { protocolVersion: 5 });
  const userProperties = { boot: 'b1', tag: ['x', 'y'] };
  await client.publishAsync('t/p', '1', {
    qos: 1,
    properties: { contentType: 'text/plain', userProperties },
  });
  await client.endAsync();
  await until('the message', () => messages.length === 1);
  assert.equal(messages[0]!.properties?.contentType, 'text/plain');
  assert.deepEqual({ ...messages[0]!.properties?.userProperties }, userProperties);
});

test('TLS: a trusted certificate connects, an unknown one rejects at once with a hint', async (t) => {
  const { tls, url } = await start(t, { tls: true });
  const { session, messages } = record(t, { url: tls!.url, tls: { ca: tls!.ca } });
  await session.connect();
  const payload = Buffer.alloc(300_000, 'tls');
  await publish(url, [['t/tls', payload]]);
  await until('the message', () => messages.length === 1);
  assert.ok(messages[0]!.payload.equals(payload));
  const isTls = (error: unknown): boolean =>
    error instanceof MqttSessionError && error.code === 'TLS' && /tls\.ca/.test(error.hint ?? '');
  await assert.rejects(record(t, { url: tls!.url }).session.connect(), isTls);
  const plain = record(t, { url: url.replace('mqtt:', 'mqtts:') });
  const connecting = assert.rejects(plain.session.connect());
  await until('a hint for a port without TLS', () => /TLS/.test(String(plain.log[0]?.object.hint)));
  await plain.session.close();
  await connecting;
});

test('the process can end after close', async (t) => {
  const { url } = await start(t);
  const entry = fileURLToPath(new URL('../../src/index.ts', import.meta.url));
  const program = `
    const { MqttSession } = await import(${JSON.stringify(entry)});
    const session = new MqttSession({
      url: ${JSON.stringify(url)}, clientId: 'brief', subscriptions: [{ filter: '#', qos: 1 }], onMessage() {},
    });
    await session.connect();
    await session.close();
    console.log('closed');`;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { timeout: 10_000 });
  assert.equal(stdout, 'closed\n');
});

test('an error thrown by onMessage is uncaught, and the message is sent again', async (t) => {
  const { url } = await start(t);
  const thrown: unknown[] = [];
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => thrown.push(error));
  t.after(() => {
    process.removeAllListeners('uncaughtException');
    for (const listener of listeners) process.on('uncaughtException', listener);
  });
  const mistake = new Error('a mistake of the application');
  const seen: string[] = [];
  const session = new MqttSession({
    url,
    clientId: 'clumsy',
    subscriptions: [{ filter: 't', qos: 1 }],
    reconnectMinMs: 10,
    onMessage: (message) => {
      seen.push(String(message.payload));
      if (seen.length === 1) throw mistake;
      session.acknowledge(message);
    },
  });
  t.after(() => session.close());
  await session.connect();
  await publish(url, [['t', 'x']]);
  await until('the message again', () => seen.length === 2);
  assert.deepEqual(thrown, [mistake]);
});
