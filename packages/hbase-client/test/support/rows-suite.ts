import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { Cluster } from '../../src/cluster.ts';
import { filters, HBaseClient, type Table } from '../../src/index.ts';
import { METHODS, type ScanRequest, type ScanResponse } from '../../src/messages.ts';
import { readOptions } from '../../src/options.ts';
import { Scanner, type ScanPlan } from '../../src/scanner.ts';
import { atOnce, type Served, scanKeys } from './data-suite.ts';
import { rejection } from './rejection.ts';

const FAMILY = 'f';
const ROWS = 35_000;

/** Registers tests of unusual keys and sizes, columns, conditions, and regions that change during a scan. */
export function describeRows(name: string, cluster: () => Served): void {
  describe(`rows on ${name}`, () => {
    let client: HBaseClient;
    before(() => {
      client = new HBaseClient({ zookeeper: `127.0.0.1:${cluster().port}` });
    });
    after(() => client.close());

    async function tableOf(table: string, splitKeys: readonly (string | Buffer)[] = []): Promise<Table> {
      await client.admin.createTable(table, { families: { [FAMILY]: {} }, splitKeys });
      return client.table(table);
    }

    test('a key can have any bytes, also at the borders of regions', async () => {
      const odd = [
        '00',
        '0000',
        '00ff',
        '2c',
        '2c2c',
        '2c00',
        '7f',
        '80',
        'ff',
        'ffff',
        'ff00',
        '0a',
        'c328',
        '2e',
      ];
      const keys = [
        ...odd.map((hex) => Buffer.from(hex, 'hex')),
        ...Array.from({ length: 500 }, () => randomBytes(9)),
      ];
      const splits = ['00ff', '2c2c', '80', 'ff'].map((hex) => Buffer.from(hex, 'hex'));
      const table = await tableOf('binary', splits);
      await atOnce(keys, (row) => table.put(row, [{ family: FAMILY, qualifier: row, value: row }]));
      for (const key of keys) assert.deepEqual((await table.get(key))?.value(FAMILY, key), key);
      const found: Buffer[] = [];
      for await (const { key } of table.scan()) found.push(Buffer.from(key));
      assert.deepEqual(found, keys.toSorted(Buffer.compare));
      const back: Buffer[] = [];
      for await (const { key } of table.scan({ reversed: true })) back.push(Buffer.from(key));
      assert.deepEqual(back, found.toReversed());
    });

    test('values of 1 MB can be written and read, one by one, in batches and in scans', async () => {
      const table = await tableOf('large', ['5']);
      const values = new Map(
        Array.from({ length: 10 }, (_, index) => [String(index), randomBytes(1_000_000)]),
      );
      const puts = [...values].map(
        ([row, value]) => ({ type: 'put', row, cells: [{ family: FAMILY, qualifier: 'q', value }] }) as const,
      );
      await table.put('0', puts[0]!.cells);
      await table.mutateAll(puts.slice(1));
      for (const row of await table.getAll([...values.keys()])) {
        assert.ok(values.get(row!.key.toString())?.equals(row!.value(FAMILY, 'q')!));
      }
      let seen = 0;
      for await (const row of table.scan()) {
        assert.ok(values.get(row.key.toString())?.equals(row.value(FAMILY, 'q')!));
        seen += 1;
      }
      assert.equal(seen, values.size);
    });

    test('a row that is larger than a page is read completely', async () => {
      const table = await tableOf('wide');
      const qualifiers = Array.from({ length: 300 }, (_, index) => String(index).padStart(3, '0'));
      for (const row of ['a', 'b', 'c']) {
        await table.put(
          row,
          qualifiers.map((qualifier) => ({ family: FAMILY, qualifier, value: randomBytes(1000) })),
        );
      }
      for (const reversed of [false, true]) {
        const rows: number[] = [];
        for await (const { cells } of table.scan({ pageBytes: 50_000, reversed })) {
          assert.deepEqual(
            cells.map(({ qualifier }) => qualifier.toString()),
            qualifiers,
          );
          rows.push(cells.length);
        }
        assert.deepEqual(rows, [300, 300, 300]);
      }
    });

    test('tables whose names have the same beginning are distinguished', async () => {
      const names = ['order', 'orders', 'orders2', 'orders_old', 'orders.a', 'order-s'];
      const tables = await Promise.all(
        names.map((table, index) => tableOf(table, index % 2 === 0 ? [] : ['k', 's'])),
      );
      const keys = ['a', 'k', 'm', 's', 'z', ',', '~'];
      for (const table of tables) {
        await atOnce(keys, (row) => table.put(row, [{ family: FAMILY, qualifier: 'q', value: table.name }]));
      }
      // A client without cached locations reads hbase:meta for each table.
      const fresh = new HBaseClient({ zookeeper: `127.0.0.1:${cluster().port}` });
      for (const [index, { name }] of tables.entries()) {
        const table = fresh.table(name);
        for (const key of keys) assert.equal((await table.get(key))?.value(FAMILY, 'q')?.toString(), name);
        assert.deepEqual(await scanKeys(table), keys.toSorted());
        assert.deepEqual(await scanKeys(table, { reversed: true }), keys.toSorted().reverse());
        assert.equal((await fresh.admin.regions(name)).length, index % 2 === 0 ? 1 : 3);
      }
      await rejection(fresh.table('orde').get('a'), 'TABLE_NOT_FOUND');
      await rejection(fresh.table('orders3').get('a'), 'TABLE_NOT_FOUND');
      fresh.close();
    });

    test('a read can select columns, versions, times and values', async () => {
      await client.admin.createTable('columns', { families: { [FAMILY]: { maxVersions: 3 }, g: {} } });
      const table = client.table('columns');
      for (const timestamp of [1000, 2000, 3000]) {
        await table.put('r', [{ family: FAMILY, qualifier: 'q', value: `v${timestamp}`, timestamp }]);
      }
      await table.put('r', [
        { family: FAMILY, qualifier: 'abc', value: '1' },
        { family: 'g', qualifier: 'q', value: '2' },
      ]);
      const values = async (options: object) =>
        ((await table.get('r', options))?.cells ?? []).map(({ value }) => value.toString());
      assert.deepEqual(await values({}), ['1', 'v3000', '2']);
      assert.deepEqual(await values({ columns: [{ family: 'g' }] }), ['2']);
      const q = [{ family: FAMILY, qualifiers: ['q'] }];
      assert.deepEqual(await values({ columns: q, maxVersions: 2 }), ['v3000', 'v2000']);
      assert.deepEqual(await values({ columns: q, timeRange: { from: 1000, to: 3000 } }), ['v2000']);
      assert.deepEqual(await values({ filter: filters.columnPrefix('ab') }), ['1']);
      assert.deepEqual(await values({ filter: filters.columnRange('a', 'q') }), ['1']);
      assert.deepEqual(await values({ filter: filters.keyOnly() }), ['', '', '']);
      const any = filters.any(filters.columnPrefix('ab'), filters.columnPrefix('q'));
      assert.deepEqual(await values({ filter: any }), ['1', 'v3000', '2']);
      const both = filters.all(filters.columnPrefix('q'), filters.columnRange('a', 'b'));
      assert.deepEqual(await values({ filter: both }), []);

      await table.delete('r', {
        columns: [{ family: FAMILY, qualifier: 'q', timestamp: 3000, oneVersion: true }],
      });
      assert.deepEqual(await values({ columns: q, maxVersions: 3 }), ['v2000', 'v1000']);
      await table.delete('r', { columns: [{ family: FAMILY }] });
      assert.deepEqual(await values({}), ['2']);
      await table.delete('r', { timestamp: 1 });
      assert.deepEqual(await values({}), ['2']);
      await table.delete('r');
      assert.equal(await table.exists('r'), false);
    });

    test('conditions and filters compare stored values as documented', async () => {
      const table = await tableOf('compare');
      const put = { type: 'put', cells: [{ family: FAMILY, qualifier: 'q', value: '5' }] } as const;
      await table.put('r', put.cells);
      const holds = {
        less: '6',
        lessOrEqual: '56',
        equal: '5',
        notEqual: '46',
        greaterOrEqual: '45',
        greater: '4',
      };
      for (const [comparison, where] of Object.entries(holds) as [keyof typeof holds, string][]) {
        for (const value of ['4', '5', '6']) {
          const condition = { family: FAMILY, qualifier: 'q', comparison, value };
          const what = `5 ${comparison} ${value}`;
          assert.equal(await table.checkAndMutate('r', condition, put), where.includes(value), what);
          const filter = filters.columnValue(FAMILY, 'q', comparison, value);
          assert.equal((await scanKeys(table, { filter })).length === 1, where.includes(value), what);
        }
      }
      await table.put('without', [{ family: FAMILY, qualifier: 'other', value: '1' }]);
      const orMissing = filters.columnValue(FAMILY, 'q', 'equal', '5', { orMissing: true });
      assert.deepEqual(await scanKeys(table, { filter: orMissing }), ['r', 'without']);
    });

    test('several mutations of one row are applied together or not at all', async () => {
      const table = await tableOf('together');
      const cell = (qualifier: string, value: string) => ({ family: FAMILY, qualifier, value });
      await table.put('r', [cell('a', '1'), cell('b', '1')]);
      const change = [
        { type: 'put', cells: [cell('a', '2')] },
        { type: 'delete', columns: [{ family: FAMILY, qualifier: 'b' }] },
      ] as const;
      const condition = { family: FAMILY, qualifier: 'a', value: '1' };
      assert.equal(await table.checkAndMutate('r', condition, change), true);
      assert.equal(await table.checkAndMutate('r', condition, change), false);
      const row = await table.get('r');
      assert.deepEqual([row?.value(FAMILY, 'a')?.toString(), row?.value(FAMILY, 'b')], ['2', undefined]);
    });

    test('concurrent increments are all counted', async () => {
      const table = await tableOf('sums', ['m']);
      await atOnce(Array.from({ length: 2000 }), () => table.increment('r', FAMILY, 'n', 1));
      assert.equal((await table.get('r'))?.value(FAMILY, 'n')?.readBigInt64BE(), 2000n);
    });

    test('an error names the missing table or family, and other operations of a batch succeed', async () => {
      const cell = { family: FAMILY, qualifier: 'q', value: '1' };
      const missing = await rejection(client.table('nosuch').put('a', [cell]), 'TABLE_NOT_FOUND');
      assert.match(missing.message, /nosuch/);
      const table = await tableOf('oneFamily', ['m']);
      const wrong = { ...cell, family: 'nofamily' };
      const error = await rejection(table.put('a', [wrong]), 'FAMILY_NOT_FOUND');
      assert.match(error.message, /nofamily/);
      assert.match(error.message, /127\.0\.0\.1:\d+, region oneFamily,,/);
      const batch = await rejection(
        table.mutateAll([
          { type: 'put', row: 'a', cells: [cell] },
          { type: 'put', row: 'b', cells: [wrong] },
          { type: 'put', row: 'z', cells: [cell] },
        ]),
        'FAMILY_NOT_FOUND',
      );
      assert.deepEqual(
        batch.failures.map(({ index }) => index),
        [1],
      );
      assert.deepEqual(await scanKeys(table), ['a', 'z']);
    });

    for (const [direction, at] of [
      ['forwards', ['1-0', '4-0']],
      ['backwards', ['5-0', '2-0']],
    ] as const) {
      test(`a scan ${direction} loses no row when regions split during it`, async () => {
        const reversed = direction === 'backwards';
        const table = await tableOf(`split_${direction}`, ['3']);
        const keys = Array.from(
          { length: ROWS },
          (_, index) => `${index % 6}-${String(index).padStart(6, '0')}`,
        );
        keys.sort();
        const cells = [{ family: FAMILY, qualifier: 'q', value: Buffer.alloc(50) }];
        await table.mutateAll(keys.map((row) => ({ type: 'put', row, cells })));
        const found: string[] = [];
        const splits: string[] = [...at];
        for await (const { key } of table.scan({ reversed, pageRows: 500 })) {
          found.push(key.toString());
          // In the middle of a page of the first region, then of the second.
          if (found.length % (ROWS / 2) === 1234) await split(table, Buffer.from(splits.shift()!));
        }
        assert.deepEqual(found, reversed ? keys.toReversed() : keys);
        assert.equal((await client.admin.regions(table.name)).length, 4);
        // A client with the old regions in its cache finds the new ones.
        await atOnce(keys.slice(0, 600), (row) => table.put(row, cells));
      });
    }

    async function split(table: Table, at: Buffer): Promise<void> {
      const regions = await client.admin.regions(table.name);
      const region = regions.find(
        ({ start, end }) => start.compare(at) < 0 && (end.length === 0 || end.compare(at) > 0),
      );
      await client.admin.splitRegion(region!, at);
    }

    test('a scan continues when its scanner is lost, and renews the lease while the consumer pauses', async () => {
      const table = await tableOf('leases', ['5']);
      const keys = Array.from({ length: 1000 }, (_, index) => String(index).padStart(4, '0'));
      await table.mutateAll(
        keys.map((row) => ({ type: 'put', row, cells: [{ family: FAMILY, qualifier: 'q', value: row }] })),
      );
      const plan: ScanPlan = {
        ...{
          table: 'leases',
          start: Buffer.alloc(0),
          includeStart: true,
          stop: Buffer.alloc(0),
          includeStop: false,
        },
        ...{
          reversed: false,
          limit: Infinity,
          pageRows: 100,
          message: { column: [], maxResultSize: 1_000_000 },
        },
      };
      const watched = new WatchedCluster(readOptions({ zookeeper: `127.0.0.1:${cluster().port}` }));
      const scanner = new Scanner(watched, plan);
      const found: string[] = [];
      for (let page = 0; ; page += 1) {
        const rows = await scanner.next(10_000);
        if (rows.length === 0) break;
        found.push(...rows.map(({ key }) => key.toString()));
        if (page === 1) await watched.renewed();
        if (page === 3) await watched.closeLastScanner();
      }
      scanner.close();
      watched.close();
      assert.deepEqual(found, keys);
    });
  });
}

