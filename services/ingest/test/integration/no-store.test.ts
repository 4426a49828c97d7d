import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { findProgram } from '@tidegauge/lab/debian';
import { startPostgres } from '@tidegauge/lab/postgres';
import { startOrSkip, testWith } from '@tidegauge/lab/unavailable';
import { freePort, runProgram } from '@tidegauge/process';
import { publish } from '@tidegauge/test-support/publisher';
import { setUp, storedReadings } from './helpers.ts';

const test = await testWith('mosquitto', () => findProgram('mosquitto', 'mosquitto'));

const BACKUP = fileURLToPath(new URL('../../../backup/src/', import.meta.url));
const COUNT = 1000;
const WAIT_MS = 60_000;

test('ingest starts before its store, and a dead store is replaced by an empty one and a backup, without loss', {
  timeout: 300_000,
}, async (context) => {
  const bench = await setUp(context);
  const port = await freePort();
  const password = 'of-this-test';
  const store = `postgres://tidegauge:${password}@127.0.0.1:${port}/postgres`;
  const direct = await freePort();
  /** An empty server at the address of the store. */
  const startStore = async () => {
    const server = await startPostgres({ port, password });
    context.after(() => server.stop());
    return server;
  };
  const run = (program: string, ...args: readonly string[]) =>
    runProgram(process.execPath, [`${BACKUP}${program}`, '--store', store, ...args], { timeoutMs: WAIT_MS });
  const ports = [bench.broker.port, direct];
  let published = 0;
  /** Sends to the broker, and to ingest itself. All is acknowledged. */
  const send = async () => {
    const first = published / ports.length;
    for (const [side, to] of ports.entries()) {
      const options = { port: to, count: COUNT, devices: 10, first, prefix: `side-${side}` };
      assert.equal((await publish(options)).acknowledged, COUNT);
    }
    published += ports.length * COUNT;
  };

  const ingest = await bench.start({ STORE: store, LISTEN: `mqtt://127.0.0.1:${direct}` });
  await send();
  const before = await ingest.until(({ readings }) => readings.spooled === published, WAIT_MS);
  assert.match(before.trouble!, /^the store is unavailable: is the server running/);
  const notReady = await fetch(`${ingest.url}/readyz`);
  assert.equal(notReady.status, 503);
  assert.match(await notReady.text(), /ECONNREFUSED/);
  assert.match(await (await fetch(`${ingest.url}/metrics`)).text(), /^tidegauge_store_in_use 0$/m);

  const started = await startOrSkip('postgres', startStore);
  if ('skip' in started) return context.skip(started.skip);
  const first = started.server;
  await ingest.until(({ readings }) => readings.stored === published, WAIT_MS);
  assert.equal((await fetch(`${ingest.url}/readyz`)).status, 200);
  await run('main.ts', '--to', `${bench.directory}/backups`);

  await first.kill();
  await first.stop();
  await send();
  await startStore();
  const held = await ingest.until(({ trouble }) => /it is a new store/.test(trouble ?? ''), WAIT_MS);
  await send();
  assert.ok(held.balanced);
  await run('restore-main.ts', '--from', `${bench.directory}/backups`);
  const after = await ingest.until(({ readings }) => readings.stored === published, WAIT_MS);
  assert.deepEqual([after.balanced, after.readings.spooled, after.gaps.missing], [true, 0, 0]);
  assert.equal(after.trouble, null);
  assert.equal(await ingest.stop(), 0);
  const names = ports.flatMap((_, side) =>
    Array.from({ length: 10 }, (_, device) => `side-${side}/probe-${device}`),
  );
  const found = await storedReadings(store, names);
  assert.equal(found.length, published);
  assert.equal(new Set(found.map(({ device, seq }) => `${device} ${seq}`)).size, published);
});
