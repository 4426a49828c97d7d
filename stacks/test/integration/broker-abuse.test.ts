import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';
import { startShippedBroker, writeSensors } from './helpers.ts';

// Attacks on the other clients, by a sensor with a valid password or by anyone who can reach the port. The limits are
// those of the 1gb profile, which start.sh uses by default.

const MEMORY_BYTES = 128 * 1024 * 1024;
const WAIT_MS = 60_000;
/** The limit of sensors' connections, and the number that mosquitto 2.0.11 accepts above it. */
const CONNECTIONS = 256;
const MORE = 128;
const QUEUED = 40;
const STALL_MS = 1000;
const SENSORS = { mallory: 'tide', 'site-4': 'ebb' };

const started = await startOrSkip('mosquitto', () =>
  startShippedBroker({ queuedMessages: 100_000, queuedBytes: 16_777_216 }),
);
const skip = 'skip' in started ? started.skip : false;
const broker = 'server' in started ? started.server : null;
after(() => broker?.stop());
if (broker !== null) await writeSensors(broker.sensors, SENSORS);

async function passwordOf(user: string): Promise<string> {
  return SENSORS[user as keyof typeof SENSORS] ?? (await broker!.password(user));
}

async function join(user: string, more: IClientOptions = {}): Promise<MqttClient> {
  const url = user in SENSORS || user.startsWith('simulated') ? broker!.url : broker!.servicesUrl;
  const password = await passwordOf(user);
  const options = { ca: broker!.ca, username: user, password, reconnectPeriod: 0, ...more };
  for (const deadline = Date.now() + WAIT_MS; ; await delay(200)) {
    try {
      const client = await connectAsync(url, { protocolVersion: 5, ...options }, false);
      client.on('error', () => {});
      return client;
    } catch (error) {
      // The broker loads a new sensor within seconds.
      if (Date.now() > deadline) throw error;
    }
  }
}

async function until(what: string, done: () => boolean): Promise<void> {
  for (const deadline = Date.now() + WAIT_MS; !done(); await delay(20)) {
    assert.ok(Date.now() < deadline, `${what} did not happen within ${WAIT_MS} ms; ${broker!.log()}`);
  }
}

