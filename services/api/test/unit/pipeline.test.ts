import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { FakeIngest } from '../fake-ingest.ts';
import { reading, startApi, until } from '../harness.ts';

/** An address with a port that is not open. */
async function deadUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

test('the ledger has the sums over all instances and the ledger of each', async (t) => {
  const main = await startApi(t);
  const other = await FakeIngest.start(main.store, 'ingest-2');
  t.after(() => other.stop());
  const api = await startApi(t, { ingest: [main.ingest.url, other.url] });
  await main.ingest.commit([reading(1), reading(1), reading(2)]);
  await other.commit([reading(3)]);
  [main.ingest.deleted, other.deleted] = [3, 4];
  other.refuse('x', 'malformed', 'no', 'x');
  other.trouble = 'the disk is full';
  const { status, body } = await api.call('GET', '/v1/ledger');
  assert.equal(status, 200);
  assert.deepEqual(body.readings, {
    received: 5,
    stored: 3,
    duplicate: 1,
    filtered: 0,
    quarantined: 1,
    spooled: 0,
    inFlight: 0,
  });
  assert.equal(body.balanced, true);
  assert.equal(body.trouble, 'the disk is full');
  assert.equal(body.since, '2026-11-21T08:00:00.000000Z');
  assert.equal(body.stageSeconds, 60);
  assert.equal(body.deleted, 7);
  assert.equal(body.writtenBytes, 8192);
  assert.deepEqual(body.unreachable, []);
  assert.deepEqual(body.instances.map((each: { instance: string }) => each.instance).sort(), [
    'ingest-1',
    'ingest-2',
  ]);
});

test('one unbalanced instance makes the ledger unbalanced, even when the sums are equal', async (t) => {
  const main = await startApi(t);
  const other = await FakeIngest.start(main.store, 'ingest-2');
  t.after(() => other.stop());
  const api = await startApi(t, { ingest: [main.ingest.url, other.url] });
  main.ingest.counts.received = 1;
  other.counts.inFlight = 1;
  assert.equal((await api.call('GET', '/v1/ledger')).body.balanced, false);
});

test('a replica that is down is reported, and the others still answer', async (t) => {
  const main = await startApi(t);
  const dead = await deadUrl();
  const api = await startApi(t, { ingest: [main.ingest.url, dead] });
  main.ingest.refuse('x', 'malformed', 'no', 'x');
  for (const path of ['/v1/ledger', '/v1/quarantine']) {
    const { status, body } = await api.call('GET', path);
    assert.equal(status, 200);
    assert.equal(body.unreachable.length, 1);
    assert.equal(body.unreachable[0].instance, dead);
    assert.match(body.unreachable[0].reason, /ECONNREFUSED/);
  }
  for (let n = 0; n < 2; n++) {
    const headers = { 'Content-Type': 'text/plain' };
    assert.equal((await api.call('POST', '/v1/readings?device=a', { body: '1', headers })).status, 202);
  }
});

test('without any ingest process the answer is 503 with the address and a time to retry', async (t) => {
  const api = await startApi(t, { ingest: [await deadUrl()] });
  for (const [method, path] of [
    ['GET', '/v1/ledger'],
    ['GET', '/v1/quarantine/a.1'],
    ['POST', '/v1/readings?device=a'],
  ]) {
    const body = method === 'POST' ? '1' : undefined;
    const answer = await api.call(method!, path!, { body, headers: { 'Content-Type': 'text/plain' } });
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get('Retry-After'), '5');
    assert.match(answer.body.detail, /http:\/\/127\.0\.0\.1:\d+.*ECONNREFUSED/);
  }
});

test('an ingest process that does not answer in time gives 504, and its refusals are passed on', async (t) => {
  const api = await startApi(t, { timeoutMs: 100 });
  api.ingest.intercept = () => true;
  const late = await api.call('GET', '/v1/quarantine/ingest-1.1');
  assert.equal(late.status, 504);
  assert.match(late.body.detail, /no answer within 100 ms/);
  api.ingest.intercept = (_request, response) => {
    const problem = { title: 'Store unavailable', detail: 'connect ECONNREFUSED', status: 503 };
    response.writeHead(503, { 'Retry-After': '7' }).end(JSON.stringify(problem));
    return true;
  };
  const refused = await api.call('POST', '/v1/readings?device=a', {
    body: '1',
    headers: { 'Content-Type': 'text/plain' },
  });
  assert.equal(refused.status, 503);
  assert.equal(refused.headers.get('Retry-After'), '7');
  assert.equal(refused.body.title, 'Store unavailable');
});

