import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { installOnlyInCi } from '@tidegauge/lab/install-policy';
import { memoryLimitRefusal } from '@tidegauge/lab/node-group';
import { startToxiproxy } from '@tidegauge/lab/toxiproxy';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgram } from '@tidegauge/process';
import { openStore, type Store } from '@tidegauge/storage';
import type { Combination, Deployment, Study } from '../../src/model.ts';
import { labPlace } from '../../src/places/lab.ts';

const ROWS = 200;
const TABLE = 'study_s1_raw';
const RECORDS = Array.from({ length: ROWS }, (_, key) => ({
  key: `user${key}`,
  fields: { field0: `value ${key}`, field1: 'x'.repeat(100) },
}));

installOnlyInCi();
const place = labPlace();

function study(more: Partial<Study> = {}): Study {
  const repeat = { pairing: 'none', paired: [] };
  return { fixed: {}, easy: {}, hard: {}, networks: {}, state: {}, repeat, ...more } as unknown as Study;
}

async function fill(store: Store): Promise<void> {
  await store.records.createTable(TABLE, 2);
  for (const { key, fields } of RECORDS) assert.ok(await store.records.insert(TABLE, key, fields));
}

async function using<T>(url: string, act: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(url);
  try {
    return await act(store);
  } finally {
    await store.close();
  }
}

/** Loads records directly, reads one through the API, and checks what the deployment reports of itself. */
async function exercise(deployment: Deployment, store: string): Promise<void> {
  const url = (await deployment.storeUrl('study_app', {}))!;
  assert.equal(await deployment.storeUrl('study_app', {}), url);
  const before = (await deployment.storedBytes())!;
  await using(url, fill);
  const { url: api, token } = await deployment.api(url);
  assert.deepEqual(await deployment.api(url), { url: api, token });
  const response = await fetch(`${api}/v1/records/${TABLE}/user7`);
  assert.equal(response.status, 200, await response.clone().text());
  assert.match(await response.text(), /value 7/);
  const after = (await deployment.storedBytes())!;
  assert.ok(after > before || store === 'postgres', `${after} bytes after ${before}`);
  const { command, args } = deployment.command('program.ts', ['--flag']);
  assert.equal(command, process.execPath);
  assert.deepEqual(args.slice(-2), ['program.ts', '--flag']);
  const servers = store === 'mongodb' ? ['mongodb', 'ferretdb'] : [store];
  const names = Object.keys(deployment.versions);
  assert.ok(names.length === 1 && servers.includes(names[0]!), names.join());
  for (const node of deployment.nodes()) {
    assert.ok(node.pids().length > 0, node.name);
    for (const pid of node.pids()) assert.ok(existsSync(`/proc/${pid}`), node.name);
  }
}

/** A digest of all records of the table. */
async function digestOf(url: string): Promise<string> {
  const records = await using(url, (store) => store.records.scan(TABLE, '', 2 * ROWS, null));
  const lines = records.map(({ key, fields }) => JSON.stringify([key, Object.entries(fields).toSorted()]));
  return createHash('sha256').update(lines.toSorted().join('\n')).digest('hex');
}

/** As workload D and others leave it. */
async function change({ records }: Store): Promise<void> {
  await records.update(TABLE, 'user7', { field0: 'changed' });
  await records.delete(TABLE, 'user8');
  for (let key = ROWS; key < ROWS + 50; key += 1) {
    await records.insert(TABLE, `user${key}`, { field0: 'new', field1: 'new' });
  }
}

