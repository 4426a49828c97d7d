import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { startEmbeddedBroker, temporaryDirectory } from '@tidegauge/lab';
import { waitUntil } from '@tidegauge/process';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import {
  dataOf,
  KeptReadings,
  type LiveEvent,
  ProblemError,
  type Reading,
  SendError,
  TidegaugeClient,
} from '../../src/index.ts';
import { collect } from '../collect.ts';
import { startRelay } from '../relay.ts';

// The client against a real API and ingest with SQLite. The API requires the token for changes. The relay replaces a
// network that fails.

const TOKEN = 'a-long-and-random-token';
const BODY_LIMIT = 4096;
const START = Date.UTC(2026, 10, 21);

const folder = temporaryDirectory('client');
const broker = await startEmbeddedBroker({ port: 0 });
const store = { STORE: `sqlite:${folder.path}/tides.db`, HTTP_TOKEN: TOKEN };
const ingest = await startIngestProcess({ ...store, BROKER: broker.url, DATA_DIR: folder.path });
const api = await startApiProcess({
  STORE: store.STORE,
  INGEST: ingest.url,
  INGEST_TOKEN: TOKEN,
  HTTP_LISTEN: '0.0.0.0',
  API_TOKEN: TOKEN,
  BODY_LIMIT: `${BODY_LIMIT}`,
});
const target = Number(new URL(api.url).port);
const relay = await startRelay(target);
const client = new TidegaugeClient({ url: `http://127.0.0.1:${relay.port}`, token: TOKEN });
after(async () => {
  await relay.cut();
  await api.stop();
  await ingest.stop();
  await broker.close();
  folder.remove();
});

const series = (count: number) =>
  Array.from({ length: count }, (_, seq) => ({ t: new Date(START + seq * 1000), v: seq, boot: 'a1', seq }));

test('readings are sent in batches below BODY_LIMIT, and read page by page in order', async () => {
  const to = { device: 'site-1/pump', metric: 'rpm', batchBytes: BODY_LIMIT };
  assert.deepEqual(await client.send(series(250), to), {
    received: 250,
    stored: 250,
    duplicate: 0,
    quarantined: 0,
  });
  assert.deepEqual(await client.send(series(10), to), {
    received: 10,
    stored: 0,
    duplicate: 10,
    quarantined: 0,
  });
  const query = { device: 'site-1/pump', order: 'asc', pageSize: 60 } as const;
  const read = await collect(client.readings(query));
  assert.deepEqual(
    read.map(({ value, seq }) => [value, seq]),
    Array.from({ length: 250 }, (_, seq) => [seq, seq]),
  );
  const some = client.readings({ ...query, from: new Date(START + 5000), to: START + 8000 });
  assert.deepEqual(
    (await collect(some)).map(({ value }) => value),
    [5, 6, 7],
  );
});

test('readings of a device are deleted in a range of times', async () => {
  await client.send(series(20), { device: 'site-1/deleted', metric: 'rpm' });
  const query = { device: 'site-1/deleted', from: new Date(START + 5000), to: START + 15_000 };
  assert.equal(await client.deleteReadings(query), 10);
  assert.equal(await client.deleteReadings({ ...query, metric: 'rpm' }), 0);
  const left = await collect(client.readings({ device: 'site-1/deleted', order: 'asc' }));
  assert.deepEqual(
    left.map(({ value }) => value),
    [0, 1, 2, 3, 4, 15, 16, 17, 18, 19],
  );
  await assert.rejects(client.deleteReadings({ device: 'site-1/deleted' }), ProblemError);
});

test('an export continues after a lost connection, and has each reading once', async () => {
  const texts = Array.from({ length: 120 }, (_, seq) => randomBytes(1400).toString('hex') + seq);
  const readings = texts.map((v, seq) => ({ t: new Date(START + seq * 1000), v }));
  await client.send(readings, { device: 'export/a', metric: 'text', batchBytes: BODY_LIMIT });
  await client.send(series(3), { device: 'export/b', metric: 'rpm' });
  const read: Reading[] = [];
  for await (const each of client.export({ prefix: 'export', from: new Date(START) })) {
    read.push(each);
    if (read.length !== 2 && read.length !== 60) continue;
    await relay.cut();
    await relay.restore();
  }
  assert.deepEqual(
    read.map(({ device, value }) => [device, value]),
    [...texts.map((text) => ['export/a', text]), ...[0, 1, 2].map((seq) => ['export/b', seq])],
  );
  const some = client.export({ device: ['export/b'], metric: ['rpm'], to: START + 2000 });
  assert.deepEqual(
    (await collect(some)).map(({ value }) => value),
    [0, 1],
  );
  await assert.rejects(() => collect(client.export({ device: ['a'], prefix: 'b' })), { status: 400 });
});

