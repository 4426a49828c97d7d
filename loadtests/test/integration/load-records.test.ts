import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { HttpClient } from '@tidegauge/loadtests/drivers/http-client';
import { type Items, load } from '@tidegauge/loadtests/loading/load';
import { makeTable, recordItems, storeItems } from '@tidegauge/loadtests/loading/load-records';
import { startProcess, temporaryDirectory } from '@tidegauge/process';
import { openStore, type Store } from '@tidegauge/storage';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { initialRecords, parseWorkload, type RecordWorkload } from '@tidegauge/workload';

const PROGRAM = fileURLToPath(new URL('../../src/loadtest.ts', import.meta.url));
const FOREVER = new AbortController().signal;
const SEED = 3;

function workloadOf(count: number, more = ''): RecordWorkload {
  return parseWorkload(`recordcount=${count}\nfieldcount=4\nfieldlength=50\n${more}`, { file: 'test' });
}

async function assertLoaded(store: Store, workload: RecordWorkload): Promise<void> {
  const recordOf = initialRecords(workload, SEED);
  const found = new Map<string, unknown>();
  for (let start = '', more = true; more; ) {
    const page = await store.records.scan(workload.table, start, 10_000, null);
    for (const { key, fields } of page) found.set(key, { ...fields });
    more = page.length === 10_000;
    start = page.at(-1)?.key ?? '';
  }
  assert.equal(found.size, workload.insertCount);
  for (let number = 0; number < workload.insertCount; number += 1) {
    const { key, values } = recordOf(number);
    assert.deepEqual(found.get(key), { ...values });
  }
}

/** Passes requests on to an API, and answers as an API without the bulk route. */
async function withoutBulkRoute(t: TestContext, url: string): Promise<string> {
  const proxy = createServer((incoming, response) => {
    if (incoming.method === 'POST') {
      incoming.resume().on('end', () => response.writeHead(405, { Allow: 'GET, PUT, DELETE' }).end());
      return;
    }
    const { method, headers } = incoming;
    const outgoing = request(new URL(incoming.url!, url), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(outgoing);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.after(() => proxy.close());
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

describe('a load of records', () => {
  const folder = temporaryDirectory('tidegauge-load-');
  const url = `sqlite:${join(folder.path, 'load.db')}`;
  const client = new HttpClient(4, null);
  let store: Store;
  let api: Awaited<ReturnType<typeof startApiProcess>>;
  before(async () => {
    store = await openStore(url);
    api = await startApiProcess({ STORE: url, BODY_LIMIT: '64KiB' });
  });
  after(async () => {
    client.close();
    await api.stop();
    await store.close();
    folder.remove();
  });

  /** Loads twice. The second load inserts nothing. */
  async function loadTwice(items: Items): Promise<void> {
    const first = await load(items, 1, FOREVER);
    assert.deepEqual([first.found, first.inserted], [0, items.count]);
    const second = await load(items, 1, FOREVER);
    assert.deepEqual([second.found, second.inserted], [items.count, 0]);
  }

  test('straight into a store stores each record of the workload', async () => {
    const workload = workloadOf(2500, 'table=straight');
    await store.records.createTable(workload.table, 4);
    await loadTwice(storeItems(store, workload, SEED));
    await assertLoaded(store, workload);
  });

  // 500 records have more than 64 KiB, so the API refuses the first batches, and smaller ones follow.
  test('through the API stores each record, also when the API takes only smaller bodies', async () => {
    const workload = workloadOf(2500, 'table=through');
    await makeTable(api.url, client, workload);
    await loadTwice(recordItems(api.url, client, workload, SEED));
    await assertLoaded(store, workload);
  });

  test('through an API without the bulk route stores each record', async (t) => {
    const workload = workloadOf(700, 'table=oldapi');
    const old = await withoutBulkRoute(t, api.url);
    await makeTable(old, client, workload);
    await loadTwice(recordItems(old, client, workload, SEED));
    await assertLoaded(store, workload);
  });

  test('keeps the records that a run has changed', async () => {
    const workload = workloadOf(2500, 'table=changed');
    await store.records.createTable(workload.table, 4);
    await load(storeItems(store, workload, SEED), 1, FOREVER);
    const { key } = initialRecords(workload, SEED)(2499);
    await store.records.update(workload.table, key, { field1: 'changed' });
    const more = { ...workload, insertCount: 4000, recordCount: 4000 };
    const { found, inserted } = await load(storeItems(store, more, SEED), 1, FOREVER);
    assert.deepEqual([found, inserted], [2500, 1500]);
    assert.equal((await store.records.read(workload.table, key, null))?.field1, 'changed');
  });

  test('that fails names the cause, and how to continue', async () => {
    const workload = workloadOf(10, 'table=nowhere');
    await assert.rejects(
      load(storeItems(store, workload, SEED), 1, FOREVER),
      /table nowhere does not exist\nThe same command goes on from here\.$/,
    );
  });

  test('continues after its process was killed at any moment', { timeout: 180_000 }, async () => {
    const count = 30_000;
    const place = `sqlite:${join(folder.path, 'killed.db')}`;
    const args = [
      'records',
      '--phase',
      'load',
      '--store',
      place,
      '--records',
      String(count),
      '--seed',
      String(SEED),
    ];
    const running = await openStore(place);
    await running.records.createTable('usertable', 10);
    const workload = parseWorkload(`recordcount=${count}`, { file: 'test' });
    const recordOf = initialRecords(workload, SEED);
    const isThere = async (number: number) =>
      (await running.records.read('usertable', recordOf(number).key, ['field0'])) !== null;
    const start = () => startProcess({ command: process.execPath, args: [PROGRAM, ...args] });
    for (const number of [1000, 9000, 17_000]) {
      const process = start();
      while (process.running && !(await isThere(number))) await sleep(5);
      await process.kill();
      assert.equal(await isThere(count - 1), false, 'the process was killed before the end of its load');
    }
    const last = start();
    assert.equal((await last.exited).code, 0, last.log());
    assert.match(last.log(), /loaded [\d,]+ records of usertable, .* were there/);
    await assertLoaded(running, workload);
    await running.close();
  });
});
