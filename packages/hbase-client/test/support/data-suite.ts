import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  type Bytes,
  filters,
  HBaseClient,
  HBaseError,
  type Row,
  type ScanOptions,
  type Table,
} from '../../src/index.ts';

/** A cluster for the tests of the data calls. */
export interface Served {
  /** ZooKeeper's port on 127.0.0.1. */
  readonly port: number;
}

/** Numbers of rows around a page of 100, and one of many pages. An earlier client lost rows at these numbers. */
const COUNTS = [0, 1, 99, 100, 101, 35_000];
/** The most rows that are written and read by separate calls. */
const SINGLE = 2000;
const SPLITS = ['1', '2', '3', '4', '5'];
const FAMILY = 'f';

/**
 * Registers tests of every data call with every number of rows, on a table of one region and one of six.
 *
 * @param isCluster only on the table of six regions, which then are on several servers. One region is on one server, as on
 *   a standalone HBase. The tables are dropped at the end.
 */
export function describeData(name: string, cluster: () => Served, { isCluster = false } = {}): void {
  describe(`data calls on ${name}`, () => {
    const tables: string[] = [];
    let client: HBaseClient;
    before(() => {
      client = new HBaseClient({ zookeeper: `127.0.0.1:${cluster().port}` });
    });
    after(async () => {
      for (const table of isCluster ? tables : []) {
        await client.admin.disableTable(table);
        await client.admin.dropTable(table);
      }
      client.close();
    });

    for (const splitKeys of isCluster ? [SPLITS] : [[], SPLITS]) {
      const regions = splitKeys.length + 1;
      for (const count of COUNTS) {
        test(`${count} rows in ${regions} region${regions === 1 ? '' : 's'}`, async () => {
          const table = client.table(`rows_${count}_${regions}`);
          await client.admin.createTable(table.name, { families: { [FAMILY]: {} }, splitKeys });
          tables.push(table.name);
          assert.equal((await client.admin.regions(table.name)).length, regions);
          await everyCall(table, count);
        });
      }
    }
  });
}

