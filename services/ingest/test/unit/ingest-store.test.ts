import assert from 'node:assert/strict';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { forEach } from '@tidegauge/parallel';
import { temporaryDirectory, waitUntil } from '@tidegauge/process';
import { createLogger } from '@tidegauge/service';
import { isDamaged, openStore, StoreError } from '@tidegauge/storage';
import { IngestStore, type IngestStoreOptions } from '../../src/ingest-store.ts';

const READING = {
  device: 'a',
  metric: 't',
  time: 1e15,
  value: 1,
  received: 1e15,
  seq: null,
  boot: null,
} as const;
const batch = [{ ...READING, quality: 'ok' }] as const;
const SERVERS = ['postgres', 'citus', 'mariadb', 'cassandra', 'hbase', 'mongodb'];

function setUp(context: TestContext) {
  const folder = temporaryDirectory('ingest-store');
  const stores: IngestStore[] = [];
  context.after(async () => {
    for (const store of stores) await store.close();
    folder.remove();
  });
  const file = join(folder.path, 'store.db');
  const journal = join(folder.path, 'ingest.sqlite.identity');
  return {
    file,
    journal,
    url: `sqlite:${file}`,
    async create(url = `sqlite:${file}`, onBroken: IngestStoreOptions['onBroken'] = () => {}) {
      const store = await IngestStore.create({
        url,
        journal,
        logger: createLogger('test', 'silent'),
        onBroken,
      });
      stores.push(store);
      return store;
    },
    async open(url?: string) {
      const store = await this.create(url);
      await store.open();
      return store;
    },
    /** Another server in its place. */
    replace() {
      for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
    },
  };
}

const unavailable = (pattern: RegExp) => (error: unknown) =>
  error instanceof StoreError && error.code === 'UNAVAILABLE' && pattern.test(error.message);
const inUse = (store: IngestStore) =>
  waitUntil(
    () => store.trouble?.message ?? 'it',
    () => store.trouble === null,
    { timeoutMs: 30_000 },
  );

test('a damaged store does not end ingest: calls are refused, at the start and later', async (context) => {
  const bench = setUp(context);
  const onBroken = () => assert.fail('ingest ends');
  const first = await bench.create(bench.url, onBroken);
  await first.open();
  await first.readings.write(batch);
  await first.close();
  const database = new DatabaseSync(bench.file);
  const root = database.prepare("select rootpage from sqlite_schema where name = 'recent'").get()!;
  const page = database.prepare('pragma page_size').get()!.page_size as number;
  const end = (root.rootpage as number) * page;
  database.close();
  const sound = readFileSync(bench.file);

  // Only the newest readings are damaged.
  writeFileSync(bench.file, Buffer.from(sound).fill(0, end - page, end));
  const second = await bench.create(bench.url, onBroken);
  await second.open();
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await assert.rejects(second.readings.write(batch), (error: unknown) => {
      assert.ok(unavailable(/./)(error) && isDamaged(error));
      return true;
    });
  }
  await second.close();

  // All but the header is damaged. The store is used when the file is replaced.
  writeFileSync(bench.file, Buffer.from(sound).fill(0, page));
  const third = await bench.create(bench.url, onBroken);
  await third.open();
  assert.ok(isDamaged(third.trouble));
  await assert.rejects(third.readings.write(batch), unavailable(/./));
  writeFileSync(`${bench.file}.restored`, sound);
  renameSync(`${bench.file}.restored`, bench.file);
  await inUse(third);
  assert.equal((await third.readings.write(batch)).duplicate, 1);
});

for (const [what, host] of [
  ['a host that refuses', '127.0.0.1:1'],
  ['a name that does not resolve', 'store.invalid'],
]) {
  test(`${what} does not prevent the start, and calls are refused with the reason`, async (context) => {
    const bench = setUp(context);
    await forEach(SERVERS, SERVERS.length, async (scheme) => {
      const store = await bench.create(
        `${scheme}://${scheme === 'mongodb' ? 'u:p' : 'u'}@${host}/d?connect=500`,
      );
      await store.open();
      assert.notEqual(store.trouble, null);
      await assert.rejects(store.readings.write(batch), unavailable(/./));
      await assert.rejects(store.health(), unavailable(/./));
      await assert.rejects(store.lease('alerts', 'a', 1000), unavailable(/./));
      await store.close();
    });
  });
}

test('a server that accepts connections and sends nothing does not delay the start for long', async (context) => {
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => server.close());
  const { port } = server.address() as { port: number };
  const store = await setUp(context).create(`postgres://u:p@127.0.0.1:${port}/d?connect=3000`);
  const begun = performance.now();
  await store.open();
  assert.ok(performance.now() - begun < 10_000);
  await assert.rejects(store.readings.write(batch), unavailable(/has not answered yet/));
});

