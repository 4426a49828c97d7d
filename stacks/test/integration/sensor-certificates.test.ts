import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { temporaryDirectory } from '@tidegauge/lab';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';
import { ROOT, startShippedBroker, writeSensors } from './helpers.ts';

const run = promisify(execFile);
const NOT_AUTHORIZED = 135;

const started = await startOrSkip('mosquitto', () =>
  startShippedBroker({ queuedMessages: 50, queuedBytes: 2 ** 20, env: { SENSOR_CERTIFICATES: 'true' } }),
);
const skip = 'skip' in started ? started.skip : false;
const broker = 'server' in started ? started.server : null;
const folder = temporaryDirectory('sensor-certificates');
after(async () => {
  await broker?.stop();
  folder.remove();
});

const script = (...args: string[]) =>
  run(join(ROOT, 'stacks/bin/sensor-certificate'), args, {
    env: { ...process.env, TIDEGAUGE_AUTHORITY: broker!.authority },
  });

const create = (name: string, ...more: string[]) =>
  script('create', name, '--directory', folder.path, ...more);

const read = (name: string): Buffer => readFileSync(join(folder.path, name));

function connect(more: IClientOptions): Promise<MqttClient> {
  const options = {
    ca: broker!.ca,
    protocolVersion: 5,
    reconnectPeriod: 0,
    connectTimeout: 5000,
    ...more,
  } as const;
  return connectAsync(broker!.certificatesUrl, options, false);
}

const connectAs = (name: string, more: IClientOptions = {}) =>
  connect({ cert: read(`${name}.pem`), key: read(`${name}.key`), ...more });

async function takes(client: MqttClient, topic: string): Promise<boolean> {
  try {
    await client.publishAsync(topic, '21.5', { qos: 1 });
    return true;
  } catch (error) {
    assert.equal((error as { code?: number }).code, NOT_AUTHORIZED, String(error));
    return false;
  }
}

test('a sensor with a certificate publishes below its common name only, whatever user it names', {
  skip,
}, async (context) => {
  await create('site-3');
  assert.equal(statSync(join(folder.path, 'site-3.key')).mode & 0o077, 0);
  await writeSensors(broker!.sensors, { 'site-4': 'ebb' });
  for (const more of [{}, { username: 'site-4', password: 'ebb' }, { username: 'ingest-1', password: '' }]) {
    const client = await connectAs('site-3', more);
    context.after(() => client.endAsync(true));
    const heard: string[] = [];
    client.on('message', (topic) => heard.push(topic));
    await client.subscribeAsync('sensors/#', { qos: 1 }).catch(() => {});
    assert.equal(await takes(client, 'sensors/site-3/boiler/temperature'), true);
    assert.equal(await takes(client, 'sensors/site-4/temperature'), false);
    assert.deepEqual(heard, [], 'it reads nothing');
    await client.endAsync(true);
  }
});

test('a client without a certificate, or with one of another authority or of a server, is refused', {
  skip,
}, async () => {
  await assert.rejects(connect({ username: 'ingest', password: await broker!.password('ingest') }));
  const subject = [
    '-subj',
    '/CN=site-3',
    '-days',
    '2',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
  ];
  const files = ['-keyout', join(folder.path, 'own.key'), '-out', join(folder.path, 'own.pem')];
  await run('openssl', ['req', '-x509', '-nodes', ...subject, ...files]);
  await assert.rejects(connectAs('own'));
  // The certificate of the API is of the same authority, for servers only.
  const secrets = broker!.authority.replace(/-authority$/, '');
  const server = ['cert', 'key'].map((kind) => readFileSync(join(secrets, `tidegauge_api_${kind}`)));
  await assert.rejects(connect({ cert: server[0]!, key: server[1]! }));
});

test('names of the stack and invalid names get no certificate', { skip }, async () => {
  for (const name of ['ingest', 'ingest-1', 'broker-metrics', 'health', 'simulated-2'])
    await assert.rejects(create(name), /is a user of the stack/);
  for (const name of ['a/b', 'a b', 'a+b', '#', 'x'.repeat(65), '../a'])
    await assert.rejects(create(name), /not a valid name|longer than 64/, name);
  await assert.rejects(create('site-9', '--days', '1d'), /--days takes a number/);
});

test('a revoked certificate is refused after a restart of the broker, and a new one of the name is accepted', {
  skip,
}, async () => {
  await create('site-5');
  await (await connectAs('site-5')).endAsync();
  assert.match((await script('list')).stdout, /^site-3 until .*\nsite-5 until .*20\d\d/);
  const { stdout } = await script('revoke', 'site-5');
  assert.match(stdout, /copy it to mosquitto\/revoked\.pem/);
  copyFileSync(join(broker!.authority, 'revoked.pem'), broker!.revoked);
  await broker!.restart();
  await assert.rejects(connectAs('site-5'));
  await (await connectAs('site-3')).endAsync();
  await run('rm', [join(folder.path, 'site-5.key')]);
  await create('site-5');
  await (await connectAs('site-5')).endAsync();
  await assert.rejects(script('revoke', 'nobody'), /there is no certificate of nobody/);
});
