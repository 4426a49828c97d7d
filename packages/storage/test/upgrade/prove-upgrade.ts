import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { MAX_TIME, unknownDevice } from '@tidegauge/readings';
import { collect, reading, rejection, stored } from '../../conformance/data.ts';
import { openStore, type Store } from '../../src/index.ts';
import {
  DEVICES,
  EMPTY_TABLE,
  FIELD_COUNT,
  RECORDS,
  REGISTERED,
  START,
  STORED,
  TABLE,
  WRITTEN,
} from './sample.ts';

interface UpgradeOptions {
  /**
   * Whether an empty table of records can be used. MongoDB keeps no layout for an empty collection, so it cannot be
   * distinguished from a collection of another program.
   */
  readonly usesEmptyTable?: boolean;
  /** Whether its tables of records have the mark that Tidegauge created them. Version 0.1.0 set none. */
  readonly isMarked?: boolean;
}

/**
 * Opens a store of an earlier version with the present code, and checks that it has all its data and remains usable. Opens
 * it a second time at the end.
 */
export async function proveUpgrade(
  url: string,
  { usesEmptyTable = true, isMarked = false }: UpgradeOptions = {},
): Promise<void> {
  const use = async (proof: (store: Store) => Promise<void>) => {
    const store = await openStore(url);
    try {
      await proof(store);
    } finally {
      await store.close();
    }
  };
  await use(async (store) => {
    await proveReadings(store);
    await proveGroups(store);
    await proveUnits(store);
    await proveDevices(store);
    await proveRecords(store, isMarked);
    await proveEmptyTable(store, { usesEmptyTable, isMarked });
    await writeOn(store);
  });
  await use(async (store) => {
    const corrected = await stored(store, 'corrected');
    assert.deepEqual(
      corrected.map(({ value }) => value),
      [3],
    );
    assert.equal((await stored(store, 'fresh')).length, 1);
    assert.equal((await store.records.read(TABLE, 'fresh', null))?.field0, 'new');
  });
}

async function proveReadings({ readings, capabilities }: Store): Promise<void> {
  const devices = [...new Set(STORED.map(({ device }) => device))];
  const proveAll = async () => {
    for (const device of devices) {
      const expected = STORED.filter((one) => one.device === device);
      expected.sort((a, b) => a.time - b.time);
      const found = await collect(readings.range({ device, order: 'asc', limit: 1000 }));
      assert.deepEqual(found, expected, device);
      const down = await collect(readings.range({ device, limit: 1000 }));
      assert.deepEqual(down, expected.toReversed(), device);
    }
  };
  await proveAll();
  const latest = await readings.latest(['site-3/boiler', 'clockless']);
  assert.deepEqual(
    latest.map(({ metric, time }) => [metric, time]),
    [
      ['skewed', START + 30 * 86_400_000_000 + 120_000_000],
      ['unsynced', 12_000_000],
      ['temperature', START + 11 * 21_600_000_000],
    ],
  );
  assert.deepEqual((await readings.metrics('clockless', 10)).sort(), ['skewed', 'unsynced']);
  const series = { device: 'site-3/boiler', metric: 'temperature' };
  const to = START + 86_400_000_000;
  const query = { ...series, from: START, to, bucket: to - START };
  const [bucket, ...others] = (await readings.aggregate(query)).buckets;
  assert.deepEqual([bucket?.count, bucket?.min, bucket?.max, others.length], [5, -4, 20.375, 0]);

  const again = WRITTEN.filter(({ device }) => device !== 'corrected');
  const result = await readings.write(again);
  const duplicate = capabilities.countsDuplicates ? again.length : 0;
  assert.deepEqual(result, { stored: again.length - duplicate, duplicate });
  await proveAll();
}

/** Earlier versions had no rollups. */
async function proveGroups({ readings }: Store): Promise<void> {
  await readings.rollUp(0, MAX_TIME);
  const { groups } = await readings.groups({ by: 'metric', limit: 100 });
  const numbers = Map.groupBy(
    STORED.filter(({ value }) => typeof value === 'number'),
    ({ metric }) => metric,
  );
  assert.deepEqual(
    Object.fromEntries(groups.map(({ key, count }) => [key, count])),
    Object.fromEntries([...numbers].map(([metric, { length }]) => [metric, length])),
  );
}