test('readings without a time get one each, so that none is taken for a duplicate', async () => {
  const readings = [1, 2, 3].map((v) => ({ device: 'site-1/door', metric: 'opened', v }));
  assert.equal((await client.send(readings)).stored, 3);
});

test('typed requests write lists and filters as the API reads them', async () => {
  const fields = { site: 'site-1', city: 'Faro', kind: 'pump', year: 2019 };
  const path = { name: 'site-1/pump' };
  dataOf(await client.api.PUT('/v1/devices/{name}', { params: { path }, body: fields }));
  const changed = await client.api.PATCH('/v1/devices', {
    params: { query: { filter: { city: 'Faro', year: 2019 } } },
    body: { city: 'Porto' },
  });
  assert.deepEqual(dataOf(changed), { matched: 1 });
  assert.deepEqual(
    (await collect(client.devices({ city: 'Porto' }))).map(({ name }) => name),
    ['site-1/pump'],
  );
  const latest = await client.api.GET('/v1/readings/latest', {
    params: { query: { device: ['site-1/pump', 'site-1/door'] } },
  });
  assert.deepEqual(
    dataOf(latest).readings.map(({ device, value }) => [device, value]),
    [
      ['site-1/door', 3],
      ['site-1/pump', 249],
    ],
  );
  const newest = await collect(client.latest({ prefix: 'site-1/pump', metric: ['rpm'], pageSize: 1 }));
  assert.deepEqual(
    newest.map(({ device, value }) => [device, value]),
    [['site-1/pump', 249]],
  );
});

test('an aggregate has the functions that are requested', async () => {
  const from = '2026-11-21T00:00:00Z';
  const query = { device: 'site-1/pump', metric: 'rpm', from, to: '2026-11-22T00:00:00Z', bucket: '1d' };
  const { data } = await client.api.GET('/v1/readings/aggregate', {
    params: { query: { ...query, fn: ['mean', 'max'] } },
  });
  assert.deepEqual(data!.buckets, [
    { time: '2026-11-21T00:00:00.000000Z', count: 250, max: 249, mean: 124.5 },
  ]);
  const { device, metric, ...range } = query;
  const several = await client.api.GET('/v1/readings/series', {
    params: { query: { ...range, device: [device, 'nothing'], metric: [metric], fn: ['mean', 'max'] } },
  });
  const [first, second] = dataOf(several).series;
  assert.deepEqual(first!.buckets, data!.buckets);
  assert.deepEqual(second!.buckets, []);
});

test('without the token, a change is refused with the problem of the API', async () => {
  const stranger = new TidegaugeClient({ url: api.url.replace('0.0.0.0', '127.0.0.1') });
  const reading = { device: 'site-1/door', metric: 'opened', v: 1 };
  await assert.rejects(
    () => stranger.send([reading]),
    (error) =>
      error instanceof SendError &&
      error.rest.length === 1 &&
      error.cause instanceof ProblemError &&
      error.cause.status === 401,
  );
});

test('a value that JSON cannot hold is refused before anything is sent', async () => {
  const readings = [{ v: 1 }, { v: Number.NaN }];
  await assert.rejects(() => client.send(readings, { device: 'a', metric: 'b' }), /readings\[1\]\.v is NaN/);
});

test('while the network is down, sending is tried again, and each reading is stored once', async () => {
  await relay.cut();
  const to = { device: 'site-1/tank', metric: 'level' };
  const impatient = client.send(series(3), { ...to, retryForMs: 300 });
  await assert.rejects(impatient, (error) => error instanceof SendError && error.rest.length === 3);
  const sending = client.send(series(5), to);
  await new Promise((resolve) => setTimeout(resolve, 600));
  await relay.restore();
  assert.equal((await sending).stored, 5);
  assert.equal((await collect(client.readings({ device: to.device }))).length, 5);
});