/** A restored table is equal to a loaded one, although the API was connected all the time. */
async function exerciseSnapshots(deployment: Deployment): Promise<void> {
  const snapshots = deployment.snapshots!;
  const url = (await deployment.storeUrl('study_app', {}))!;
  const { url: api } = await deployment.api(url);
  const loaded = await digestOf(url);
  const bytes = (await deployment.storedBytes())!;
  const restore = (): Promise<void> => snapshots.restore('a key', 'study_app', TABLE);
  assert.equal(await snapshots.has('a key'), false);
  await assert.rejects(restore(), /no snapshot a key/);
  await snapshots.save('a key', 'study_app', TABLE);
  assert.equal(await snapshots.has('a key'), true);
  // The copy is not data of the experiment.
  assert.ok((await deployment.storedBytes())! < bytes * 1.5);

  await using(url, change);
  assert.notEqual(await digestOf(url), loaded);
  await restore();
  assert.equal(await digestOf(url), loaded);
  for (const deadline = Date.now() + 10_000; ; await delay(100)) {
    const response = await fetch(`${api}/v1/records/${TABLE}/user7`);
    const text = await response.text();
    if (response.status === 200 && /value 7/.test(text)) break;
    assert.ok(Date.now() < deadline, text);
  }
  await using(url, async ({ records }) => {
    await change({ records } as Store);
    await records.dropTable(TABLE);
  });
  await restore();
  assert.equal(await digestOf(url), loaded);

  // A save that fails leaves no copy, not even the former one. The next save replaces what is left of it.
  await assert.rejects(snapshots.save('a key', 'study_none', TABLE));
  assert.equal(await snapshots.has('a key'), false);
  await assert.rejects(restore(), /no snapshot a key/);
  await using(url, change);
  const changed = await digestOf(url);
  await snapshots.save('a key', 'study_app', TABLE);
  // The restored table is one that Tidegauge made, so it can be dropped and loaded again.
  await using(url, async (store) => {
    await store.records.dropTable(TABLE);
    await fill(store);
  });
  assert.equal(await digestOf(url), loaded);
  await restore();
  assert.equal(await digestOf(url), changed);
}

async function deploy(t: TestContext, hard: Combination, given = study()): Promise<Deployment> {
  const deployment = await place.deploy(hard, given, AbortSignal.timeout(240_000));
  t.after(() => deployment.stop());
  return deployment;
}

/** Starts a store for a test. null: it is not available, and the test is skipped with the reason. */
async function deployOrSkip(
  t: TestContext,
  hard: Combination & { readonly store: string },
  given = study(),
): Promise<Deployment | null> {
  const started = await startOrSkip(hard.store, () => deploy(t, hard, given));
  if ('server' in started) return started.server;
  t.skip(started.skip);
  return null;
}

function pidsOf(deployment: Deployment): number[] {
  return deployment.nodes().flatMap((node) => node.pids());
}

async function assertStops(deployment: Deployment): Promise<void> {
  const pids = pidsOf(deployment);
  await deployment.stop();
  await deployment.stop();
  for (const pid of pids) assert.ok(!existsSync(`/proc/${pid}`), `process ${pid} is left`);
}

test('an embedded store is a folder, with snapshots', async (t) => {
  const deployment = await deploy(t, { store: 'sqlite', nodes: 1 });
  assert.deepEqual(
    deployment.nodes().filter(({ role }) => role === 'store'),
    [],
  );
  await exercise(deployment, 'sqlite');
  await exerciseSnapshots(deployment);
  const url = (await deployment.storeUrl('study_app', { 'url.synchronous': 'normal' }))!;
  assert.match(url, /\?synchronous=normal$/);
  await assertStops(deployment);
});

/** Each node that was killed has no process until it is started again, and then has its data. */
async function exerciseFaults({ faults, storeUrl, nodes }: Deployment): Promise<void> {
  const url = (await storeUrl('study_app', {}))!;
  await assert.rejects(faults!.kill('node-9'), /no node node-9 to kill: there are /);
  for (const name of faults!.nodes()) {
    const node = nodes().find((each) => each.name === name)!;
    const [pid] = node.pids();
    await faults!.kill(name);
    assert.ok(!existsSync(`/proc/${pid}`), `process ${pid} is left`);
    await faults!.restart(name);
    assert.notEqual(node.pids()[0], pid);
    await using(url, async ({ records }) => {
      assert.equal((await records.read(TABLE, 'user7', null))?.field0, 'value 7');
    });
  }
}

test('JSON files are copied as files', async (t) => {
  const deployment = await deploy(t, { store: 'json' });
  await using((await deployment.storeUrl('study_app', {}))!, fill);
  await exerciseSnapshots(deployment);
});

