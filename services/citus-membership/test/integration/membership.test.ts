import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@tidegauge/lab';
import { CITUS_SETTINGS, hasCitus } from '@tidegauge/lab/citus';
import { type Postgres, startPostgres } from '@tidegauge/lab/postgres';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { isRetryable, openStore, type Store } from '@tidegauge/storage';
import { type ServiceProcess, startServiceProcess } from '@tidegauge/test-support/service-process';
import { type DnsServer, startDnsServer } from './dns-server.ts';

// All tests use one cluster. Each test starts from the state that the previous test left.
const WAIT_MS = 60_000;
const READY = /"http":"(http:[^"]+)".*"citus-membership is ready"/;
const DATABASE = 'tidegauge';
const TOKEN = 'only-for-this-test';
const LOST_AFTER = '3s';

interface Cluster {
  readonly coordinator: Postgres;
  readonly workers: readonly Postgres[];
  readonly dns: DnsServer;
  addWorker(address: string): Promise<Postgres>;
  stop(): Promise<void>;
}

/** Starts separate servers: each has its own address, and the workers share one port, as on an overlay network. */
async function startCluster(): Promise<Cluster> {
  if (!(await hasCitus()))
    throw new Error('PostgreSQL here has no citus extension (pg_available_extensions)');
  const shared = {
    password: randomBytes(18).toString('base64url'),
    sharedBuffers: 32,
    // Only the service recovers transactions.
    settings: [...CITUS_SETTINGS, 'citus.recover_2pc_interval=-1'],
  };
  const dns = await startDnsServer();
  const nodes: Postgres[] = [];
  const port = await freePort('127.0.0.2');
  const start = async (options: { address?: string; port?: number }): Promise<Postgres> => {
    const node = await startPostgres({ ...shared, ...options });
    nodes.push(node);
    await node.query(`create database ${DATABASE}`);
    await node.query('create extension citus', DATABASE);
    return node;
  };
  const stop = async (): Promise<void> => {
    for (const node of nodes) await node.stop();
    await dns.stop();
  };
  try {
    const coordinator = await start({});
    const addWorker = (address: string): Promise<Postgres> => start({ address, port });
    const workers = [
      await addWorker('127.0.0.2'),
      await addWorker('127.0.0.3'),
      await addWorker('127.0.0.4'),
    ];
    return { coordinator, workers, dns, addWorker, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const started = await startOrSkip('citus', startCluster);
const skip = 'skip' in started ? started.skip : false;
const cluster = 'server' in started ? started.server : null!;
let membership: ServiceProcess;
let store: Store;
let stored = 0;
after(async () => {
  await store?.close();
  await membership?.stop();
  await cluster?.stop();
});

async function startMembership(): Promise<void> {
  const { coordinator, workers, dns } = cluster;
  membership = await startServiceProcess(
    'citus-membership',
    {
      COORDINATOR: `postgres://${coordinator.user}@127.0.0.1:${coordinator.port}/${DATABASE}`,
      PASSWORD: coordinator.password,
      WORKER_PORT: String(workers[0]!.port),
      DNS_SERVERS: dns.at,
      INTERVAL: '200ms',
      LOST_AFTER,
      SETTLE: '500ms',
      FOUNDERS: '2',
      HTTP_TOKEN: TOKEN,
      METRICS_PORT: '0',
    },
    READY,
  );
}

interface Seen {
  readonly workers: readonly { id: number; address: string; state: string }[];
  readonly waiting: readonly { address: string; why: string }[];
}

/** Polls `/workers` until `done` accepts the response, and returns that response. */
async function until(what: string, done: (seen: Seen) => boolean): Promise<Seen> {
  for (const deadline = Date.now() + WAIT_MS; ; await sleep(50)) {
    const seen = (await (await fetch(`${membership.url}/workers`)).json()) as Seen;
    if (done(seen)) return seen;
    assert.ok(Date.now() < deadline, `${what} did not come: ${JSON.stringify(seen)}`);
  }
}

const at = (addresses: readonly string[]) => (seen: Seen) =>
  seen.workers.length === addresses.length &&
  seen.workers.every(({ address, state }, index) => address === addresses[index] && state === 'active');

/** Waits for `count` more rounds of the service. Every round sends one DNS query. */
async function rounds(count: number): Promise<void> {
  const { queries } = cluster.dns;
  for (const deadline = Date.now() + WAIT_MS; cluster.dns.queries < queries + count; await sleep(50)) {
    assert.ok(Date.now() < deadline, 'the service stopped sending DNS queries');
  }
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${membership.url}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  assert.ok(line !== undefined, `there is no metric ${name}`);
  return Number(line.slice(name.length));
}

/**
 * Writes 200 more readings of 20 devices. Retries a write whose error is retryable, as ingest does. Then checks that
 * all readings written so far are stored.
 */
async function writeAndReadAll(): Promise<void> {
  const readings = Array.from({ length: 200 }, (_, index) => ({
    device: `device-${index % 20}`,
    metric: 'level',
    time: (stored + index) * 1_000_000,
    value: stored + index,
    ...{ received: 0, boot: null, seq: null, quality: 'ok' as const },
  }));
  for (const deadline = Date.now() + WAIT_MS; ; await sleep(100)) {
    try {
      await store.readings.write(readings);
      break;
    } catch (error) {
      if (!isRetryable(error) || Date.now() > deadline) throw error;
    }
  }
  stored += readings.length;
  assert.equal(await count(), stored);
}

async function count(): Promise<number> {
  return Number(await cluster.coordinator.query('select count(*) from readings', DATABASE));
}

let intact = true;

function step(name: string, body: () => Promise<void>): void {
  test(name, { skip }, async () => {
    assert.ok(intact, 'a test before this one failed');
    intact = false;
    await body();
    intact = true;
  });
}

step('the first workers join together, and the coordinator receives its own address', async () => {
  const { coordinator, workers, dns } = cluster;
  await startMembership();
  dns.answer([workers[0]!.address]);
  await until('the wait for a second worker', ({ waiting }) => /first 2 workers/.test(waiting[0]?.why ?? ''));
  dns.answer(workers.map(({ address }) => address));
  await until('all three', at(['127.0.0.2', '127.0.0.3', '127.0.0.4']));
  const rows = await coordinator.query(
    'select nodename, nodeport from pg_dist_node where groupid = 0',
    DATABASE,
  );
  assert.equal(rows.trim(), `127.0.0.1|${coordinator.port}`);
  assert.equal((await fetch(`${membership.url}/readyz`)).status, 200);
  store = await openStore(`${coordinator.url(DATABASE, 'citus')}?rf=2&shards=6`);
  await writeAndReadAll();
});

step('no worker is removed when DNS fails or returns no address', async () => {
  const { dns, workers } = cluster;
  for (const answer of [null, []]) {
    dns.answer(answer);
    // Longer than LOST_AFTER.
    await rounds(20);
    await until('no change', at(['127.0.0.2', '127.0.0.3', '127.0.0.4']));
    await writeAndReadAll();
  }
  assert.ok((await metric('citus_membership_failures_total{what="resolve"}')) > 0);
  assert.equal(await metric('citus_membership_changes_total{change="disable"}'), 0);
  dns.answer(workers.map(({ address }) => address));
});

step('workers that return at other addresses, or exchange addresses, are recognized', async () => {
  const { workers, dns } = cluster;
  const [first, second, third] = workers as [Postgres, Postgres, Postgres];
  await first.restart('127.0.0.9');
  await second.restart('127.0.0.2');
  await first.restart('127.0.0.3');
  await third.restart('127.0.0.5');
  dns.answer(workers.map(({ address }) => address));
  const began = Date.now();
  await until('all three', at(['127.0.0.3', '127.0.0.2', '127.0.0.5']));
  console.log(`# all three were found again ${Date.now() - began} ms after DNS had them`);
  assert.equal(await metric('citus_membership_changes_total{change="add"}'), 3);
  await writeAndReadAll();
});

step('a lost worker is disabled, writes continue, and it is activated when it returns', async () => {
  const { workers, dns } = cluster;
  const [first, second, third] = workers as [Postgres, Postgres, Postgres];
  // The first node in the metadata. Citus treats it differently from the others.
  // As the coordinator leaves a transaction on a worker that fails before its commit.
  await first.query("begin; create table half (); prepare transaction 'citus_0_1_1_1'", DATABASE);
  await first.kill();
  dns.answer([second.address, third.address]);
  const began = Date.now();
  const gone = await until('the first one disabled', (seen) => seen.workers[0]?.state === 'disabled');
  console.log(`# disabled after ${Date.now() - began} ms, with LOST_AFTER=${LOST_AFTER}`);
  assert.equal(gone.workers.length, 3);
  await writeAndReadAll();
  await first.restart('127.0.0.8');
  dns.answer(workers.map(({ address }) => address));
  await until('it is back', at(['127.0.0.8', '127.0.0.2', '127.0.0.5']));
  assert.equal((await first.query('select count(*) from pg_prepared_xacts', DATABASE)).trim(), '0');
  await writeAndReadAll();
  assert.ok((await metric('citus_membership_missing_copies')) > 0);
});

step('a rebalance makes missing copies, and starts only with the token', async () => {
  const url = `${membership.url}/rebalance`;
  assert.equal((await fetch(url, { method: 'POST' })).status, 401);
  const headers = { Authorization: `Bearer ${TOKEN}` };
  assert.equal((await fetch(url, { method: 'POST', headers })).status, 202);
  for (const deadline = Date.now() + WAIT_MS; ; await sleep(100)) {
    const { phase, lacking, why } = (await (await fetch(url)).json()) as {
      phase: string;
      lacking: unknown[];
      why?: string;
    };
    assert.notEqual(phase, 'failed', why);
    if (phase === 'idle' && lacking.length === 0) break;
    assert.ok(Date.now() < deadline, `the rebalance stays ${phase}`);
  }
  assert.equal(await metric('citus_membership_missing_copies'), 0);
  await writeAndReadAll();
});

step('a new worker joins empty, and a restarted membership service recognizes all workers', async () => {
  const { workers, dns, addWorker } = cluster;
  const further = await addWorker('127.0.0.6');
  assert.equal(await membership.stop(), 0);
  await startMembership();
  dns.answer([...workers, further].map(({ address }) => address));
  await until('all four', at(['127.0.0.8', '127.0.0.2', '127.0.0.5', '127.0.0.6']));
  assert.equal(await metric('citus_membership_changes_total{change="add"}'), 1);
  assert.equal(await metric('citus_membership_changes_total{change="move"}'), 0);
  await writeAndReadAll();
});

step('the service waits while the coordinator is unavailable, and then continues', async () => {
  const { coordinator, workers } = cluster;
  await coordinator.kill();
  for (const deadline = Date.now() + WAIT_MS; ; await sleep(50)) {
    if ((await metric('citus_membership_failures_total{what="coordinator"}')) > 0) break;
    assert.ok(Date.now() < deadline, 'the service does not report that the coordinator is unavailable');
  }
  await coordinator.restart();
  await workers[1]!.restart('127.0.0.7');
  cluster.dns.answer([...workers.map(({ address }) => address), '127.0.0.6']);
  await until('the one that moved', at(['127.0.0.8', '127.0.0.7', '127.0.0.5', '127.0.0.6']));
});
