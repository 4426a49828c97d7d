import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startEmbeddedBroker } from '@tidegauge/lab';
import { freePort } from '@tidegauge/process';
import type { MissingDocument, ResendDocument } from '@tidegauge/readings';
import { type IngestProcess, startIngestProcess } from '@tidegauge/test-support/ingest-process';
import mqtt from 'mqtt';
import { storedReadings } from '../integration/helpers.ts';

// Readings that were lost on the way to ingest, and a sensor that sends them again on request.

const DEVICE = 'site-1/probe';
const PATIENCE_MS = 40_000;

async function setUp(context: TestContext, address: Readonly<Record<string, string>>) {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-resend-'));
  const store = `sqlite:${join(directory, 'store.db')}`;
  const started: IngestProcess[] = [];
  context.after(async () => {
    for (const ingest of started) await ingest.kill();
    await rm(directory, { recursive: true });
  });
  return {
    async start(env: Readonly<Record<string, string>> = {}) {
      const ingest = await startIngestProcess({ STORE: store, DATA_DIR: directory, ...address, ...env });
      started.push(ingest);
      return ingest;
    },
    /** The numbers of all stored readings, in their order. */
    async stored() {
      return (await storedReadings(store, [DEVICE])).map(({ seq }) => seq);
    },
  };
}

/** A sensor that has kept its readings from the number `kept` on. */
async function startSensor(context: TestContext, url: string, kept: number) {
  const client = await mqtt.connectAsync(url, { reconnectPeriod: 100 });
  client.on('error', () => {});
  context.after(() => client.endAsync(true));
  const requests: ResendDocument[] = [];
  const publish = async (from: number, to: number) => {
    for (let seq = from; seq <= to; seq++) {
      const payload = JSON.stringify({ t: 1_790_000_000 + seq, v: seq, boot: 'b', seq });
      await client.publishAsync(`sensors/${DEVICE}/level`, payload, { qos: 1 });
    }
  };
  client.on('message', async (_topic, payload) => {
    const request = JSON.parse(`${payload}`) as ResendDocument;
    requests.push(request);
    for (const [from, to] of request.ranges) await publish(Math.max(from, kept), to);
    const isGone = request.ranges.some(([from]) => from < kept);
    const declaration = JSON.stringify({ boot: request.boot, kept });
    if (isGone) await client.publishAsync(`sensors/${DEVICE}/kept`, declaration, { qos: 1 });
  });
  await client.subscribeAsync(`tidegauge/resend/${DEVICE}`);
  return { publish, requests };
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

test('a sensor that is connected to ingest itself heals its gaps after a kill, and what it has not is gone', async (context) => {
  const port = await freePort();
  const bench = await setUp(context, { LISTEN: `mqtt://127.0.0.1:${port}` });
  const first = await bench.start();
  const sensor = await startSensor(context, `mqtt://127.0.0.1:${port}`, 15);
  await sensor.publish(0, 9);
  await sensor.publish(30, 39);
  await sensor.publish(50, 50);
  await first.until(({ gaps }) => gaps.missing === 30, PATIENCE_MS);
  await first.kill();
  const second = await bench.start();
  const { gaps } = await second.until(({ gaps }) => gaps.missing === 5 && gaps.gone === 5, PATIENCE_MS);
  assert.equal(gaps.healed, 25);
  assert.deepEqual(await bench.stored(), [...range(0, 9), ...range(15, 50)]);
  assert.deepEqual(sensor.requests, [
    {
      device: DEVICE,
      boot: 'b',
      ranges: [
        [10, 29],
        [40, 49],
      ],
    },
  ]);
  const metrics = await (await fetch(`${second.url}/metrics`)).text();
  for (const line of [
    'tidegauge_ledger_missing_readings 5',
    'tidegauge_ledger_gone_readings 5',
    'tidegauge_ledger_healed_readings_total 25',
    'tidegauge_resend_requests_total 1',
  ])
    assert.ok(metrics.includes(`\n${line}\n`), line);

  await second.kill();
  const third = await bench.start();
  const after = (await third.ledger()).gaps;
  assert.deepEqual([after.missing, after.gone, after.healed], [5, 5, 25]);
  const answer = await fetch(`${third.url}/ledger/missing?device=site-1`);
  assert.deepEqual((await answer.json()) as MissingDocument, { missing: [], truncated: false });
});

test('what a broker acknowledged and lost while ingest was killed is sent again and stored once', async (context) => {
  const broker = await startEmbeddedBroker({ port: 0 });
  context.after(() => broker.close());
  const bench = await setUp(context, { BROKER: broker.url });
  const first = await bench.start();
  const sensor = await startSensor(context, broker.url, 0);
  await sensor.publish(0, 1);
  await first.until(({ readings }) => readings.stored === 2, PATIENCE_MS);
  await first.kill();
  await sensor.publish(2, 6);
  // A clean start deletes the queue of the broker.
  const second = await bench.start({ CLEAN_START: 'true' });
  await sensor.publish(7, 7);
  await second.until(({ gaps }) => gaps.missing === 5, PATIENCE_MS);
  const { gaps, readings } = await second.until(({ gaps }) => gaps.missing === 0, PATIENCE_MS);
  assert.deepEqual([gaps.healed, gaps.gone, readings.quarantined], [5, 0, 0]);
  assert.deepEqual(await bench.stored(), range(0, 7));
});
