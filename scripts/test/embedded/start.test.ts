import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePorts } from '@tidegauge/process';
import type { LedgerDocument, ReadingDocument } from '@tidegauge/readings';
import { openStore } from '@tidegauge/storage';
import { runHere } from '@tidegauge/test-support/run-here';
import mqtt from 'mqtt';
import { program } from '../../../apps/tidegauge/src/start.ts';
import { NODE, ROOT } from '../../setup.js';
import { startPipeline } from './pipeline-process.ts';

const START = ['apps/tidegauge/src/main.ts', 'start'];

/** Processes of the pipeline that still use a directory. */
function leftOver(directory: string): string[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8') + readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        return '';
      }
    })
    .filter((text) => text.includes(directory) && !text.includes('test-files.ts'));
}

async function until<T>(ask: () => Promise<T>, done: (answer: T) => boolean, timeoutMs = 20_000): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (done(answer)) return answer;
    if (Date.now() > deadline) throw new Error(`not so within ${timeoutMs} ms: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const json = async <T>(url: string) => (await (await fetch(url)).json()) as T;

test('one command runs the pipeline, stores simulated and real readings, and loses none on Ctrl-C', async (context) => {
  const pipeline = await startPipeline(context);
  const ledger = () =>
    json<{ readings: LedgerDocument['readings']; balanced: boolean }>(`${pipeline.api}/v1/ledger`);
  await until(ledger, ({ readings }) => readings.stored >= 200);

  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${pipeline.mqttPort}`);
  await client.publishAsync('sensors/kitchen/temperature', '21.5', { qos: 1 });
  await client.endAsync();
  const latest = () =>
    json<{ readings: ReadingDocument[] }>(`${pipeline.api}/v1/readings/latest?device=kitchen`);
  const { readings } = await until(latest, (answer) => answer.readings.length === 1);
  assert.equal(readings[0]!.value, 21.5);

  // A route can be added without any setting.
  const added = await fetch(`${pipeline.api}/v1/routes`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ route: { topic: 'plant/{device}/{metric}' } }),
  });
  assert.equal(added.status, 200, await added.text());
  const routes = readFileSync(join(pipeline.directory, 'routes.yml'), 'utf8');
  assert.match(routes, /^- topic: sensors\/.*\n- topic: plant/);

  // Ingest has a token that only the API has, so that its port allows no more than the API.
  const change = await fetch(`${pipeline.ingest}/quarantine/discard`, { method: 'POST' });
  assert.equal(change.status, 401);
  assert.equal((await fetch(`${pipeline.api}/v1/quarantine/discard`, { method: 'POST' })).status, 200);

  const before = (await ledger()).readings;
  assert.equal(await pipeline.interrupt(), 0, pipeline.output());
  assert.deepEqual(leftOver(pipeline.directory), []);

  // Every boot of every device is stored without a gap, so all readings before the stop are stored.
  const store = await openStore(`sqlite:${join(pipeline.directory, 'tidegauge.db')}`);
  context.after(() => store.close());
  let count = 0;
  for (const { name } of await store.devices.list({ limit: 1000 })) {
    const sequence = new Set<number>();
    for await (const { seq } of store.readings.range({ device: name, limit: 100_000 })) {
      count++;
      if (seq !== null) sequence.add(seq);
    }
    if (sequence.size > 0) assert.equal(Math.max(...sequence) + 1, sequence.size, `${name} has a gap`);
  }
  assert.ok(
    count >= before.stored,
    `${count} readings in the store, ${before.stored} were stored before the stop`,
  );
});

test('when the parent is killed, its children end too', async (context) => {
  const pipeline = await startPipeline(context, '--sensors', '2');
  assert.notEqual(leftOver(pipeline.directory).length, 0);
  pipeline.kill();
  await until(
    async () => leftOver(pipeline.directory),
    (left) => left.length === 0,
    30_000,
  );
});