/** A cluster that reports short leases of scanners, and can close the last scanner while a scan uses it. */
class WatchedCluster extends Cluster {
  #last: {
    readonly region: Parameters<Cluster['callRegion']>[0];
    readonly id: ScanResponse['scannerId'];
  } | null = null;
  #renewals = 0;
  #wake: (() => void) | null = null;

  constructor(...args: ConstructorParameters<typeof Cluster>) {
    super(...args);
    const call = this.servers.call.bind(this.servers);
    this.servers.call = async (...callArgs) => {
      const answer = await call(...callArgs);
      if ((callArgs[2] as ScanRequest).renew === true) this.#renewals += 1;
      if (this.#renewals >= 3) this.#wake?.();
      return answer;
    };
  }

  override async callRegion(...args: Parameters<Cluster['callRegion']>): Promise<never> {
    const answer = await super.callRegion(...args);
    const message = answer.message as ScanResponse;
    if (args[1].name !== 'Scan' || args[0].table === 'hbase:meta') return answer as never;
    this.#last = { region: args[0], id: message.scannerId };
    return { ...answer, message: { ...message, ttl: 90 } } as never;
  }

  /** Resolves when the server has renewed a lease three times. */
  renewed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async closeLastScanner(): Promise<void> {
    const { region, id } = this.#last!;
    const request = { scannerId: id, numberOfRows: 0, closeScanner: true };
    await this.servers.call(region.server, METHODS.scan, request, { deadline: this.deadline(5000) });
  }
}
