import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startMosquitto } from '@tidegauge/lab';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { type ServiceProcess, startServiceProcess } from '@tidegauge/test-support/service-process';
import { connectAsync } from 'mqtt';
import { SIGNALS } from '../../src/broker-report.ts';

const WAIT_MS = 60_000;
const QUEUE = 10;
const PUBLISHED = 40;
const READY = /"http":"(http:[^"]+)".*"broker-metrics is ready"/;
/** Values that not every build of mosquitto reports. */
const OPTIONAL = new Set(['mosquitto_heap_bytes']);

const started = await startOrSkip('mosquitto', () =>
  startMosquitto({ conf: ['sys_interval 1', `max_queued_messages ${QUEUE}`] }),
);
const skip = 'skip' in started ? started.skip : false;
const broker = 'server' in started ? started.server : null;
after(() => broker?.stop());

/** Waits until `done` returns true, and returns the samples by name. */
async function until(
  { url }: ServiceProcess,
  done: (samples: ReadonlyMap<string, number>) => boolean,
): Promise<ReadonlyMap<string, number>> {
  for (const deadline = Date.now() + WAIT_MS; ; await sleep(100)) {
    const text = await (await fetch(`${url}/metrics`)).text();
    const samples = new Map(
      [...text.matchAll(/^(mosquitto_\w+) (\S+)$/gm)].map(([, name, value]) => [name!, Number(value)]),
    );
    if (done(samples)) return samples;
    assert.ok(Date.now() < deadline, `the metrics stayed ${JSON.stringify([...samples])}`);
  }
}

/** Publishes more to a disconnected session than its queue holds. */
async function overflow(url: string): Promise<void> {
  const options = { clientId: 'sleeper', clean: false } as const;
  const sleeper = await connectAsync(url, options);
  await sleeper.subscribeAsync('test/#', { qos: 1 });
  await sleeper.endAsync();
  const publisher = await connectAsync(url);
  for (let number = 0; number < PUBLISHED; number++) {
    await publisher.publishAsync('test/a', `${number}`, { qos: 1 });
  }
  await publisher.endAsync();
}

test('every value that mosquitto reports is exported, including dropped messages', {
  skip,
}, async (context) => {
  const exporter = await startServiceProcess(
    'broker-metrics',
    { BROKER: broker!.url, METRICS_PORT: '0' },
    READY,
  );
  context.after(() => exporter.stop());

  await overflow(broker!.url);
  // The broker publishes its values one by one, so some are of its interval before.
  const least = {
    mosquitto_publish_dropped_total: PUBLISHED - QUEUE,
    mosquitto_publish_received_total: PUBLISHED,
    mosquitto_stored_messages: QUEUE,
    mosquitto_clients_disconnected: 1,
  };
  const samples = await until(exporter, (found) =>
    Object.entries(least).every(([name, count]) => (found.get(name) ?? 0) >= count),
  );
  assert.equal(samples.get('mosquitto_publish_dropped_total'), PUBLISHED - QUEUE);
  assert.equal(samples.get('mosquitto_clients_disconnected'), 1);
  const missing = SIGNALS.filter(({ name }) => !samples.has(name) && !OPTIONAL.has(name));
  assert.deepEqual(missing, [], 'mosquitto reported every value');
  assert.equal((await fetch(`${exporter.url}/readyz`)).status, 200);
});

test('without retained messages, as in the stacks, a first loss is counted from 0', {
  skip,
}, async (context) => {
  const server = await startMosquitto({
    conf: ['sys_interval 1', 'retain_available false', `max_queued_messages ${QUEUE}`],
  });
  context.after(() => server.stop());
  const exporter = await startServiceProcess(
    'broker-metrics',
    { BROKER: server.url, METRICS_PORT: '0' },
    READY,
  );
  context.after(() => exporter.stop());
  const before = await until(exporter, (found) => found.has('mosquitto_uptime_seconds'));
  assert.equal(before.get('mosquitto_publish_dropped_total'), 0);
  await overflow(server.url);
  const after = await until(
    exporter,
    (found) => found.get('mosquitto_publish_dropped_total') === PUBLISHED - QUEUE,
  );
  assert.equal(after.get('mosquitto_clients_disconnected'), 1);
});

test('a metric shows that the broker has stopped, and that it is available again', {
  skip,
}, async (context) => {
  const exporter = await startServiceProcess(
    'broker-metrics',
    { BROKER: broker!.url, METRICS_PORT: '0' },
    READY,
  );
  context.after(() => exporter.stop());
  await until(exporter, (found) => found.get('mosquitto_up') === 1 && found.has('mosquitto_uptime_seconds'));
  await broker!.kill();
  const away = await until(exporter, (found) => found.get('mosquitto_up') === 0);
  const counters = SIGNALS.filter(({ kind }) => kind === 'counter').map(({ name }) => name);
  assert.deepEqual([...away.keys()], ['mosquitto_up', ...counters]);
  assert.equal((await fetch(`${exporter.url}/readyz`)).status, 503);
  await broker!.restart();
  await until(exporter, (found) => found.get('mosquitto_up') === 1 && found.has('mosquitto_uptime_seconds'));
});

test('the exporter starts before its broker, and stops while it waits', async () => {
  const exporter = await startServiceProcess(
    'broker-metrics',
    { BROKER: 'mqtt://127.0.0.1:9', METRICS_PORT: '0' },
    READY,
  );
  await until(exporter, (found) => found.get('mosquitto_up') === 0);
  assert.equal(await exporter.stop(), 0);
});
