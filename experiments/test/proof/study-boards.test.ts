import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { installDocker } from '@tidegauge/lab/docker/install';
import { startToxiproxy } from '@tidegauge/lab/toxiproxy';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgram, waitUntil } from '@tidegauge/process';
import type { Combination, Deployment, Study } from '../../src/model.ts';
import { boardsPlace } from '../../src/places/boards.ts';

const PROGRAM = fileURLToPath(new URL('reach-program.ts', import.meta.url));
const DELAY_MS = 20;
const WIFI = { delayMs: DELAY_MS, jitterMs: 2, loss: 0.001, kilobitsPerSecond: 20_000 };
const STUDY = { fixed: {}, easy: {}, hard: {}, state: {}, networks: { wifi: WIFI } } as unknown as Study;

const started = await startOrSkip('docker', installDocker);
const skip = 'skip' in started ? started.skip : false;
// A kernel without netem needs the proxy.
const proxy =
  'skip' in started ? started : await startOrSkip('toxiproxy', async () => (await startToxiproxy()).stop());
const network = 'skip' in proxy ? 'none' : 'wifi';
const place = boardsPlace();
after(() => place.stop());

/** Inserts a record directly, and reads it through the API, where the drivers of a study run. */
async function reach(deployment: Deployment, easy: Combination = {}) {
  const store = (await deployment.storeUrl('study_raw', easy))!;
  const api = await deployment.api(store);
  assert.match(api.url, /^https:/);
  const { command, args } = deployment.command(PROGRAM, [store, api.url, api.token!, 'study_s1_raw']);
  const { stdout } = await runProgram(command, args);
  const answer = JSON.parse(stdout) as { status: number; body: string; rawMs: number; appMs: number };
  assert.equal(answer.status, 200, stdout);
  assert.match(answer.body, /reached/);
  return answer;
}

async function exercise(
  hard: Combination & { readonly store: string },
  boards: number,
  more: (deployment: Deployment) => Promise<void>,
): Promise<void> {
  // It may first build images, which takes many minutes on a slow machine. The test runner limits the time.
  const deployment = await place.deploy(hard, STUDY, new AbortController().signal);
  const { rawMs, appMs } = await reach(deployment);
  process.stdout.write(
    `# ${hard.store}: a read takes ${rawMs.toFixed(2)} ms, through the API ${appMs.toFixed(2)} ms\n`,
  );
  assert.match(deployment.versions[hard.store]!, /^\d+\.\d+/);
  assert.ok((await deployment.storedBytes())! > 0);
  const nodes = deployment.nodes();
  assert.equal(nodes.length, boards);
  assert.equal(nodes.filter(({ role }) => role === 'api').length, 1);
  for (const node of nodes) {
    assert.ok(node.pids().length > 3, `${node.name} has processes ${node.pids()}`);
    assert.equal(Number(readFileSync(`${node.cgroup}/memory.limit_in_bytes`, 'utf8')), 2 ** 30);
  }
  await more(deployment);
  const pids = nodes.flatMap((node) => node.pids());
  await deployment.stop();
  await deployment.stop();
  assert.deepEqual(
    pids.filter((pid) => existsSync(`/proc/${pid}`)),
    [],
  );
  for (const { cgroup } of nodes) assert.ok(!existsSync(cgroup!));
}

/** Both drivers, and the measurement, have the delay of the profile. */
async function assertDelayed(deployment: Deployment): Promise<void> {
  const { rawMs, appMs } = await reach(deployment);
  if (network === 'none') return;
  const trip = (await deployment.roundTripMs())!;
  for (const ms of [rawMs, appMs, trip]) assert.ok(ms >= DELAY_MS - 2, `${rawMs} ${appMs} ${trip} ms`);
}

test('PostgreSQL on a board has the network of a profile, and its data after the board was killed', {
  skip,
}, async () => {
  await exercise({ store: 'postgres', memory: '1GiB', network }, 2, async (deployment) => {
    await assertDelayed(deployment);
    const { faults } = deployment;
    const [node] = deployment.nodes();
    assert.deepEqual(faults!.nodes(), [node!.name]);
    await faults!.kill(node!.name);
    assert.deepEqual(node!.pids(), []);
    await faults!.restart(node!.name);
    // The API connects to the store again at its next requests.
    const reaches = (): Promise<boolean> => reach(deployment).then(Boolean, () => false);
    await waitUntil('the API reaches the store', reaches, { timeoutMs: 60_000, pollMs: 500 });
    await assertDelayed(deployment);
  });
});

test('Cassandra runs on two boards with two copies, and its API with the options of a series', {
  skip,
}, async () => {
  await exercise({ store: 'cassandra', nodes: 2, rf: 2 }, 3, async (deployment) => {
    const easy = { consistency: 'ONE', 'url.compression': 'none' };
    assert.match((await deployment.storeUrl('', easy))!, /[?&]compression=none&read=ONE&write=ONE$/);
    await reach(deployment, easy);
  });
});

test('a combination that boards cannot deploy is refused before anything starts', () => {
  const refusal = (hard: Combination): string | null => place.refuses(hard, STUDY);
  assert.equal(refusal({ store: 'cassandra', nodes: 3 }), null);
  assert.equal(refusal({ store: 'hbase', nodes: 3, rf: 3 }), null);
  assert.match(refusal({ store: 'hbase', nodes: 1, rf: 2 })!, /one copy of the data on one board/);
  assert.match(refusal({ store: 'mongodb' })!, /boards of the lab cannot run mongodb: they have images of /);
  assert.match(refusal({ store: 'postgres', nodes: 2 })!, /at most 1 node/);
  assert.match(refusal({ store: 'postgres', memory: '512MiB' })!, /needs 1GiB or more/);
  assert.equal(refusal({ store: 'postgres', network: 'wifi' }), null);
});

test('an aborted deployment leaves no board', { skip }, async () => {
  const abort = new AbortController();
  const deploying = place.deploy({ store: 'postgres' }, STUDY, abort.signal);
  setTimeout(() => abort.abort(), 100);
  await assert.rejects(deploying, { name: 'AbortError' });
});