/** Earlier versions had no units. */
async function proveUnits({ readings }: Store): Promise<void> {
  const series = ['temperature', 'none'].map((metric) => ({ device: 'site-3/boiler', metric }));
  assert.deepEqual(await readings.units(series), [null, null]);
  await readings.setUnits([{ ...series[0]!, unit: 'Cel' }]);
  assert.deepEqual(await readings.units(series), ['Cel', null]);
}

async function proveDevices({ devices }: Store): Promise<void> {
  const expected = [...DEVICES, ...REGISTERED.map(unknownDevice)];
  expected.sort((a, b) => (a.name < b.name ? -1 : 1));
  assert.deepEqual(await devices.list({ limit: 100 }), expected);
  assert.deepEqual(
    (await devices.list({ limit: 100, year: 2019 })).map(({ name }) => name),
    ['site-3/boiler'],
  );
  assert.deepEqual(await devices.get('Café:7/überlauf~β'), DEVICES[1]);
  await devices.register(['site-3/boiler', 'fresh']);
  assert.deepEqual(await devices.get('site-3/boiler'), DEVICES[0]);
  assert.equal((await devices.patch('stamping', { year: 2020 }))?.year, 2020);
  assert.equal(await devices.put(unknownDevice('fresh')), false);
}

async function proveRecords({ records, capabilities }: Store, isMarked: boolean): Promise<void> {
  for (const [key, fields] of RECORDS)
    assert.deepEqual({ ...(await records.read(TABLE, key, null)) }, fields, key);
  const found = await records.scan(TABLE, '', 100, null);
  assert.deepEqual(found.map(({ key }) => key).sort(), [...RECORDS.keys()].sort());
  assert.equal(await records.insert(TABLE, 'user0', RECORDS.get('user0')!), capabilities.insertIsUpsert);
  assert.equal(await records.insert(TABLE, 'fresh', { field0: 'old' }), true);
  assert.equal(await records.update(TABLE, 'fresh', { field0: 'new' }), true);
  assert.equal(await records.delete(TABLE, 'user7'), true);
  assert.equal(await records.read(TABLE, 'user7', null), null);
  await records.createTable(TABLE, FIELD_COUNT);
  if (!isMarked) {
    const error = await rejection(records.dropTable(TABLE), 'FORBIDDEN');
    assert.match(error.hint ?? '', /docs\/record-tables\.md/);
  }
  assert.equal((await records.read(TABLE, 'fresh', null))?.field0, 'new');
}

async function proveEmptyTable(
  { records }: Store,
  { usesEmptyTable, isMarked }: Required<UpgradeOptions>,
): Promise<void> {
  if (!usesEmptyTable) {
    await rejection(records.scan(EMPTY_TABLE, '', 10, null), 'FORBIDDEN');
    return;
  }
  assert.deepEqual(await records.scan(EMPTY_TABLE, '', 10, null), []);
  assert.equal(await records.insert(EMPTY_TABLE, 'user1', { field0: 'new' }), true);
  assert.equal((await records.read(EMPTY_TABLE, 'user1', null))?.field0, 'new');
  if (isMarked) await records.dropTable(EMPTY_TABLE);
  else await rejection(records.dropTable(EMPTY_TABLE), 'FORBIDDEN');
}

async function writeOn({ readings, capabilities }: Store): Promise<void> {
  const correction = reading({ device: 'corrected', time: START, value: 3 });
  const fresh = reading({ device: 'fresh', metric: 'new', boot: 'boot-2', seq: 1 });
  const result = await readings.write([correction, fresh]);
  assert.equal(result.stored, 2, JSON.stringify(capabilities));
}

/** What proves the data of each version. */
export const VERSIONS: Readonly<Record<string, UpgradeOptions>> = {
  '0.1.0': {},
  '0.2.0': { isMarked: true },
};

/** A fixture of a version that is a text, such as the SQL of a dump. */
export function fixtureText(version: string, name: string): Promise<string> {
  return readFile(new URL(`fixtures/${version}/${name}`, import.meta.url), 'utf8');
}