for (const store of ['postgres', 'mariadb', 'mongodb', 'hbase']) {
  test(`${store} serves a database for each driver, with snapshots`, async (t) => {
    const deployment = await deployOrSkip(t, { store });
    if (deployment === null) return;
    await exercise(deployment, store);
    if (store === 'postgres') await exerciseFaults(deployment);
    await exerciseSnapshots(deployment);
    await assertStops(deployment);
  });
}

test('a memory limit applies to the server and its caches', {
  skip: memoryLimitRefusal() ?? false,
}, async (t) => {
  const deployment = await deployOrSkip(t, { store: 'postgres', memory: '256MiB' });
  if (deployment === null) return;
  const [node] = deployment.nodes();
  assert.equal(Number(readFileSync(limitFile(node!.cgroup!), 'utf8')), 256 * 2 ** 20);
  const processes = readFileSync(`${node!.cgroup}/cgroup.procs`, 'utf8').split('\n').map(Number);
  assert.ok(processes.includes(node!.pids()[0]!));
  // The user of the server is not root, as without a limit.
  assert.match(readFileSync(`/proc/${node!.pids()[0]}/status`, 'utf8'), /^Uid:\t[1-9]/m);
  const { stdout } = await runProgram('ps', ['-o', 'args=', '-p', String(node!.pids()[0])]);
  assert.match(stdout, /shared_buffers=24MB/);
  await exercise(deployment, 'postgres');
  await assertStops(deployment);
  assert.ok(!existsSync(node!.cgroup!));
});

test('Cassandra has consistency levels and options of its URL', async (t) => {
  const memory = memoryLimitRefusal() === null ? '1GiB' : 'none';
  const deployment = await deployOrSkip(t, { store: 'cassandra', nodes: 1, memory });
  if (deployment === null) return;
  await exercise(deployment, 'cassandra');
  await exerciseSnapshots(deployment);
  const url = (await deployment.storeUrl('study_raw', { consistency: 'ONE', 'url.compression': 'none' }))!;
  assert.match(url, /\/study_raw\?compression=none&read=ONE&write=ONE$/);
  await using(url, fill);
  await assert.rejects(
    deployment.storeUrl('study_raw', { consistency: 'MANY' }),
    /option read cannot be "MANY"/,
  );
  await assertStops(deployment);
});

const NETWORKS = {
  wifi: { delayMs: 20, jitterMs: 0, loss: 0, kilobitsPerSecond: 20_000 },
  lossy: { delayMs: 20, jitterMs: 0, loss: 0.01, kilobitsPerSecond: null },
};

for (const store of ['postgres', 'cassandra']) {
  test(`a network profile delays every call of a client of ${store}`, async (t) => {
    const proxy = await startOrSkip('toxiproxy', async () => (await startToxiproxy()).stop());
    if ('skip' in proxy) return t.skip(proxy.skip);
    const deployment = await deployOrSkip(t, { store, network: 'wifi' }, study({ networks: NETWORKS }));
    if (deployment === null) return;
    const url = (await deployment.storeUrl('study_raw', {}))!;
    assert.match(url, /127\.0\.1\.1:/);
    await using(url, async ({ records }) => {
      await records.createTable(TABLE, 1);
      await records.insert(TABLE, 'user1', { field0: 'x' });
      const times: number[] = [];
      for (let read = 0; read < 20; read += 1) {
        const start = performance.now();
        await records.read(TABLE, 'user1', null);
        times.push(performance.now() - start);
      }
      // Other work of the machine can only make a call slower.
      const fastest = Math.min(...times);
      assert.ok(fastest >= 20 && fastest < 35, `${fastest} ms`);
    });
    const trip = (await deployment.roundTripMs())!;
    assert.ok(trip >= 20 && trip < 35, `${trip} ms`);
    await assertStops(deployment);
  });
}

