import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import {
  type Combination,
  type Deployment,
  type Driver,
  RUN_COLUMNS,
  type RunDocument,
  type SeriesPlan,
  type Study,
  type TableState,
} from '@tidegauge/experiments/model';
import type { StoreServer } from '@tidegauge/lab/stores';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { startStorePlaces } from '@tidegauge/loadtests/targets/store-places';
import { openStore } from '@tidegauge/storage';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { openSingle, type SingleSeries } from '../study/single-series.ts';

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-trial-test-'));
after(() => rmSync(folder, { recursive: true }));

const NO_LIMITS = {
  dropped: 0,
  errors: 0,
  damaged: 0,
  target: 0.9,
  throttled: null,
  clockStepMs: null,
  oomKills: null,
  swapBytes: null,
  foreignCpu: null,
  network: null,
  carryOver: null,
};

const STUDY: Study = {
  name: 'trial-test',
  title: 'Trial test',
  question: null,
  seed: 11,
  quick: false,
  hard: {},
  easy: {},
  fixed: {
    records: 300,
    operations: 1000,
    threads: 3,
    target: 0,
    fields: 4,
    length: 20,
    distribution: 'default',
  },
  repeat: { deployments: 1, trials: 2, warmup: 0, pairing: 'slice', paired: [] },
  state: {},
  exclude: [],
  valid: NO_LIMITS,
  requeue: 0,
  energy: { model: 'test', idleWatts: 2, busyWatts: 5, uncertainty: 0.1, source: 'test' },
  networks: {},
  analyse: { metrics: [], per: [], groups: [], alpha: 0.05, margin: 0.05 },
  figures: [],
  published: [],
};

interface Row {
  readonly start: number;
  readonly operation: string;
  readonly latency: number;
  readonly status: string;
  readonly thread: number;
  readonly part: number;
  readonly turn: number;
}

function rowsOf(path: string): Row[] {
  const [head, ...lines] = gunzipSync(readFileSync(path)).toString().trimEnd().split('\n');
  assert.equal(head, RUN_COLUMNS.join(','));
  return lines.map((line) => {
    const [start, operation, latency, status, thread, part, turn] = line.split(',');
    assert.match(line, /^\d+,[A-Z-]+,\d+,[A-Z_]+,\d+,[01],\d+$/);
    return {
      start: Number(start),
      operation: operation!,
      latency: Number(latency),
      status: status!,
      thread: Number(thread),
      part: Number(part),
      turn: Number(turn),
    };
  });
}

function countsOf(rows: readonly Row[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { operation } of rows) counts[operation] = (counts[operation] ?? 0) + 1;
  return counts;
}

async function deploy(
  t: TestContext,
  store: 'sqlite' | StoreServer,
): Promise<Deployment & { readonly pids: number[] }> {
  const places = store === 'sqlite' ? await startStorePlaces(store) : store;
  const urls = new Map<string, Promise<string>>();
  const apis = new Map<string, ReturnType<typeof startApiProcess>>();
  const pids: number[] = [];
  const deployment = {
    pids,
    versions: {},
    storeUrl(database: string) {
      if (!urls.has(database)) urls.set(database, places.create(database));
      return urls.get(database)!;
    },
    async api(url: string) {
      if (!apis.has(url)) apis.set(url, startApiProcess({ STORE: url }));
      const api = await apis.get(url)!;
      pids.push(api.pid);
      return { url: api.url, token: null };
    },
    command: (program: string, args: readonly string[]) => ({
      command: process.execPath,
      args: [program, ...args],
    }),
    nodes: () => [{ name: 'api', role: 'api' as const, pids: () => pids, cgroup: null, exporter: null }],
    storedBytes: async () => null,
    roundTripMs: async () => null,
    snapshots: null,
    async stop() {
      for (const api of apis.values()) await (await api).stop();
      await places.stop();
    },
  } satisfies Deployment & { readonly pids: number[] };
  t.after(() => deployment.stop());
  return deployment;
}

let runs = 0;

async function runOnce(series: SingleSeries, driver: Driver, trial = 1) {
  runs += 1;
  const csvPath = join(folder, `run-${runs}.csv.gz`);
  const document = await series.run({
    run: `run-${runs}`,
    driver,
    trial,
    attempt: 1,
    warmup: false,
    csvPath,
  });
  return { document, csvPath };
}

