import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeCertificates } from '@tidegauge/lab/certificates';
import { freePort, freePorts, runProgram } from '@tidegauge/process';
import type { LedgerDocument } from '@tidegauge/readings';
import { type IngestProcess, startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { runHere } from '@tidegauge/test-support/run-here';
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import { PYTHON, setUpSimulator } from '../../../../scripts/setup.js';
import { passwordLine } from '../../src/direct/passwords.ts';
import { program } from '../../src/main.ts';
import { settled, storedReadings } from '../integration/helpers.ts';

// Sensors that connect to ingest itself, with real clients and SQLite.

async function setUp(context: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-direct-'));
  const store = `sqlite:${join(directory, 'store.db')}`;
  const port = await freePort();
  const started: Promise<IngestProcess>[] = [];
  const clients: MqttClient[] = [];
  context.after(async () => {
    for (const client of clients) await client.endAsync(true);
    // A test that fails can be starting another one.
    for (const start of await Promise.allSettled(started))
      if (start.status === 'fulfilled') await start.value.kill();
    await rm(directory, { recursive: true });
  });
  return {
    directory,
    store,
    port,
    async start(env: Readonly<Record<string, string>> = {}) {
      const listen = { LISTEN: `mqtt://127.0.0.1:${port}` };
      const ingest = startIngestProcess({ STORE: store, DATA_DIR: directory, ...listen, ...env });
      started.push(ingest);
      return await ingest;
    },
    async client(options: IClientOptions = {}, url = `mqtt://127.0.0.1:${port}`) {
      const client = await mqtt.connectAsync(url, { reconnectPeriod: 100, ...options }, false);
      clients.push(client);
      return client;
    },
  };
}

/** The options that set the same as these variables. */
const optionsOf = (env: Readonly<Record<string, string>>) =>
  Object.entries(env).flatMap(([name, value]) => [`--${name.toLowerCase().replaceAll('_', '-')}`, value]);

const metric = async ({ url }: IngestProcess, name: string) =>
  Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await (await fetch(`${url}/metrics`)).text())?.[1]);

test('every QoS of both versions, retained messages and wills are stored, and a subscription is refused', async (context) => {
  const bench = await setUp(context);
  const ingest = await bench.start();
  let time = 1_795_262_400_000;
  for (const protocolVersion of [4, 5] as const) {
    const will = {
      topic: `sensors/w${protocolVersion}/online`,
      payload: Buffer.from('0'),
      qos: 1 as const,
      retain: true,
    };
    const client = await bench.client({ protocolVersion, will });
    for (const qos of [0, 1, 2] as const)
      await client.publishAsync('sensors/a/t', `{"t":${time++},"v":${qos}}`, { qos, retain: qos > 0 });
    await assert.rejects(client.subscribeAsync('sensors/#'));
    await client.publishAsync('sensors/a/t', `{"t":${time++},"v":3}`, { qos: 1 });
    client.stream.destroy();
    client.end(true);
  }
  await ingest.until(({ readings }) => readings.stored >= 10, 20_000);
  assert.equal((await storedReadings(bench.store, ['a'])).length, 8);
  assert.equal((await storedReadings(bench.store, ['w4', 'w5'])).length, 2);
  assert.equal(await metric(ingest, 'tidegauge_direct_wills_total'), 2);
  assert.equal(await metric(ingest, 'tidegauge_mqtt_connected'), 1);
  assert.equal(await ingest.stop(), 0);
});

test('a message is acknowledged when it is in the store: a reading that was acknowledged can be read at once', async (context) => {
  const bench = await setUp(context);
  await bench.start();
  const client = await bench.client();
  for (let i = 0; i < 20; i++) {
    await client.publishAsync('sensors/b/t', `{"t":${1_795_262_400_000 + i},"v":${i}}`, { qos: 1 });
    assert.equal((await storedReadings(bench.store, ['b'])).length, i + 1);
  }
});

// paho gives a message that it cannot send at once the result "not connected" for good, so acknowledgements are counted.
const PAHO = `
import sys, time
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion
port, count = int(sys.argv[1]), int(sys.argv[2])
client = Client(CallbackAPIVersion.VERSION2, client_id='paho', clean_session=False)
client.reconnect_delay_set(min_delay=1, max_delay=1)
client.max_inflight_messages_set(50)
acknowledged = set()
client.on_publish = lambda client, userdata, identifier, reason, properties: acknowledged.add(identifier)
client.connect_async('127.0.0.1', port)  # Ingest can be killed before this program has started.
client.loop_start()
for n in range(count):
    client.publish('sensors/paho/t', '{"t":%d,"v":%d,"boot":"b","seq":%d}' % (1795262400000 + n, n, n), qos=1)
    if n % 100 == 0: time.sleep(0.02)
deadline = time.time() + 90
while len(acknowledged) < count and time.time() < deadline: time.sleep(0.05)
print('%d acknowledged' % len(acknowledged))
client.disconnect()
client.loop_stop()
`;