test('quarantine is listed over all instances, page by page, without payloads', async (t) => {
  const main = await startApi(t);
  const other = await FakeIngest.start(main.store, 'ingest-2');
  t.after(() => other.stop());
  const api = await startApi(t, { ingest: [main.ingest.url, other.url] });
  for (let n = 0; n < 4; n++) main.ingest.refuse('x', n === 0 ? 'empty_payload' : 'malformed', 'no', 'x');
  for (let n = 0; n < 3; n++) other.refuse('y', 'malformed', 'no', 'y');
  for (const limit of [1, 2, 3, 4, 7, 100]) {
    const ids: string[] = [];
    let cursor = '';
    do {
      const { body } = await api.call('GET', `/v1/quarantine?limit=${limit}${cursor}`);
      assert.ok(body.items.length <= limit && body.items.length > 0);
      assert.equal(body.total, 7);
      for (const item of body.items) {
        assert.equal(item.payload, undefined);
        ids.push(item.id);
      }
      cursor = body.next === null ? '' : `&cursor=${body.next}`;
    } while (cursor !== '');
    assert.equal(new Set(ids).size, 7, `limit ${limit}`);
    assert.equal(ids.length, 7);
  }
  const some = await api.call('GET', '/v1/quarantine?reason=empty_payload');
  assert.equal(some.body.total, 1);
});

test('an item is found on the instance that has it, replayed and discarded', async (t) => {
  const main = await startApi(t);
  const other = await FakeIngest.start(main.store, 'ingest-2');
  t.after(() => other.stop());
  const api = await startApi(t, { ingest: [main.ingest.url, other.url] });
  other.refuse('sensors/a/b', 'malformed', 'expected a number', 'sixty');
  const item = await api.call('GET', '/v1/quarantine/ingest-2.1');
  assert.equal(Buffer.from(item.body.payload, 'base64').toString(), 'sixty');
  const replayed = await api.call('POST', '/v1/quarantine/ingest-2.1/replay');
  assert.deepEqual(replayed.body, { received: 1, stored: 0, duplicate: 0, quarantined: 1 });
  assert.equal((await api.call('DELETE', '/v1/quarantine/ingest-2.1')).status, 204);
  for (const [method, path] of [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/replay'],
  ]) {
    assert.equal((await api.call(method!, `/v1/quarantine/ingest-2.1${path}`)).status, 404);
  }
});

test('readiness depends on the store, liveness does not', async (t) => {
  const api = await startApi(t);
  assert.deepEqual((await api.call('GET', '/readyz')).body, { status: 'ok' });
  await api.store.close();
  const ready = await api.call('GET', '/readyz');
  assert.equal(ready.status, 503);
  assert.equal(ready.headers.get('Retry-After'), '5');
  assert.equal((await api.call('GET', '/healthz')).status, 200);
});

test('requests are counted by route, not by path', async (t) => {
  const api = await startApi(t);
  await api.call('GET', '/v1/devices/site-3/boiler/probe-7');
  await api.call('GET', '/v1/readings?device=secret-device');
  await api.call('GET', '/page.css');
  await api.call('GET', '/no/such/thing');
  let text = '';
  await until('all requests in the metrics', async () => {
    text = (await api.call('GET', '/metrics')).body;
    return text.includes('unmatched');
  });
  for (const [method, route, status] of [
    ['GET', '/v1/devices/{name}', 404],
    ['GET', '/v1/readings', 200],
    ['GET', 'page', 200],
    ['GET', 'unmatched', 404],
  ]) {
    const series = `tidegauge_http_request_seconds_count{method="${method}",route="${route}",status="${status}"} 1`;
    assert.ok(text.includes(series), series);
  }
  assert.doesNotMatch(text, /probe-7|secret-device|no\/such/);
});
