import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { connectAsync, type IClientOptions, type MqttClient, connect as mqttConnect } from 'mqtt';
import { startShippedBroker, writeSensors } from './helpers.ts';

const WAIT_MS = 60_000;
const NOT_AUTHORIZED = 135;
const QUEUE = 50;

const started = await startOrSkip('mosquitto', () =>
  startShippedBroker({ queuedMessages: QUEUE, queuedBytes: 2 ** 20 }),
);
const skip = 'skip' in started ? started.skip : false;
const broker = 'server' in started ? started.server : null;
after(() => broker?.stop());

async function connect(username: string, password: string, more: IClientOptions = {}): Promise<MqttClient> {
  const { url, ca } = broker!;
  const options = { ca, username, password, protocolVersion: 5, reconnectPeriod: 0, ...more } as const;
  return connectAsync(url, options, false);
}

async function connectAs(user: string, more: IClientOptions = {}): Promise<MqttClient> {
  return connect(user, await broker!.password(user), more);
}

/** Whether the broker accepted a message, according to its acknowledgement. */
async function takes(client: MqttClient, topic: string): Promise<boolean> {
  try {
    await client.publishAsync(topic, '21.5', { qos: 1 });
    return true;
  } catch (error) {
    assert.equal((error as { code?: number }).code, NOT_AUTHORIZED, String(error));
    return false;
  }
}

function gather(client: MqttClient): string[] {
  const topics: string[] = [];
  client.on('message', (topic) => topics.push(topic));
  return topics;
}

async function until(what: string, done: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + WAIT_MS; !(await done()); await delay(100)) {
    assert.ok(Date.now() < deadline, `${what} did not happen within ${WAIT_MS} ms; ${broker!.log()}`);
  }
}

test('its health check passes', { skip }, async () => {
  assert.match(await broker!.health(), /seconds/);
});

test('it refuses a client without a user, or with a wrong password', { skip }, async () => {
  await assert.rejects(
    connectAsync(broker!.url, { ca: broker!.ca, reconnectPeriod: 0 }, false),
    /authorized/i,
  );
  await assert.rejects(connect('ingest', 'wrong'), /authorized/i);
});

test('a sensor writes below its own name only, and ingest reads it', { skip }, async (context) => {
  await writeSensors(broker!.sensors, { 'site-3': 'tide', 'site-4': 'ebb' });
  let sensor: MqttClient | null = null;
  await until('the new sensor’s login', async () => {
    sensor = await connect('site-3', 'tide').catch(() => null);
    return sensor !== null;
  });
  const [site, ingest] = [sensor!, await connectAs('ingest')] as const;
  context.after(() => Promise.all([site.endAsync(), ingest.endAsync()]));
  const read = gather(ingest);
  const overheard = gather(site);
  await ingest.subscribeAsync('$share/tidegauge/sensors/#', { qos: 1 });
  await site.subscribeAsync('#', { qos: 1 }).catch(() => {});
  await site.subscribeAsync('tidegauge/resend/#', { qos: 1 }).catch(() => {});

  assert.equal(await takes(site, 'sensors/site-4/boiler/temperature'), false);
  assert.equal(await takes(site, 'sensors/site-30/temperature'), false);
  assert.equal(await takes(site, 'elsewhere'), false);
  assert.equal(await takes(site, '$SYS/broker/uptime'), false);
  assert.equal(await takes(site, 'sensors/site-3/boiler/temperature'), true);
  await until('the arrival', () => read.length > 0);
  assert.deepEqual(read, ['sensors/site-3/boiler/temperature']);
  assert.deepEqual(overheard, []);

  // It reads the requests for its own missing readings, which ingest sends.
  assert.equal(await takes(site, 'tidegauge/resend/site-3/boiler'), false);
  for (const device of ['site-4/boiler', 'site-30', 'site-3/boiler'])
    assert.equal(await takes(ingest, `tidegauge/resend/${device}`), true);
  await until('the request', () => overheard.length > 0);
  assert.deepEqual([...new Set(overheard)], ['tidegauge/resend/site-3/boiler']);
});

