import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import type { Reading } from '@tidegauge/readings';
import fc from 'fast-check';
import { collect, reading, rejection, series, T0 } from '../../conformance/data.ts';
import { BucketFolds } from '../../src/aggregate.ts';
import { openStore, parseUrl, type Store } from '../../src/index.ts';
import { eachNumber } from '../../src/rollups/numbers.ts';
import { Blocks } from '../../src/sqlite/blocks.ts';
import { Compactor } from '../../src/sqlite/compactor.ts';
import { readConfig } from '../../src/sqlite/config.ts';
import { Database } from '../../src/sqlite/database.ts';
import { SqliteReadings } from '../../src/sqlite/readings.ts';
import { migrate, SCHEMA_VERSION } from '../../src/sqlite/schema.ts';

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-blocks-'));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

function freshPath(): string {
  files += 1;
  return join(folder, `${files}.db`);
}

async function openDatabase(path: string): Promise<Database> {
  const db = new Database(readConfig(parseUrl(`sqlite:${path}?synchronous=normal`)));
  await db.open();
  await db.transaction(() => migrate(db.connection, path));
  return db;
}

/** Readings in small slots and blocks, so that they often move. */
function small(db: Database): SqliteReadings {
  return new SqliteReadings(db, 10, 6, new Blocks(db, 8));
}

function count(db: Database, table: string): number {
  return db.connection.prepare(`select count(*) as count from ${table}`).get()?.count as number;
}

async function writeAll(store: Store, readings: readonly Reading[]): Promise<void> {
  for (let start = 0; start < readings.length; start += 5000)
    await store.readings.write(readings.slice(start, start + 5000));
}

async function compactAll(store: Pick<Store, 'compact'> | SqliteReadings): Promise<void> {
  while (await store.compact());
}

const keyOf = ({ device, metric, time }: Reading) => `${device} ${metric} ${time}`;

