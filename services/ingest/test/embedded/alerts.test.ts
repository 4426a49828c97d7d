import assert from 'node:assert/strict';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type EmbeddedBroker, startEmbeddedBroker } from '@tidegauge/lab';
import { waitUntil } from '@tidegauge/process';
import type { AlertsDocument } from '@tidegauge/readings';
import { type IngestProcess, startIngestProcess } from '@tidegauge/test-support/ingest-process';
import mqtt from 'mqtt';

const WAIT = { timeoutMs: 30_000 };
const HOT = '- { name: hot, device: site, metric: t, above: 30, clear: 25, severity: critical }\n';

interface Bench {
  readonly broker: EmbeddedBroker;
  readonly directory: string;
  readonly start: (env?: Readonly<Record<string, string>>) => Promise<IngestProcess>;
  readonly write: (rules: string) => Promise<void>;
  readonly publish: (topic: string, payload: string) => Promise<unknown>;
}

async function setUp(context: TestContext, rules: string): Promise<Bench> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-alerts-'));
  const file = join(directory, 'alerts.yml');
  const write = async (text: string) => {
    await writeFile(`${file}.new`, text);
    await rename(`${file}.new`, file);
  };
  await write(rules);
  const broker = await startEmbeddedBroker({ port: 0 });
  const client = await mqtt.connectAsync(broker.url, { reconnectPeriod: 0 });
  const started: IngestProcess[] = [];
  context.after(async () => {
    await client.endAsync(true);
    for (const ingest of started) await ingest.kill();
    await broker.close();
    await rm(directory, { recursive: true });
  });
  return {
    broker,
    directory,
    write,
    publish: (topic, payload) => client.publishAsync(`sensors/${topic}`, payload, { qos: 1 }),
    async start(env = {}) {
      const ingest = await startIngestProcess({
        STORE: `sqlite:${join(directory, 'store.db')}`,
        BROKER: broker.url,
        DATA_DIR: directory,
        ALERTS: file,
        ...env,
      });
      started.push(ingest);
      return ingest;
    },
  };
}

async function read({ url }: IngestProcess, query = ''): Promise<AlertsDocument> {
  return (await (await fetch(`${url}/alerts${query}`)).json()) as AlertsDocument;
}

/** Each alert as `hot site/a t 31 active`. */
function statesOf({ alerts }: AlertsDocument): readonly string[] {
  return alerts.map(({ rule, device, metric, value, state }) =>
    [rule, device, metric, value, state].join(' '),
  );
}

async function until(ingest: IngestProcess, expected: readonly string[]): Promise<AlertsDocument> {
  let found: AlertsDocument | null = null;
  await waitUntil(
    () => `${JSON.stringify(expected)}, there are ${JSON.stringify(found)}`,
    async () => {
      found = await read(ingest);
      return JSON.stringify(statesOf(found)) === JSON.stringify(expected);
    },
    WAIT,
  );
  return found!;
}

async function metric({ url }: IngestProcess, line: string): Promise<boolean> {
  return (await (await fetch(`${url}/metrics`)).text()).split('\n').includes(line);
}

test('a value from the broker raises an alert, which survives kill -9 of ingest and ends with a later value', async (context) => {
  const { start, publish } = await setUp(context, HOT);
  const first = await start();
  await waitUntil('the rules to be used', async () => (await read(first)).evaluating, WAIT);
  assert.ok(await metric(first, 'tidegauge_alerts_active{rule="hot",severity="critical"} 0'));
  await publish('site/a/t', '31');
  await publish('other/a/t', '31');
  const { active, alerts } = await until(first, ['hot site/a t 31 active']);
  assert.deepEqual(active, { info: 0, warning: 0, critical: 1 });
  assert.ok(await metric(first, 'tidegauge_alerts_active{rule="hot",severity="critical"} 1'));
  assert.ok(await metric(first, 'tidegauge_alerts_raised_total{rule="hot",severity="critical"} 1'));
  for (const query of ['?limit=0', '?state=new', '?severity=x', '?after=1'])
    assert.equal((await fetch(`${first.url}/alerts${query}`)).status, 400, query);
  assert.deepEqual((await read(first, '?device=site/b')).alerts, []);
  // The state is kept within a second.
  await new Promise((resolve) => setTimeout(resolve, 2500));
  await first.kill();
  await publish('site/b/t', '32');

  const second = await start();
  const restored = await until(second, ['hot site/b t 32 active', 'hot site/a t 31 active']);
  assert.deepEqual(restored.alerts[1], alerts[0], 'the same alert');
  await publish('site/a/t', '26');
  await publish('site/b/t', '25');
  await until(second, ['hot site/a t 31 active', 'hot site/b t 32 ended']);
});

test('a changed file is used without a restart, and a mistake in it is reported and changes nothing', async (context) => {
  const { start, write, publish } = await setUp(context, HOT);
  const ingest = await start();
  await waitUntil('the rules to be used', async () => (await read(ingest)).evaluating, WAIT);
  await write(`${HOT}- { name: hot, quiet: 5 }\n`);
  await waitUntil('the metric', () => metric(ingest, 'tidegauge_alert_rules_stale 1'), WAIT);
  const ready = await fetch(`${ingest.url}/readyz`);
  assert.equal(ready.status, 200);
  assert.match(await ready.text(), /alert rules in use are not those of their file/);
  await publish('site/a/t', '31');
  await until(ingest, ['hot site/a t 31 active']);
  await write('- { name: quiet, device: site, quiet: 2s }\n');
  await until(ingest, ['quiet site/a   active', 'hot site/a t 31 ended']);
  assert.ok(await metric(ingest, 'tidegauge_alert_rules_stale 0'));
});

test('rules are used without a restart of ingest that was started without a file of rules', async (context) => {
  const { start, publish, directory } = await setUp(context, HOT);
  const file = join(directory, 'alerts.yml');
  await rm(file);
  const ingest = await start({ ALERTS: '' });
  await publish('site/a/t', '31');
  assert.equal((await read(ingest)).configured, false);
  await writeFile(file, '- { name: hot, above: x, metric: t }');
  await waitUntil('the metric', () => metric(ingest, 'tidegauge_alert_rules_stale 1'), WAIT);
  await writeFile(file, HOT);
  assert.equal((await until(ingest, ['hot site/a t 31 active'])).configured, true);
  await rm(file);
  await until(ingest, ['hot site/a t 31 ended']);
});

test('a file with a mistake at the start ends ingest with the place of the mistake', async (context) => {
  const { start } = await setUp(context, '- { name: hot, above: x, metric: t }');
  await assert.rejects(start(), /alerts\.yml:1:23: \[1\]\.above: it must be a finite number/);
});

test('of the readings that the filter of a route leaves out, a sensor is not quiet', async (context) => {
  const { start, publish, directory } = await setUp(context, '- { name: q, device: site, quiet: 3s }\n');
  const routes = join(directory, 'routes.yml');
  await writeFile(
    routes,
    '- { topic: "sensors/{device+}/{metric}", filter: { deadband: 1, silence: 1h } }\n',
  );
  const ingest = await start({ ROUTES: routes });
  await waitUntil('the rules to be used', async () => (await read(ingest)).evaluating, WAIT);
  for (let n = 0; n < 10; n++) {
    await publish('site/a/t', '20');
    await new Promise((resolve) => setTimeout(resolve, 600));
  }
  const { readings } = await ingest.ledger();
  assert.equal(readings.stored, 1);
  assert.deepEqual(statesOf(await read(ingest)), []);
  await until(ingest, ['q site/a   active']);
});
