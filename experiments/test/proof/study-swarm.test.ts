import assert from 'node:assert/strict';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Board, Boards } from '@tidegauge/lab/docker/boards';
import { startBoards } from '@tidegauge/lab/docker/boards';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { HttpClient } from '@tidegauge/loadtests/drivers/http-client';
import { runProgram, startProcess, waitUntil } from '@tidegauge/process';
import { prepare } from '@tidegauge/stacks/stack-deployment';
import type { Deployment, RunDocument, Study } from '../../src/model.ts';
import { swarmPlace } from '../../src/places/swarm.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const DRIVER = fileURLToPath(new URL('../../src/trial/driver.ts', import.meta.url));
const STACK = 'tidegauge-study';
const RUN_MS = 600_000;
const STUDY = {
  study: 'on-swarm',
  hard: { store: ['postgres'] },
  easy: { workload: ['a'], driver: ['raw', 'app'] },
  fixed: { records: 200, operations: 300 },
  repeat: { deployments: 1, trials: 2, warmup: 0 },
  valid: { foreignCpu: null, clockStep: null, swap: null, throttled: null },
  figures: ['bars'],
};

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-study-swarm-'));
after(() => rmSync(folder, { recursive: true }));
const started = await startOrSkip('docker', () => startBoards(2, { memory: 2 ** 30 }));
const skip = 'skip' in started ? started.skip : false;
const lab: Boards | null = 'server' in started ? started.server : null;
after(() => lab?.stop());
const [manager, worker] = (lab?.boards ?? []) as [Board, Board];
const places = [
  { board: manager, roles: ['broker'], images: ['tidegauge'] },
  // It has a node exporter, and the manager has none.
  { board: worker, roles: ['postgres'], images: ['postgres', 'monitoring'] },
] as const;
let env: Readonly<Record<string, string>> = {};

// What a user does before a study, as in docs/deploy.md.
before(async () => {
  if (lab === null) return;
  await lab.swarm();
  const images = await prepare('postgres', places, {});
  env = { ...images, NODE_EXPORTER_IMAGE: images.PROMETHEUS_IMAGE!, ...manager.env };
});

function fileOf(name: string, changes: object): string {
  const path = join(folder, `${name}.yml`);
  writeFileSync(path, JSON.stringify({ ...STUDY, ...changes }));
  return path;
}

function commandOf(name: string, changes: object = {}): readonly string[] {
  return [MAIN, 'run', fileOf(name, changes), '--on', 'swarm', '--results', join(folder, name)];
}

function study(name: string, changes: object = {}) {
  return runProgram(process.execPath, commandOf(name, changes), { env, accept: 'any', timeoutMs: RUN_MS });
}

/** Everything in the swarm and on its boards that belongs to the stack of a study. */
async function leftOvers(...ps: readonly string[]): Promise<string[]> {
  const named = ['--filter', `name=${STACK}`];
  const lists = await Promise.all([
    ...['service', 'secret', 'network', 'config'].map((kind) => manager.docker([kind, 'ls', '-q', ...named])),
    ...[manager, worker].map((board) => board.docker(['ps', '--quiet', ...ps, ...named])),
  ]);
  return lists.filter((list) => list !== '');
}

/** No container runs. Engines delete containers that have ended a moment later. */
async function assertGone(): Promise<void> {
  assert.deepEqual(await leftOvers(), []);
  const isGone = async (): Promise<boolean> => (await leftOvers('--all')).length === 0;
  await waitUntil('the containers to be deleted', isGone, { timeoutMs: 20_000, pollMs: 250 });
}

/** A driver that is killed here must not continue in its container. */
async function assertEndsWithItsClient(deployment: Deployment): Promise<void> {
  const [container] = (
    await manager.docker(['ps', '--quiet', '--filter', `name=${STACK}_study-client`])
  ).split('\n');
  const isThere = async () => (await manager.docker(['top', container!])).includes('driver.ts');
  const driver = startProcess({ ...deployment.command(DRIVER, []), stdin: 'pipe' });
  await waitUntil('the driver to start', isThere, { timeoutMs: 20_000 });
  await driver.kill();
  await waitUntil('the driver to end', async () => !(await isThere()), { timeoutMs: 20_000 });
}

test('the secret of a store has the number of its copies as a label', { skip }, async () => {
  const format = '{{index .Spec.Labels "tidegauge.copies"}}';
  const secret = ['secret', 'inspect', '--format', format, 'tidegauge_postgres_store_url'];
  assert.equal(await manager.docker(secret), '1');
});

