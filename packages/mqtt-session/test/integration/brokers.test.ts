import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { findProgram, startEmbeddedBroker, startMosquitto } from '@tidegauge/lab';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { MqttSessionError } from '../../src/index.ts';
import { startProxy } from '../support/proxy.ts';
import { publish, publishNumbers } from '../support/publisher.ts';
import { record } from '../support/recorder.ts';
import { until } from '../support/wait.ts';

// Tests for every broker. aedes supports MQTT 3.1.1 only, and mosquitto supports both versions.

interface Broker {
  readonly url: string;
  readonly port: number;
}

interface Credentials {
  readonly username: string;
  readonly password: string;
}

interface Target {
  readonly name: string;
  readonly protocolVersion: 4 | 5 | 'auto';
  start(t: TestContext, credentials?: Credentials): Promise<Broker>;
}

async function mosquitto(t: TestContext, credentials?: Credentials): Promise<Broker> {
  const broker = await startMosquitto(credentials === undefined ? {} : { credentials });
  t.after(() => broker.stop());
  return broker;
}

async function aedes(t: TestContext, credentials?: Credentials): Promise<Broker> {
  const broker = await startEmbeddedBroker({ port: 0, ...credentials });
  t.after(() => broker.close());
  return broker;
}

const targets: readonly Target[] = [
  { name: 'mosquitto, MQTT 5', protocolVersion: 'auto', start: mosquitto },
  { name: 'mosquitto, MQTT 3.1.1', protocolVersion: 4, start: mosquitto },
  { name: 'aedes', protocolVersion: 'auto', start: aedes },
];

const found = await startOrSkip('mosquitto', () => findProgram('mosquitto', 'mosquitto'));
const missing = 'skip' in found ? found.skip : false;