test('wrong settings and a newer schema are errors of the start', async (context) => {
  const bench = setUp(context);
  await assert.rejects(bench.create(`${bench.url}?colour=blue`), { code: 'MISCONFIGURED' });
  const newer = new DatabaseSync(bench.file);
  newer.exec('pragma user_version = 1000');
  newer.close();
  let broken: unknown;
  const store = await bench.create(bench.url, (error) => {
    broken = error;
  });
  await assert.rejects(store.open(), { code: 'MISCONFIGURED' });
  assert.equal((broken as StoreError).code, 'MISCONFIGURED');
});

test('a store that answers later is used without a restart', async (context) => {
  const bench = setUp(context);
  await (await openStore(bench.url)).close();
  const lock = new DatabaseSync(bench.file);
  lock.exec('pragma locking_mode = exclusive; begin exclusive');
  const store = await bench.open(`${bench.url}?busy=100`);
  await assert.rejects(store.readings.write(batch), unavailable(/./));
  lock.close();
  await store.opened;
  assert.equal(store.trouble, null);
  assert.deepEqual(await store.readings.write(batch), { stored: 1, duplicate: 0 });
});

test('a new store in place of the known one is not written to until a backup is restored to it', async (context) => {
  const bench = setUp(context);
  const first = await bench.open();
  await first.readings.write(batch);
  const identity = await first.identity();
  await first.close();
  // The same store is used again.
  await (await bench.open()).close();
  bench.replace();
  const held = await bench.open();
  assert.match(
    held.trouble!.message,
    /is a new store, not the one that ingest wrote to: restore a backup .* or delete .*ingest\.sqlite\.identity/,
  );
  await assert.rejects(held.readings.write(batch), unavailable(/is a new store/));
  const restored = await openStore(bench.url);
  assert.equal(await restored.identity(), null);
  await restored.identify(identity!);
  await restored.close();
  await inUse(held);
  assert.deepEqual(await held.readings.write(batch), { stored: 1, duplicate: 0 });
});

test('another store is used as it is when the journal is deleted', async (context) => {
  const bench = setUp(context);
  writeFileSync(bench.journal, 'of-another-store\n');
  const store = await openStore(bench.url);
  await store.identify('this-one');
  await store.close();
  const held = await bench.open();
  assert.match(held.trouble!.message, /is another store/);
  rmSync(bench.journal);
  await inUse(held);
  await held.readings.write(batch);
  await held.close();
  assert.equal((await bench.open()).trouble, null);
});

test('a damaged journal is replaced, and the store is used as it is', async (context) => {
  const bench = setUp(context);
  const first = await bench.open();
  const identity = await first.identity();
  await first.close();
  for (const damage of ['', '\0\0\0', Buffer.from([0xa5, 0x00, 0xff])]) {
    writeFileSync(bench.journal, damage);
    const store = await bench.open();
    assert.equal(store.trouble, null);
    await store.close();
    assert.equal(readFileSync(bench.journal, 'utf8'), `${identity}\n`);
  }
});

test('a busy store is compared once, an idle one before its next call', async (context) => {
  const bench = setUp(context);
  const seen: string[] = [];
  const store = await IngestStore.create({
    url: bench.url,
    journal: bench.journal,
    logger: createLogger('test', 'silent'),
    onBroken: (error) => assert.fail(String(error)),
    observe: (operation) => seen.push(operation),
  });
  context.after(() => store.close());
  await store.open();
  seen.length = 0;
  for (let count = 0; count < 100; count++) await store.readings.write(batch);
  assert.deepEqual(new Set(seen), new Set(['readings.write']));
  // While it is idle, another process gives the store another identity.
  const identity = await store.identity();
  const other = new DatabaseSync(bench.file);
  context.after(() => other.close());
  const { user_version: schema } = other.prepare('pragma user_version').get()!;
  other.exec(`update tidegauge_state set value = 'other' where name = 'identity'`);
  await sleep(1100);
  await assert.rejects(store.readings.write(batch), unavailable(/is another store/));
  // A server that is not set up yet, for example without its database, does not end a process that used it.
  other.exec('pragma user_version = 1000');
  await waitUntil('its refusal', () => /newer than/.test(store.trouble!.message), { timeoutMs: 30_000 });
  other.exec(`update tidegauge_state set value = '${identity}' where name = 'identity'`);
  other.exec(`pragma user_version = ${schema}`);
  await inUse(store);
});