function seriesOf(
  easy: Combination,
  state: TableState,
  drivers: readonly Driver[] = ['raw', 'app'],
): SeriesPlan {
  return { id: 'series-1', easy, drivers, state, trials: 2, warmup: 0 };
}

async function open(
  t: TestContext,
  deployment: Deployment,
  plan: SeriesPlan,
  study = STUDY,
  signal = new AbortController().signal,
) {
  const deploymentPlan = { id: 'deployment-1', block: 1, hard: {}, series: [plan] };
  const series = await openSingle(deployment, deploymentPlan, plan, study, signal);
  t.after(() => series.close());
  return series;
}

function measuredBy(document: RunDocument, rule: string) {
  return document.checks.find((check) => check.rule === rule)!;
}

for (const store of ['sqlite', 'postgres']) {
  test(`on ${store}, the file of a run agrees with its document and with the table`, async (t) => {
    const started = await startOrSkip(store, () => startStorePlaces(store));
    if ('skip' in started) return t.skip(started.skip);
    const deployment = await deploy(t, started.server);
    const series = await open(t, deployment, seriesOf({ workload: 'd' }, 'reload'));
    for (const trial of [1, 2]) {
      const loads = await series.load(trial);
      assert.deepEqual(
        loads.map(({ driver, records, how }) => [driver, records, how]),
        [
          ['raw', 300, 'loaded'],
          ['app', 300, 'loaded'],
        ],
      );
      const counts: Record<string, number>[] = [];
      for (const driver of ['raw', 'app'] as const) {
        const { document, csvPath } = await runOnce(series, driver, trial);
        const rows = rowsOf(csvPath);
        assert.ok(document.valid, JSON.stringify(document.checks));
        assert.equal(rows.length, document.csv.rows);
        assert.equal(createHash('sha256').update(readFileSync(csvPath)).digest('hex'), document.csv.sha256);
        assert.equal(rows.filter(({ status, part }) => status === 'OK' && part === 0).length, document.done);
        assert.equal(document.done, 1000);
        const ends = rows.map(({ start, latency }) => start + latency);
        const seconds = (Math.max(...ends) - Math.min(...rows.map(({ start }) => start))) / 1e6;
        assert.equal(document.seconds, seconds);
        assert.deepEqual([...new Set(rows.map(({ thread }) => thread))].toSorted(), [0, 1, 2]);
        const inserted = rows.filter(({ operation }) => operation === 'INSERT').length;
        const opened = await openStore((await deployment.storeUrl(`study_${driver}`, {}))!);
        const records = await opened.records.scan(`study_${driver}`, '', 5000, ['field0']);
        await opened.close();
        assert.equal(records.length, 300 + inserted);
        const client = document.nodes.find(({ role }) => role === 'client')!;
        assert.ok(client.cpuSeconds! > 0 && client.cpuSeconds! < document.seconds * 8);
        assert.match(
          measuredBy(document, 'damaged').note!,
          /^(25[6-9]|2[6-9]\d|[3-5]\d\d) records were checked/,
        );
        counts.push(countsOf(rows));
      }
      // The drivers are compared in pairs, so they do the same operations.
      assert.deepEqual(counts[0], counts[1]);
    }
    await series.close();
    const left = await openStore((await deployment.storeUrl('study_raw', {}))!);
    await assert.rejects(left.records.scan('study_raw', '', 1, null), /does not exist/);
    await left.close();
  });
}

test('a table is loaded, verified and dropped through the API where the store cannot be reached', async (t) => {
  const direct = await deploy(t, 'sqlite');
  const url = (await direct.storeUrl('study_app', {}))!;
  const remote = {
    name: 'pi-2',
    role: 'store',
    pids: () => [],
    cgroup: null,
    exporter: null,
    isRemote: true,
  } as const;
  const deployment: Deployment = {
    ...direct,
    storeUrl: async () => null,
    api: () => direct.api(url),
    nodes: () => [remote],
  };
  const series = await open(t, deployment, seriesOf({ workload: 'a' }, 'reload', ['app']));
  for (const trial of [1, 2]) {
    const [load] = await series.load(trial);
    assert.deepEqual([load!.records, load!.how], [300, 'loaded']);
    const { document } = await runOnce(series, 'app', trial);
    assert.ok(document.valid, JSON.stringify(document.checks));
    assert.equal(document.done, 1000);
    assert.equal(measuredBy(document, 'damaged').measured, 0);
    assert.match(measuredBy(document, 'oomKills').note!, /pi-2 cannot be measured from here/);
    const { cpuSeconds, memoryBytes } = document.nodes.find(({ node }) => node === 'pi-2')!;
    assert.deepEqual([cpuSeconds, memoryBytes, document.energy], [null, null, null]);
  }
  const store = await openStore(url);
  t.after(() => store.close());
  assert.equal((await store.records.scan('study_app', '', 5000, ['field0'])).length, 300);
  await series.close();
  await assert.rejects(store.records.scan('study_app', '', 1, null), /does not exist/);
  const raw = open(t, deployment, seriesOf({ workload: 'a' }, 'reload', ['raw']));
  await assert.rejects(raw, /the driver raw needs a STORE URL/);
});

