import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { FakeIngest } from '../fake-ingest.ts';
import { startApi } from '../harness.ts';

const TOKEN = 'a-long-and-random-token';

/** An API over two ingest processes with 30 malformed messages and 3 of another kind each. */
async function startTwo(t: TestContext) {
  const main = await startApi(t);
  const other = await FakeIngest.start(main.store, 'ingest-2');
  t.after(() => other.stop());
  const ingests = [main.ingest, other];
  for (const ingest of ingests) {
    for (let n = 0; n < 30; n++) ingest.refuse(`sensors/${n}/x`, 'malformed', 'no number', 'x');
    for (let n = 0; n < 3; n++) ingest.refuse(`sensors/${n}/y`, 'invalid_time', 'too late', 'y');
    ingest.stepItems = 7;
  }
  return { api: await startApi(t, { ingest: ingests.map(({ url }) => url) }), ingests };
}

type Api = Awaited<ReturnType<typeof startApi>>;

/** Repeats the request until `next` is null. Returns the sums of the counts. */
async function walk(api: Api, path: string): Promise<Record<string, number>> {
  const sums: Record<string, number> = { requests: 0 };
  let cursor: string | null = '';
  while (cursor !== null) {
    const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const { status, body } = await api.call('POST', `${path}${more}`);
    assert.equal(status, 200, JSON.stringify(body));
    assert.ok(sums.requests!++ < 50, 'it does not end');
    for (const [key, value] of Object.entries(body)) {
      if (typeof value === 'number') sums[key] = (sums[key] ?? 0) + value;
    }
    cursor = body.next;
  }
  return sums;
}

test('the messages of all instances are replayed in steps, and those that fail again stay', async (t) => {
  const { api, ingests } = await startTwo(t);
  for (const ingest of ingests)
    ingest.isCured = ({ reason, topic }) => reason === 'malformed' && topic !== 'sensors/4/x';
  const { requests, ...sums } = await walk(api, '/v1/quarantine/replay?limit=10');
  assert.deepEqual(sums, { tried: 66, replayed: 58, kept: 8, stored: 58, duplicate: 0 });
  assert.ok(requests! >= 7);
  for (const ingest of ingests) assert.equal(ingest.quarantine.length, 4);
  const { body } = await api.call('GET', '/v1/quarantine');
  assert.deepEqual(body.reasons, { invalid_time: 6, malformed: 2 });
  assert.equal(body.total, 8);
});

test('a filter by reason, instance and time does not change other messages', async (t) => {
  const { api, ingests } = await startTwo(t);
  const one = await walk(api, '/v1/quarantine/discard?reason=malformed&instance=ingest-2');
  assert.equal(one.discarded, 30);
  assert.deepEqual(
    ingests.map(({ quarantine }) => quarantine.length),
    [33, 3],
  );
  const listed = (await api.call('GET', '/v1/quarantine?instance=ingest-2')).body;
  assert.deepEqual([listed.items.length, listed.total, listed.reasons], [3, 3, { invalid_time: 3 }]);
  const none = await walk(api, '/v1/quarantine/discard?until=2020-01-01T00:00:00Z');
  assert.equal(none.discarded, 0);
  assert.equal((await walk(api, '/v1/quarantine/discard?reason=malformed')).discarded, 30);
  assert.equal((await walk(api, '/v1/quarantine/discard?limit=4')).discarded, 6);
  assert.deepEqual(
    ingests.map(({ quarantine }) => quarantine.length),
    [0, 0],
  );
});

test('an instance that is down is reported, and one that fails midway loses nothing', async (t) => {
  const { api, ingests } = await startTwo(t);
  const [first, second] = ingests.toSorted((a, b) => (a.url < b.url ? -1 : 1));
  second!.intercept = ({ method }, response) => {
    if (method !== 'POST') return false;
    const problem = { title: 'Cannot store now', detail: 'the store is unavailable' };
    response.writeHead(503, { 'Content-Type': 'application/problem+json' }).end(JSON.stringify(problem));
    return true;
  };
  first!.stepItems = 1000;
  const { status, body } = await api.call('POST', '/v1/quarantine/replay');
  assert.equal(status, 200);
  assert.equal(body.tried, 33);
  const refused = await api.call('POST', `/v1/quarantine/replay?cursor=${body.next}`);
  assert.equal(refused.status, 503);
  assert.match(refused.body.detail, /the store is unavailable/);
  second!.intercept = () => false;
  second!.stepItems = 1000;
  const rest = await api.call('POST', `/v1/quarantine/replay?cursor=${body.next}`);
  assert.deepEqual([rest.body.tried, rest.body.next], [33, null]);
  const { url } = second!;
  await second!.stop();
  const { body: without } = await api.call('POST', '/v1/quarantine/discard');
  assert.equal(without.discarded, 33);
  assert.equal(without.unreachable[0].instance, url);
});

test('changes need the token, and invalid parameters are reported', async (t) => {
  const { api } = await startTwo(t);
  for (const [query, name] of [
    ['limit=0', /limit/],
    ['limit=1001', /limit/],
    ['reason=No!', /reason/],
    ['instance=a%20b', /instance/],
    ['until=yesterday', /until/],
    ['cursor=abc', /cursor/],
    ['all=true', /all/],
  ] as const) {
    for (const verb of ['replay', 'discard']) {
      const { status, body } = await api.call('POST', `/v1/quarantine/${verb}?${query}`);
      assert.equal(status, 400, query);
      assert.match(body.detail, name);
    }
  }
  const { body } = await api.call('POST', '/v1/quarantine/discard?limit=1');
  const reused = await api.call('POST', `/v1/quarantine/discard?reason=malformed&cursor=${body.next}`);
  assert.equal(reused.status, 400);

  const guarded = await startApi(t, { config: { apiToken: TOKEN } });
  for (const verb of ['replay', 'discard']) {
    assert.equal((await guarded.call('POST', `/v1/quarantine/${verb}`)).status, 401);
    const headers = { Authorization: `Bearer ${TOKEN}` };
    assert.equal((await guarded.call('POST', `/v1/quarantine/${verb}`, { headers })).status, 200);
    assert.equal((await guarded.call('GET', `/v1/quarantine/${verb}`)).status, 405);
  }
});
