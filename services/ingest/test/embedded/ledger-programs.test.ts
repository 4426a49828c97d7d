import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runHere } from '@tidegauge/test-support/run-here';
import { program as ledger } from '../../src/ledger/main.ts';
import { program as quarantineCli } from '../../src/quarantine-cli/main.ts';
import { startIngestWithBroker } from '../ingest-with-broker.ts';
import { settled } from '../integration/helpers.ts';

const ROUTES =
  '- {topic: "sensors/{device+}/{metric}"}\n- {topic: "other/{device+}/{metric}", format: senml-json}\n';

async function setUp(context: TestContext) {
  const started = await startIngestWithBroker(context, ROUTES);
  const publish = (topic: string, payload: string) => started.client.publishAsync(topic, payload, { qos: 1 });
  return { ...started, publish };
}

test('npm run ledger verifies a store against a report, and names what it lacks', async (context) => {
  const { directory, store, ingest, publish } = await setUp(context);
  for (const seq of [0, 1, 2, 4]) {
    await publish('sensors/a/m', JSON.stringify({ t: 1_790_000_000 + seq, v: seq, boot: 'b', seq }));
  }
  await settled(ingest);
  const report = join(directory, 'report.json');
  const verify = async (acknowledged: number[][], ...args: string[]) => {
    const boots = [{ boot: 'b', first: 0, last: 4, readings: 5, acknowledged, repeated: [] }];
    await writeFile(
      report,
      JSON.stringify({ devices: [{ device: 'a', metrics: ['m'], boots }], failures: [] }),
    );
    return runHere(ledger, 'verify', '--against', report, '--store', store, ...args);
  };
  const complete = await verify([
    [0, 2],
    [4, 4],
  ]);
  assert.deepEqual([complete.code, complete.stdout.split('\n').at(-2)], [0, 'verified'], complete.stderr);
  const lacking = await verify([[0, 4]]);
  assert.equal(lacking.code, 1);
  assert.match(lacking.stdout, /^missing: a boot b seq 3 m$/m);
  assert.match(lacking.stdout, /5 readings acknowledged, 4 stored, 1 missing, 0 stored twice/);
  const document = JSON.parse((await verify([[0, 4]], '--json')).stdout);
  assert.deepEqual(document.listed, [{ device: 'a', boot: 'b', first: 3, last: 3, metrics: ['m'] }]);
  const bad = await runHere(ledger, 'verify', '--against', join(directory, 'none.json'), '--store', store);
  assert.equal(bad.code, 2);
  assert.match(bad.stderr, /--against .*none\.json: there is no such file/);
});

test('npm run quarantine lists, shows, replays and discards messages of a running ingest', async (context) => {
  const { ingest, routes, publish } = await setUp(context);
  const quarantine = (...args: string[]) => runHere(quarantineCli, ...args, '--ingest', ingest.url);
  await publish('other/site-1/probe/level', '21.5');
  await publish('other/site-2/probe/level', '22.5');
  await publish('sensors/site-1/probe/level', '{"v":\u001b');
  await ingest.until(({ readings }) => readings.quarantined === 3, 30_000);

  const all = JSON.parse((await quarantine('list', '--json')).stdout);
  assert.equal(all.items.length, 3);
  const page = JSON.parse((await quarantine('list', '--json', '--limit', '2')).stdout);
  assert.equal(page.items.length, 2);
  const rest = JSON.parse((await quarantine('list', '--json', '--after', page.next)).stdout);
  assert.deepEqual([...page.items, ...rest.items], all.items);
  const one = JSON.parse(
    (await quarantine('list', '--json', '--device', 'site-1/probe', '--topic', 'other/#')).stdout,
  );
  assert.deepEqual(
    one.items.map(({ topic }: { topic: string }) => topic),
    ['other/site-1/probe/level'],
  );

  const malformed = all.items.find(({ topic }: { topic: string }) => topic.startsWith('sensors/'));
  const shown = await quarantine('show', malformed.id);
  assert.match(shown.stdout, /^reason: malformed$/m);
  assert.match(shown.stdout, /^payload: \{"v":\\u001b$/m);

  // With the wrong format of their route, the messages stay.
  const early = await quarantine('replay', '--topic', 'other/#');
  assert.deepEqual(
    [early.code, early.stdout.includes('2 messages still cannot be stored')],
    [1, true],
    early.stdout,
  );
  await writeFile(routes, ROUTES.replace('senml-json', 'auto'));
  assert.ok((await fetch(`${ingest.url}/routes/reload`, { method: 'POST' })).ok);
  const replayed = await quarantine('replay', '--topic', 'other/site-1/#');
  assert.deepEqual(
    [replayed.code, replayed.stdout],
    [0, '1 of 1 message replayed: 1 reading stored, 0 were stored before\n'],
  );
  const byReason = await quarantine('replay', '--reason', 'malformed', '--json');
  assert.equal(byReason.code, 1);
  assert.deepEqual(JSON.parse(byReason.stdout), {
    tried: 2,
    removed: 1,
    stored: 1,
    duplicate: 0,
    problem: null,
  });
  const discarded = await quarantine('discard', malformed.id);
  assert.deepEqual([discarded.code, discarded.stdout], [0, '1 message discarded\n']);
  assert.equal((await quarantine('list')).stdout, 'no message is in quarantine that matches\n');
  const gone = await quarantine('discard', malformed.id);
  assert.equal(gone.code, 1);
  assert.match(gone.stdout, /There is no quarantined message/);
  const { readings } = await ingest.ledger();
  assert.equal(readings.stored, 2);
});

test('npm run quarantine refuses a selection that is not clear, and reports an ingest that does not answer', async () => {
  const run = (...args: string[]) => runHere(quarantineCli, ...args);
  for (const args of [['discard'], ['discard', 'x.1', '--all'], ['replay', '--all', '--topic', 'a']]) {
    const { code, stderr } = await run(...args);
    assert.equal(code, 2);
    assert.match(stderr, /select messages in one way/);
  }
  assert.equal((await run('list', '--topic', 'a/#/b')).code, 2);
  assert.match((await run('list', '--reason', 'nonsense')).stderr, /unknown_topic, empty_payload, malformed/);
  const { code, stderr } = await run('list', '--ingest', 'http://127.0.0.1:9');
  assert.equal(code, 1);
  assert.match(stderr, /cannot reach the quarantine of ingest .*start ingest, or set --ingest/);
});

test('npm run quarantine reports how to give ingest a login that it accepts, and nothing else', async (context) => {
  const server = createServer((_request, response) => response.writeHead(401).end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const { code, stdout } = await runHere(quarantineCli, 'discard', '--all', '--ingest', url);
  assert.equal(code, 1);
  assert.match(
    stdout,
    /^stopped: .* refused the login: start ingest with HTTP_TOKEN=\.\.\., and give .*INGEST_TOKEN\n$/,
  );
});