test('the drivers raw and app run in a swarm, and leave no stack', { skip, timeout: RUN_MS }, async () => {
  const hard = { store: ['postgres'], 'url.connections': [3] };
  const { code, stderr } = await study('runs', { hard });
  assert.equal(code, 0, stderr);
  const paths = globSync(join(folder, 'runs/runs/*.json'));
  const documents = paths.map((path) => JSON.parse(readFileSync(path, 'utf8')) as RunDocument);
  // A run that other work of the machine made invalid is repeated.
  const valid = documents.filter((document) => document.valid);
  assert.deepEqual(valid.map(({ driver }) => driver).toSorted(), ['app', 'app', 'raw', 'raw']);
  for (const { done, checks, nodes, storedBytes } of valid) {
    assert.equal(done, 300);
    const damaged = checks.find(({ rule }) => rule === 'damaged')!;
    assert.equal(damaged.measured, 0);
    assert.match(damaged.note!, /200 records were checked/);
    for (const rule of ['oomKills', 'swap']) {
      const { note } = checks.find((check) => check.rule === rule)!;
      assert.equal(note, 'board-1 cannot be measured from here');
    }
    const [database, front, , client] = nodes;
    assert.deepEqual([database!.node, database!.role, database!.source], ['board-2', 'store', 'prometheus']);
    assert.ok(database!.cpuSeconds! > 0 && database!.receivedBytes! > 0);
    assert.deepEqual(
      [front!.node, front!.role, front!.cpuSeconds, front!.memoryBytes],
      ['board-1', 'api', null, null],
    );
    assert.ok(client!.role === 'client' && client!.cpuSeconds! > 0);
    assert.equal(storedBytes, null);
  }
  const journal = readFileSync(join(folder, 'runs/journal.jsonl'), 'utf8');
  assert.match(journal, /"boards":"2 x \(x86_64|"boards":"2 x \(aarch64/);
  assert.ok(existsSync(join(folder, 'runs/report/report.html')));
  await assertGone();
});

test('another stack of Tidegauge in the swarm is left alone, and the study is refused', {
  skip,
}, async () => {
  const label = ['--label', 'com.docker.stack.namespace=tidegauge'];
  const options = ['--detach', '--quiet', '--no-resolve-image', '--replicas', '0', ...label];
  const secret = ['--secret', 'tidegauge_api_token'];
  await manager.docker(['service', 'create', ...options, ...secret, '--name', 'tidegauge_api', 'any']);
  const { code, stderr } = await study('refused');
  assert.equal(code, 2, stderr);
  assert.match(stderr, /the stack tidegauge runs in this swarm and uses the same data/);
  assert.equal(existsSync(join(folder, 'refused')), false);
  assert.equal(await manager.docker(['service', 'ls', '--format', '{{.Name}}']), 'tidegauge_api');
  await manager.docker(['service', 'rm', 'tidegauge_api']);
});

test('what this swarm is not prepared for is refused', { skip }, async () => {
  const twice = await study('stores', { hard: { store: ['mariadb'] } });
  assert.equal(twice.code, 2, twice.stderr);
  assert.match(
    twice.stderr,
    /no ready board has the label tidegauge.mariadb: prepare one with stacks.bin.board/,
  );
  const own = { ...env, DOCKER_HOST: worker.host };
  const options = { env: own, accept: 'any', timeoutMs: RUN_MS } as const;
  const { code, stderr } = await runProgram(process.execPath, commandOf('worker'), options);
  assert.equal(code, 2, stderr);
  assert.match(stderr, /the Docker engine of DOCKER_HOST is not a manager of its swarm: set DOCKER_HOST/);
});

test('a deployment that fails names what to prepare, and leaves nothing', { skip }, async () => {
  await manager.docker(['node', 'update', '--label-add', 'tidegauge.mariadb=true', worker.name]);
  const { code, stderr } = await study('fails', { hard: { store: ['mariadb'] }, requeue: { most: 0 } });
  assert.equal(code, 1, stderr);
  const missing = 'tidegauge_mariadb_password tidegauge_mariadb_store_url';
  assert.match(stderr, new RegExp(`deploy: missing secrets: ${missing}. Run stacks/bin/secrets mariadb`));
  await assertGone();
});

test('an interrupted study leaves no stack and no table', { skip, timeout: RUN_MS }, async () => {
  // A table of one series has the name of its driver.
  const changes = { fixed: { records: 200, operations: 1_000_000 }, state: { a: 'reload' } };
  const args = commandOf('interrupted', changes);
  const running = startProcess({
    command: process.execPath,
    args,
    env,
    stopSignal: 'SIGINT',
    stopMs: RUN_MS / 2,
  } as const);
  const journal = join(folder, 'interrupted/journal.jsonl');
  const isRunning = () => existsSync(journal) && readFileSync(journal, 'utf8').includes('"run-started"');
  try {
    await waitUntil('a run', isRunning, { timeoutMs: RUN_MS / 2 });
    const { code } = await running.stop();
    assert.equal(code, 1, running.log());
  } finally {
    await running.kill();
  }
  await assertGone();

  Object.assign(process.env, env);
  const place = swarmPlace();
  const given = {
    ...{ fixed: {}, hard: { store: ['postgres'] }, easy: { driver: ['app'] } },
    ...{ exclude: [], networks: {}, state: {} },
  } as unknown as Study;
  const deployment = await place.deploy({ store: 'postgres' }, given, AbortSignal.timeout(RUN_MS / 2));
  try {
    assert.match(
      place.refuses({ store: 'postgres' }, given)!,
      /a study uses this swarm, or one was killed there/,
    );
    const store = await deployment.storeUrl('study_app', {});
    assert.match(store!, /^postgres:\/\/tidegauge:/);
    const { url, token, authority } = await deployment.api(store);
    const client = new HttpClient(1, token, { authority: readFileSync(authority!, 'utf8') });
    const { status } = await client.send('GET', `${url}/v1/records/study_app?count=1`);
    client.close();
    assert.ok(status >= 400 && status < 500, `the table is still there: ${status}`);
    await assertEndsWithItsClient(deployment);
  } finally {
    await place.stop();
  }
  await assertGone();
});
