import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type FamilyOptions, HBaseClient } from '@tidegauge/hbase-client';
import { freePort } from '@tidegauge/lab';
import { startHbase } from '@tidegauge/lab/hbase';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { reading, rejection, series, stored, T0 } from '../../conformance/data.ts';
import { openStore, type Store } from '../../src/index.ts';
import { refused, withSilentHost } from '../refused.ts';
import { fixtureText, proveUpgrade, VERSIONS } from '../upgrade/prove-upgrade.ts';

/** A table of a fixture. Keys, qualifiers and values are hexadecimal. */
interface TableFixture {
  readonly families: Readonly<Record<string, FamilyOptions>>;
  /** Those of Tidegauge. Version 0.1.0 had none. */
  readonly attributes?: Readonly<Record<string, string>>;
  readonly splits: readonly string[];
  /** `row family qualifier value timestamp` */
  readonly cells: readonly string[];
}

const bytesOf = (hex: string | undefined) => Buffer.from(hex ?? '', 'hex');

const started = await startOrSkip('hbase', () => startHbase({ checksRights: true }));
const server = 'server' in started ? started.server : null;
const skip = 'skip' in started ? started.skip : false;
after(() => server?.stop());

describe('hbase, without a server', () => {
  test('a closed port is UNAVAILABLE', async () => {
    const error = await refused(`hbase://127.0.0.1:${await freePort()}/ns?connect=500`, 'UNAVAILABLE', 2500);
    assert.match(error.message, /ECONNREFUSED/);
  });

  test('a host that accepts connections and never answers is UNAVAILABLE within the connect timeout', async () => {
    await withSilentHost((port) => refused(`hbase://127.0.0.1:${port}/ns?connect=500`, 'UNAVAILABLE', 2500));
  });

  test('a name that does not resolve is UNAVAILABLE', async () => {
    await refused('hbase://no-such-host.invalid:2181/ns?connect=500', 'UNAVAILABLE', 2500);
  });
});