async function peakBytes(): Promise<number> {
  const status = await readFile(`/proc/${await mosquitto()}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

/** The pid of the broker, which is a child of start.sh. */
async function mosquitto(): Promise<number> {
  const children = (await readFile(`/proc/${broker!.pid}/task/${broker!.pid}/children`, 'utf8')).trim();
  for (const pid of children.split(' ')) {
    if ((await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).startsWith('mosquitto'))
      return Number(pid);
  }
  throw new Error('mosquitto does not run');
}

/** Connects with the client id of another user, with MQTT 5 and 3.1.1, with and without a clean session. */
async function impersonate(clientId: string): Promise<void> {
  for (const protocolVersion of [5, 4] as const) {
    for (const clean of [true, false]) {
      const client = await join('mallory', { clientId, protocolVersion, clean });
      await client.endAsync();
    }
  }
}

/** A client that reads all topics, like ingest, and the messages that it received. */
async function reader(user: string): Promise<{ client: MqttClient; got: string[] }> {
  const client = await join(user, {
    clientId: user,
    clean: false,
    properties: { sessionExpiryInterval: 3600, receiveMaximum: 10 },
  });
  const got: string[] = [];
  client.on('message', (topic, payload) => got.push(`${topic} ${payload}`));
  return { client, got };
}

test('a sensor that connects with the client id of ingest receives none of its queued messages', {
  skip,
}, async (context) => {
  const { client: away } = await reader('ingest-1');
  await away.subscribeAsync('$share/tidegauge/sensors/#', { qos: 1 });
  await away.endAsync();
  const sensor = await join('site-4');
  context.after(() => sensor.endAsync(true));
  for (let n = 0; n < QUEUED; n += 1) {
    await sensor.publishAsync('sensors/site-4/temperature', `${n}`, { qos: 1 });
    if (n % 10 === 5) await impersonate('ingest-1');
  }
  const { client: back, got } = await reader('ingest-1');
  context.after(() => back.endAsync(true));
  await until('the queue', () => got.length === QUEUED);
  assert.deepEqual(
    got,
    Array.from({ length: QUEUED }, (_, n) => `sensors/site-4/temperature ${n}`),
  );
});

for (const user of ['ingest-1', 'ingest-2', 'broker-metrics', 'simulated-1', 'site-4']) {
  test(`a sensor that connects with the client id of ${user} does not end its connection`, {
    skip,
  }, async (context) => {
    const client = await join(user, { clientId: user });
    context.after(() => client.endAsync(true));
    let closed = false;
    client.on('close', () => {
      closed = true;
    });
    await impersonate(user);
    await client.subscribeAsync('nothing', { qos: 0 }).catch(() => {});
    assert.equal(closed, false);
  });
}

test('replicas of ingest are separate users, which are connected at once', { skip }, async (context) => {
  const clients = await Promise.all([join('ingest-1'), join('ingest-2'), join('ingest-16')]);
  context.after(() => Promise.all(clients.map((client) => client.endAsync(true))));
  await delay(300);
  assert.ok(clients.every((client) => client.connected));
});

test('a sensor that has the name of a replica in its file does not replace its password', {
  skip,
}, async () => {
  await writeSensors(broker!.sensors, { ...SENSORS, 'ingest-3': 'mine' });
  await delay(3000);
  const { url, ca } = broker!;
  const options = { ca, username: 'ingest-3', password: 'mine', reconnectPeriod: 0 };
  await assert.rejects(connectAsync(url, options, false), /authorized/i);
});

test('a retained message is refused, and nothing is kept', { skip }, async (context) => {
  const sensor = await join('mallory');
  context.after(() => sensor.endAsync(true));
  const closed = new Promise<void>((resolve) => sensor.once('close', () => resolve()));
  sensor.publish('sensors/mallory/kept', 'x'.repeat(1000), { qos: 1, retain: true });
  await closed;
  const { client, got } = await reader('ingest-4');
  context.after(() => client.endAsync(true));
  await client.subscribeAsync('sensors/#', { qos: 1 });
  const other = await join('site-4');
  context.after(() => other.endAsync(true));
  await other.publishAsync('sensors/site-4/temperature', '21.5', { qos: 1 });
  await until('the reading', () => got.length > 0);
  assert.deepEqual(got, ['sensors/site-4/temperature 21.5']);
});

/** A TLS connection to the broker that sends nothing. */
function dial(context: TestContext) {
  const { hostname, port } = new URL(broker!.url);
  const socket = tlsConnect({ host: hostname, port: Number(port), ca: broker!.ca, servername: 'localhost' });
  socket.on('error', () => {});
  context.after(() => socket.destroy());
  return socket;
}

test('silent connections are limited, and do not disturb a connected sensor or ingest', {
  skip,
}, async (context) => {
  const sensor = await join('site-4');
  context.after(() => sensor.endAsync(true));
  const sockets: TLSSocket[] = [];
  for (let n = 0; n < CONNECTIONS + MORE + 50; n += 1) {
    const socket = dial(context);
    sockets.push(socket.resume());
    if (n % 20 === 0)
      await Promise.race([once(socket, 'secureConnect'), once(socket, 'close')]).catch(() => {});
  }
  const open = () => sockets.filter((socket) => !socket.closed && socket.authorized).length;
  await until('the end of those above the bound', () => open() <= CONNECTIONS + MORE);
  assert.ok(open() > CONNECTIONS / 2, `only ${open()} connections were accepted`);
  const { client: ingest, got } = await reader('ingest-5');
  context.after(() => ingest.endAsync(true));
  await ingest.subscribeAsync('sensors/#', { qos: 1 });
  await sensor.publishAsync('sensors/site-4/temperature', '21.5', { qos: 1 });
  await until('the reading', () => got.length > 0);
  assert.ok((await peakBytes()) < MEMORY_BYTES, `${await peakBytes()} bytes`);
});

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes]);
}

function packet(first: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const remaining: number[] = [];
  for (let left = body.length; left > 0; left = Math.floor(left / 128)) {
    remaining.push((left % 128) | (left > 127 ? 0x80 : 0));
  }
  return Buffer.concat([Buffer.from([first, ...remaining]), body]);
}

/** Logs in as a sensor and writes what `next` returns until the broker closes, stops reading, or `bytes` are sent. */
async function flood(
  context: TestContext,
  bytes: number,
  next: (n: number) => Buffer,
  reads: boolean,
): Promise<void> {
  const socket = dial(context);
  await once(socket, 'secureConnect');
  if (reads) socket.resume();
  const head = Buffer.from([0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 0xc2, 0, 60]);
  socket.write(packet(0x10, head, text('x'), text('mallory'), text('tide')));
  for (let n = 1, sent = 0; sent < bytes; n += 1) {
    const chunk = next(n);
    sent += chunk.length;
    if (socket.write(chunk)) continue;
    const patience = new AbortController();
    const moved = once(socket, 'drain', { signal: patience.signal }).then(
      () => true,
      () => false,
    );
    const timer = setTimeout(() => patience.abort(), STALL_MS);
    if (!(await moved)) break;
    clearTimeout(timer);
  }
  await delay(STALL_MS);
  socket.destroy();
}

/** A QoS 2 message that is never released. */
function held(size: number): (n: number) => Buffer {
  return (n) => {
    const id = Buffer.from([(n >> 8) & 0xff, n & 0xff || 1]);
    return packet(0x34, text(`sensors/mallory/${n}`), id, Buffer.alloc(size, 0x31));
  };
}

const BATCH = Buffer.concat(
  Array.from({ length: 1000 }, () => packet(0x32, text('sensors/mallory/a'), Buffer.from([0, 1]))),
);

for (const [what, attack] of [
  ['holds back QoS 2 messages', (context) => flood(context, 400_000_000, held(1_000_000), true)],
  ['holds back small QoS 2 messages', (context) => flood(context, 3_000_000, held(10), true)],
  ['reads no acknowledgements', (context) => flood(context, 30_000_000, () => BATCH, false)],
] as const satisfies readonly (readonly [string, (context: TestContext) => Promise<void>])[]) {
  test(`while one sensor ${what}, every reading of another arrives within the memory of the 1gb profile`, {
    skip,
  }, async (context) => {
    const { client: ingest, got } = await reader('ingest-6');
    context.after(() => ingest.endAsync(true));
    await ingest.subscribeAsync('sensors/site-4/#', { qos: 1 });
    const sensor = await join('site-4');
    context.after(() => sensor.endAsync(true));
    const begun = got.length;
    let sent = 0;
    let over = false;
    const attacking = attack(context).finally(() => {
      over = true;
    });
    for (; !over || sent < 20; sent += 1) {
      await sensor.publishAsync('sensors/site-4/temperature', `${sent}`, { qos: 1 });
      await delay(10);
    }
    await attacking;
    await until('all readings', () => got.length - begun >= sent);
    assert.ok(sensor.connected && ingest.connected);
    const peak = await peakBytes();
    context.diagnostic(`${sent} readings, broker at most ${Math.round(peak / 1048576)} MiB`);
    assert.ok(peak < MEMORY_BYTES, `${peak} bytes`);
  });
}