/** Keys spread over all regions, in ascending order. */
function keysOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${index % 6}-${String(index).padStart(6, '0')}`).sort();
}

async function everyCall(table: Table, count: number): Promise<void> {
  const keys = keysOf(count);
  // One part row by row, one part with checkAndMutate, the rest in a batch.
  const part = Math.min(Math.ceil(count / 3), SINGLE);
  await atOnce(keys.slice(0, part), (key) => table.put(key, [cell('q', key)]));
  const batch = keys.slice(2 * part).map((row) => ({ type: 'put', row, cells: [cell('q', row)] }) as const);
  await table.mutateAll(batch);
  await atOnce(keys.slice(part, 2 * part), async (key) => {
    const absent = { family: FAMILY, qualifier: 'q', value: null };
    assert.equal(await table.checkAndMutate(key, absent, { type: 'put', cells: [cell('q', key)] }), true);
    assert.equal(await table.checkAndMutate(key, absent, { type: 'put', cells: [cell('q', 'no')] }), false);
  });

  await scans(table, keys);

  await atOnce(keys.slice(-SINGLE), async (key) => assert.equal(textOf(await table.get(key), 'q'), key));
  // In descending order, and every other row is absent.
  const requested = keys.flatMap((key) => [key, `${key}-absent`]).reverse();
  const found = await table.getAll(requested);
  assert.deepEqual(
    found.map((row) => row && textOf(row, 'q')),
    requested.map((key) => (key.endsWith('absent') ? null : key)),
  );

  const counted = keys.slice(0, SINGLE / 2);
  await atOnce(counted, async (key) => {
    assert.equal(await table.increment(key, FAMILY, 'n', 5), 5n);
    assert.equal((await table.append(key, FAMILY, 'q', '+')).toString(), `${key}+`);
  });
  const again = await table.batch(
    counted.flatMap((row) => [
      { type: 'increment', row, amounts: [{ family: FAMILY, qualifier: 'n', amount: -7n }] } as const,
      { type: 'append', row, cells: [cell('q', '+')] } as const,
      { type: 'get', row, columns: [{ family: FAMILY, qualifiers: ['n'] }] } as const,
    ]),
  );
  again.forEach((answer, index) => {
    assert.ok(!(answer instanceof HBaseError));
    if (index % 3 === 1) assert.equal(textOf(answer, 'q'), `${counted[(index - 1) / 3]}++`);
    else assert.equal(answer?.value(FAMILY, 'n')?.readBigInt64BE(), -2n);
  });

  const [half, rest] = [
    keys.filter((_, index) => index % 2 === 0),
    keys.filter((_, index) => index % 2 === 1),
  ];
  await table.mutateAll(half.map((row) => ({ type: 'delete', row })));
  assert.deepEqual(await scanKeys(table), rest);
  await atOnce(rest.slice(0, 1000), (key) => table.delete(key));
  assert.deepEqual(await scanKeys(table), rest.slice(1000));
}

async function scans(table: Table, keys: readonly string[]): Promise<void> {
  assert.deepEqual(await scanKeys(table), keys);
  assert.deepEqual(await scanKeys(table, { reversed: true }), keys.toReversed());
  assert.deepEqual(await scanKeys(table, { pageRows: 100 }), keys);
  assert.deepEqual(await scanKeys(table, { pageBytes: 20_000, filter: filters.firstKeyOnly() }), keys);
  for (const limit of [0, 1, 99, 100, 101]) {
    assert.deepEqual(await scanKeys(table, { limit }), keys.slice(0, limit));
    const last = keys.toReversed().slice(0, limit);
    assert.deepEqual(await scanKeys(table, { limit, reversed: true, pageRows: 7 }), last);
  }
  // Errors are likely at the borders of regions: 3-... and 5 are borders, included and excluded.
  for (const [start, stop] of [
    ['1', '5'],
    ['1-000001', '3'],
    ['2-', '2-~'],
    ['4', '4'],
  ] as const) {
    const between = keys.filter((key) => key >= start && key < stop);
    assert.deepEqual(await scanKeys(table, { start, stop }), between, `${start} to ${stop}`);
    const down = await scanKeys(table, { start: stop, stop: start, reversed: true });
    assert.deepEqual(down, keys.filter((key) => key > start && key <= stop).reverse(), `${stop} to ${start}`);
  }
  const [first, last] = [keys[0], keys.at(-1)];
  if (first !== undefined && last !== undefined) {
    const inner = await scanKeys(table, { start: first, includeStart: false, stop: last });
    assert.deepEqual(inner, keys.slice(1, -1));
    assert.deepEqual(await scanKeys(table, { start: first, stop: last, includeStop: true }), keys);
    const down = { start: last, includeStart: false, stop: first, includeStop: true, reversed: true };
    assert.deepEqual(await scanKeys(table, down), keys.slice(0, -1).reverse());
  }
  const prefix = '2-0000';
  const byFilter = await scanKeys(table, { start: prefix, filter: filters.prefix(prefix) });
  assert.deepEqual(
    byFilter,
    keys.filter((key) => key.startsWith(prefix)),
  );
}

function cell(qualifier: string, value: Bytes) {
  return { family: FAMILY, qualifier, value };
}

function textOf(row: Row | null, qualifier: string): string | undefined {
  return row?.value(FAMILY, qualifier)?.toString();
}

export async function scanKeys(table: Table, options: ScanOptions = {}): Promise<string[]> {
  const keys: string[] = [];
  for await (const row of table.scan(options)) keys.push(row.key.toString());
  return keys;
}

/** Runs 64 calls at a time. */
export async function atOnce<T>(items: readonly T[], task: (item: T) => Promise<unknown>): Promise<void> {
  const queue = items.values();
  const worker = async (): Promise<void> => {
    for (const item of queue) await task(item);
  };
  await Promise.all(Array.from({ length: 64 }, worker));
}