test('users that read cannot write', { skip }, async (context) => {
  for (const user of ['ingest', 'broker-metrics']) {
    const client = await connectAs(user);
    context.after(() => client.endAsync());
    for (const topic of [`sensors/${user}/temperature`, 'sensors/site-3/temperature', '$SYS/broker/uptime']) {
      assert.equal(await takes(client, topic), false, `${user} to ${topic}`);
    }
  }
});

test('the exporter reads $SYS and no sensor; the simulator writes its own topics', {
  skip,
}, async (context) => {
  const [metrics, simulator] = [await connectAs('broker-metrics'), await connectAs('simulated')];
  context.after(() => Promise.all([metrics.endAsync(), simulator.endAsync()]));
  const read = gather(metrics);
  await metrics.subscribeAsync(['$SYS/broker/#', 'sensors/#'], { qos: 0 });
  assert.equal(await takes(simulator, 'sensors/simulated/site-1/boiler/probe-1/temperature'), true);
  assert.equal(await takes(simulator, 'sensors/site-1/boiler/probe-1/temperature'), false);
  await until('$SYS', () => read.includes('$SYS/broker/uptime'));
  assert.deepEqual(
    read.filter((topic) => !topic.startsWith('$SYS/')),
    [],
  );
});

test('a sensor is removed while it is connected: its connection ends, others stay', {
  skip,
}, async (context) => {
  await writeSensors(broker!.sensors, { 'site-7': 'tide', 'site-8': 'ebb' });
  const clients: MqttClient[] = [];
  for (const [name, password] of [
    ['site-7', 'tide'],
    ['site-8', 'ebb'],
  ] as const) {
    await until(`the login of ${name}`, async () => {
      const client = await connect(name, password).catch(() => null);
      if (client !== null) clients.push(client);
      return client !== null;
    });
  }
  const [gone, stays] = clients as [MqttClient, MqttClient];
  context.after(() => stays.endAsync());
  const closed = new Promise<void>((resolve) => gone.once('close', () => resolve()));
  await writeSensors(broker!.sensors, { 'site-8': 'ebb' });
  await closed;
  await assert.rejects(connect('site-7', 'tide'), /authorized/i);
  assert.equal(await takes(stays, 'sensors/site-8/temperature'), true);
});

test('the queue of ingest survives a stop of the broker, up to its limit', { skip }, async () => {
  const options = {
    clientId: 'ingest-1',
    clean: false,
    properties: { sessionExpiryInterval: 3600, receiveMaximum: 10 },
  };
  const away = await connectAs('ingest', options);
  await away.subscribeAsync('$share/tidegauge/sensors/#', { qos: 1 });
  await away.endAsync();
  const simulator = await connectAs('simulated');
  for (let number = 0; number < QUEUE + 30; number++) {
    assert.equal(await takes(simulator, `sensors/simulated/${number}/temperature`), true);
  }
  await simulator.endAsync();
  await broker!.restart();

  const { url, ca } = broker!;
  const password = await broker!.password('ingest');
  const back = mqttConnect(url, { ...options, ca, username: 'ingest', password, protocolVersion: 5 });
  const read = gather(back);
  await until('the queue', () => read.length >= QUEUE);
  await back.endAsync();
  assert.equal(read[0], 'sensors/simulated/0/temperature');
  // In addition to the queue, the broker has at most as many messages in flight as the client accepts at once.
  assert.ok(read.length <= QUEUE + options.properties.receiveMaximum, `${read.length} were kept`);
});

test('ingest may publish messages about alerts, and nobody else may', { skip }, async () => {
  const ingest = await connectAs('ingest');
  try {
    assert.ok(await takes(ingest, 'tidegauge/alerts/hot/site-3/boiler/temperature'));
    assert.ok(!(await takes(ingest, 'tidegauge/other')));
    assert.ok(!(await takes(ingest, 'alerts/hot')));
  } finally {
    await ingest.endAsync();
  }
  const metrics = await connectAs('broker-metrics');
  try {
    assert.ok(!(await takes(metrics, 'tidegauge/alerts/hot/site-3')));
  } finally {
    await metrics.endAsync();
  }
});