test('a read-modify-write is one operation with two parts, and a reused table is loaded once', async (t) => {
  const deployment = await deploy(t, 'sqlite');
  const series = await open(t, deployment, seriesOf({ workload: 'f' }, 'reuse', ['raw']));
  assert.equal((await series.load(1)).length, 1);
  const first = await runOnce(series, 'raw', 1);
  const rows = rowsOf(first.csvPath);
  const whole = rows.filter(({ operation }) => operation === 'READ-MODIFY-WRITE');
  assert.ok(whole.length > 300);
  assert.equal(rows.filter(({ part }) => part === 1).length, 2 * whole.length);
  assert.equal(first.document.csv.rows, 1000 + 2 * whole.length);
  assert.equal((await series.load(2)).length, 0);
  const second = await runOnce(series, 'raw', 2);
  // The values that both trials have written are there.
  assert.ok(second.document.valid, JSON.stringify(second.document.checks));
  assert.notEqual(first.document.seed, second.document.seed);
  await series.close();
});

test('a reused table is that of the next series with the same records, and has its writes', async (t) => {
  const deployment = { ...(await deploy(t, 'sqlite')), storedBytes: async () => 1000 };
  const seriesWith = (easy: Combination) => open(t, deployment, seriesOf(easy, 'reuse'));
  const loadsOf = async (series: SingleSeries) => (await series.load(1)).map(({ driver }) => driver);
  const first = await seriesWith({ workload: 'a' });
  assert.deepEqual(await loadsOf(first), ['raw', 'app']);
  for (const driver of ['raw', 'app'] as const) {
    const { document } = await runOnce(first, driver);
    assert.ok(document.valid, JSON.stringify(document.checks));
  }
  await first.close(false);
  const second = await seriesWith({ workload: 'b', threads: 5 });
  assert.deepEqual(await loadsOf(second), []);
  for (const driver of ['raw', 'app'] as const) {
    const { document, csvPath } = await runOnce(second, driver);
    // A field that the first series has written is not damaged.
    assert.ok(document.valid, JSON.stringify(document.checks));
    assert.equal(new Set(rowsOf(csvPath).map(({ thread }) => thread)).size, 5);
    assert.deepEqual(document.storedBytes, { before: 1000, after: 1000 });
  }
  await second.close(false);
  const larger = await seriesWith({ workload: 'a', length: 30 });
  assert.deepEqual(await loadsOf(larger), ['raw', 'app']);
  // The tables of the series before are on the disk too.
  assert.equal((await runOnce(larger, 'raw')).document.storedBytes, null);
  await larger.close(false);
  const last = await seriesWith({ workload: 'a' });
  assert.deepEqual(await loadsOf(last), []);
  await last.close(true);
  const after = await seriesWith({ workload: 'a' });
  assert.deepEqual(await loadsOf(after), ['raw', 'app']);
});

