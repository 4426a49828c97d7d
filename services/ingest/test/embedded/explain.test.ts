import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startEmbeddedBroker } from '@tidegauge/lab';
import type {
  CausesDocument,
  ExplainDocument,
  RouteAddedDocument,
  RoutesDocument,
} from '@tidegauge/readings';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import mqtt from 'mqtt';
import { storedReadings } from '../integration/helpers.ts';

interface Answer<T> {
  readonly status: number;
  readonly body: T & { readonly detail: string };
}

/** Ingest with the embedded broker and, unless `routes` is null, a routes file behind a symbolic link. */
async function setUp(
  context: TestContext,
  routes: string | null,
  env: Readonly<Record<string, string>> = {},
) {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-explain-'));
  const file = join(directory, 'routes.yml');
  const link = join(directory, 'link.yml');
  if (routes !== null) {
    await writeFile(file, routes, { mode: 0o640 });
    await symlink('routes.yml', link);
  }
  const broker = await startEmbeddedBroker({ port: 0 });
  const store = `sqlite:${join(directory, 'store.db')}`;
  const ingest = await startIngestProcess({
    STORE: store,
    BROKER: broker.url,
    DATA_DIR: directory,
    ...(routes === null ? {} : { ROUTES: link }),
    ...env,
  });
  const client = await mqtt.connectAsync(broker.url, { reconnectPeriod: 0 });
  context.after(async () => {
    await client.endAsync(true);
    await ingest.kill();
    await broker.close();
    await rm(directory, { recursive: true });
  });
  async function send<T>(method: string, path: string, body?: unknown, token?: string): Promise<Answer<T>> {
    const response = await fetch(ingest.url + path, {
      method,
      headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Answer<T>['body'] };
  }
  return { directory, file, link, store, ingest, client, send };
}

test('a topic that no route takes is listed with a route, which is added, and its messages are replayed', async (context) => {
  const bench = await setUp(context, '# our sensors\n- topic: sensors/{device+}/{metric} # as before\n');
  const { client, ingest, send } = bench;
  // The subscription of the route is sensors/#, so a topic of two levels arrives and matches no route.
  await client.publishAsync('sensors/lonely', '{"t1":21.5,"t2":null}', { qos: 1 });
  await client.publishAsync('sensors/boiler/mode', 'heating', { qos: 1 });
  await ingest.until(({ readings }) => readings.quarantined === 2, 10_000);
  const { body: before } = await send<CausesDocument>('GET', '/quarantine/causes');
  assert.equal(before.total, 2);
  const unknown = before.causes.find(({ reason }) => reason === 'unknown_topic');
  assert.deepEqual(unknown?.proposals, [{ topic: 'sensors/{device}' }]);
  assert.equal(unknown?.fix, 'add a route: - topic: sensors/{device}');
  const malformed = before.causes.find(({ reason }) => reason === 'malformed');
  assert.deepEqual([malformed?.route, malformed?.topic], ['default', 'sensors/{device+}/{metric}']);
  assert.match(malformed?.fix ?? '', /values/);

  const [route] = unknown!.proposals;
  const message = { topic: 'sensors/lonely', payload: '{"t1":21.5,"t2":null}' };
  const { body: now } = await send<ExplainDocument>('POST', '/explain', message);
  assert.deepEqual([now.error?.reason, now.proposals], ['unknown_topic', [route]]);
  const { body: tried } = await send<ExplainDocument>('POST', '/explain', { ...message, route });
  assert.deepEqual(
    tried.readings.map(({ device, metric, value }) => [device, metric, value]),
    [['lonely', 't1', 21.5]],
  );
  assert.deepEqual(tried.ignored, [{ field: 't2', reason: 'it is null' }]);

  const added = await send<RouteAddedDocument>('POST', '/routes', { route });
  assert.equal(added.status, 200);
  assert.deepEqual([added.body.added, added.body.topics], [true, ['sensors/{device}']]);
  const text = await readFile(bench.file, 'utf8');
  assert.match(text, /^# our sensors\n- topic: .* # as before\n- topic: sensors\/\{device\}\n$/);
  assert.equal((await stat(bench.file)).mode & 0o777, 0o640, 'the file keeps its mode');
  assert.equal(await readFile(bench.link, 'utf8'), text, 'the link stays');
  const again = await send<RouteAddedDocument>('POST', '/routes', { route });
  assert.deepEqual([again.status, again.body.added], [200, false], 'it is there already');
  assert.equal(await readFile(bench.file, 'utf8'), text);

  const { body: routed } = await send<CausesDocument>('GET', '/quarantine/causes');
  assert.match(routed.causes.find(({ reason }) => reason === 'unknown_topic')?.fix ?? '', /replay/);
  await send('POST', '/quarantine/replay?reason=unknown_topic');
  const stored = await storedReadings(bench.store, ['lonely']);
  assert.deepEqual(
    stored.map(({ metric, value }) => [metric, value]),
    [['t1', 21.5]],
  );
});

test('a route with mistakes, or one that cannot be written, changes nothing and is explained', async (context) => {
  const text = '- topic: kept/{device}/{metric}\n  name: kept\n';
  const bench = await setUp(context, text);
  const { send } = bench;
  const refused = async (body: unknown, status: number, detail: RegExp) => {
    const answer = await send('POST', '/routes', body);
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    assert.match(answer.body.detail, detail);
    assert.equal(await readFile(bench.file, 'utf8'), text);
  };
  await refused('{"route"', 400, /is not JSON/);
  await refused('null', 400, /must have route/);
  await refused({ topic: 'a/{device}' }, 400, /must have route/);
  await refused({ route: [] }, 400, /must have route/);
  await refused({ route: { topik: 'a/{device}' } }, 422, /topik is not a key of a route.*did you mean topic/);
  await refused({ route: { topic: 'a/{devise}' } }, 422, /\{devise\}/);
  await refused({ route: { topic: 'a/{device}', name: 'kept' } }, 422, /two routes are named "kept"/);
  await refused({ route: { preset: 'tasmotta' } }, 422, /did you mean tasmota/);
  await refused({ route: { topic: `a/${'x'.repeat(200_000)}` } }, 413, /too large/);
  // Root may write to every directory.
  if (process.getuid?.() !== 0) {
    await chmod(bench.directory, 0o500);
    await refused({ route: { topic: 'a/{device}' } }, 409, /cannot be written: .*: let the user of ingest/);
    await chmod(bench.directory, 0o700);
  }
  await writeFile(bench.file, '- topic: kept/{device}/{metric}\n  nam: kept\n');
  const answer = await send('POST', '/routes', { route: { topic: 'a/{device}' } });
  assert.equal(answer.status, 422);
  assert.match(answer.body.detail, /The routes file would have mistakes: .*link\.yml:2:3: \[1\]\.nam/);
});

test('without a routes file a route is added to one in the data directory, beside the default route', async (context) => {
  const { client, directory, ingest, send } = await setUp(context, null);
  const reloaded = await send<RoutesDocument>('POST', '/routes/reload');
  assert.deepEqual([reloaded.status, reloaded.body.routes.length], [200, 1]);
  const route = { topic: 'plant/{device}/{metric}' };
  const added = await send<RouteAddedDocument>('POST', '/routes', { route });
  assert.deepEqual([added.status, added.body.added], [200, true]);
  const file = join(directory, 'routes.yml');
  const topics = ['sensors/{device+}/{metric}', route.topic];
  assert.equal(await readFile(file, 'utf8'), topics.map((topic) => `- topic: ${topic}\n`).join(''));
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const { body } = await send<RoutesDocument>('GET', '/routes');
  assert.deepEqual(
    body.routes.map(({ topic }) => topic),
    topics,
  );
  await client.publishAsync('sensors/boiler/temperature', '21.5', { qos: 1 });
  await ingest.until(({ readings }) => readings.stored === 1, 10_000);
});

test('an explanation needs a message', async (context) => {
  const { send } = await setUp(context, null);
  const refused = async (body: unknown, status: number, detail: RegExp) => {
    const answer = await send('POST', '/explain', body);
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    assert.match(answer.body.detail, detail);
  };
  const message = { topic: 'sensors/a/m', payload: '1' };
  await refused('', 400, /is not JSON/);
  await refused([], 400, /must be a JSON object/);
  await refused({ payload: '1' }, 400, /topic must be a text/);
  await refused({ ...message, topic: 'sensors/+/m' }, 400, /cannot have \+/);
  await refused({ topic: 'a' }, 400, /payload must be a text/);
  await refused({ ...message, payload: 'a*', encoding: 'base64' }, 400, /not base64/);
  await refused({ ...message, encoding: 'hex' }, 400, /text or base64/);
  await refused({ ...message, format: 'xml' }, 400, /format must be one of auto/);
  await refused({ ...message, format: 'text', route: { preset: 'tasmota' } }, 422, /leave format out/);
  await refused({ ...message, route: { mapping: { devise: 'x' } } }, 422, /did you mean device/);
  await refused({ ...message, more: 1 }, 400, /more is not one of/);
  const table = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, 1]));
  const route = (mapping: object) => ({ ...message, route: { topic: 'a/{device}', mapping } });
  await refused(route({ drop: Array.from({ length: 100_000 }, () => 'a') }), 413, /too large/);
  await refused(route(table(40_000)), 413, /too large/);
  await refused(route({ drop: Array.from({ length: 20_000 }, () => 'a') }), 413, /more than 10000 values/);
  await refused(route(table(9000)), 422, /route: mapping: it has 9000 keys/);
  await refused(route({ drop: Array.from({ length: 9000 }, () => 'a') }), 422, /drop: it has 9000 patterns/);
  await refused(`${'['.repeat(100)}${']'.repeat(100)}`, 413, /nested deeper than 32 levels/);

  const explained = async (body: unknown) => (await send<ExplainDocument>('POST', '/explain', body)).body;
  const binary = await explained({
    topic: 'sensors/a/m',
    payload: Buffer.from('21.5 °C').toString('base64'),
    encoding: 'base64',
  });
  assert.deepEqual([binary.readings[0]?.value, binary.readings[0]?.unit], [21.5, 'Cel']);
  const text = await explained({ topic: 'sensors/a/m', payload: 'heating', format: 'text' });
  assert.deepEqual([text.route?.format, text.readings[0]?.value], ['text', 'heating']);
  const free = await explained({ topic: 'lights/kitchen', payload: '{"v":1}', format: 'json' });
  assert.equal(free.route?.topic, 'lights/{device}');
  for (const topic of [
    '$SYS/broker/uptime',
    '$share/x',
    '/',
    '//',
    'a\u0001b',
    '{device}/x',
    '}',
    'é/'.repeat(9),
  ])
    assert.equal(typeof (await explained({ topic, payload: '1' })).error?.reason, 'string', topic);
  const { body: routes } = await send<RoutesDocument>('GET', '/routes');
  assert.equal(routes.routes[0]?.messages, 0, 'nothing is counted');
});

test('an explanation and a new route need the token of ingest', async (context) => {
  const token = 'a-long-and-random-token';
  const { send } = await setUp(context, '- topic: kept/{device}/{metric}\n', { HTTP_TOKEN: token });
  const message = { topic: 'kept/a/m', payload: '1' };
  const body = { route: { topic: 'a/{device}' } };
  assert.equal((await send('POST', '/explain', message)).status, 401);
  assert.equal((await send('POST', '/routes', body)).status, 401);
  assert.equal((await send('POST', '/explain', message, token)).status, 200);
  assert.equal((await send('POST', '/routes', body, token)).status, 200);
});
