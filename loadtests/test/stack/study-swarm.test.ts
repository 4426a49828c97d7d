import assert from 'node:assert/strict';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Board, Boards } from '@tidegauge/lab/docker/boards';
import { startBoards } from '@tidegauge/lab/docker/boards';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgram, startProcess, waitUntil } from '@tidegauge/process';
import { prepare } from '@tidegauge/stacks/stack-deployment';
import { HttpClient } from '../../src/drivers/http-client.ts';
import type { RunDocument, Study } from '../../src/study/model.ts';
import { swarmPlace } from '../../src/study/places/swarm.ts';

const MAIN = fileURLToPath(new URL('../../src/study/main.ts', import.meta.url));
const STACK = 'tidegauge-study';
const RUN_MS = 600_000;
const STUDY = {
  study: 'on-swarm',
  hard: { store: ['postgres'] },
  easy: { workload: ['a'], driver: ['app'] },
  fixed: { records: 200, operations: 300 },
  repeat: { deployments: 1, trials: 2, warmup: 0 },
  valid: { foreignCpu: null, clockStep: null, swap: null, throttled: null },
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
  { board: worker, roles: ['postgres'], images: ['postgres'] },
] as const;
let env: Readonly<Record<string, string>> = {};

// What a user does before a study, as in docs/deploy.md.
before(async () => {
  if (lab === null) return;
  await lab.swarm();
  env = { ...(await prepare('postgres', places, {})), ...manager.env };
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

test('the secret of a store has the number of its copies as a label', { skip }, async () => {
  const format = '{{index .Spec.Labels "tidegauge.copies"}}';
  const secret = ['secret', 'inspect', '--format', format, 'tidegauge_postgres_store_url'];
  assert.equal(await manager.docker(secret), '1');
});

test('a study runs on a swarm through the API, and leaves no stack', { skip, timeout: RUN_MS }, async () => {
  const { code, stderr } = await study('runs');
  assert.equal(code, 0, stderr);
  const paths = globSync(join(folder, 'runs/runs/*.json'));
  const documents = paths.map((path) => JSON.parse(readFileSync(path, 'utf8')) as RunDocument);
  assert.equal(documents.length, 2);
  for (const { valid, done, driver, checks, nodes, storedBytes } of documents) {
    assert.equal(valid, true);
    assert.equal(done, 300);
    assert.equal(driver, 'app');
    const damaged = checks.find(({ rule }) => rule === 'damaged')!;
    assert.equal(damaged.measured, 0);
    assert.match(damaged.note!, /200 records were checked/);
    for (const rule of ['oomKills', 'swap']) {
      const { note } = checks.find((check) => check.rule === rule)!;
      assert.match(note!, /^of this machine only: board-2, api cannot be measured from here$/);
    }
    const remote = nodes.filter(({ role }) => role === 'store' || role === 'api');
    assert.deepEqual(
      remote.map(({ node, cpuSeconds, memoryBytes }) => [node, cpuSeconds, memoryBytes]),
      [
        ['board-2', null, null],
        ['api', null, null],
      ],
    );
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
  const changes = { fixed: { records: 200, operations: 1_000_000 } };
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
  const given = { fixed: {}, easy: { driver: ['app'] }, exclude: [], networks: {} } as unknown as Study;
  const deployment = await place.deploy({ store: 'postgres' }, given, AbortSignal.timeout(RUN_MS / 2));
  try {
    assert.match(
      place.refuses({ store: 'postgres' }, given)!,
      /a study uses this swarm, or one was killed there/,
    );
    assert.equal(await deployment.storeUrl('study_app', {}), null);
    const { url, token, authority } = await deployment.api(null);
    const client = new HttpClient(1, token, readFileSync(authority!, 'utf8'));
    const { status } = await client.send('GET', `${url}/v1/records/study_app?count=1`);
    client.close();
    assert.ok(status >= 400 && status < 500, `the table is still there: ${status}`);
  } finally {
    await place.stop();
  }
  await assertGone();
});