for (const [pairing, turns] of [
  ['slice', 20],
  ['operation', 200],
] as const) {
  test(`runs take turns: by ${pairing}`, async (t) => {
    const deployment = await deploy(t, 'sqlite');
    const fixed = { ...STUDY.fixed, operations: 200, threads: pairing === 'slice' ? 3 : 1 };
    const study = { ...STUDY, fixed, repeat: { ...STUDY.repeat, pairing } };
    const series = await open(t, deployment, seriesOf({ workload: 'a' }, 'reload'), study);
    await series.load(1);
    const requests = (['raw', 'app'] as const).map((driver) => ({
      ...{ run: `${pairing}-${driver}`, driver, trial: 1, attempt: 1, warmup: false },
      csvPath: join(folder, `${pairing}-${driver}.csv.gz`),
    }));
    const documents = await series.together(...requests);
    const [raw, app] = requests.map(({ csvPath }) => rowsOf(csvPath));
    for (const [index, rows] of [raw!, app!].entries()) {
      const document = documents[index]!;
      assert.ok(document.valid, JSON.stringify(document.checks));
      assert.deepEqual([rows.length, document.done, document.operations], [200, 200, 200]);
      assert.deepEqual(
        [...new Set(rows.map(({ turn }) => turn))],
        Array.from({ length: turns }, (_, n) => n + 1),
      );
      // The clock of a run stands still while the other one has its turn.
      const busy = rows.reduce((sum, { latency }) => sum + latency, 0) / 1e6;
      assert.ok(document.seconds < busy + 0.5, `${document.seconds} s for ${busy} s of operations`);
      const api = document.nodes.find(({ node }) => node === 'api')!;
      assert.equal(api.cpuSeconds === null, pairing === 'operation');
    }
    // The same operations in each turn.
    const key = ({ turn, thread, operation }: Row) => `${turn} ${thread} ${operation}`;
    assert.deepEqual(raw!.map(key).toSorted(), app!.map(key).toSorted());
    if (pairing === 'slice') {
      const used = documents.map(({ nodes }) => nodes.find(({ node }) => node === 'api')!.cpuSeconds!);
      assert.ok(used[0]! < used[1]!, `${used}: the API works in the turns of app only`);
    }
  });
}

test('a run of a time ends after it, and a partner of an invalid run is not valid', async (t) => {
  const deployment = await deploy(t, 'sqlite');
  const study = { ...STUDY, fixed: { ...STUDY.fixed, operations: '1s' } };
  const series = await open(t, deployment, seriesOf({ workload: 'c' }, 'reload'), study);
  await series.load(1);
  const store = await openStore((await deployment.storeUrl('study_app', {}))!);
  for (const { key } of await store.records.scan('study_app', '', 50, null))
    await store.records.update('study_app', key, { field2: 'damaged' });
  await store.close();
  const documents = await series.together(
    ...(['raw', 'app'] as const).map((driver) => ({
      ...{ run: `time-${driver}`, driver, trial: 1, attempt: 1, warmup: false },
      csvPath: join(folder, `time-${driver}.csv.gz`),
    })),
  );
  for (const { seconds, done, operations, valid } of documents) {
    assert.ok(seconds > 0.9 && seconds < 1.5, `${seconds} s`);
    assert.ok(done > 100 && operations === done);
    assert.equal(valid, false);
  }
  assert.equal(measuredBy(documents[0]!, 'damaged').ok, true);
  assert.deepEqual(
    [measuredBy(documents[0]!, 'partners').measured, measuredBy(documents[1]!, 'partners').measured],
    [1, 0],
  );
});

test('k6 does the same operations as the driver app, and its file has the same form', async (t) => {
  const deployment = await deploy(t, 'sqlite');
  const study = { ...STUDY, fixed: { ...STUDY.fixed, operations: 300 } };
  const series = await open(t, deployment, seriesOf({ workload: 'f' }, 'reload', ['app', 'k6']), study);
  await series.load(1);
  const app = await runOnce(series, 'app');
  const k6 = await runOnce(series, 'k6');
  assert.ok(k6.document.valid, JSON.stringify(k6.document.checks));
  const rows = rowsOf(k6.csvPath);
  assert.deepEqual(countsOf(rows), countsOf(rowsOf(app.csvPath)));
  assert.equal(rows.length, k6.document.csv.rows);
  assert.equal(k6.document.done, 300);
  assert.equal(rows.filter(({ part }) => part === 0).length, 300);
  const ends = rows.map(({ start, latency }) => start + latency);
  const seconds = (Math.max(...ends) - Math.min(...rows.map(({ start }) => start))) / 1e6;
  assert.equal(k6.document.seconds, seconds);
  assert.deepEqual([...new Set(rows.map(({ thread }) => thread))].toSorted(), [0, 1, 2]);
  assert.ok(rows.every(({ latency }) => latency > 0));
  assert.ok(k6.document.nodes.find(({ role }) => role === 'client')!.cpuSeconds! > 0);
});

