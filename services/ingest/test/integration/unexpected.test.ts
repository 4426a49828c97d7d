import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPostgres } from '@tidegauge/lab/postgres';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import type { QuarantineDocument } from '@tidegauge/readings';
import { setUp, storedReadings } from './helpers.ts';

/** Fails on one value with an SQLSTATE that no version of PostgreSQL has. */
const TRIGGER = `
  create function fail_on_666() returns trigger language plpgsql as $$
  begin
    if new.value = 666 then raise exception 'the server is at its wits end' using errcode = 'ZZ001'; end if;
    return new;
  end $$;
  create trigger fail_on_666 before insert on readings for each row execute function fail_on_666();`;

test('readings on which the store fails unexpectedly are quarantined with the cause and do not block others', async (context) => {
  const started = await startOrSkip('postgres', startPostgres);
  if ('skip' in started) return context.skip(started.skip);
  const { server } = started;
  context.after(() => server.stop());
  const bench = await setUp(context);
  await server.query('create database unexpected');
  const store = server.url('unexpected');
  const ingest = await bench.start({ STORE: store });
  await server.query(TRIGGER, 'unexpected');
  const client = await bench.client();
  const say = (device: string, value: number) =>
    client.publishAsync(`sensors/${device}/t`, `${value}`, { qos: 1 });
  // First alone, so that only the health check shows that the store works; then among others.
  await say('a', 666);
  await ingest.until(({ readings }) => readings.quarantined === 1, 30_000);
  await Promise.all(Array.from({ length: 200 }, (_, index) => say(`d${index % 5}`, index === 77 ? 666 : 1)));
  // The broker acknowledges them before ingest receives them.
  const ledger = await ingest.until(({ readings }) => readings.stored + readings.quarantined === 201, 30_000);
  assert.ok(ledger.balanced);
  assert.deepEqual([ledger.readings.stored, ledger.readings.quarantined], [199, 2]);
  const devices = Array.from({ length: 5 }, (_, index) => `d${index}`);
  assert.equal((await storedReadings(store, devices)).length, 199);
  const { items } = (await (await fetch(`${ingest.url}/quarantine`)).json()) as {
    items: QuarantineDocument[];
  };
  for (const { reason, detail } of items) {
    assert.equal(reason, 'unexpected');
    assert.match(detail, /^the store failed on (a|d2) t: .*the server is at its wits end/);
  }
  const metrics = await (await fetch(`${ingest.url}/metrics`)).text();
  assert.match(metrics, /^tidegauge_readings_quarantined_total\{reason="unexpected"\} 2$/m);
  assert.match(metrics, /^tidegauge_store_errors_total\{.*kind="UNEXPECTED"\} [1-9]/m);
});
