import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startEmbeddedBroker } from '@tidegauge/lab';
import type { QuarantineStepDocument } from '@tidegauge/readings';
import { type IngestProcess, startIngestProcess } from '@tidegauge/test-support/ingest-process';
import mqtt from 'mqtt';
import type { QuarantinePage } from '../../src/quarantine.ts';
import { storedReadings } from './helpers.ts';

/** The data directory and the SQLite store of an ingest of version 0.1.0: see the README files beside them. */
const DATA = new URL('../upgrade/data', import.meta.url).pathname;
const STORE = new URL('../../../../packages/storage/test/upgrade/fixtures/0.1.0/store.db', import.meta.url)
  .pathname;
/** Readings in the two segments of the spool, and messages in the quarantine. */
const SPOOLED = 82;
const QUARANTINED = 9;
/** 2026-11-01T00:00:00Z in microseconds. */
const START = 1_793_491_200_000_000;
const MINUTE = 60_000_000;
/** In version 0.1.0, the second route took SenML only. */
const ROUTES = `
- {name: usual, topic: "sensors/{device+}/{metric}"}
- {name: strict, topic: "strict/{device}/{metric}"}
`;

async function setUp(context: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-upgrade-'));
  await cp(DATA, directory, { recursive: true });
  await cp(STORE, join(directory, 'store.db'));
  await writeFile(join(directory, 'routes.yml'), ROUTES);
  const broker = await startEmbeddedBroker({ port: 0 });
  const store = `sqlite:${join(directory, 'store.db')}`;
  const started: IngestProcess[] = [];
  context.after(async () => {
    for (const ingest of started) await ingest.kill();
    await broker.close();
    await rm(directory, { recursive: true });
  });
  return {
    directory,
    store,
    broker,
    async start() {
      const settings = { BROKER: broker.url, DATA_DIR: directory, ROUTES: join(directory, 'routes.yml') };
      const ingest = await startIngestProcess({ STORE: store, ...settings });
      started.push(ingest);
      return ingest;
    },
    readings: (device: string) => storedReadings(store, [device]),
  };
}

async function quarantineOf(ingest: IngestProcess): Promise<QuarantinePage> {
  return (await (await fetch(`${ingest.url}/quarantine`)).json()) as QuarantinePage;
}

async function replay(ingest: IngestProcess): Promise<QuarantineStepDocument> {
  const response = await fetch(`${ingest.url}/quarantine/replay`, { method: 'POST' });
  assert.equal(response.status, 200);
  return (await response.json()) as QuarantineStepDocument;
}

const valuesOf = (readings: readonly { readonly value: unknown }[]) => readings.map(({ value }) => value);

test('the spool and the quarantine of version 0.1.0 are stored exactly once', async (context) => {
  const { directory, broker, start, readings } = await setUp(context);
  const first = await start();
  const drained = await first.until(({ readings }) => readings.spooled + readings.inFlight === 0, 20_000);
  assert.ok(drained.balanced);
  assert.equal(drained.readings.received, SPOOLED);
  assert.equal(drained.readings.stored + drained.readings.duplicate, SPOOLED);
  assert.deepEqual(await readdir(join(directory, 'spool', 'tidegauge-ingest')), []);

  const minutes = (count: number) => Array.from({ length: count }, (_, minute) => minute);
  assert.deepEqual(valuesOf(await readings('site-4/probe-0')), minutes(30));
  const [corrected, ...others] = valuesOf(await readings('site-4/probe-1'));
  assert.equal(corrected, 'corrected');
  assert.deepEqual(
    others,
    minutes(20)
      .slice(1)
      .map((minute) => minute + 0.25),
  );
  assert.deepEqual(
    valuesOf(await readings('site-4/probe-2')),
    minutes(20).map((minute) => minute + 0.5),
  );
  // Stored by version 0.1.0 before; two were duplicates in the spool, the third a correction.
  assert.deepEqual(valuesOf(await readings('site-3/boiler')).slice(0, 4), [20, -4, 20.125, 99]);
  const stamped = await readings('stamped');
  assert.deepEqual(
    stamped.map(({ boot, seq }) => [boot, seq]),
    [
      ['b1', 0],
      ['b1', 1],
    ],
  );
  assert.deepEqual(valuesOf(await readings('plain')), [21.5]);
  assert.deepEqual(valuesOf(await readings('gateway/a')), [1]);
  assert.deepEqual(valuesOf(await readings('gateway/b')), [2]);
  const pack = await storedReadings(`sqlite:${join(directory, 'store.db')}`, ['pack/x', 'pack', 'x']);
  assert.deepEqual(
    pack.map(({ time, value }) => [time, value]),
    [
      [START, 1],
      [START + MINUTE, 2],
    ],
  );

  const list = await quarantineOf(first);
  assert.equal(list.total, QUARANTINED);
  const sources = list.items.map(({ source, topic }) => [source, topic]);
  assert.deepEqual(sources.slice(0, 3), [
    ['http', 'POST /readings'],
    ['http', 'POST /readings?device=posted&metric=temperature'],
    ['mqtt', 'sensors/bad/temperature'],
  ]);
  const step = await replay(first);
  assert.deepEqual(step, { tried: 9, removed: 5, stored: 5, duplicate: 0, next: null });
  assert.deepEqual(valuesOf(await readings('late')), [0, 1, 2, 3, 4]);
  assert.deepEqual(await replay(first), { tried: 4, removed: 0, stored: 0, duplicate: 0, next: null });

  const client = await mqtt.connectAsync(broker.url);
  await client.publishAsync('sensors/site-4/probe-0/temperature', '{"t":"2026-11-01T00:00:00Z","v":-1}', {
    qos: 1,
  });
  await client.endAsync();
  // Levels of topics stay as version 0.1.0 read them.
  assert.equal(await readFile(join(directory, 'topic-levels'), 'utf8'), 'drop\n');
  const after = await first.until(({ readings }) => readings.stored + readings.duplicate > SPOOLED, 20_000);
  assert.ok(after.balanced);
  assert.equal(await first.stop(), 0);

  const second = await start();
  const ledger = await second.ledger();
  assert.equal(ledger.readings.received, 0);
  assert.deepEqual(valuesOf(await readings('site-4/probe-0')), [-1, ...minutes(30).slice(1)]);
  assert.equal((await quarantineOf(second)).total, 4);
  assert.equal(await second.stop(), 0);
});
