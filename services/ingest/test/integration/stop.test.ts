import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { findProgram } from '@tidegauge/lab/debian';
import { startPostgres } from '@tidegauge/lab/postgres';
import { startOrSkip, testWith } from '@tidegauge/lab/unavailable';
import { waitUntil } from '@tidegauge/process';
import { publish } from '@tidegauge/test-support/publisher';
import { setUp } from './helpers.ts';

const test = await testWith('mosquitto', () => findProgram('mosquitto', 'mosquitto'));

const post = (url: string, signal: AbortSignal | null = null) =>
  fetch(`${url}/readings`, {
    method: 'POST',
    body: JSON.stringify({ device: 'site-1', metric: 't', v: 1 }),
    headers: { 'content-type': 'application/json' },
    signal,
  });

/** Milliseconds from the stop signal to the end of the process, and its exit code. */
async function timeToStop(ingest: { stop(): Promise<number | null> }) {
  const begun = performance.now();
  const code = await ingest.stop();
  return { code, seconds: (performance.now() - begun) / 1000 };
}

test('a stop under load stores messages in flight and accepts no more, also when the pipeline is full', async (context) => {
  const bench = await setUp(context);
  const limits = { MAX_IN_FLIGHT: '200', PACE: '500ms', STOP_TIMEOUT: '40s' };
  const ingest = await bench.start(limits);
  const live = await fetch(`${ingest.url}/live`);
  // At 200 readings in 500 ms it takes far longer than the test to store them all.
  const count = 50_000;
  const published = publish({ port: bench.broker.port, count, devices: 50 });
  await ingest.until(({ readings }) => readings.stored > 500, 30_000);
  const { code, seconds } = await timeToStop(ingest);
  assert.equal(code, 0);
  assert.ok(seconds < 10, `${seconds} s`);
  await live.text();
  await published;
});

test('a stop ends at STOP_TIMEOUT when the store stays unavailable, and HTTP accepts nothing meanwhile', async (context) => {
  const bench = await setUp(context);
  const env = { STORE: `${bench.store}?busy=100`, SPOOL_MAX_BYTES: '0', STOP_TIMEOUT: '4s' };
  const ingest = await bench.start(env);
  const lock = new DatabaseSync(bench.store.slice('sqlite:'.length));
  lock.exec('begin immediate');
  context.after(() => lock.close());
  const client = await bench.client();
  await client.publishAsync('sensors/site-1/t', '1', { qos: 1 });
  await ingest.until(({ readings }) => readings.inFlight === 1, 10_000);
  const stopped = timeToStop(ingest);
  let ended = false;
  void stopped.then(() => {
    ended = true;
  });
  let refused = '';
  while (!refused.includes('stopping')) {
    assert.ok(!ended, 'it ended without refusing');
    // A request that arrives before the signal waits for the store, and gets no answer within this time.
    const response = await post(ingest.url, AbortSignal.timeout(300)).catch(() => null);
    if (response === null) continue;
    assert.equal(response.status, 503);
    refused = await response.text();
  }
  const { seconds } = await stopped;
  assert.ok(seconds > 2 && seconds < 8, `${seconds} s`);
  lock.exec('rollback');
  const again = await bench.start({ STORE: bench.store });
  const ledger = await again.until(({ readings }) => readings.stored === 1, 10_000);
  assert.ok(ledger.balanced);
});

test('a stop does not wait for rollups that the store blocks before it leaves the broker', async (context) => {
  const started = await startOrSkip('postgres', startPostgres);
  if ('skip' in started) return context.skip(started.skip);
  const { server } = started;
  context.after(() => server.stop());
  const bench = await setUp(context);
  await server.query('create database stop');
  const store = server.url('stop');
  // The first start creates the tables.
  await (await bench.start({ STORE: store })).stop();
  const lock = 'do $$ begin lock table tidegauge_leases; perform pg_sleep(60); end $$';
  const held = server.query(lock, 'stop', 90_000).catch(() => 'ended');
  const count = (of: string) => server.query(`select count(*) from pg_stat_activity where ${of}`, 'stop');
  const waitFor = (what: string, of: string) =>
    waitUntil(what, async () => (await count(of)).trim() === '1', { timeoutMs: 20_000 });
  await waitFor('the lock', "wait_event = 'PgSleep'");
  const ingest = await bench.start({ STORE: store, STOP_TIMEOUT: '20s' });
  await waitFor('rollups that wait for the lock', "wait_event_type = 'Lock'");
  const stopped = timeToStop(ingest);
  await ingest.until(({ mqtt }) => !mqtt.connected, 10_000);
  assert.equal((await count("wait_event_type = 'Lock'")).trim(), '1', 'the rollups still wait');
  await server.query("select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'");
  await held;
  const { code } = await stopped;
  assert.equal(code, 0);
});