describe('readings in blocks', () => {
  test('are equal to a map by identity, for any late data, corrections, deletions and reopening', async () => {
    const value = fc.constantFrom<number | string>(1, 2.5, 'text', 0, 1e-7 / 3);
    const row = fc.record({
      device: fc.constantFrom('a', 'b'),
      offset: fc.oneof(fc.nat(200), fc.nat(8)),
      value,
      delay: fc.integer({ min: -5, max: 5 }),
      boot: fc.constantFrom(null, 'x', 'y'),
      seq: fc.option(fc.nat(5)),
    });
    // Most readings come in the order of time, so that there are blocks.
    const run = fc.record({
      device: fc.constantFrom('a', 'b'),
      length: fc.integer({ min: 1, max: 40 }),
      value,
    });
    const step = fc.oneof(
      fc.record({ kind: fc.constant('run' as const), run, writer: fc.nat(1) }),
      fc.record({
        kind: fc.constant('rows' as const),
        rows: fc.array(row, { minLength: 1, maxLength: 12 }),
        writer: fc.nat(1),
      }),
      fc.record({
        kind: fc.constant('compact' as const),
        steps: fc.integer({ min: 1, max: 6 }),
        writer: fc.nat(1),
      }),
      fc.record({
        kind: fc.constant('delete' as const),
        from: fc.nat(200),
        length: fc.nat(60),
        writer: fc.nat(1),
      }),
      fc.record({ kind: fc.constant('expire' as const), before: fc.nat(60), writer: fc.nat(1) }),
      fc.record({ kind: fc.constant('reopen' as const), writer: fc.nat(1) }),
    );
    const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
      const path = freshPath();
      const databases = [await openDatabase(path), await openDatabase(path)];
      const stores = databases.map(small);
      const model = new Map<string, Reading>();
      const newest = new Map<string, number>();
      const write = async (store: SqliteReadings, batch: readonly Reading[]) => {
        let stored = 0;
        for (const one of batch) {
          newest.set(one.device, Math.max(newest.get(one.device) ?? 0, one.time));
          if (model.get(keyOf(one))?.value === one.value) continue;
          model.set(keyOf(one), one);
          stored += 1;
        }
        assert.deepEqual(await store.write(batch), { stored, duplicate: batch.length - stored });
      };
      const drop = (isOld: (one: Reading) => boolean): number => {
        const old = [...model].filter(([, one]) => isOld(one));
        for (const [key] of old) model.delete(key);
        return old.length;
      };
      for (const each of steps) {
        const store = stores[each.writer]!;
        if (each.kind === 'run') {
          const { device, length, value: same } = each.run;
          const start = (newest.get(device) ?? T0) + 1;
          const batch = Array.from({ length }, (_, index) =>
            reading({
              device,
              time: start + index,
              value: same,
              received: start + index,
              boot: 'x',
              seq: index,
            }),
          );
          await write(store, batch);
        } else if (each.kind === 'rows') {
          const batch = each.rows.map(({ offset, delay, ...rest }) =>
            reading({ ...rest, time: T0 + offset, received: T0 + offset + delay }),
          );
          await write(store, batch);
        } else if (each.kind === 'compact') {
          const compactor = new Compactor(databases[each.writer]!, new Blocks(databases[each.writer]!, 8));
          for (let left = each.steps; left > 0; left -= 1) await compactor.step();
        } else if (each.kind === 'delete') {
          const [from, to] = [T0 + each.from, T0 + each.from + each.length];
          const gone = drop(({ device, time }) => device === 'a' && time >= from && time < to);
          assert.equal(await store.delete({ device: 'a', from, to }), gone);
        } else if (each.kind === 'expire') {
          const before = T0 + each.before;
          const gone = drop(({ time }) => time < before);
          assert.equal(await store.expire(before), gone);
        } else {
          databases[each.writer]!.close();
          databases[each.writer] = await openDatabase(path);
          stores[each.writer] = small(databases[each.writer]!);
        }
      }
      for (const store of stores) await proveEqual(store, [...model.values()]);
      for (const db of databases) db.close();
    });
    await fc.assert(property, { numRuns: 40 });
  });

  test('move there completely, except the newest, and are read from there', async () => {
    const path = freshPath();
    const store = await openStore(`sqlite:${path}`);
    const rows = series('d', 30_000).map((each, index) => ({
      ...each,
      boot: 'boot',
      seq: index,
      received: each.time + 1000 + (index % 7),
    }));
    await writeAll(store, rows);
    // Other series push these out of the recent readings.
    for (let other = 0; other < 32; other += 1) await writeAll(store, series(`other-${other}`, 700));
    const before = await store.space();
    await compactAll(store);
    const spaceAfter = await store.space();
    assert.ok(spaceAfter!.used < 0.75 * before!.used, `${spaceAfter!.used} of ${before!.used} bytes`);
    assert.deepEqual(await collect(store.readings.range({ device: 'd', order: 'asc', limit: 1e6 })), rows);
    const query = { device: 'd', metric: rows[0]!.metric, from: T0, to: T0 + 30_000e6, bucket: 1e9 };
    const { buckets } = await store.readings.aggregate(query);
    assert.equal(
      buckets.reduce((sum, bucket) => sum + bucket.count, 0),
      30_000,
    );
    await store.close();
    const db = new DatabaseSync(path);
    const figures = db
      .prepare('select sum(count) as readings, max(length(data)) as bytes from tidegauge_blocks')
      .get();
    assert.ok((figures!.readings as number) > 20_000, `${figures!.readings} readings in blocks`);
    assert.ok((figures!.bytes as number) < 4000, `a block of ${figures!.bytes} bytes`);
    db.close();
  });

  test('are complete after each step, and after a step that fails', async () => {
    const path = freshPath();
    const db = await openDatabase(path);
    const readings = new SqliteReadings(db, 10, 6);
    const rows = series('d', 8000);
    await readings.write(rows);
    await readings.write(series('d', 8001));
    const copy = `${path}-copy`;
    const proveCopy = async () => {
      // What a process that ends now leaves on the disk.
      for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, copy + end);
      const other = await openDatabase(copy);
      await proveEqual(new SqliteReadings(other), series('d', 8001));
      other.close();
      for (const end of ['', '-wal', '-shm']) rmSync(copy + end, { force: true });
    };
    // It fails when the block is stored already.
    db.connection.exec(`create trigger fails before delete on readings begin select raise(abort, 'no'); end`);
    await rejection(compactAll(readings), 'REJECTED');
    await proveCopy();
    db.connection.exec('drop trigger fails');
    let steps = 0;
    for (let more = true; more; steps += 1) {
      more = await readings.compact();
      await proveCopy();
    }
    assert.ok(steps > 4, `${steps} steps`);
    assert.ok(count(db, 'tidegauge_blocks') >= 4);
    db.close();
  });

  test('of a file of an earlier version move there too', async () => {
    const path = freshPath();
    const rows = series('d', 6000);
    const store = await openStore(`sqlite:${path}`);
    await writeAll(store, rows);
    await store.readings.write(rows.slice(0, 300));
    await store.close();
    const db = new DatabaseSync(path);
    db.exec(`drop table tidegauge_blocks; drop table arrivals; pragma user_version = ${SCHEMA_VERSION - 2};
      insert into readings select series, time, value, received, boot, seq, quality from recent;
      delete from recent`);
    db.close();
    const upgraded = await openStore(`sqlite:${path}`);
    await compactAll(upgraded);
    assert.deepEqual(await collect(upgraded.readings.range({ device: 'd', order: 'asc', limit: 1e6 })), rows);
    assert.deepEqual(await upgraded.readings.write(rows.slice(0, 100)), { stored: 0, duplicate: 100 });
    await upgraded.close();
    const again = new DatabaseSync(path);
    assert.equal(again.prepare('select count(*) as count from tidegauge_blocks').get()!.count, 3);
    again.close();
  });

  test('are read after arrivals of a file of an earlier version got their own table', async () => {
    const path = freshPath();
    const rows = series('d', 20);
    const store = await openStore(`sqlite:${path}`);
    for (const row of rows) await store.readings.write([row]);
    await store.close();
    const db = new DatabaseSync(path);
    db.exec(`insert into recent select 32, time, series, value, received, boot, seq, quality from arrivals;
      drop table arrivals; pragma user_version = ${SCHEMA_VERSION - 1}`);
    db.close();
    const upgraded = await openStore(`sqlite:${path}`);
    assert.deepEqual(await upgraded.readings.write(rows.slice(10)), { stored: 0, duplicate: 10 });
    assert.deepEqual(await collect(upgraded.readings.range({ device: 'd', order: 'asc', limit: 100 })), rows);
    await upgraded.close();
  });

  test('that are damaged are reported, and can be deleted', async () => {
    const path = freshPath();
    const db = await openDatabase(path);
    const readings = small(db);
    await readings.write(series('d', 60));
    await readings.write(series('e', 60));
    await compactAll(readings);
    db.connection.exec(`update tidegauge_blocks set data = zeroblob(40) where first = ${T0}`);
    const again = small(db);
    const query = { device: 'd', order: 'asc', limit: 100 } as const;
    const error = await rejection(collect(again.range(query)), 'MISCONFIGURED');
    assert.match(error.message, /block \d+ .*checksum/);
    assert.ok(error.hint);
    // Newer readings of the series do not need it.
    assert.equal((await again.latest(['d'], 1)).length, 1);
    await again.expire(T0 + 20e6);
    assert.equal((await collect(again.range(query))).length, 40);
    db.close();
  });

  test('that are damaged keep no others from being written, moved or deleted', async () => {
    const db = await openDatabase(freshPath());
    const readings = small(db);
    await readings.write(series('d', 60));
    await readings.write(series('e', 60));
    await compactAll(readings);
    db.connection.exec(`update tidegauge_blocks set data = zeroblob(40)
      where series = (select id from series where device = 'd') and first = ${T0}`);
    const again = small(db);
    // Whether the damaged block has them is not known.
    const late = series('d', 8);
    assert.deepEqual(await again.write(late), { stored: 8, duplicate: 0 });
    assert.deepEqual(await again.write(late), { stored: 0, duplicate: 8 });
    await again.write(series('d', 120));
    await again.write(series('e', 120));
    await compactAll(again);
    const newer = `select count(distinct series) as count from tidegauge_blocks where first >= ${T0 + 60e6}`;
    assert.equal(db.connection.prepare(newer).get()!.count, 2, 'newer readings of both series move');
    const rest = { device: 'd', from: T0 + 40e6, order: 'asc', limit: 1000 } as const;
    assert.equal((await collect(again.range(rest))).length, 80);
    // The half of it that is old goes with the other half.
    await again.expire(T0 + 3e6);
    assert.equal((await collect(again.range({ device: 'e', order: 'asc', limit: 1000 }))).length, 117);
    await rejection(again.delete({ device: 'd', to: T0 + 3e6 }), 'MISCONFIGURED');
    await again.expire(T0 + 30e6);
    assert.equal((await collect(again.range({ ...rest, from: T0 }))).length, 90);
    db.close();
  });

  test('of long texts are in blocks of bounded size', async () => {
    const db = await openDatabase(freshPath());
    const readings = new SqliteReadings(db, 10, 6, new Blocks(db, 100));
    let state = 1;
    const noise = () => {
      state = (state * 16_807) % 2_147_483_647;
      return state.toString(36);
    };
    const text = () => Array.from({ length: 600 }, noise).join('').slice(0, 4000);
    const rows = series('d', 700).map((each, index) => ({
      ...each,
      value: index < 400 ? text() : 'short',
    }));
    await readings.write(rows);
    await compactAll(readings);
    const most = db.connection.prepare('select max(length(data)) as bytes from tidegauge_blocks').get()!;
    assert.ok((most.bytes as number) < 140_000, `${most.bytes} bytes`);
    assert.ok(count(db, 'tidegauge_blocks') > 10);
    await proveEqual(readings, rows);
    db.close();
  });
});

