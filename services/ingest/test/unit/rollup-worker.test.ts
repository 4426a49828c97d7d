import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger, Metrics } from '@tidegauge/service';
import { openStore, type Store } from '@tidegauge/storage';
import { measureRollups } from '../../src/measure.ts';
import { RollupWorker } from '../../src/rollup-worker.ts';

const T0 = 1_795_219_200_000_000;
const DAY = 86_400_000_000;
const SERIES = 300;

const logger = createLogger('test', 'silent');
let directory: string;
let now = T0 + 2 * DAY;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegauge-rollups-'));
});
after(() => rm(directory, { recursive: true }));

function open(name: string): Promise<Store> {
  return openStore(`sqlite:${join(directory, name)}?synchronous=normal`, { clock: () => now });
}

/** Writes one reading of many series, more than one piece of work takes. */
async function fill(store: Store): Promise<void> {
  await store.readings.write(
    Array.from({ length: SERIES }, (_, index) => ({
      ...{ device: `d${index}`, metric: 'm', time: T0, value: index, received: T0 },
      ...{ boot: null, seq: null, quality: 'ok' },
    })),
  );
}

async function until(condition: () => boolean): Promise<void> {
  for (const deadline = performance.now() + 20_000; !condition(); await sleep(10))
    assert.ok(performance.now() < deadline, 'it takes too long');
}

test('of several workers, the one with the lease computes all rollups that are due', async () => {
  const stores = [await open('shared.db'), await open('shared.db')];
  await fill(stores[0]!);
  const workers = stores.map((store, index) => new RollupWorker(store, `worker-${index}`, logger, 20));
  for (const worker of workers) worker.start();
  await until(() => workers.every(({ status }) => status !== null));
  assert.deepEqual(
    workers.map(({ counts }) => counts.hours),
    [0, 0],
  );
  assert.equal(workers[0]!.status!.marks, SERIES);
  now += DAY / 12;
  await until(() => workers.every(({ status }) => status!.marks === 0));
  const hours = workers.map(({ counts }) => counts.hours).sort((a, b) => a - b);
  assert.deepEqual(hours, [0, SERIES]);

  const metrics = new Metrics();
  measureRollups(metrics, workers.find(({ counts }) => counts.hours > 0)!);
  const text = await metrics.registry.metrics();
  assert.match(text, /^tidegauge_rollup_marks 0$/m);
  assert.match(text, new RegExp(`^tidegauge_rollup_hours_total ${SERIES}$`, 'm'));
  assert.match(text, new RegExp(`^tidegauge_rollup_rows_total ${3 * SERIES}$`, 'm'));
  for (const worker of workers) await worker.stop();
  for (const store of stores) await store.close();
});

test('a worker continues after a failure of the store, and ends while it waits', async () => {
  const store = await open('failing.db');
  await fill(store);
  now += DAY / 12;
  let failures = 2;
  const rollups: Store['rollups'] = {
    ...store.rollups,
    work: () => (failures-- > 0 ? Promise.reject(new Error('refused')) : store.rollups.work()),
  };
  const failing = {
    rollups,
    lease: (name: string, holder: string, ms: number) => store.lease(name, holder, ms),
    compact: async () => false,
  } as Store;
  const worker = new RollupWorker(failing, 'worker', logger, 200);
  worker.start();
  await until(() => worker.status !== null);
  assert.equal(worker.counts.failures, 1);
  const metrics = new Metrics();
  measureRollups(metrics, worker);
  // Two hours after the write, and its marks were due three minutes after it.
  assert.match(await metrics.registry.metrics(), /^tidegauge_rollup_overdue_seconds 7020$/m);
  await until(() => worker.counts.hours === SERIES);
  assert.equal(worker.counts.failures, 2);
  await worker.stop();
  const idle = new RollupWorker(store, 'worker', logger, 60_000);
  idle.start();
  await until(() => idle.status !== null);
  await idle.stop();
  await store.close();
});

test('a worker that always has more work reports the marks that are left, and compacts too', async () => {
  const store = await open('behind.db');
  await fill(store);
  const counts = { pieces: 0, compactions: 0 };
  const rollups: Store['rollups'] = {
    ...store.rollups,
    work: async () => {
      counts.pieces += 1;
      return { hours: 1, late: 0, rows: 1, readings: 1, damage: null, more: true };
    },
  };
  const compact = async () => {
    counts.compactions += 1;
    return true;
  };
  const busy = { rollups, compact, lease: async () => true } as unknown as Store;
  const worker = new RollupWorker(busy, 'w', logger, 60_000, 20);
  worker.start();
  await until(() => worker.status !== null);
  assert.equal(worker.status!.marks, SERIES);
  await until(() => counts.compactions > 0);
  const { pieces } = counts;
  await until(() => counts.pieces > pieces);
  await worker.stop();
  await store.close();
});
