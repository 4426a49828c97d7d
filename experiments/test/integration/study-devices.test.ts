import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { parseStudy } from '@tidegauge/experiments/file/read-study';
import type { Deployment, Driver, RunDocument } from '@tidegauge/experiments/model';
import { labPlace } from '@tidegauge/experiments/places/lab';
import { makePlan } from '@tidegauge/experiments/plan';
import { openStore } from '@tidegauge/storage';
import { openSingle } from '../study/single-series.ts';

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-devices-test-'));
after(() => rmSync(folder, { recursive: true }));

const YEARS = 35;
let files = 0;

/** Opens the series of a study with one combination of levels. */
async function open(
  t: TestContext,
  store: string,
  workload: string,
  drivers: readonly Driver[],
  threads = 1,
) {
  const text = [
    'study: devices',
    `hard: { store: ${store} }`,
    `easy: { workload: ${workload}, driver: [${drivers.join(', ')}] }`,
    `fixed: { records: 100, operations: 20, threads: ${threads} }`,
    'valid: { foreignCpu: null, throttled: null, swap: null, clockStep: null }',
  ].join('\n');
  const study = await parseStudy(text, { name: 'devices.yml', directory: folder }, { on: 'lab' });
  const [plan] = makePlan(study).deployments;
  const [series] = plan!.series;
  const { signal } = new AbortController();
  const deployment = await labPlace().deploy(plan!.hard, study, signal);
  t.after(() => deployment.stop());
  const reopen = () => openSingle(deployment, plan!, series!, study, signal);
  const opened = await reopen();
  t.after(() => opened.close());
  return { deployment, opened, reopen };
}

type Opened = Awaited<ReturnType<typeof open>>['opened'];

async function runOnce(opened: Opened, driver: Driver, trial = 1) {
  files += 1;
  const csvPath = join(folder, `${files}.csv.gz`);
  const request = { run: `run-${files}`, driver, trial, attempt: 1, warmup: false, csvPath };
  const document = await opened.run(request);
  const rows = gunzipSync(readFileSync(csvPath)).toString().trimEnd().split('\n').slice(1);
  return { document, rows: rows.map((row) => row.split(',')) };
}

function damagedOf({ checks }: RunDocument) {
  return checks.find(({ rule }) => rule === 'damaged')!;
}

async function citiesOf(deployment: Deployment, driver: string): Promise<readonly (string | null)[]> {
  const store = await openStore((await deployment.storeUrl(`study_${driver}_100`, {}))!);
  const devices = await store.devices.list({ limit: 1000 });
  await store.close();
  assert.equal(devices.length, 100);
  return devices.map(({ city }) => city);
}

const DIRECT: readonly Driver[] = ['raw', 'raw-connect'];

for (const [workload, operation] of [
  ['select-one', 'SELECT-ONE'],
  ['select-some', 'SELECT-SOME'],
  ['update-some', 'UPDATE-SOME'],
] as const) {
  test(`${workload}: all drivers do the same valid operations on the same devices`, async (t) => {
    const drivers: readonly Driver[] = [...DIRECT, 'app', 'app-connect'];
    const { deployment, opened } = await open(t, 'sqlite', workload, drivers, 2);
    const loads = await opened.load(1);
    assert.deepEqual(
      loads.map(({ driver, records, how }) => [driver, records, how]),
      drivers.map((driver) => [driver, 100, 'loaded']),
    );
    const before = await citiesOf(deployment, 'raw');
    for (const driver of drivers) {
      const { document, rows } = await runOnce(opened, driver);
      assert.ok(document.valid, JSON.stringify(document.checks));
      assert.equal(document.done, 20);
      assert.equal(rows.length, 20);
      assert.ok(rows.every(([, name, , status]) => name === operation && status === 'OK'));
      assert.match(damagedOf(document).note!, new RegExp(`^${2 * YEARS} records were checked`));
    }
    const changed = await citiesOf(deployment, 'raw');
    // Years that two threads update at the same time can differ, which the check of each run allows.
    if (workload === 'update-some') assert.notDeepEqual(changed, before);
    else
      for (const driver of drivers) {
        assert.deepEqual(await citiesOf(deployment, driver.replace('-', '_')), before);
      }
    await opened.close();
  });
}

test('devices that were changed without notice are found, and the next load corrects them', async (t) => {
  const { deployment, opened, reopen } = await open(t, 'sqlite', 'select-some', ['raw', 'app']);
  await opened.load(1);
  const loaded = await citiesOf(deployment, 'raw');
  for (const driver of ['raw', 'app'] as const) {
    const store = await openStore((await deployment.storeUrl(`study_${driver}_100`, {}))!);
    await store.devices.patchWhere({ year: 1991 }, { city: 'Atlantis' });
    await store.devices.delete('fleet/d2');
    await store.devices.put({ ...(await store.devices.get('fleet/d3'))!, year: 2001 });
    await store.close();
    const { document } = await runOnce(opened, driver);
    assert.equal(document.valid, false);
    // Two devices of 1991, and d2 and d3, besides the reads of years that now have another number of devices.
    assert.ok(damagedOf(document).measured! >= 4);
    assert.match(damagedOf(document).note!, /fleet\/d1: it has a city that no update could have left/);
  }
  await opened.close();
  const again = await reopen();
  t.after(() => again.close());
  await again.load(1);
  assert.deepEqual(await citiesOf(deployment, 'raw'), loaded);
  assert.ok((await runOnce(again, 'raw')).document.valid);
  await again.close();
  const store = await openStore((await deployment.storeUrl('study_raw_100', {}))!);
  await store.devices.register(['stranger']);
  await store.close();
  const third = await reopen();
  t.after(() => third.close());
  await assert.rejects(third.load(1), /the register has the device stranger, which is not of the study/);
});

test('the published method on JSON files reads and writes the whole file', async (t) => {
  for (const workload of ['select-one', 'select-some', 'update-some']) {
    const { opened } = await open(t, 'json', workload, ['raw', 'published']);
    await opened.load(1);
    for (const trial of [1, 2]) {
      const { document } = await runOnce(opened, 'published', trial);
      assert.ok(document.valid, JSON.stringify(document.checks));
      assert.equal(document.done, 20);
    }
    await opened.close();
  }
});

test('where the store cannot be reached, devices are loaded, verified and deleted through the API', async (t) => {
  const { deployment, opened } = await open(t, 'sqlite', 'update-some', ['app']);
  await opened.close();
  const url = (await deployment.storeUrl('study_shared', {}))!;
  const study = await parseStudy(
    'study: remote\nhard: { store: sqlite }\neasy: { workload: update-some, driver: app }\nfixed: { records: 40, operations: 5 }',
    { name: 'remote.yml', directory: folder },
  );
  const [plan] = makePlan(study).deployments;
  const remote: Deployment = { ...deployment, storeUrl: async () => null, api: () => deployment.api(url) };
  const series = await openSingle(remote, plan!, plan!.series[0]!, study);
  t.after(() => series.close());
  await series.load(1);
  const { document } = await runOnce(series, 'app');
  assert.equal(document.done, 5);
  assert.equal(damagedOf(document).measured, 0);
  const store = await openStore(url);
  t.after(() => store.close());
  assert.equal((await store.devices.list({ limit: 100 })).length, 40);
  await series.close();
  assert.deepEqual(await store.devices.list({ limit: 100 }), []);
});
