import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram } from '@tidegauge/lab/debian';
import { testWith } from '@tidegauge/lab/unavailable';
import type { DeliveryDocument, QuarantineDocument, QuarantineStepDocument } from '@tidegauge/readings';
import { settled, setUp, storedReadings } from './helpers.ts';

const test = await testWith('mosquitto', () => findProgram('mosquitto', 'mosquitto'));

const pack = [
  { bn: 'urn:dev:', n: 'a:temperature', v: 1 },
  { n: 'b:temperature', v: 'not a number' },
  { n: 'c:temperature', v: 3 },
];

/** What a broken sensor sends, the reason under which it is quarantined, and words of the detail. */
const BAD: readonly (readonly [topic: string, payload: string | Buffer, reason: string, words: RegExp])[] = [
  ['sensors/lonely', '1', 'unknown_topic', /matches no route \(sensors\/\{device\+\}\/\{metric\}\)/],
  ['sensors/../temperature', '1', 'invalid_name', /not just dots/],
  ['sensors/probe/temperature', '', 'empty_payload', /no bytes/],
  ['sensors/probe/temperature', Buffer.alloc((1 << 20) - 100, 0xfe), 'malformed', /UTF-8/],
  ['sensors/probe/temperature', JSON.stringify(pack), 'invalid_value', /not a number/],
  ['sensors/probe/temperature', '{"t":"9999-01-01T00:00:00Z","v":1}', 'invalid_time', /9999/],
  ['sensors/probe/temperature', '{"v":1', 'malformed', /JSON/],
];

test('bad input is quarantined with a clear reason, and ingest continues', async (context) => {
  const bench = await setUp(context);
  const ingest = await bench.start();
  const client = await bench.client();
  for (const [topic, payload] of BAD) {
    await client.publishAsync(topic, payload, { qos: 1 });
    await client.publishAsync('sensors/good/temperature', '20.5', { qos: 1 });
  }
  const ledger = await ingest.until(
    ({ readings }) => readings.quarantined + readings.stored === 2 * BAD.length,
    10_000,
  );
  assert.ok(ledger.balanced);
  assert.equal(ledger.readings.quarantined, BAD.length);
  assert.equal(ledger.readings.inFlight, 0);

  const { items, total } = (await (await fetch(`${ingest.url}/quarantine`)).json()) as {
    items: QuarantineDocument[];
    total: number;
  };
  assert.equal(total, BAD.length);
  for (const [index, item] of items.toReversed().entries()) {
    const [topic, payload, reason, words] = BAD[index]!;
    assert.equal(item.topic, topic);
    assert.equal(item.reason, reason, item.detail);
    assert.match(item.detail, words);
    assert.equal(item.size, Buffer.byteLength(payload));
  }
  const metrics = await (await fetch(`${ingest.url}/metrics`)).text();
  assert.match(metrics, /^tidegauge_readings_quarantined_total\{reason="invalid_value"\} 1$/m);
  assert.match(metrics, /^tidegauge_readings_received_total 14$/m);
  assert.equal((await storedReadings(bench.store, ['good'])).length, BAD.length);
});

test('a quarantined message can be read in full, replayed after its cause is fixed, or discarded', async (context) => {
  const bench = await setUp(context);
  const routes = `${bench.directory}/plain.yml`;
  await writeFile(routes, '- topic: sensors/{device+}/{metric}\n  format: plain\n');
  const client = await bench.client();
  const first = await bench.start({ ROUTES: routes });
  await client.publishAsync('sensors/probe/temperature', '{"t":1795000000,"v":21.5}', { qos: 1 });
  await client.publishAsync('sensors/probe/temperature', 'garbage', { qos: 1 });
  await first.until(({ readings }) => readings.quarantined === 2, 10_000);

  const still = await fetch(`${first.url}/quarantine/tidegauge-ingest.1/replay`, { method: 'POST' });
  assert.deepEqual(await still.json(), { received: 1, stored: 0, duplicate: 0, quarantined: 1 });
  assert.equal(await first.stop(), 0);

  const second = await bench.start();
  const item = (await (
    await fetch(`${second.url}/quarantine/tidegauge-ingest.1`)
  ).json()) as QuarantineDocument;
  assert.equal(Buffer.from(item.payload!, 'base64').toString(), '{"t":1795000000,"v":21.5}');
  const replayed = await fetch(`${second.url}/quarantine/tidegauge-ingest.1/replay`, { method: 'POST' });
  assert.deepEqual((await replayed.json()) as DeliveryDocument, {
    received: 1,
    stored: 1,
    duplicate: 0,
    quarantined: 0,
  });
  assert.equal((await fetch(`${second.url}/quarantine/tidegauge-ingest.1`)).status, 404);
  assert.equal((await fetch(`${second.url}/quarantine/2`, { method: 'DELETE' })).status, 204);
  assert.equal((await fetch(`${second.url}/quarantine/2`, { method: 'DELETE' })).status, 404);
  assert.ok((await second.ledger()).balanced);
  const [reading] = await storedReadings(bench.store, ['probe']);
  assert.deepEqual(
    { time: reading!.time, value: reading!.value },
    { time: 1_795_000_000_000_000, value: 21.5 },
  );
});

