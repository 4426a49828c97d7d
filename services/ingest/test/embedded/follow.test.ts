import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { startEmbeddedBroker } from '@tidegauge/lab';
import { waitUntil } from '@tidegauge/process';
import { ConfigError } from '@tidegauge/service';
import mqtt from 'mqtt';
import { follow } from '../../src/follow.ts';
import { Router } from '../../src/routes.ts';
import { loadRoutes } from '../../src/routes-file.ts';

const WAIT = { timeoutMs: 20_000 };

async function setUp(context: TestContext, { highWaterMark = 1 << 20, url = '' } = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-follow-'));
  const file = join(directory, 'routes.yml');
  await writeFile(file, '- preset: tasmota\n- topic: plant/{device}/{metric}\n');
  const broker = await startEmbeddedBroker({ port: 0 });
  const client = await mqtt.connectAsync(broker.url, { reconnectPeriod: 0 });
  const output = new PassThrough({ highWaterMark });
  const stop = new AbortController();
  const said: string[] = [];
  const start = (filter: string, count: number | null) =>
    follow(
      {
        broker: url || broker.url,
        brokerUser: null,
        brokerPassword: null,
        brokerCa: null,
        brokerCert: null,
        brokerKey: null,
        filter,
        count,
        router: new Router(loadRoutes(file, 'durable').routes),
        output,
        say: (text) => void said.push(text),
      },
      stop.signal,
    );
  const isFollowing = async () => said.some((text) => /^following/.test(text));
  const following = () => waitUntil('the subscription', isFollowing, WAIT);
  context.after(async () => {
    stop.abort();
    await client.endAsync(true);
    await broker.close();
    await rm(directory, { recursive: true });
  });
  const text = () => String(output.read() ?? '');
  return { client, output, stop, said, start, following, text };
}

test('messages of a broker are explained as they arrive, also those that no route takes, up to a count', async (context) => {
  const { client, said, start, following, text } = await setUp(context);
  await client.publishAsync('plant/pump/speed', '7', { qos: 1, retain: true });
  const ended = start('#', 4);
  await following();
  await client.publishAsync('tele/attic/SENSOR', '{"SI7021":{"Temperature":21.5},"TempUnit":"C"}');
  await client.publishAsync('zigbee2mqtt/lamp', '{"state":"ON"}');
  await client.publishAsync('plant/\u001b[31mpump/mode', 'heating');
  await client.publishAsync('plant/pump/late', '1');
  await ended;
  const printed = text();
  assert.match(
    printed,
    /retained before: only routes with retained: store take it\ntopic {4}plant\/pump\/speed\n/,
  );
  assert.match(
    printed,
    /preset tasmota\ndevice {3}attic\n\nreading {2}attic SI7021\.Temperature = 21\.5 Cel/,
  );
  assert.match(printed, /unknown_topic: .*\nfix {6}add a route: - preset: zigbee2mqtt, or/);
  assert.match(printed, /topic {4}plant\/\\u\{1b\}\[31mpump\/mode/);
  assert.ok(!printed.includes('\u001b') && !printed.includes('plant/pump/late'));
  assert.equal(said.at(-1), '4 messages explained; 2 of them would go to quarantine');
});

test('the first failure to reach the broker is said once', async (context) => {
  const { said, start, stop } = await setUp(context, { url: 'mqtt://127.0.0.1:1' });
  const ended = start('#', null);
  await waitUntil('the message', async () => said.length > 0, WAIT);
  stop.abort();
  await ended;
  assert.equal(said.length, 2);
  assert.match(said[0]!, /127\.0\.0\.1:1.*; reconnecting$/);
});

test('an interruption ends it, and the broker keeps no session of it', async (context) => {
  const { client, said, start, following, stop, text } = await setUp(context);
  const ended = start('plant/#', null);
  await following();
  await client.publishAsync('plant/pump/speed', '7');
  let printed = '';
  const isPrinted = async () => {
    printed += text();
    return printed.includes('speed = 7');
  };
  await waitUntil('the explanation', isPrinted, WAIT);
  stop.abort();
  await ended;
  assert.match(said.at(-1)!, /^1 messages explained/);
});

test('while the output is not read, messages are not read from the broker, and none is lost on a slow reader', async (context) => {
  const { client, output, start, following } = await setUp(context, { highWaterMark: 1024 });
  const ended = start('plant/#', 300);
  await following();
  for (let n = 0; n < 300; n++) await client.publishAsync(`plant/pump/m${n}`, String(n));
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.ok(output.readableLength < 64 * 1024, `${output.readableLength} bytes wait`);
  let printed = '';
  output.on('data', (chunk) => {
    printed += chunk;
  });
  await ended;
  await waitUntil('the last message', async () => printed.includes('m299 = 299'), WAIT);
  assert.equal(printed.match(/^reading/gm)?.length, 300);
});

test('a filter that is not valid is refused with the reason', async (context) => {
  const { start } = await setUp(context);
  await assert.rejects(start('plant/#/x', null), (error) => {
    assert.ok(error instanceof ConfigError);
    assert.match(error.message, /# must be the last level/);
    return true;
  });
});