test('MQTT.js and paho send again what a killed ingest did not acknowledge: nothing acknowledged is lost', async (context) => {
  await setUpSimulator();
  const count = 3000;
  const bench = await setUp(context);
  let ingest = await bench.start();
  const paho = runProgram(PYTHON, ['-c', PAHO, `${bench.port}`, `${count}`], { timeoutMs: 120_000 });
  const acknowledged = new Set<number>();
  const options = {
    clientId: 'js',
    clean: false,
    protocolVersion: 5 as const,
    properties: { sessionExpiryInterval: 600 },
  };
  const client = await bench.client(options);
  client.on('error', () => {});
  const sent = Array.from({ length: count }, async (_, n) => {
    await sleep(n / 2);
    const payload = `{"t":${1_795_262_400_000 + n},"v":${n},"boot":"b","seq":${n}}`;
    const publish = () => client.publishAsync('sensors/js/t', payload, { qos: 1 });
    // MQTT.js refuses a new message when the connection ends while it sends earlier ones again.
    const refused = (error: Error): Promise<unknown> => {
      if (error.message !== 'Connection closed') throw error;
      return publish().catch(refused);
    };
    await publish().catch(refused);
    acknowledged.add(n);
  });
  for (const share of [0.2, 0.3, 0.2]) {
    await ingest.until(({ readings }) => readings.stored + readings.duplicate >= share * count, 60_000);
    const before = [...acknowledged];
    await ingest.kill();
    const stored = new Set((await storedReadings(bench.store, ['js'])).map(({ value }) => value));
    assert.deepEqual(
      before.filter((n) => !stored.has(n)),
      [],
      'acknowledged and not stored',
    );
    ingest = await bench.start();
  }
  await Promise.all(sent);
  assert.equal((await paho).stdout, `${count} acknowledged\n`);
  const ledger = await settled(ingest);
  assert.ok(ledger.balanced);
  for (const device of ['js', 'paho']) {
    const readings = await storedReadings(bench.store, [device]);
    assert.deepEqual(
      readings.map(({ value }) => value),
      Array.from({ length: count }, (_, n) => n),
      device,
    );
  }
});

test('a stop under load acknowledges what was stored, and nothing else', async (context) => {
  const bench = await setUp(context);
  const first = await bench.start();
  const client = await bench.client({ clientId: 'js', clean: false });
  const acknowledged: number[] = [];
  const sent = Array.from({ length: 2000 }, async (_, n) => {
    // Several waves, so that the load lasts until the stop.
    await sleep(50 * Math.floor(n / 200));
    await client.publishAsync('sensors/s/t', `{"t":${1_795_262_400_000 + n},"v":${n}}`, { qos: 1 });
    acknowledged.push(n);
  });
  await first.until(({ readings }) => readings.stored > 0, 20_000);
  assert.equal(await first.stop(), 0);
  const stored = new Set((await storedReadings(bench.store, ['s'])).map(({ value }) => value));
  assert.ok(stored.size < 2000, 'the stop came before the end of the load');
  assert.deepEqual(
    acknowledged.filter((n) => !stored.has(n)),
    [],
  );
  const second = await bench.start();
  await Promise.all(sent);
  const isDone = ({ readings }: LedgerDocument) => readings.inFlight === 0;
  await second.until(isDone, 20_000);
  assert.equal((await storedReadings(bench.store, ['s'])).length, 2000);
});