test('numbers of copies that are up at the same time share a server of Cassandra', async (t) => {
  const repeat = { ...study().repeat, pairing: 'slice' as const, paired: ['rf'] };
  const deployOne = (rf: number): Promise<Deployment | null> =>
    deployOrSkip(t, { store: 'cassandra', nodes: 2, rf }, study({ repeat }));
  const one = await deployOne(1);
  if (one === null) return;
  const two = (await deployOne(2))!;
  const nodesOf = (deployment: Deployment) => deployment.nodes().filter(({ role }) => role === 'store');
  assert.deepEqual(new Set(nodesOf(two)), new Set(nodesOf(one)), 'the monitor counts each node once');
  const [urlOfOne, urlOfTwo] = [await one.storeUrl('study_raw', {}), await two.storeUrl('study_raw', {})];
  await using(urlOfOne!, fill);
  await using(urlOfTwo!, async (store) => {
    assert.equal(await store.records.read(TABLE, 'user7', null).catch(() => null), null);
    await fill(store);
  });
  assert.match(urlOfOne!, /study_raw_rf1\?rf=1$/);
  assert.match(urlOfTwo!, /study_raw_rf2\?rf=2$/);
  await one.stop();
  assert.equal(
    await using(urlOfTwo!, async ({ records }) => (await records.scan(TABLE, '', 2 * ROWS, null)).length),
    ROWS,
  );
  await assertStops(two);
});

test('a profile that a proxy cannot make is refused', () => {
  const given = study({ networks: NETWORKS });
  assert.equal(place.refuses({ store: 'postgres', network: 'wifi' }, given), null);
  assert.match(place.refuses({ store: 'postgres', network: 'lossy' }, given)!, /cannot lose packets/);
  assert.match(place.refuses({ store: 'sqlite', network: 'wifi' }, given)!, /postgres, mariadb, cassandra/);
});

test('a combination that the lab cannot deploy is refused before anything starts', async (t) => {
  const refusal = (hard: Combination): string | null => place.refuses(hard, study());
  assert.equal(refusal({ store: 'sqlite' }), null);
  assert.match(refusal({ store: 'oracle' })!, /no store oracle in the lab: there are sqlite, /);
  assert.equal(refusal({ store: 'citus', nodes: 3, rf: 3 }), null);
  assert.match(refusal({ store: 'postgres', nodes: 3 })!, /at most 1 node in the lab, not 3/);
  assert.match(refusal({ store: 'cassandra', nodes: 2, rf: 3 })!, /rf 3 needs 3 nodes/);
  assert.equal(refusal({ store: 'hbase', nodes: 3, rf: 2 }), null);
  assert.match(refusal({ store: 'mariadb', rf: 2 })!, /one copy/);
  assert.match(refusal({ store: 'sqlite', memory: '1GiB' })!, /no node to limit/);
  assert.match(refusal({ store: 'cassandra', memory: '64MiB' })!, /768MiB or more/);
  assert.match(refusal({ store: 'postgres', network: 'wifi' })!, /no network profile wifi/);
  assert.match(refusal({ store: 'postgres://u:p@127.0.0.1/db', nodes: 2 })!, /nodes cannot be set/);
  const restored = study({ state: { a: 'restore', d: 'reload' } });
  assert.equal(place.refuses({ store: 'hbase' }, restored), null);
  assert.match(place.refuses({ store: 'citus' }, restored)!, /Citus of the lab cannot restore loaded data/);
  assert.match(
    place.refuses({ store: 'postgres://u:p@127.0.0.1/db' }, restored)!,
    /write state: { a: reload }/,
  );
  await assert.rejects(deploy(t, { store: 'sqlite', 'url.colour': 'blue' }), /sqlite has no option colour/);
});

test('the end of the place ends its deployments', async () => {
  const ended = labPlace();
  const deployment = await ended.deploy({ store: 'sqlite' }, study(), AbortSignal.timeout(10_000));
  const url = (await deployment.storeUrl('study_raw', {}))!;
  await using(url, fill);
  await ended.stop();
  assert.ok(!existsSync(url.replace('sqlite:', '')));
});

test('an aborted deployment leaves no process', async () => {
  const abort = new AbortController();
  const deploying = place.deploy({ store: 'sqlite' }, study(), abort.signal);
  abort.abort();
  await assert.rejects(deploying, { name: 'AbortError' });
});

function limitFile(cgroup: string): string {
  return [`${cgroup}/memory.limit_in_bytes`, `${cgroup}/memory.max`].find((file) => existsSync(file))!;
}