test('the live stream continues after a lost connection, without loss', { timeout: 30_000 }, async () => {
  const count = 45;
  const stop = new AbortController();
  const seen: Reading[] = [];
  const gaps: LiveEvent[] = [];
  const direct = new TidegaugeClient({ url: `http://127.0.0.1:${target}`, token: TOKEN });
  const sendOne = (reading: object) =>
    direct.send([reading as { v: number }], { device: 'site-1/flow', metric: 'rate' });
  const following = (async () => {
    for await (const event of client.live({ device: 'site-1', metric: 'rate', signal: stop.signal })) {
      if (event.type === 'gap') gaps.push(event);
      else seen.push(...event.readings);
    }
  })();
  const readings = series(count + 1).slice(1);
  // The stream has no position before its first event.
  for (let extra = 0; seen.length === 0; extra++) {
    await sendOne({ t: START * 1000 + extra, v: 0 });
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  for (const [index, reading] of readings.entries()) {
    if (index % 15 === 5) await relay.cut();
    await sendOne(reading);
    if (index % 15 === 10) await relay.restore();
  }
  const wanted = readings.map(({ v }) => v);
  const values = () => seen.map(({ value }) => value).filter((value) => value !== 0);
  await waitUntil(
    () => `${count} readings of the stream: ${values()}`,
    () => values().length >= count,
    { timeoutMs: 20_000 },
  );
  assert.deepEqual(values(), wanted);
  assert.deepEqual(gaps, []);
  stop.abort();
  await following;
});

test('a stream that was lost before its first event reports a gap of unknown size', {
  timeout: 30_000,
}, async () => {
  const events = client.live({ device: 'nothing/is/here' });
  const first = events.next();
  await new Promise((resolve) => setTimeout(resolve, 500));
  await relay.cut();
  await relay.restore();
  assert.deepEqual((await first).value, { type: 'gap', missed: null, id: null });
  await events.return();
});

test('the live stream ends with an error when the API refuses the request', async () => {
  const events = client.live({ device: '../etc' });
  await assert.rejects(() => events.next(), { name: 'ProblemError', status: 400 });
});

test('missing readings that were kept are sent again, and the others are declared gone', async () => {
  const kept = new KeptReadings();
  const to = { device: 'site-1/gaps', metric: 'rpm' };
  const all = series(20);
  const isSent = ({ seq }: { seq: number }) => seq < 3 || seq > 12;
  for (const reading of all)
    if (reading.seq >= 5 && !isSent(reading)) kept.add(reading, to.device, to.metric);
  await client.send(all.filter(isSent), { ...to, keep: kept });
  const delivery = await client.sendMissing(kept, { device: 'site-1' });
  // The ones that were sent before the gap are the oldest that are kept, so nothing is gone yet.
  assert.deepEqual(delivery, { received: 8, stored: 8, duplicate: 0, quarantined: 0 });
  const few = new KeptReadings();
  few.add(all[19]!, to.device, to.metric);
  assert.equal((await client.sendMissing(few)).received, 0);
  const { gaps } = dataOf(await client.api.GET('/v1/ledger'));
  const found = gaps.list.find(({ device }) => device === to.device);
  assert.deepEqual([found?.missing, found?.gone, found?.ranges], [2, 2, [[3, 4]]]);
  const { missing } = dataOf(await client.api.GET('/v1/ledger/missing'));
  assert.ok(!missing.some(({ device }) => device === to.device));
});

test('kept readings are bounded in bytes, and have numbers', () => {
  const kept = new KeptReadings(100_000);
  for (let seq = 0; seq < 10_000; seq++) kept.add({ device: 'd', metric: 'm', v: seq, boot: 'b', seq });
  kept.add({ device: 'd', metric: 'm', v: 1 });
  const answer = kept.answer({
    device: 'd',
    boot: 'b',
    ranges: [
      [0, 0],
      [9990, 9999],
    ],
  })!;
  assert.equal(answer.readings.length, 10);
  assert.ok(answer.declaration!.kept! > 9000 && answer.declaration!.kept! < 9990);
  assert.equal(kept.answer({ device: 'other', boot: 'b', ranges: [[0, 9]] }), null);
  assert.deepEqual(kept.answer({ device: 'd', boot: 'earlier', ranges: [[0, 9]] }), {
    readings: [],
    declaration: { device: 'd', boot: 'earlier', kept: null },
  });
});