for (const { name, protocolVersion, start } of targets) {
  describe(name, { skip: start === mosquitto && missing }, () => {
    test('a delivered message reaches its subscribers, and one that is retained those of later', async (t) => {
      const { url } = await start(t);
      const { session } = record(t, { url, protocolVersion });
      await assert.rejects(session.deliver('own/1', Buffer.from('early')), { code: 'CONNECTION_LOST' });
      await session.connect();
      assert.equal(session.retains, true);
      await session.deliver('own/1', Buffer.from('kept'), { retain: true });
      const late = record(t, { url, protocolVersion, subscriptions: [{ filter: 'own/#', qos: 1 }] });
      await late.session.connect();
      await until('the retained message', () => late.messages.length === 1);
      await Promise.all(['a', 'b', 'c'].map((text) => session.deliver('own/2', Buffer.from(text))));
      await until('all messages', () => late.messages.length === 4);
      const texts = late.messages.map(({ payload }) => Buffer.from(payload).toString());
      assert.deepEqual(texts, ['kept', 'a', 'b', 'c']);
      await session.deliver('own/1', new Uint8Array(), { retain: true });
      await assert.rejects(session.deliver('own/#', Buffer.from('x')), TypeError);
      await session.close();
      await assert.rejects(session.deliver('own/1', Buffer.from('late')), { code: 'CONNECTION_LOST' });
    });

    test('messages of QoS 0, 1 and 2 arrive once, in order, as they were published', async (t) => {
      const { url } = await start(t);
      const { session, messages } = record(t, { url, protocolVersion });
      await session.connect();
      await publish(url, [
        ['t/zero', 'a', { qos: 0 }],
        ['t/one', 'ä', { qos: 1 }],
        ['t/two', Buffer.from([0, 255]), { qos: 2 }],
        ['t/one', '', { qos: 1 }],
      ]);
      await until('four messages', () => messages.length === 4);
      assert.deepEqual(
        messages.map(({ topic, payload, qos, retain }) => [topic, payload.toString('hex'), qos, retain]),
        [
          ['t/zero', '61', 0, false],
          ['t/one', 'c3a4', 1, false],
          ['t/two', '00ff', 2, false],
          ['t/one', '', 1, false],
        ],
      );
      for (const message of messages) session.acknowledge(message);
      await until('nothing in flight', () => session.stats.inFlight === 0);
    });

    test('unacknowledged messages are sent to the next process with the same client id', async (t) => {
      const { url } = await start(t);
      const clientId = 'survivor';
      const first = record(t, { url, protocolVersion, clientId });
      await first.session.connect();
      await publish(url, [
        ['t/1', 'kept', { qos: 1 }],
        ['t/2', 'done', { qos: 1 }],
        ['t/3', 'kept too', { qos: 2 }],
      ]);
      await until('three messages', () => first.messages.length === 3);
      first.session.acknowledge(first.messages[1]!);
      await first.session.close();
      await publish(url, [['t/4', 'while away', { qos: 1 }]]);

      const second = record(t, { url, protocolVersion, clientId });
      await second.session.connect();
      const texts = (): string[] => second.messages.map(({ payload }) => String(payload));
      await until('the last message', () => texts().includes('while away'));
      // Acknowledgements are sent in receive order. `kept` is not acknowledged, so `done` could not be either.
      assert.deepEqual(texts().toSorted(), ['done', 'kept', 'kept too', 'while away']);
      for (const message of second.messages) second.session.acknowledge(message);
      await until('nothing in flight', () => second.session.stats.inFlight === 0);
      await second.session.close();

      const third = record(t, { url, protocolVersion, clientId });
      await third.session.connect();
      await publish(url, [['t/5', 'fresh', { qos: 1 }]]);
      await until('the fresh message', () => third.messages.length > 0);
      assert.deepEqual(
        third.messages.map(({ payload }) => String(payload)),
        ['fresh'],
      );
    });

    test('a payload of 5 MB arrives complete', async (t) => {
      const { url } = await start(t);
      const { session, messages } = record(t, { url, protocolVersion });
      await session.connect();
      const payload = Buffer.alloc(5_000_000);
      for (let i = 0; i < payload.length; i += 4) payload.writeInt32LE(Math.imul(i, 0x9e3779b1), i);
      await publish(url, [['t/big', payload]]);
      await until('the message', () => messages.length === 1);
      assert.ok(messages[0]!.payload.equals(payload));
      session.acknowledge(messages[0]!);
      await until('nothing in flight', () => session.stats.inFlight === 0);
    });

    test('the broker has no message left after 20,000 were acknowledged late and in random order', async (t) => {
      const { url, port } = await start(t);
      const count = 20_000;
      const seen = new Uint8Array(count);
      const clientId = 'shuffler';
      const { session, messages } = record(t, { url, protocolVersion, clientId });
      await session.connect();
      const publishing = publishNumbers(port, 't/numbers', count);
      let released = 0;
      while (released < count) {
        await until('more messages', () => messages.length > 0, 20_000);
        const batch = messages.splice(0);
        for (let i = batch.length - 1; i > 0; i -= 1) {
          const j = Math.floor(Math.random() * (i + 1));
          [batch[i], batch[j]] = [batch[j]!, batch[i]!];
        }
        for (const message of batch) {
          seen[Number(message.payload)]! += 1;
          session.acknowledge(message);
        }
        released += batch.length;
      }
      await publishing;
      assert.ok(
        seen.every((times) => times === 1),
        'each once',
      );
      await until('nothing in flight', () => session.stats.inFlight === 0);
      await session.close();

      const next = record(t, { url, protocolVersion, clientId });
      await next.session.connect();
      await publish(url, [['t/end', 'end']]);
      await until('the end', () => next.messages.length > 0);
      assert.equal(String(next.messages[0]!.payload), 'end', 'nothing was sent again');
    });

    test('the connection stays open while acknowledgements are delayed beyond the keep-alive', async (t) => {
      const { url } = await start(t);
      const { session, messages, changes } = record(t, { url, protocolVersion, keepAliveSeconds: 1 });
      await session.connect();
      await publish(url, [['t/slow', 'x']]);
      await until('the message', () => messages.length === 1);
      const heardBefore = session.stats.bytesReceived;
      // Three PINGRESPs of two bytes: more than two keep-alives.
      await until('three answers to PINGREQ', () => session.stats.bytesReceived >= heardBefore + 6);
      assert.equal(changes.length, 1);
      session.acknowledge(messages[0]!);
      await until('nothing in flight', () => session.stats.inFlight === 0);
      await publish(url, [['t/slow', 'y']]);
      await until('another message', () => messages.length === 2);
    });

    test('a half-open connection is detected and replaced, and no message is lost', async (t) => {
      const { url, port } = await start(t);
      const proxy = await startProxy(t, port);
      const { session, messages, changes } = record(t, {
        url: proxy.url,
        protocolVersion,
        keepAliveSeconds: 1,
        connectTimeoutMs: 500,
      });
      await session.connect();
      proxy.freeze();
      await publish(url, [['t/x', 'sent into the void']]);
      proxy.thaw();
      await until('loss and return', () => changes.length === 3);
      assert.equal(changes[1]!.error?.code, 'TIMEOUT');
      await until('the message', () => messages.length === 1);
      assert.ok(proxy.connections >= 2);
    });

    test('wrong credentials reject at once, and correct ones connect', async (t) => {
      const { url } = await start(t, { username: 'tide', password: 'gauge' });
      const wrong = record(t, { url, protocolVersion, username: 'tide', password: 'gouge' });
      await assert.rejects(wrong.session.connect(), (error) => {
        assert.ok(error instanceof MqttSessionError);
        assert.ok(['BAD_CREDENTIALS', 'NOT_AUTHORIZED'].includes(error.code), error.code);
        assert.match(error.hint ?? '', /username and password/);
        return !error.message.includes('gouge');
      });
      const none = record(t, { url, protocolVersion });
      await assert.rejects(none.session.connect(), MqttSessionError);
      const right = record(t, { url: url.replace('//', '//tide:gauge@'), protocolVersion });
      await right.session.connect();
      assert.equal(right.session.connected, true);
    });
  });
}
