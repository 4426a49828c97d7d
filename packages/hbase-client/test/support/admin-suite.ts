import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { HBaseClient, type RegionLocation, type Table } from '../../src/index.ts';
import { rejection } from './rejection.ts';

const FAMILY = 'f';
const PATIENCE_MS = 60_000;

/** Registers tests of administration on the cluster whose ZooKeeper listens on `port()` of 127.0.0.1. */
export function describeAdmin(name: string, port: () => number): void {
  describe(`administration of ${name}`, () => {
    let client: HBaseClient;
    before(() => {
      client = new HBaseClient({ zookeeper: `127.0.0.1:${port()}`, timeoutMs: PATIENCE_MS });
    });
    after(() => client.close());

    async function tableOf(table: string, splitKeys: readonly (string | Buffer)[] = []): Promise<Table> {
      await client.admin.createTable(table, { families: { [FAMILY]: {} }, splitKeys });
      return client.table(table);
    }

    test('split keys can have any bytes and are the start keys of regions', async () => {
      const keys = [Buffer.from([0]), Buffer.from('m'), Buffer.from('m,'), Buffer.from([0xff, 0, 0x2c])];
      await tableOf('split_keys', keys);
      const regions = await client.admin.regions('split_keys');
      assert.deepEqual(
        regions.map(({ start }) => start),
        [Buffer.alloc(0), ...keys],
      );
      assert.deepEqual(
        regions.map(({ end }) => end),
        [...keys, Buffer.alloc(0)],
      );
      const servers = await client.admin.servers();
      for (const { server, state, encodedName } of regions) {
        assert.equal(state, 'OPEN');
        assert.match(encodedName, /^[0-9a-f]{32}$/);
        assert.ok(servers.some(({ host, port }) => host === server?.host && port === server.port));
      }
    });

    test('a family has the given options, and an alteration changes only the named ones', async () => {
      const requested = {
        maxVersions: 3,
        ttlSeconds: 3600,
        compression: 'GZ',
        bloomFilter: 'ROWCOL',
        blockEncoding: 'FAST_DIFF',
      } as const;
      await client.admin.createTable('families', { families: { [FAMILY]: requested, g: {} } });
      const [first, second] = await client.admin.families('families');
      const { attributes, ...options } = first!;
      assert.deepEqual(options, { name: FAMILY, ...requested });
      assert.equal(attributes.TTL, '3600');
      assert.deepEqual([second?.name, second?.ttlSeconds, second?.maxVersions], ['g', null, 1]);

      await client.admin.alterFamily('families', FAMILY, { ttlSeconds: null, maxVersions: 2 });
      const [altered] = await client.admin.families('families');
      assert.deepEqual(
        { ...altered, attributes: null },
        { name: FAMILY, ...requested, ttlSeconds: null, maxVersions: 2, attributes: null },
      );

      const table = client.table('families');
      // Puts in the same millisecond would be one version.
      for (const timestamp of [1, 2, 3]) {
        await table.put('r', [{ family: FAMILY, qualifier: 'q', value: String(timestamp), timestamp }]);
      }
      const row = await table.get('r', { maxVersions: 9 });
      assert.deepEqual(
        row?.cells.map(({ value }) => value.toString()),
        ['3', '2'],
      );
    });

    test('cells are deleted after their time to live', async () => {
      await client.admin.createTable('short_lived', { families: { [FAMILY]: { ttlSeconds: 1 } } });
      const table = client.table('short_lived');
      await table.put('r', [{ family: FAMILY, qualifier: 'q', value: 'v' }]);
      await until('the cell to go', async () => !(await table.exists('r')));
    });

    test('a family can be added, and dropped with its cells', async () => {
      const table = await tableOf('coming');
      const cells = [{ family: 'g', qualifier: 'q', value: 'v' }];
      await rejection(table.put('r', cells), 'FAMILY_NOT_FOUND');
      await client.admin.addFamily('coming', 'g', {});
      await table.put('r', cells);
      const twice = await rejection(client.admin.addFamily('coming', 'g', {}), 'REJECTED');
      assert.match(twice.message, /'g' in table 'coming' already exists/);
      await client.admin.dropFamily('coming', 'g');
      await rejection(table.put('r', cells), 'FAMILY_NOT_FOUND');
      assert.equal(await table.exists('r'), false);
      const gone = await rejection(client.admin.alterFamily('coming', 'g', {}), 'FAMILY_NOT_FOUND');
      assert.equal(gone.message, 'table coming has no column family g');
      assert.equal(gone.hint, 'it has f');
    });

    test('a table is disabled, enabled, truncated and dropped', async () => {
      const table = await tableOf('stages', ['k', 's']);
      const cells = [{ family: FAMILY, qualifier: 'q', value: 'v' }];
      await table.put('a', cells);
      await table.put('z', cells);
      await client.admin.disableTable('stages');
      assert.equal(await client.admin.isEnabled('stages'), false);
      await rejection(table.get('a'), 'TABLE_DISABLED');
      await rejection(table.put('a', cells), 'TABLE_DISABLED');
      await rejection(client.admin.flush('stages'), 'TABLE_DISABLED');
      await client.admin.enableTable('stages');
      assert.equal(await table.exists('a'), true);

      await client.admin.disableTable('stages');
      await client.admin.truncateTable('stages');
      assert.equal(await table.exists('a'), false);
      await table.put('a', cells);
      assert.equal((await client.admin.regions('stages')).length, 3);
      await client.admin.disableTable('stages');
      await client.admin.truncateTable('stages', { keepSplits: false });
      assert.equal((await client.admin.regions('stages')).length, 1);

      await client.admin.disableTable('stages');
      await client.admin.dropTable('stages');
      assert.equal(await client.admin.hasTable('stages'), false);
      await rejection(table.put('a', cells), 'TABLE_NOT_FOUND');
      await tableOf('stages');
      await table.put('a', cells);
    });

    test('an impossible operation is refused with the name of the table, family or namespace', async () => {
      const { admin } = client;
      await tableOf('there');
      const refused = [
        [() => tableOf('there'), 'TABLE_EXISTS', /there/],
        [() => tableOf('nospace:t'), 'NAMESPACE_NOT_FOUND', /nospace/],
        [() => admin.createNamespace('default'), 'NAMESPACE_EXISTS', /default/],
        [() => admin.dropNamespace('nospace'), 'NAMESPACE_NOT_FOUND', /nospace/],
        [() => admin.dropTable('there'), 'TABLE_ENABLED', /there/],
        [() => admin.enableTable('there'), 'TABLE_ENABLED', /there/],
        [() => admin.truncateTable('there'), 'TABLE_ENABLED', /there/],
        [() => admin.disableTable('missing'), 'TABLE_NOT_FOUND', /missing/],
        [() => admin.families('missing'), 'TABLE_NOT_FOUND', /missing/],
        [() => admin.regions('missing'), 'TABLE_NOT_FOUND', /missing/],
        [() => admin.flush('missing'), 'TABLE_NOT_FOUND', /missing/],
      ] as const;
      for (const [call, code, message] of refused)
        assert.match((await rejection(call(), code)).message, message);
      await assert.rejects(admin.createTable('none', { families: {} }), TypeError);
      await assert.rejects(admin.createTable('a b', { families: { f: {} } }), /name or namespace:name/);
      await assert.rejects(
        admin.createTable('none', { families: { f: { ttlSeconds: 0 } } }),
        /ttlSeconds is a whole number from 1/,
      );
    });

    test('a namespace contains tables', async () => {
      await client.admin.createNamespace('plants');
      assert.ok((await client.admin.namespaces()).includes('plants'));
      const tables = [await tableOf('plants:oak'), await tableOf('plants:oaks'), await tableOf('oak')];
      for (const table of tables) {
        await table.put('r', [{ family: FAMILY, qualifier: 'q', value: table.name }]);
      }
      for (const table of tables) {
        assert.equal((await table.get('r'))?.value(FAMILY, 'q')?.toString(), table.name);
        assert.equal((await client.admin.regions(table.name)).length, 1);
      }
      assert.deepEqual((await client.admin.tables({ namespace: 'plants' })).toSorted(), [
        'plants:oak',
        'plants:oaks',
      ]);
      assert.ok((await client.admin.tables()).includes('oak'));
      await rejection(client.admin.dropNamespace('plants'), 'REJECTED');
      for (const table of ['plants:oak', 'plants:oaks']) {
        await client.admin.disableTable(table);
        await client.admin.dropTable(table);
      }
      await client.admin.dropNamespace('plants');
      assert.ok(!(await client.admin.namespaces()).includes('plants'));
    });

    test('a snapshot gives a table its former rows and regions, also after it was dropped', async () => {
      const { admin } = client;
      const table = await tableOf('kept', ['m']);
      const put = (row: string, value: string) => table.put(row, [{ family: FAMILY, qualifier: 'q', value }]);
      const rows = async (): Promise<string[]> => {
        const found: string[] = [];
        for await (const row of table.scan()) found.push(`${row.key} ${row.value(FAMILY, 'q')}`);
        return found;
      };
      await put('a', '1');
      await put('z', '2');
      await admin.snapshot('kept-1', 'kept');
      assert.deepEqual(await admin.snapshots(), ['kept-1']);
      await put('a', 'changed');
      await put('n', 'new');
      assert.equal((await rows()).length, 3);
      await rejection(admin.restoreSnapshot('kept-1', 'kept'), 'TABLE_ENABLED');
      await admin.disableTable('kept');
      await admin.restoreSnapshot('kept-1', 'kept');
      await admin.enableTable('kept');
      assert.deepEqual(await rows(), ['a 1', 'z 2']);

      await admin.disableTable('kept');
      await admin.dropTable('kept');
      await admin.restoreSnapshot('kept-1', 'kept');
      assert.deepEqual(await rows(), ['a 1', 'z 2']);
      assert.equal((await admin.regions('kept')).length, 2);

      assert.match((await rejection(admin.snapshot('kept-1', 'kept'), 'REJECTED')).message, /SnapshotExists/);
      await rejection(admin.snapshot('none', 'missing'), 'REJECTED');
      await admin.dropSnapshot('kept-1');
      assert.deepEqual(await admin.snapshots(), []);
      await rejection(admin.dropSnapshot('kept-1'), 'REJECTED');
      await rejection(admin.restoreSnapshot('kept-1', 'other'), 'REJECTED');
      assert.throws(() => admin.snapshot('a b', 'kept'), /letters, digits/);
    });

    test('regions split at a given key or in the middle of the flushed data, and merge', async () => {
      await tableOf('nothing');
      const [nothing] = await client.admin.regions('nothing');
      const error = await rejection(client.admin.splitRegion(nothing!), 'REJECTED');
      assert.match(error.message, /not splittable/);

      const table = await tableOf('split_merge', ['200', '300', '400']);
      const keys = Array.from({ length: 500 }, (_, index) => String(index).padStart(3, '0'));
      const value = Buffer.alloc(1000, 'x');
      await table.mutateAll(
        keys.map((row) => ({ type: 'put', row, cells: [{ family: FAMILY, qualifier: 'q', value }] })),
      );
      const regions = (): Promise<RegionLocation[]> => client.admin.regions('split_merge');
      const [first, second, third, last] = (await regions()) as [
        RegionLocation,
        RegionLocation,
        RegionLocation,
        RegionLocation,
      ];
      const apart = await rejection(client.admin.mergeRegions([first, third]), 'REJECTED');
      assert.match(apart.message, /non-adjacent/);
      await client.admin.mergeRegions([second, third]);
      await client.admin.splitRegion(last, '450');
      await client.admin.flush('split_merge');
      await client.admin.splitRegion(first);
      const starts = (await regions()).map(({ start }) => start.toString());
      assert.deepEqual([starts[0], ...starts.slice(2)], ['', '200', '400', '450']);
      assert.ok(starts[1]! > '050' && starts[1]! < '150', starts[1]);
      await rejection(client.admin.splitRegion(first, '1'), 'REJECTED');
      const found: string[] = [];
      for await (const row of table.scan()) found.push(row.key.toString());
      assert.deepEqual(found, keys);
    });

    test('the balancer can be turned off and on', async () => {
      assert.equal(await client.admin.setBalancer(false), true);
      assert.equal(await client.admin.balance(), false);
      assert.equal(await client.admin.setBalancer(true), false);
      assert.equal(typeof (await client.admin.balance()), 'boolean');
    });

    test('an operation past its deadline has an unknown outcome, and continues', async () => {
      const late = client.admin.createTable('late', { families: { [FAMILY]: {} }, timeoutMs: 40 });
      await rejection(late, 'OUTCOME_UNKNOWN');
      await until('the table to be there', () => client.admin.hasTable('late'));
    });
  });
}

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; !(await condition()); await delay(50)) {
    assert.ok(Date.now() < deadline, `timeout while waiting for ${what}`);
  }
}