describe('hbase', { skip }, () => {
  const url = (namespace: string, query = '?presplit=4') => `${server!.url(namespace)}${query}`;
  let client: HBaseClient;
  let store: Store;

  before(async () => {
    client = new HBaseClient({ zookeeper: `127.0.0.1:${server!.port}` });
    store = await openStore(url('facts'));
  });
  after(async () => {
    await store?.close();
    client?.close();
  });

  for (const [version, options] of Object.entries(VERSIONS)) {
    test(`a namespace of version ${version} keeps its data and remains usable`, async () => {
      const namespace = `upgrade_${version.replaceAll('.', '_')}`;
      const tables: Record<string, TableFixture> = JSON.parse(await fixtureText(version, 'hbase.json'));
      await client.admin.createNamespace(namespace);
      for (const [name, { families, attributes = {}, splits, cells }] of Object.entries(tables)) {
        const table = name.replace('place:', `${namespace}:`);
        const splitKeys = splits.map(bytesOf);
        await client.admin.createTable(table, { families, attributes, splitKeys, timeoutMs: 60_000 });
        for (const cell of cells) {
          const [row, family, qualifier, value, timestamp] = cell.split(' ');
          const column = { family: family!, qualifier: bytesOf(qualifier) };
          await client
            .table(table)
            .put(bytesOf(row), [{ ...column, value: bytesOf(value), timestamp: Number(timestamp) }]);
        }
      }
      await proveUpgrade(url(namespace), options);
    });
  }

  test('the tables have the options of the URL', async () => {
    const other = await openStore(url('options', '?presplit=5&ttl=3600&compression=none'));
    await other.records.createTable('usertable', 10);
    await other.close();
    const [readings] = await client.admin.families('options:readings');
    assert.deepEqual(
      [readings?.ttlSeconds, readings?.compression, readings?.bloomFilter, readings?.blockEncoding],
      [3600, 'NONE', 'NONE', 'ROW_INDEX_V1'],
    );
    const [records] = await client.admin.families('options:usertable');
    assert.deepEqual([records?.name, records?.ttlSeconds, records?.compression], ['family', null, 'NONE']);
    const [defaults] = await client.admin.families('facts:readings');
    assert.deepEqual([defaults?.ttlSeconds, defaults?.compression], [null, 'GZ']);
    assert.equal((await client.admin.regions('options:readings')).length, 5);
    assert.equal((await client.admin.regions('options:usertable')).length, 5);
  });

  test('a compression that the server does not have is MISCONFIGURED, and the error names it', async () => {
    const error = await rejection(openStore(url('compressed', '?compression=zstd')), 'MISCONFIGURED');
    assert.match(error.message, /readings is refused.*zstd/is);
    assert.match(error.hint ?? '', /options of the URL/);
  });

  test('another znode is UNAVAILABLE, and names the option', async () => {
    const error = await refused(url('facts', '?znode=/elsewhere&connect=500'), 'UNAVAILABLE', 2500);
    assert.match(error.hint ?? '', /znode/);
  });

  test('a user without rights on the namespace is MISCONFIGURED without delay', async () => {
    for (const namespace of ['facts', 'foreign']) {
      const error = await refused(url(namespace).replace('//', '//nobody@'), 'MISCONFIGURED', 5000);
      assert.match(error.message, /Insufficient permissions for user 'nobody'/);
      assert.match(error.hint ?? '', /grant/);
    }
  });

  test('readings expire automatically if the URL sets a ttl', async () => {
    const short = await openStore(url('shortlived', '?presplit=1&ttl=1'));
    await short.readings.write(series('d', 3));
    for (const deadline = Date.now() + 30_000; (await stored(short, 'd')).length > 0; ) {
      assert.ok(Date.now() < deadline, 'they are still there after 30 s');
    }
    assert.deepEqual(await short.readings.latest(['d']), []);
    await short.close();
  });

  test('rows have the expected keys and the layout of YCSB', async () => {
    await store.records.createTable('usertable', 2);
    await store.records.insert('usertable', 'user1', { field0: 'a', field1: 'b' });
    const row = await client.table('facts:usertable').get('user1');
    assert.equal(row?.value('family', 'field1')?.toString(), 'b');
    await client
      .table('facts:usertable')
      .put('user2', [{ family: 'family', qualifier: 'field0', value: 'x' }]);
    assert.deepEqual({ ...(await store.records.read('usertable', 'user2', null)) }, { field0: 'x' });
  });

  test('devices of many series are read and expired across the borders of regions', async () => {
    const devices = Array.from({ length: 40 }, (_, index) => `wide/${index}`);
    const metrics = Array.from({ length: 12 }, (_, index) => `m${index}`);
    const all = devices.flatMap((device) => metrics.flatMap((metric) => series(device, 5, metric)));
    await store.readings.write(all);
    const latest = await store.readings.latest(devices);
    assert.equal(latest.length, devices.length * metrics.length);
    assert.ok(latest.every(({ value }) => value === 4));
    assert.equal((await stored(store, devices[7]!)).length, metrics.length * 5);
    assert.equal(await store.readings.expire(T0 + 2_000_000), devices.length * metrics.length * 2);
    assert.equal((await stored(store, devices[7]!)).length, metrics.length * 3);
  });

  test('a split of a region during reads and writes loses nothing', async () => {
    const writing = Array.from({ length: 60 }, (_, index) =>
      store.readings.write(
        Array.from({ length: 50 }, (_, probe) =>
          reading({ device: `split/${probe}`, time: T0 + index * 1000 }),
        ),
      ),
    );
    const [region] = await client.admin.regions('facts:readings');
    await client.admin.splitRegion(region!, Buffer.from([0x20, 0]));
    await Promise.all(writing);
    for (const probe of [0, 17, 49]) assert.equal((await stored(store, `split/${probe}`)).length, 60);
    await store.health();
  });

  test('a disabled table is MISCONFIGURED with a hint', async () => {
    const other = await openStore(url('disabled', '?presplit=1'));
    await client.admin.disableTable('disabled:readings');
    const error = await rejection(other.readings.write(series('d', 1)), 'MISCONFIGURED');
    assert.match(error.hint ?? '', /enable/);
    await rejection(other.health(), 'MISCONFIGURED');
    await client.admin.enableTable('disabled:readings');
    await other.readings.write(series('d', 1));
    await other.health();
    await other.close();
  });

  test('a namespace that a newer version wrote is MISCONFIGURED', async () => {
    await (await openStore(url('newer', '?presplit=1'))).close();
    const cell = { family: 'd', qualifier: 'version', value: '99' };
    await client.table('newer:devices').put('\0schema', [cell]);
    const error = await rejection(openStore(url('newer')), 'MISCONFIGURED');
    assert.match(error.message, /schema version 99 is newer/);
  });
});
