import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { installOnlyInCi } from '@tidegauge/lab/install-policy';
import { memoryLimitRefusal } from '@tidegauge/lab/node-group';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgram } from '@tidegauge/process';
import { openStore, type Store } from '@tidegauge/storage';
import type { Combination, Deployment, Study } from '../../src/study/model.ts';
import { labPlace } from '../../src/study/places/lab.ts';

const ROWS = 200;
const TABLE = 'study_s1_raw';
const RECORDS = Array.from({ length: ROWS }, (_, key) => ({
  key: `user${key}`,
  fields: { field0: `value ${key}`, field1: 'x'.repeat(100) },
}));

installOnlyInCi();
const place = labPlace();
after(() => place.stop());

function study(more: Partial<Study> = {}): Study {
  return { fixed: {}, easy: {}, hard: {}, networks: {}, ...more } as Study;
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
  const url = await deployment.storeUrl('study_app', {});
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
  assert.deepEqual(Object.keys(deployment.versions), [store]);
  for (const node of deployment.nodes()) {
    assert.ok(node.pids().length > 0, node.name);
    for (const pid of node.pids()) assert.ok(existsSync(`/proc/${pid}`), node.name);
  }
}

/** A restored database has the records of its snapshot, although the API was connected all the time. */
async function exerciseSnapshots(deployment: Deployment): Promise<void> {
  const { snapshots } = deployment;
  const url = await deployment.storeUrl('study_app', {});
  const { url: api } = await deployment.api(url);
  const bytes = (await deployment.storedBytes())!;
  assert.equal(await snapshots!.has('a key'), false);
  await assert.rejects(snapshots!.restore('a key', 'study_app'), /no snapshot a key/);
  await snapshots!.save('a key', 'study_app');
  assert.equal(await snapshots!.has('a key'), true);
  // The copy is not data of the experiment.
  assert.ok((await deployment.storedBytes())! < bytes * 1.5);
  await using(url, async ({ records }) => {
    await records.update(TABLE, 'user7', { field0: 'changed' });
    await records.insert(TABLE, 'user999', { field0: 'new', field1: 'new' });
  });
  await snapshots!.restore('a key', 'study_app');
  await using(url, async ({ records }) => {
    assert.equal((await records.read(TABLE, 'user7', null))?.field0, 'value 7');
    assert.equal(await records.read(TABLE, 'user999', null), null);
  });
  for (const deadline = Date.now() + 10_000; ; await delay(100)) {
    const response = await fetch(`${api}/v1/records/${TABLE}/user7`);
    if (response.status === 200) {
      assert.match(await response.text(), /value 7/);
      break;
    }
    assert.ok(Date.now() < deadline, await response.text());
  }
}

async function deploy(hard: Combination, given = study()): Promise<Deployment> {
  return place.deploy(hard, given, AbortSignal.timeout(240_000));
}

/** Starts a store, or reports why its test is skipped. */
async function deployOrSkip(hard: Combination & { readonly store: string }) {
  const started = await startOrSkip(hard.store, () => deploy(hard));
  return 'skip' in started
    ? { skip: started.skip, deployment: null }
    : { skip: false as const, deployment: started.server };
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

test('an embedded store is a folder, with snapshots', async () => {
  const deployment = await deploy({ store: 'sqlite', nodes: 1 });
  assert.deepEqual(
    deployment.nodes().filter(({ role }) => role === 'store'),
    [],
  );
  await exercise(deployment, 'sqlite');
  await exerciseSnapshots(deployment);
  const url = await deployment.storeUrl('study_app', { 'url.synchronous': 'normal' });
  assert.match(url, /\?synchronous=normal$/);
  await assertStops(deployment);
});

const postgres = await deployOrSkip({ store: 'postgres' });
test('PostgreSQL serves a database for each driver, with snapshots', { skip: postgres.skip }, async () => {
  await exercise(postgres.deployment!, 'postgres');
  await exerciseSnapshots(postgres.deployment!);
  await assertStops(postgres.deployment!);
});

test('a memory limit applies to the server and its caches', {
  skip: postgres.skip || (memoryLimitRefusal() ?? false),
}, async () => {
  const deployment = await deploy({ store: 'postgres', memory: '256MiB' });
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

const cassandra = await deployOrSkip({
  store: 'cassandra',
  nodes: 1,
  memory: memoryLimitRefusal() === null ? '1GiB' : 'none',
});
test('Cassandra has consistency levels and options of its URL', { skip: cassandra.skip }, async () => {
  const deployment = cassandra.deployment!;
  await exercise(deployment, 'cassandra');
  const url = await deployment.storeUrl('study_raw', { consistency: 'ONE', 'url.compression': 'none' });
  assert.match(url, /\/study_raw\?compression=none&read=ONE&write=ONE$/);
  await using(url, fill);
  await assert.rejects(
    deployment.storeUrl('study_raw', { consistency: 'MANY' }),
    /option read cannot be "MANY"/,
  );
  await assertStops(deployment);
});

test('a combination that the lab cannot deploy is refused before anything starts', async () => {
  const refusal = (hard: Combination): string | null => place.refuses(hard, study());
  assert.equal(refusal({ store: 'sqlite' }), null);
  assert.match(refusal({ store: 'oracle' })!, /no store oracle in the lab: there are sqlite, /);
  assert.match(refusal({ store: 'postgres', nodes: 3 })!, /at most 1 node in the lab, not 3/);
  assert.match(refusal({ store: 'cassandra', nodes: 2, rf: 3 })!, /rf 3 needs 3 nodes/);
  assert.match(refusal({ store: 'hbase', nodes: 3, rf: 2 })!, /one copy/);
  assert.match(refusal({ store: 'sqlite', memory: '1GiB' })!, /no node to limit/);
  assert.match(refusal({ store: 'cassandra', memory: '64MiB' })!, /768MiB or more/);
  assert.match(refusal({ store: 'postgres', network: 'wifi' })!, /no network profile wifi/);
  assert.match(refusal({ store: 'postgres://u:p@127.0.0.1/db', nodes: 2 })!, /nodes cannot be set/);
  await assert.rejects(deploy({ store: 'sqlite', 'url.colour': 'blue' }), /sqlite has no option colour/);
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