/** All reads, compared with the readings that should be there. */
async function proveEqual(store: SqliteReadings, readings: readonly Reading[]): Promise<void> {
  const devices = ['a', 'b', 'd'];
  for (const device of devices) {
    const kept = readings.filter((one) => one.device === device).sort((one, other) => one.time - other.time);
    const limit = 1e6;
    assert.deepEqual(await collect(store.range({ device, order: 'asc', limit })), kept);
    assert.deepEqual(await collect(store.range({ device, limit })), kept.toReversed());
    assert.deepEqual(await store.latest([device], 1), kept.slice(-1));
    const [from, to] = [T0 + 7, T0 + 61];
    const part = kept.filter(({ time }) => time >= from && time < to);
    assert.deepEqual(
      await collect(store.range({ device, from, to, order: 'asc', limit: 20 })),
      part.slice(0, 20),
    );
    assert.deepEqual(
      await collect(store.range({ device, from, to, limit: 20 })),
      part.toReversed().slice(0, 20),
    );
    const numbers = kept.flatMap(({ time, value }) => (typeof value === 'number' ? [[time, value]] : []));
    const series = { device, metric: 'temperature', from: 0, to: 2 * T0 };
    const found: [number, number][] = [];
    const folds = new BucketFolds(10);
    await eachNumber(store, series, (time, value) => {
      found.push([time, value]);
      folds.add(time, value);
    });
    assert.deepEqual(
      found.sort(([time], [other]) => time - other),
      numbers,
    );
    const buckets = folds.buckets();
    const values = Map.groupBy(numbers, ([time]) => Math.floor(time! / 10) * 10);
    assert.deepEqual(
      buckets.map(({ time, count: size, min, max }) => [time, size, min, max]),
      [...values].map(([time, some]) => {
        const each = some.map(([, one]) => one!);
        return [time, each.length, Math.min(...each), Math.max(...each)];
      }),
    );
  }
  const numeric = readings.filter(({ value }) => typeof value === 'number');
  for (const by of ['device', 'metric', 'day'] as const) {
    const { groups } = await store.groups({ by, limit: 10 });
    const total = groups.reduce((sum, group) => sum + group.count, 0);
    assert.equal(total, numeric.length, by);
  }
}