test('a retained message is skipped by default and stored when the route has retained: store', async (context) => {
  const bench = await setUp(context);
  const client = await bench.client();
  await client.publishAsync('sensors/old/temperature', '1', { qos: 1, retain: true });
  const first = await bench.start({ CLIENT_ID: 'skips' });
  const skipped = await first.until(({ messages }) => messages.retainedSkipped === 1, 10_000);
  assert.equal(skipped.readings.received, 0);
  const routes = `${bench.directory}/routes.json`;
  await writeFile(routes, JSON.stringify([{ topic: 'sensors/{device+}/{metric}', retained: 'store' }]));
  const second = await bench.start({ CLIENT_ID: 'stores', ROUTES: routes });
  await second.until(({ readings }) => readings.stored === 1, 10_000);
});

test('readings received by HTTP have the same delivery guarantee', async (context) => {
  const bench = await setUp(context);
  const ingest = await bench.start();
  const post = (body: string, type = 'application/json', query = '') =>
    fetch(`${ingest.url}/readings${query}`, { method: 'POST', body, headers: { 'content-type': type } });
  const reading = JSON.stringify([{ device: 'http-1', metric: 'temperature', t: 1_795_000_000, v: 3 }]);
  const first = await post(reading);
  assert.equal(first.status, 202);
  assert.deepEqual(await first.json(), { received: 1, stored: 1, duplicate: 0, quarantined: 0 });
  assert.deepEqual(await (await post(reading)).json(), {
    received: 1,
    stored: 0,
    duplicate: 1,
    quarantined: 0,
  });
  assert.deepEqual(await (await post('21.5', 'text/plain', '?device=http-2&metric=humidity')).json(), {
    received: 1,
    stored: 1,
    duplicate: 0,
    quarantined: 0,
  });
  const { errors, ...counts } = (await (await post('{"v":')).json()) as DeliveryDocument;
  assert.deepEqual(counts, { received: 1, stored: 0, duplicate: 0, quarantined: 1 });
  assert.deepEqual(
    errors?.map(({ reason }) => reason),
    ['malformed'],
  );
  assert.equal((await post('x', 'image/png')).status, 415);
  assert.equal((await post('1', 'text/plain', '?device=no%20good&metric=m')).status, 400);
  assert.equal((await post('1', 'text/plain', '?colour=red')).status, 400);
  const ledger = await settled(ingest);
  assert.deepEqual(ledger.readings, {
    received: 4,
    stored: 2,
    duplicate: 1,
    filtered: 0,
    quarantined: 1,
    spooled: 0,
    inFlight: 0,
  });
});

test('a message above MAX_PAYLOAD is quarantined, and the messages after it are stored', async (context) => {
  const bench = await setUp(context);
  const client = await bench.client();
  const away = await bench.start({ MAX_PAYLOAD: '64KiB' });
  assert.equal(await away.stop(), 0);
  const large = Buffer.alloc(9 * 1024 * 1024, 0x31);
  await client.publishAsync('sensors/probe/temperature', large, { qos: 1 });
  await client.publishAsync('sensors/good/temperature', '20.5', { qos: 1 });
  const ingest = await bench.start({ MAX_PAYLOAD: '64KiB' });
  const ledger = await ingest.until(({ readings }) => readings.stored === 1, 10_000);
  assert.equal(ledger.readings.quarantined, 1);
  assert.equal(ledger.mqtt.reconnects, 0);
  const { items } = (await (await fetch(`${ingest.url}/quarantine`)).json()) as {
    items: QuarantineDocument[];
  };
  const { topic, reason, detail, size } = items[0]!;
  assert.deepEqual([topic, reason, size], ['sensors/probe/temperature', 'too_large', 0]);
  assert.match(detail, /has 94\d+ bytes, and at most 65536 are taken/);
});