test('over TLS a sensor logs in with a password or a certificate, and writes its own topics only', async (context) => {
  const bench = await setUp(context);
  const certificates = await makeCertificates();
  context.after(() => certificates.remove());
  const passwords = join(bench.directory, 'passwords');
  writeFileSync(passwords, `${await passwordLine('site-1', 'right')}\n`, { mode: 0o600 });
  const [port] = await freePorts(1);
  const ingest = await bench.start({
    LISTEN: `mqtts://127.0.0.1:${port}`,
    LISTEN_CERT: certificates.certificate,
    LISTEN_KEY: certificates.key,
    LISTEN_CA: certificates.authority,
    LISTEN_PASSWORDS: passwords,
  });
  const url = `mqtts://127.0.0.1:${port}`;
  const ca = readFileSync(certificates.authority);
  const connect = (options: IClientOptions) =>
    bench.client({ ca, protocolVersion: 5, reconnectPeriod: 0, ...options }, url);
  const sensor = await connect({ username: 'site-1', password: 'right' });
  await sensor.publishAsync('sensors/site-1/t', '1', { qos: 1 });
  await assert.rejects(sensor.publishAsync('sensors/site-2/t', '1', { qos: 1 }), /Not authorized/i);
  for (const wrong of [
    { username: 'site-1', password: 'wrong' },
    { username: 'site-9', password: 'right' },
    {},
  ])
    await assert.rejects(connect(wrong), /Not authorized|Bad User Name or Password/i);
  const key = readFileSync(certificates.key);
  const machine = await connect({ cert: readFileSync(certificates.certificate), key });
  await machine.publishAsync('sensors/tidegauge lab server/t', '2', { qos: 1 });
  await assert.rejects(machine.publishAsync('sensors/site-1/t', '1', { qos: 1 }), /Not authorized/i);
  // A certificate of another authority.
  await assert.rejects(
    connect({
      cert: readFileSync(certificates.stranger),
      key: readFileSync(certificates.stranger.replace('.pem', '.key')),
    }),
  );
  await assert.rejects(
    bench.client({ reconnectPeriod: 0, connectTimeout: 2000 }, `mqtt://127.0.0.1:${port}`),
  );
  await ingest.until(({ readings }) => readings.stored + readings.quarantined >= 2, 20_000);
  assert.equal((await storedReadings(bench.store, ['site-1'])).length, 1);
});

test('500 sensors publish at the same time; each gets its acknowledgements in order', async (context) => {
  const bench = await setUp(context);
  // Without a login they are one client.
  const ingest = await bench.start({ LISTEN_MAX_PER_LOGIN: '500' });
  const clients: MqttClient[] = [];
  for (let n = 0; n < 500; n += 50)
    clients.push(...(await Promise.all(Array.from({ length: 50 }, () => bench.client({ keepalive: 0 })))));
  await Promise.all(
    clients.map(async (client, n) => {
      const order: number[] = [];
      const send = async (i: number) => {
        await client.publishAsync(`sensors/many/${n}/t`, `{"t":${1_795_262_400_000 + i},"v":${i}}`, {
          qos: 1,
        });
        order.push(i);
      };
      await Promise.all(Array.from({ length: 20 }, (_, i) => send(i)));
      assert.deepEqual(
        order,
        order.toSorted((a, b) => a - b),
      );
    }),
  );
  await ingest.until(({ readings }) => readings.stored === 10_000 && readings.inFlight === 0, 20_000);
  assert.equal(await metric(ingest, 'tidegauge_direct_connections'), 500);
});

test('settings that cannot work are refused with what to do', async (context) => {
  const bench = await setUp(context);
  const { port } = bench;
  for (const [env, expected] of [
    [{ LISTEN: `mqtt://0.0.0.0:${port}` }, /no logins: set LISTEN_PASSWORDS/],
    [{ LISTEN: `mqtts://127.0.0.1:${port}` }, /needs LISTEN_CERT and LISTEN_KEY/],
    [{ LISTEN: `mqtt://u:p@127.0.0.1:${port}` }, /a scheme, a host and a port only/],
    [{ LISTEN: `http://127.0.0.1:${port}` }, /must be .*mqtt: or mqtts:/],
    [{ LISTEN_USER: 'a' }, /LISTEN_USER and LISTEN_PASSWORD need each other/],
    [{ LISTEN_PASSWORDS: join(bench.directory, 'none') }, /LISTEN_PASSWORDS names .* cannot be read/],
    [{ ALERTS: join(bench.directory, 'alerts.yaml'), ALERT_TOPIC: 'alerts' }, /ALERT_TOPIC needs a broker/],
  ] as const) {
    writeFileSync(join(bench.directory, 'alerts.yaml'), '- { name: quiet, quiet: 1d }\n');
    const settings = {
      STORE: bench.store,
      DATA_DIR: bench.directory,
      METRICS_PORT: '0',
      LISTEN: `mqtt://127.0.0.1:${port}`,
      ...env,
    };
    const { code, stderr } = await runHere(program, ...optionsOf(settings));
    assert.equal(code, 2, stderr);
    assert.match(stderr, expected);
  }
  await bench.start();
  const second = await mkdtemp(join(tmpdir(), 'tidegauge-direct-'));
  context.after(() => rm(second, { recursive: true }));
  await assert.rejects(
    bench.start({ DATA_DIR: second }),
    /port \d+ on 127\.0\.0\.1 is taken: choose another with LISTEN/,
  );
});