test('a port in use is reported with the flag that changes it', async (context) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-taken-'));
  context.after(async () => {
    taken.close();
    await rm(directory, { recursive: true });
  });
  const { port } = taken.address() as { port: number };
  for (const flag of ['--mqtt-port', '--http-port', '--metrics-port']) {
    const [http, mqtt, metrics] = await freePorts(3);
    const ports = ['--http-port', `${http}`, '--mqtt-port', `${mqtt}`, '--metrics-port', `${metrics}`];
    const args = [...START, '--no-sim', '--data', directory, ...ports, flag, `${port}`];
    const { status, stderr } = spawnSync(NODE, args, { cwd: ROOT, encoding: 'utf8', timeout: 60_000 });
    assert.equal(status, 2, stderr);
    assert.match(stderr, new RegExp(`port ${port} .*is taken: choose another with .*${flag}`), stderr);
  }
});

test('a second pipeline on the same directory or ports is refused with the reason', async (context) => {
  const first = await startPipeline(context, '--no-sim');
  const open = readdirSync(first.directory).filter((name) => {
    const { mode } = statSync(join(first.directory, name));
    return (mode & 0o077) !== 0;
  });
  assert.deepEqual(open, [], 'files that others may read');
  const [http, mqtt, metrics] = await freePorts(3);
  const own = ['--http-port', `${http}`, '--mqtt-port', `${mqtt}`, '--metrics-port', `${metrics}`];
  const start = (...flags: string[]) =>
    spawnSync(NODE, [...START, '--no-sim', ...own, ...flags], {
      cwd: ROOT,
      encoding: 'utf8',
      timeout: 60_000,
    });
  const sameDirectory = start('--data', first.directory);
  assert.equal(sameDirectory.status, 2, sameDirectory.stderr);
  assert.match(sameDirectory.stderr, /is used by another Tidegauge \(process \d+ on .+\): .* --data/);

  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-second-'));
  context.after(() => rm(directory, { recursive: true }));
  const ports = { '--metrics-port': new URL(first.ingest).port, '--http-port': new URL(first.api).port };
  for (const [flag, port] of Object.entries(ports)) {
    const { status, stdout, stderr } = start('--data', directory, flag, port);
    assert.equal(status, 2, stderr);
    assert.match(stderr, new RegExp(`port ${port} .*is taken`));
    assert.doesNotMatch(stdout, /Tidegauge is running/);
  }
});

test('the parts receive their settings from the environment', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'tidegauge-routes-'));
  context.after(() => rm(folder, { recursive: true }));
  const routes = join(folder, 'routes.yaml');
  await writeFile(routes, "- { name: factory, topic: 'factory/{device}/{metric}', format: plain }\n");
  process.env.ROUTES = routes;
  const pipeline = await startPipeline(context, '--no-sim');
  delete process.env.ROUTES;
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${pipeline.mqttPort}`);
  await client.publishAsync('factory/press/temperature', '21.5', { qos: 1 });
  await client.endAsync();
  const { readings } = await until(
    () => json<{ readings: ReadingDocument[] }>(`${pipeline.api}/v1/readings/latest?device=press`),
    (answer) => answer.readings.length === 1,
  );
  assert.equal(readings[0]!.value, 21.5);
});

test('a wrong URL is reported with the reason before anything is installed or started', {
  timeout: 60_000,
}, async () => {
  for (const [flags, expected] of [
    [['--store', 'foo://h/db'], /its scheme is foo\n$/],
    [['--store', 'postgress://u:hunter2@h/db'], /its scheme is postgress: did you mean postgres\?\n$/],
    [
      ['--store', 'postgres://u:hunter2@h/db?conections=3'],
      /has no option "conections": did you mean connections\?/,
    ],
    [['--broker', 'http://h'], /must be a URL that begins with mqtt:/],
    [['--sensor', '5'], /unknown option --sensor: did you mean --sensors\?/],
  ] as const) {
    const { code, stderr } = await runHere(program, ...flags);
    assert.equal(code, 2, stderr);
    assert.match(stderr, expected);
    assert.doesNotMatch(stderr, /Installing|hunter2/);
  }
});

test('listening on other addresses without passwords is refused with a hint', {
  timeout: 60_000,
}, async () => {
  const { code, stderr } = await runHere(program, '--listen', '0.0.0.0');
  assert.equal(code, 2);
  assert.match(
    stderr,
    /--listen 0\.0\.0\.0 opens Tidegauge to others: set MQTT_USER .* and MQTT_PASSWORD .* and API_TOKEN/,
  );
});
