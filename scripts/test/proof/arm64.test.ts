import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, type TestContext } from 'node:test';
import { temporaryDirectory } from '@tidegauge/lab';
import { arm64Emulator } from '@tidegauge/lab/arm64';
import { testWith } from '@tidegauge/lab/unavailable';
import { freePorts, launchServer, runProgram, waitUntil } from '@tidegauge/process';
import type { LedgerDocument, ReadingDocument } from '@tidegauge/readings';
import mqtt from 'mqtt';
import { buildDebian } from '../../debian/build-debian.ts';
import { ROOT } from '../../setup.js';

const test = await testWith('qemu-user-static', arm64Emulator);

/** Emulated programs take about ten times as long. */
const SLOW_MS = 120_000;
const SUITE_MS = 300_000;
const PI_5_PAGE = 16_384;
const DEVICES = 10;
/** 2026-11-01T00:00:00Z in seconds. */
const START = 1_793_491_200;

const folder = temporaryDirectory('arm64');
const library = join(folder.path, 'usr/lib/tidegauge');
const node = join(library, 'bin/node');

before(async () => {
  const { file } = await buildDebian({ architecture: 'arm64', out: folder.path, quick: true });
  await runProgram('dpkg-deb', ['--extract', file, folder.path]);
});
after(() => folder.remove());

interface Started {
  readonly service: 'ingest' | 'api';
  readonly http: number;
  readonly env: Readonly<Record<string, string>>;
  readonly pageBytes?: number;
}

/** Starts a service of the Debian package, as its unit does. */
async function start(context: TestContext, { service, http, env, ...page }: Started) {
  const program = [node, '--max-semi-space-size=8', join(library, 'bin/tidegauge.js'), service];
  const [command, ...args] = [...(await arm64Emulator(page)), ...program];
  const server = await launchServer({
    name: `${service} on arm64`,
    command: command!,
    args,
    env,
    ready: () =>
      fetch(`http://127.0.0.1:${http}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    readyMs: SLOW_MS,
  });
  context.after(() => server.stop());
  return server;
}

/** Publishes readings with these numbers. Resolves when all are acknowledged. */
async function publish(port: number, first: number, count: number): Promise<void> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`);
  const numbers = Array.from({ length: count }, (_, index) => first + index);
  await Promise.all(
    numbers.map((number) => {
      const reading = { t: START + number, v: number / 8, boot: 'b1', seq: Math.floor(number / DEVICES) };
      const topic = `sensors/probe-${number % DEVICES}/level`;
      return client.publishAsync(topic, JSON.stringify(reading), { qos: 1 });
    }),
  );
  await client.endAsync();
}

async function json<T>(url: string): Promise<T> {
  return (await (await fetch(url)).json()) as T;
}

test('1,000 readings are acknowledged, survive kill -9, and are read back, also with pages of 16 KB', async (context) => {
  const [mqttPort, metrics, http] = (await freePorts(3)) as [number, number, number];
  const file = join(folder.path, 'tidegauge.db');
  const env = {
    STORE: `sqlite:${file}?busy=200`,
    DATA_DIR: join(folder.path, 'ingest'),
    LISTEN: `mqtt://127.0.0.1:${mqttPort}`,
    METRICS_PORT: String(metrics),
    HTTP_PORT: String(http),
  };
  const ledger = async () => (await json<LedgerDocument>(`http://127.0.0.1:${metrics}/ledger`)).readings;
  const first = await start(context, { service: 'ingest', http: metrics, env });
  await publish(mqttPort, 0, 500);
  assert.equal((await ledger()).stored, 500);
  // While another process writes to the file, readings are in the spool.
  const lock = new DatabaseSync(file);
  lock.exec('begin immediate');
  await publish(mqttPort, 500, 500);
  assert.equal((await ledger()).spooled, 500);
  await first.kill();
  lock.close();
  await start(context, { service: 'ingest', http: metrics, env, pageBytes: PI_5_PAGE });
  await waitUntil('the spool to be stored', async () => (await ledger()).stored === 500, {
    timeoutMs: SLOW_MS,
  });
  await start(context, { service: 'api', http, env, pageBytes: PI_5_PAGE });
  for (let device = 0; device < DEVICES; device++) {
    const query = `device=probe-${device}&metric=level&order=asc&limit=1000`;
    const { readings } = await json<{ readings: readonly ReadingDocument[] }>(
      `http://127.0.0.1:${http}/v1/readings?${query}`,
    );
    const expected = Array.from({ length: 1000 / DEVICES }, (_, seq) => [seq, (seq * DEVICES + device) / 8]);
    assert.deepEqual(
      readings.map(({ seq, value }) => [seq, value]),
      expected,
    );
  }
});

// The whole suite takes several minutes when it is emulated.
for (const store of ['sqlite', 'json']) {
  test(`${store} keeps values, texts and their order on arm64, as the conformance suite requires`, async () => {
    const chosen = ['--test-name-pattern=keeps|distinguishes|is ordered', '--test-skip-pattern=killed'];
    const file = `packages/storage/test/conformance/${store}.test.ts`;
    const program = [node, '--test-reporter=tap', ...chosen, file];
    const [command, ...args] = [...(await arm64Emulator()), ...program];
    // This test is in a process of a test runner, and that one must not be.
    const env = { NODE_TEST_CONTEXT: undefined };
    const { stdout } = await runProgram(command!, args, { cwd: ROOT, env, timeoutMs: SUITE_MS });
    assert.match(stdout, /^# pass \d{2,}$/m);
    assert.match(stdout, /^# fail 0$/m);
  });
}
