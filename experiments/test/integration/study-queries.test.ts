import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { parseStudy } from '@tidegauge/experiments/file/read-study';
import type { Driver, Level, RunDocument, SeriesPlan } from '@tidegauge/experiments/model';
import { labPlace } from '@tidegauge/experiments/places/lab';
import { makePlan } from '@tidegauge/experiments/plan';
import { postgresClient } from '@tidegauge/loadtests/drivers/postgres-client';
import { publishedQueries } from '@tidegauge/loadtests/drivers/published-queries';
import { QUERIES, ReadLoad } from '@tidegauge/loadtests/operations/read-load';
import { openStore, parseUrl } from '@tidegauge/storage';
import { openSingle } from '../study/single-series.ts';

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-queries-test-'));
after(() => rmSync(folder, { recursive: true }));

const THREADS = 4;
let files = 0;

/** One deployment, and its series: one for each query. */
async function deploy(
  t: TestContext,
  store: string,
  drivers: readonly Driver[],
  queries: readonly Level[],
  { volume = 100, threads = THREADS } = {},
) {
  const text = [
    'study: queries',
    `hard: { store: ${store} }`,
    `easy: { workload: [${queries.join(', ')}], driver: [${drivers.join(', ')}] }`,
    `fixed: { records: 3000, volume: ${volume}, operations: one-each, threads: ${threads} }`,
    'valid: { foreignCpu: null, throttled: null, swap: null, clockStep: null }',
  ].join('\n');
  const study = await parseStudy(text, { name: 'queries.yml', directory: folder }, { on: 'lab' });
  const [plan] = makePlan(study).deployments;
  const { signal } = new AbortController();
  const deployment = await labPlace().deploy(plan!.hard, study, signal);
  t.after(() => deployment.stop());
  const open = async (series: SeriesPlan) => {
    const opened = await openSingle(deployment, plan!, series, study, signal);
    t.after(() => opened.close());
    return opened;
  };
  return { deployment, series: plan!.series, open };
}

type Opened = Awaited<ReturnType<Awaited<ReturnType<typeof deploy>>['open']>>;

function request(driver: Driver, trial = 1) {
  files += 1;
  const csvPath = join(folder, `${files}.csv.gz`);
  return { run: `run-${files}`, driver, trial, attempt: 1, warmup: false, csvPath };
}

async function runOnce(opened: Opened, driver: Driver) {
  const asked = request(driver);
  const { csvPath } = asked;
  const document = await opened.run(asked);
  const rows = gunzipSync(readFileSync(csvPath)).toString().trimEnd().split('\n').slice(1);
  return { document, rows: rows.map((row) => row.split(',')) };
}

function damagedOf({ checks }: RunDocument) {
  return checks.find(({ rule }) => rule === 'damaged')!;
}

const STORES: readonly (readonly [store: string, drivers: readonly Driver[], queries: readonly Level[]])[] = [
  ['sqlite', ['raw', 'app'], QUERIES],
  ['postgres', ['raw', 'published'], ['q3', 'q5']],
  ['cassandra', ['raw', 'published'], ['q3', 'q7']],
];

for (const [store, drivers, queries] of STORES) {
  test(`${store}: all drivers read the same readings, and every answer is right`, async (t) => {
    const { series, open } = await deploy(t, store, drivers, queries);
    const loaded: string[] = [];
    for (const each of series) {
      const opened = await open(each);
      loaded.push(...(await opened.load(1)).map(({ driver, records }) => `${driver} ${records}`));
      for (const driver of drivers) {
        const { document, rows } = await runOnce(opened, driver);
        const what = `${each.easy.workload} ${driver}: ${JSON.stringify(document.checks)}`;
        assert.ok(document.valid, what);
        assert.equal(document.done, THREADS, what);
        assert.equal(rows.length, THREADS);
        assert.ok(rows.every(([, name, , status]) => name === 'QUERY' && status === 'OK'));
        if (driver === 'published') {
          assert.ok(rows.every(([, , latency]) => Number(latency) % 1000 === 0));
          continue;
        }
        assert.equal(damagedOf(document).measured, 0, what);
        assert.match(damagedOf(document).note!, new RegExp(`^${THREADS} records were checked`));
      }
      await opened.close();
    }
    // The first driver of the first series loads for all.
    assert.deepEqual(loaded, [`${drivers[0]} 3000`]);
  });
}

test('PostgreSQL has its statistics after a load, and no connection of published reads after their turn', async (t) => {
  const { deployment, series, open } = await deploy(t, 'postgres', ['published'], ['q5']);
  const opened = await open(series[0]!);
  await opened.load(1);
  const url = (await deployment.storeUrl('study_readings_3000_100', {}))!;
  const reads = publishedQueries(url, new ReadLoad(3000, 100), 'q5');
  await reads.open();
  // More than the server accepts.
  const problems = await Promise.all(Array.from({ length: 150 }, () => reads.ask()));
  assert.ok(problems.some((problem) => problem?.includes('too many clients')));
  await reads.endTurn();
  const client = postgresClient(parseUrl(url));
  await client.connect();
  try {
    const { rows } = await client.query(`select
      (select count(*)::int from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()) as open,
      (select count(*)::int from pg_stats where tablename = 'readings') > 0 as known`);
    assert.deepEqual(rows, [{ open: 0, known: true }]);
  } finally {
    await client.end();
  }
});

test('PostgreSQL refuses no read because of published reads that had the turn before', async (t) => {
  const drivers: readonly Driver[] = ['raw', 'app', 'published'];
  const { series, open } = await deploy(t, 'postgres', drivers, ['q2'], { threads: 100 });
  const opened = await open(series[0]!);
  await opened.load(1);
  // The order of the turns differs.
  for (const trial of [1, 2, 3, 4]) {
    const documents = await opened.together(...drivers.map((driver) => request(driver, trial)));
    assert.deepEqual(
      documents.map(({ done }) => done),
      [100, 100, 100],
    );
  }
});

test('a wrong sum is found, and a volume is not mixed with another one', async (t) => {
  const { deployment, series, open } = await deploy(t, 'sqlite', ['raw'], ['q9'], { volume: 20 });
  const opened = await open(series[0]!);
  const [load] = await opened.load(1);
  assert.equal(load!.records, 600);
  const store = await openStore((await deployment.storeUrl('study_readings_3000_20', {}))!);
  t.after(() => store.close());
  for await (const reading of store.readings.range({ device: 'retail/c0', limit: 1 })) {
    await store.readings.write([{ ...reading, value: Number(reading.value) + 0.25 }]);
  }
  const { document, rows } = await runOnce(opened, 'raw');
  assert.equal(document.valid, false);
  assert.equal(damagedOf(document).measured, THREADS);
  assert.ok(rows.every(([, , , status]) => status === 'UNEXPECTED_STATE'));
  await opened.close();
  const marker = (await store.devices.get('retail/load'))!;
  await store.devices.put({ ...marker, attributes: { ...marker.attributes, readings: 1200 } });
  const again = await open(series[0]!);
  await assert.rejects(again.load(1), /the store has 1200 readings of another load, not 600/);
});
