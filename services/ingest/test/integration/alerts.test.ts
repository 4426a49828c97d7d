import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '@tidegauge/lab/postgres';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { waitUntil } from '@tidegauge/process';
import type { AlertsDocument } from '@tidegauge/readings';
import { openStore } from '@tidegauge/storage';
import type { IngestProcess } from '@tidegauge/test-support/ingest-process';
import { HOOK_SECRET, startHook } from '../alert-hook.ts';
import { setUp } from './helpers.ts';

// Two ingest processes with one database. One of them evaluates the alert rules, and is killed.

const started = await startOrSkip('postgres', startPostgres);
const skip = 'skip' in started ? started.skip : false;
// The tests are skipped if there is no server.
const server = ('server' in started ? started.server : null)!;
after(() => server?.stop());

const WAIT = { timeoutMs: 60_000 };
const IDS = ['ingest-1', 'ingest-2'];

async function read({ url }: IngestProcess): Promise<AlertsDocument> {
  return (await (await fetch(`${url}/alerts`)).json()) as AlertsDocument;
}

async function startTwo(context: TestContext) {
  const bench = await setUp(context);
  const { hook, url } = await startHook(context);
  const rules = join(bench.directory, 'alerts.yml');
  await writeFile(rules, '- { name: hot, metric: t, above: 30 }\n');
  const database = await server.createDatabase();
  const store = server.url(database);
  const start = (id: string) =>
    bench.start({
      STORE: store,
      ALERTS: rules,
      CLIENT_ID: id,
      SHARE_GROUP: 'ingest',
      ALERT_WEBHOOK: url,
      ALERT_WEBHOOK_SECRET: HOOK_SECRET,
    });
  const both = new Map(await Promise.all(IDS.map(async (id) => [id, await start(id)] as const)));
  const isEvaluating = async (id: string) => (await read(both.get(id)!)).evaluating;
  let evaluating: string | undefined;
  const find = async () => {
    for (const id of both.keys()) if (await isEvaluating(id)) evaluating = id;
    return evaluating !== undefined;
  };
  await waitUntil('one to evaluate', find, WAIT);
  const first = evaluating!;
  const other = IDS.find((id) => id !== first)!;
  const client = await bench.client();
  const publish = (value: number) => client.publishAsync('sensors/site/a/t', String(value), { qos: 1 });
  /** Ends the lease of the killed process, which would end after two minutes. */
  const endLease = async (holder: string = first) => {
    const opened = await openStore(store);
    assert.equal(await opened.lease('alerts', holder, 1000), true);
    await opened.close();
  };
  return { hook, database, both, first, other, start, publish, endLease, isEvaluating };
}

describe('two processes with one database', { concurrency: true, skip }, () => {
  test('an alert that was kept and not sent when its process was killed is sent once by the other', {
    timeout: 240_000,
  }, async (context) => {
    const { hook, both, first, other, start, publish, endLease, isEvaluating } = await startTwo(context);
    assert.equal(await isEvaluating(other), false);
    await publish(31);
    await waitUntil('an attempt to send', () => hook.requests > 0, WAIT);
    await both.get(first)!.kill();
    hook.open = true;
    await endLease();
    await waitUntil('the message', () => hook.messages.length > 0, WAIT);
    assert.equal(await isEvaluating(other), true);
    const [raised] = hook.messages;
    assert.deepEqual([raised!.body.type, raised!.body.data.value], ['alert.raised', 31]);
    both.set(first, await start(first));
    await publish(20);
    await waitUntil('the end', () => hook.messages.length > 1, WAIT);
    assert.equal(await isEvaluating(first), false);
    // The state is kept within a second. Then the one that has it is killed too, and the first one continues.
    await sleep(2500);
    await both.get(other)!.kill();
    await endLease(other);
    await waitUntil('the first one to evaluate again', () => isEvaluating(first), WAIT);
    await sleep(2500);
    assert.deepEqual(
      hook.messages.map(({ id }) => id),
      [raised!.id, raised!.id.replace('raised', 'ended')],
    );
  });

  test('an alert that was raised and not kept when its process was killed is sent once by the other', {
    timeout: 240_000,
  }, async (context) => {
    const { hook, database, both, first, publish, endLease } = await startTwo(context);
    hook.open = true;
    // Writes of the state wait for this transaction.
    const lock = 'do $$ begin lock table tidegauge_alerts in exclusive mode; perform pg_sleep(120); end $$';
    const locked = server.query(lock, database, 150_000).catch(() => {});
    const locks = (what: string) => server.query(`select count(*) from pg_locks where ${what}`, database);
    await waitUntil(
      'the lock',
      async () =>
        (
          await locks("mode = 'ExclusiveLock' and granted and relation = 'tidegauge_alerts'::regclass")
        ).trim() === '1',
      WAIT,
    );
    await publish(31);
    const isRaised = async () => (await read(both.get(first)!)).alerts.length === 1;
    await waitUntil('the alert', isRaised, WAIT);
    await waitUntil('its write', async () => (await locks('not granted')).trim() !== '0', WAIT);
    await both.get(first)!.kill();
    assert.equal(hook.requests, 0, 'it is sent after it is kept');
    await server.query("select pg_terminate_backend(pid) from pg_stat_activity where query like 'do $$%'");
    await locked;
    await endLease();
    await waitUntil('the message', () => hook.messages.length > 0, WAIT);
    await sleep(2500);
    assert.deepEqual(
      hook.messages.map(({ body }) => [body.type, body.data.value]),
      [['alert.raised', 31]],
    );
  });
});
