import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbeddedBroker } from '@tidegauge/lab';
import { waitUntil } from '@tidegauge/process';
import type { AlertDocument, AlertsDocument } from '@tidegauge/readings';
import { type IngestProcess, startIngestProcess } from '@tidegauge/test-support/ingest-process';
import mqtt from 'mqtt';
import { HOOK_SECRET, startHook } from '../alert-hook.ts';

const WAIT = { timeoutMs: 30_000 };
const TOPIC = 'tidegauge/alerts';

async function setUp(context: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-alert-messages-'));
  const file = join(directory, 'alerts.yml');
  await writeFile(file, '- { name: hot, metric: t, above: 30 }\n');
  const broker = await startEmbeddedBroker({ port: 0 });
  const client = await mqtt.connectAsync(broker.url, { reconnectPeriod: 0 });
  const started: IngestProcess[] = [];
  context.after(async () => {
    await client.endAsync(true);
    for (const ingest of started) await ingest.kill();
    await broker.close();
    await rm(directory, { recursive: true });
  });
  const start = async (env: Readonly<Record<string, string>>) => {
    const store = `sqlite:${join(directory, 'store.db')}`;
    const settings = { STORE: store, BROKER: broker.url, DATA_DIR: directory, ALERTS: file };
    const ingest = await startIngestProcess({ ...settings, ...env });
    started.push(ingest);
    return ingest;
  };
  const read = async (ingest: IngestProcess) =>
    (await (await fetch(`${ingest.url}/alerts`)).json()) as AlertsDocument;
  const publish = (value: number) => client.publishAsync('sensors/site/a/t', String(value), { qos: 1 });
  /** Messages below the topic that a new subscriber receives at once, and those that follow. */
  const subscribe = async () => {
    const messages: { topic: string; text: string; retain: boolean }[] = [];
    const subscriber = await mqtt.connectAsync(broker.url, { reconnectPeriod: 0 });
    context.after(() => subscriber.endAsync(true));
    subscriber.on('message', (topic, payload, { retain }) => {
      messages.push({ topic, text: payload.toString(), retain });
    });
    await subscriber.subscribeAsync(`${TOPIC}/#`, { qos: 1 });
    return messages;
  };
  return { directory, start, read, publish, subscribe };
}

test('an alert is sent once it is kept, again after kill -9 until it is accepted, and then never again', async (context) => {
  const { start, read, publish } = await setUp(context);
  const { hook, url } = await startHook(context);
  const env = { ALERT_WEBHOOK: url, ALERT_WEBHOOK_SECRET: HOOK_SECRET };
  const first = await start(env);
  await waitUntil('the rules to be used', async () => (await read(first)).evaluating, WAIT);
  await publish(31);
  await waitUntil('the first attempt', () => hook.requests > 0, WAIT);
  // A receiver that hangs does not delay readings.
  await publish(32);
  await first.until(({ readings }) => readings.stored === 2, 10_000);
  await first.kill();
  hook.open = true;
  const second = await start(env);
  await waitUntil('the message', () => hook.messages.length === 1, WAIT);
  const { id, body } = hook.messages[0]!;
  assert.equal(body.type, 'alert.raised');
  assert.deepEqual([body.data.state, body.data.device, body.data.value], ['active', 'site/a', 31]);
  assert.equal(id, `${body.data.id}.raised`);
  await publish(20);
  await waitUntil('the end', () => hook.messages.length === 2, WAIT);
  assert.equal(hook.messages[1]!.id, `${body.data.id}.ended`);
  assert.equal(hook.messages[1]!.body.data.state, 'ended');
  // The state is kept within a second.
  await sleep(2500);
  await second.kill();
  const third = await start(env);
  await waitUntil('the rules to be used', async () => (await read(third)).evaluating, WAIT);
  await sleep(1500);
  assert.equal(hook.messages.length, 2);
  const metrics = await (await fetch(`${third.url}/metrics`)).text();
  assert.match(metrics, /^tidegauge_alert_messages_waiting\{channel="webhook"\} 0$/m);
});

test('an active alert is a retained message, which is removed when it has ended', async (context) => {
  const { start, read, publish, subscribe } = await setUp(context);
  const ingest = await start({ ALERT_TOPIC: TOPIC });
  await waitUntil('the rules to be used', async () => (await read(ingest)).evaluating, WAIT);
  const early = await subscribe();
  await publish(31);
  await waitUntil('the message', () => early.length === 1, WAIT);
  assert.equal(early[0]!.topic, `${TOPIC}/hot/site/a/t`);
  assert.equal((JSON.parse(early[0]!.text) as AlertDocument).state, 'active');
  const late = await subscribe();
  await waitUntil('the retained message', () => late.length === 1, WAIT);
  assert.deepEqual([late[0]!.retain, late[0]!.text], [true, early[0]!.text]);
  await publish(20);
  await waitUntil('the end', () => early.length === 3, WAIT);
  assert.equal((JSON.parse(early[1]!.text) as AlertDocument).state, 'ended');
  assert.equal(early[2]!.text, '');
  const last = await subscribe();
  await sleep(500);
  assert.deepEqual(last, []);
});

test('a topic that ingest receives itself, and a short secret are refused', async (context) => {
  const { start } = await setUp(context);
  await assert.rejects(start({ ALERT_TOPIC: 'sensors/alerts' }), /the route .* would receive/);
  await assert.rejects(start({ ALERT_TOPIC: 'alerts/#' }), /ALERT_TOPIC/);
  await assert.rejects(start({ ALERT_WEBHOOK: 'ftp://x/' }), /ALERT_WEBHOOK/);
  await assert.rejects(
    start({ ALERT_WEBHOOK: 'http://127.0.0.1:9/', ALERT_WEBHOOK_SECRET: 'short' }),
    /fewer than 16 bytes/,
  );
});