test('a record that was changed without notice is found, raw and through the API', async (t) => {
  const deployment = await deploy(t, 'sqlite');
  const series = await open(t, deployment, seriesOf({ workload: 'c' }, 'reload'));
  await series.load(1);
  for (const driver of ['raw', 'app'] as const) {
    const table = `study_${driver}`;
    const store = await openStore((await deployment.storeUrl(table, {}))!);
    // 256 of 300 records are in the sample: of any 50, some are.
    for (const { key } of await store.records.scan(table, '', 50, null)) {
      await store.records.update(table, key, { field2: 'damaged' });
    }
    await store.close();
    const { document } = await runOnce(series, driver);
    const check = measuredBy(document, 'damaged');
    assert.equal(document.valid, false);
    assert.ok(check.measured! >= 6 && check.measured! <= 50, String(check.measured));
    assert.match(check.note!, /user\d+: field2 has a value that no write could have left/);
  }
  await series.close();
});

test('a target rate is kept, and a stall counts for the operations that it delays', async (t) => {
  const deployment = await deploy(t, 'sqlite');
  const easy = { workload: 'c', target: 100, operations: 200 };
  const study = { ...STUDY, fixed: { ...STUDY.fixed, ...easy } };
  const series = await open(t, deployment, seriesOf({ workload: 'c' }, 'reload', ['app']), study);
  await series.load(1);
  const calm = await runOnce(series, 'app');
  const check = measuredBy(calm.document, 'target');
  assert.ok(check.ok && check.measured! > 0.9 && check.measured! < 1.05, JSON.stringify(check));
  await series.load(2);
  const running = runOnce(series, 'app', 2);
  await new Promise((resolve) => setTimeout(resolve, 700));
  // The API answers nothing for 500 ms.
  process.kill(deployment.pids[0]!, 'SIGSTOP');
  await new Promise((resolve) => setTimeout(resolve, 500));
  process.kill(deployment.pids[0]!, 'SIGCONT');
  const stalled = rowsOf((await running).csvPath).filter(({ latency }) => latency > 50_000);
  // 100 operations per second for 0.5 s. Without intended starts it would be one operation of each thread.
  assert.ok(stalled.length > 20, `${stalled.length} operations show the stall`);
  await series.close();
});

test('a driver that is killed gives an invalid run, and the next run is valid', async (t) => {
  const deployment = await deploy(t, 'sqlite');
  const study = { ...STUDY, fixed: { ...STUDY.fixed, operations: 2000, target: 200 } };
  const pids: number[] = [];
  const series = await open(t, deployment, seriesOf({ workload: 'a' }, 'reuse', ['raw']), study);
  await series.load(1);
  const running = runOnce(series, 'raw');
  await new Promise((resolve) => setTimeout(resolve, 500));
  pids.push(...childrenOf(process.pid, 'src/trial/driver.ts'));
  assert.equal(pids.length, 1);
  process.kill(pids[0]!, 'SIGKILL');
  const { document, csvPath } = await running;
  assert.equal(document.valid, false);
  assert.match(measuredBy(document, 'driver').note!, /the driver ended early \(.*SIGKILL/);
  assert.equal(document.done, 0);
  assert.deepEqual(rowsOf(csvPath), []);
  assert.deepEqual(
    readdirSync(folder).filter((name) => !name.endsWith('.csv.gz')),
    [],
  );
  // The driver's record of its writes is lost, so the table is loaded again.
  assert.equal((await series.load(1, ['raw'])).length, 1);
  const fast = await runOnce(series, 'raw');
  assert.ok(fast.document.valid, JSON.stringify(fast.document.checks));
  await series.close();
});

test('an abort ends a run, and no driver program stays', async (t) => {
  const deployment = await deploy(t, 'sqlite');
  const study = { ...STUDY, fixed: { ...STUDY.fixed, operations: 100_000, target: 100 } };
  const abort = new AbortController();
  const series = await open(
    t,
    deployment,
    seriesOf({ workload: 'a' }, 'reload', ['raw']),
    study,
    abort.signal,
  );
  await series.load(1);
  setTimeout(() => abort.abort(new Error('stopped by the test')), 300);
  await assert.rejects(runOnce(series, 'raw'), /stopped by the test/);
  await series.close();
  assert.deepEqual(childrenOf(process.pid, 'src/trial/driver.ts'), []);
});

function childrenOf(parent: number, program: string): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        const ppid = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
        return ppid === parent && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(program);
      } catch {
        return false;
      }
    })
    .map(Number);
}
