import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { STORE_SERVERS, type StoreServer } from '@tidegauge/lab/stores';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgram, temporaryDirectory } from '@tidegauge/process';
import { openStore } from '@tidegauge/storage';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { publish } from '@tidegauge/test-support/publisher';
import { fillStore } from '@tidegauge/test-support/sample-readings';
import { setUp, storedReadings } from './helpers.ts';

// What runs on every store, on one start of each server: the pipeline, a backup and its restore, and a copy. The copies are
// a chain: from SQLite through JSON files and all servers back to SQLite.

const COUNT = 5000;
const DEVICES = 100;
const STORED_MS = 60_000;
const BACKED_UP = 1000;
const COPIED = 2000;
const names = Array.from({ length: DEVICES }, (_, device) => `bench/probe-${device}`);

const programOf = (path: string): string => fileURLToPath(new URL(`../../../../${path}`, import.meta.url));
const COPY = programOf('apps/copy/src/main.ts');
const BACKUP = programOf('services/backup/src/main.ts');
const RESTORE = programOf('services/backup/src/restore-main.ts');

const folder = temporaryDirectory('backends');
const [first, back] = [`sqlite:${folder.path}/first.db`, `sqlite:${folder.path}/back.db`];
/** The end of the chain of copies. */
let chainEnd = `json:${folder.path}/files`;
/** The server of the test, and the one at the end of the chain. */
const running: StoreServer[] = [];
after(async () => {
  for (const server of running) await server.stop();
  folder.remove();
});

async function assertStoredOnce(store: string): Promise<void> {
  const readings = await storedReadings(store, names);
  assert.equal(readings.length, COUNT);
  assert.equal(new Set(readings.map(({ device, seq }) => `${device} ${seq}`)).size, COUNT);
  for (const { device, seq, value } of readings) {
    const number = seq! * DEVICES + Number(device.slice(device.lastIndexOf('-') + 1));
    assert.equal(value, (number % 1000) / 10, `${device} ${seq}`);
  }
}

/** The result of a run of a program that must succeed. */
async function resultOf(main: string, ...args: readonly string[]) {
  const options = { accept: 'any', timeoutMs: 600_000 } as const;
  const { code, stdout, stderr } = await runProgram(process.execPath, [main, ...args, '--json'], options);
  assert.equal(code, 0, `${stdout}${stderr}`);
  return JSON.parse(stdout);
}

const copied = (from: string, to: string) => resultOf(COPY, '--from', from, '--to', to);

test('the chain of copies begins with SQLite and JSON files', async () => {
  await fillStore(openStore(first), COPIED);
  await copied(first, chainEnd);
});

for (const [name, { start }] of Object.entries(STORE_SERVERS)) {
  test(`everything runs unchanged on ${name}`, async (context) => {
    const started = await startOrSkip(name, () => start(1));
    if ('skip' in started) return context.skip(started.skip);
    const { server } = started;
    running.push(server);
    /** A new database. In HBase it has few regions, because the server has five and a small heap. */
    const placeOf = async (place: string): Promise<string> =>
      `${await server.create(place)}${name === 'hbase' ? '?presplit=3' : ''}`;

    await context.test('ingest stores what is published, and the API reads it', async (step) => {
      const bench = await setUp(step);
      const store = await server.create('pipeline');
      const ingest = await bench.start({ STORE: store });
      await publish({ port: bench.broker.port, count: COUNT, devices: DEVICES });
      const ledger = await ingest.until(({ readings }) => readings.stored >= COUNT, STORED_MS);
      assert.ok(ledger.balanced);
      assert.equal(ledger.readings.stored, COUNT);
      const api = await startApiProcess({ STORE: store, INGEST: ingest.url });
      step.after(() => api.kill());
      const newest = await fetch(`${api.url}/v1/readings?device=${encodeURIComponent(names[7]!)}&limit=10`);
      assert.equal(newest.status, 200);
      const { readings } = (await newest.json()) as { readings: { device: string; seq: number }[] };
      const last = COUNT / DEVICES - 1;
      assert.deepEqual(
        readings.map(({ device, seq }) => [device, seq]),
        Array.from({ length: 10 }, (_, index) => [names[7], last - index]),
      );
      const device = await fetch(`${api.url}/v1/devices/${encodeURIComponent(names[7]!)}`);
      assert.equal(device.status, 200, 'it was registered on its first reading');
      assert.equal(await api.stop(), 0);
      assert.equal(await ingest.stop(), 0);
      await assertStoredOnce(store);
    });

    await context.test('two replicas that start at once on an empty store share the work', async (step) => {
      const bench = await setUp(step);
      const store = await placeOf('replicas');
      const replicas = await Promise.all(
        ['ingest-1', 'ingest-2'].map((id) =>
          bench.start({ STORE: store, CLIENT_ID: id, SHARE_GROUP: 'ingest' }),
        ),
      );
      await publish({ port: bench.broker.port, count: COUNT, devices: DEVICES });
      const deadline = Date.now() + STORED_MS;
      let stored = 0;
      for (; stored < COUNT; await delay(100)) {
        assert.ok(Date.now() < deadline, `${stored} of ${COUNT} are stored`);
        const ledgers = await Promise.all(replicas.map((replica) => replica.ledger()));
        stored = ledgers.reduce((sum, { readings }) => sum + readings.stored, 0);
      }
      for (const replica of replicas) {
        assert.ok((await replica.ledger()).balanced);
        assert.equal(await replica.stop(), 0);
      }
      await assertStoredOnce(store);
    });

    await context.test('a backup is restored to an empty store, with equal digests', async () => {
      const [saved, restored] = [await placeOf('first'), await placeOf('second')];
      await fillStore(openStore(saved), BACKED_UP);
      const source = await openStore(saved);
      await source.identify(`data-of-${name}`);
      await source.close();
      const place = join(folder.path, `backup-of-${name}`);
      await mkdir(place);
      const made = await resultOf(BACKUP, '--store', saved, '--to', place);
      assert.deepEqual(
        [made.method, made.readings.count, made.units.count > 0],
        ['portable', BACKED_UP, true],
      );
      const found = await resultOf(RESTORE, '--from', place, '--store', restored);
      assert.deepEqual([found.verified, found.problem], [true, null]);
      const target = await openStore(restored);
      assert.equal(await target.identity(), `data-of-${name}`);
      await target.close();
    });

    await context.test('a copy of the store before has every reading, unit and device', async (step) => {
      const to = await placeOf('chain');
      const { readings, units, devices, readingsPerSecond } = await copied(chainEnd, to);
      step.diagnostic(`${readingsPerSecond} readings/s`);
      assert.deepEqual(
        [readings.written, readings.equal, readings.details, readings.refused, units.missing > 0],
        [COPIED, 0, 0, 0, true],
        JSON.stringify({ readings, units, devices }),
      );
      const again = await copied(chainEnd, to);
      assert.equal(again.readings.written, 0, 'a second copy writes nothing');
      chainEnd = to;
      for (const before of running.splice(0, running.length - 1)) await before.stop();
    });
  });
}

test('the chain of copies ends with what it began with', async () => {
  await copied(chainEnd, back);
  const found = await resultOf(COPY, 'verify', '--from', first, '--to', back);
  assert.deepEqual([found.equal, found.source.readings], [true, COPIED]);
});