test('malformed PUBLISH packets are quarantined and acknowledged once, and the messages after them are stored', async (context) => {
  const bench = await setUp(context);
  const broker = await startOddBroker([
    publish(1, Buffer.from('sensors/a\0b/temperature'), '1'),
    publish(2, Buffer.from([0x73, 0xc3, 0x28]), '2'),
    publish(3, Buffer.from('sensors/+/temperature'), '3'),
    publish(4, Buffer.alloc(0), '4'),
    publish(5, Buffer.from('sensors/good/temperature'), '20.5'),
  ]);
  context.after(() => broker.close());
  const ingest = await bench.start({ BROKER: broker.url });
  const ledger = await ingest.until(({ readings }) => readings.stored === 1, 10_000);
  assert.equal(ledger.readings.quarantined, 4);
  assert.equal(ledger.mqtt.reconnects, 0);
  for (const deadline = Date.now() + 10_000; broker.acknowledged.length < 5; await sleep(10)) {
    assert.ok(Date.now() < deadline, `acknowledged: ${broker.acknowledged}`);
  }
  assert.deepEqual(broker.acknowledged, [1, 2, 3, 4, 5]);
});

function publish(id: number, topic: Buffer, payload: string): Buffer {
  const body = Buffer.concat([
    Buffer.from([topic.length >> 8, topic.length & 0xff]),
    topic,
    Buffer.from([0, id, 0]),
    Buffer.from(payload),
  ]);
  return Buffer.concat([Buffer.from([0x32, body.length]), body]);
}

/** A server that sends malformed packets: it implements just enough of MQTT 5. */
async function startOddBroker(messages: readonly Buffer[]) {
  const acknowledged: number[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    let bytes: Buffer = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      while (bytes.length >= 2 && bytes.length >= 2 + bytes[1]!) {
        const type = bytes[0]! >> 4;
        if (type === 1) socket.write(Buffer.from([0x20, 3, 0, 0, 0]));
        if (type === 4) acknowledged.push(bytes.readUInt16BE(2));
        if (type === 8) {
          socket.write(Buffer.from([0x90, 4, bytes[2]!, bytes[3]!, 0, 1]));
          socket.write(Buffer.concat(messages));
        }
        bytes = bytes.subarray(2 + bytes[1]!);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`,
    acknowledged,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

test('many quarantined messages are replayed or discarded by two requests, with the token', async (context) => {
  const bench = await setUp(context);
  const routes = `${bench.directory}/plain.yml`;
  await writeFile(routes, '- topic: sensors/{device+}/{metric}\n  format: plain\n');
  const client = await bench.client();
  const env = { HTTP_TOKEN: 'a-long-and-random-token' };
  const first = await bench.start({ ...env, ROUTES: routes });
  const payloads = Array.from({ length: 300 }, (_, n) =>
    n % 3 === 0 ? 'garbage' : `{"t":${1795000000 + n},"v":${n}}`,
  );
  await Promise.all(
    payloads.map((payload) => client.publishAsync('sensors/probe/temperature', payload, { qos: 1 })),
  );
  await first.until(({ readings }) => readings.quarantined === 300, 10_000);
  assert.equal(await first.stop(), 0);

  const second = await bench.start(env);
  const change = (verb: string, headers = {}) =>
    fetch(`${second.url}/quarantine/${verb}`, { method: 'POST', headers });
  const headers = { Authorization: `Bearer ${env.HTTP_TOKEN}` };
  assert.equal((await change('replay')).status, 401);
  assert.equal((await change('discard')).status, 401);
  const replayed = { tried: 0, removed: 0, stored: 0 };
  for (let cursor: string | null = ''; cursor !== null; ) {
    const step = (await (
      await change(`replay${cursor === '' ? '' : `?cursor=${cursor}`}`, headers)
    ).json()) as QuarantineStepDocument;
    replayed.tried += step.tried;
    replayed.removed += step.removed;
    replayed.stored += step.stored;
    cursor = step.next;
  }
  assert.deepEqual(replayed, { tried: 300, removed: 200, stored: 200 });
  assert.equal((await storedReadings(bench.store, ['probe'])).length, 200);
  const discarded = (await (
    await change('discard?reason=malformed', headers)
  ).json()) as QuarantineStepDocument;
  assert.deepEqual(discarded, { tried: 100, removed: 100, stored: 0, duplicate: 0, next: null });
  assert.ok((await second.ledger()).balanced);
});
