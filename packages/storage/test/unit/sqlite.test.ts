import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Reading } from '@tidegauge/readings';
import fc from 'fast-check';
import { collect, reading, rejection, series, stored, T0 } from '../../conformance/data.ts';
import { openStore, parseUrl, type Store } from '../../src/index.ts';
import { readConfig } from '../../src/sqlite/config.ts';
import { Database } from '../../src/sqlite/database.ts';
import { groupStatements } from '../../src/sqlite/groups.ts';
import { SqliteReadings } from '../../src/sqlite/readings.ts';
import { migrate, SCHEMA_VERSION } from '../../src/sqlite/schema.ts';

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-sqlite-'));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

function freshPath(): string {
  files += 1;
  return join(folder, `${files}.db`);
}

async function openDatabase(path: string): Promise<Database> {
  const db = new Database(readConfig(parseUrl(`sqlite:${path}`)));
  await db.open();
  await db.transaction(() => migrate(db.connection, path));
  return db;
}

describe('opening a SQLite file', () => {
  test('creates missing folders', async () => {
    const store = await openStore(`sqlite:${folder}/a/b/c.db`);
    await store.close();
  });

  test('creates files for this user only, and removes the permissions of others on older files', async () => {
    const path = freshPath();
    const modes = () => ['', '-wal', '-shm'].map((end) => statSync(path + end).mode & 0o777);
    const store = await openStore(`sqlite:${path}`);
    assert.deepEqual(modes(), [0o600, 0o600, 0o600]);
    await store.close();
    for (const [before, now] of [
      [0o644, 0o600],
      [0o664, 0o660],
    ] as const) {
      chmodSync(path, before);
      const again = await openStore(`sqlite:${path}`);
      assert.deepEqual(modes(), [now, now, now]);
      await again.close();
    }
    await (await openStore(`sqlite:${folder}/own/x.db`)).close();
    assert.equal(statSync(join(folder, 'own')).mode & 0o777, 0o700);
  });

  test('refuses the file of another program, and leaves it as it is', async () => {
    const path = freshPath();
    const other = new DatabaseSync(path);
    other.exec('create table notes (text); pragma user_version = 3');
    other.close();
    chmodSync(path, 0o644);
    const before = readFileSync(path);
    const error = await rejection(openStore(`sqlite:${path}`), 'MISCONFIGURED');
    assert.equal(error.hint, 'choose another file');
    assert.equal(error.message, `${path} is a SQLite database of another program`);
    assert.deepEqual([readFileSync(path), statSync(path).mode & 0o777], [before, 0o644]);
  });

  test('refuses a path that cannot be a database, with the path in the message', async () => {
    writeFileSync(join(folder, 'notes.txt'), 'not a database at all, '.repeat(100));
    mkdirSync(join(folder, 'folder.db'));
    for (const path of ['notes.txt', 'folder.db', 'notes.txt/below.db']) {
      const error = await rejection(openStore(`sqlite:${folder}/${path}`), 'MISCONFIGURED');
      assert.ok(error.message.includes(path), error.message);
      assert.ok(error.hint);
    }
  });

  test('refuses a schema newer than its own, with the reason', async () => {
    const path = freshPath();
    await (await openStore(`sqlite:${path}`)).close();
    const db = new DatabaseSync(path);
    db.exec(`pragma user_version = ${SCHEMA_VERSION + 1}`);
    db.close();
    const error = await rejection(openStore(`sqlite:${path}`), 'MISCONFIGURED');
    assert.match(error.message, new RegExp(`version ${SCHEMA_VERSION + 1} is newer`));
  });

  test('shares a file with tables of YCSB\u2019s JDBC binding', async () => {
    const path = freshPath();
    const db = new DatabaseSync(path);
    db.exec(`
      create table usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 TEXT, FIELD1 TEXT);
      insert into usertable values ('user1', 'a', null)`);
    db.close();
    const store = await openStore(`sqlite:${path}`);
    assert.deepEqual({ ...(await store.records.read('usertable', 'user1', null)) }, { field0: 'a' });
    await store.close();
  });

  test('reads records with the columns that their table has now', async () => {
    const path = freshPath();
    const store = await openStore(`sqlite:${path}`);
    const db = new DatabaseSync(path, { timeout: 5000 });
    const change = (columns: string, values: string) =>
      db.exec(`drop table if exists t; create table t (${columns}); insert into t values (${values})`);
    const read = async () => {
      // The reads of one turn are one transaction.
      await nextTurn();
      const [scanned] = await store.records.scan('t', '', 10, null);
      const fields = await store.records.read('t', 'k', null);
      assert.deepEqual(scanned, { key: 'k', fields: { ...fields } });
      return { ...fields };
    };
    change('YCSB_KEY text primary key, FIELD0 text, FIELD1 text', `'k', 'a', 'b'`);
    assert.deepEqual(await read(), { field0: 'a', field1: 'b' });
    assert.deepEqual(await read(), { field0: 'a', field1: 'b' });
    // The same number of columns in another order and another case.
    change('FIELD1 text, field0 text, ycsb_key text primary key', `'c', 'd', 'k'`);
    assert.deepEqual(await read(), { field0: 'd', field1: 'c' });
    change('YCSB_KEY text primary key, FIELD0 text, FIELD1 text, FIELD2 text', `'k', 'e', null, 'f'`);
    assert.deepEqual(await read(), { field0: 'e', field2: 'f' });
    assert.deepEqual({ ...(await store.records.read('t', 'k', ['field2'])) }, { field2: 'f' });
    db.close();
    await store.close();
  });

  test('reads what another store of the process has written in the same turn', async () => {
    const path = freshPath();
    const [one, other] = [await openStore(`sqlite:${path}`), await openStore(`sqlite:${path}`)];
    await one.records.createTable('t', 1);
    for (let round = 0; round < 5; round += 1) {
      await one.records.insert('t', `k${round}`, { field0: 'x' });
      assert.deepEqual({ ...(await other.records.read('t', `k${round}`, null)) }, { field0: 'x' });
      assert.equal(await other.records.read('t', `k${round + 1}`, null), null);
    }
    await one.close();
    await other.close();
  });

  test('does not mistake other tables for tables of records', async () => {
    const path = freshPath();
    const store = await openStore(`sqlite:${path}`);
    const db = new DatabaseSync(path);
    const key = 'ycsb_key text primary key';
    db.exec(`
      create table base (${key}, field0 text);
      create view a_view as select * from base;
      create index an_index on base (field0);
      create trigger a_trigger after insert on base begin delete from base; end;
      create virtual table virtual_one using fts5 (field0);
      create table more (${key}, field0 text, secret text);
      create table without_key (field0 text);
      create table without_fields (${key});
      create table bytes (${key}, field0 blob);
      create table computed (${key}, field0 text as (ycsb_key) virtual);
      create table other_names (${key}, field00 text);`);
    const tables = ['a_view', 'an_index', 'virtual_one', 'virtual_one_data', 'more', 'without_key'];
    tables.push('without_fields', 'bytes', 'computed', 'other_names', 'recent');
    const schema = db.prepare('select name, sql from sqlite_schema order by name');
    const before = schema.all();
    for (const table of tables) {
      await rejection(store.records.createTable(table, 1), 'FORBIDDEN');
      await rejection(store.records.read(table, 'a', null), 'FORBIDDEN');
      await rejection(store.records.insert(table, 'a', { field0: 'x' }), 'FORBIDDEN');
      await rejection(store.records.dropTable(table), 'FORBIDDEN');
    }
    assert.deepEqual(schema.all(), before);
    db.close();
    await store.close();
  });

  test('writes with the durability of the URL, by default full', async () => {
    for (const [query, level] of [
      ['', 2],
      ['?synchronous=normal', 1],
    ] as const) {
      const db = new Database(readConfig(parseUrl(`sqlite:${freshPath()}${query}`)));
      await db.open();
      assert.equal(db.connection.prepare('pragma synchronous').get()?.synchronous, level);
      assert.equal(db.connection.prepare('pragma journal_mode').get()?.journal_mode, 'wal');
      db.close();
    }
  });
});

describe('the SQLite backend with another writer', () => {
  test('waits for it without blocking the event loop', async () => {
    const path = freshPath();
    const store = await openStore(`sqlite:${path}`);
    const other = new DatabaseSync(path);
    other.exec('begin immediate');
    const write = store.readings.write(series('d', 10));
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    other.exec('rollback');
    assert.deepEqual(await write, { stored: 10, duplicate: 0 });
    other.close();
    await store.close();
  });

  test('is OVERLOADED when that takes longer than the busy option, and reads meanwhile', async () => {
    const path = freshPath();
    const store = await openStore(`sqlite:${path}?busy=60`);
    await store.readings.write(series('d', 3));
    const other = new DatabaseSync(path);
    other.exec('begin immediate');
    const started = performance.now();
    await rejection(store.readings.write(series('d', 10)), 'OVERLOADED');
    await rejection(store.health(), 'OVERLOADED');
    assert.ok(performance.now() - started < 5000);
    assert.equal((await stored(store, 'd')).length, 3);
    other.close();
    await store.readings.write(series('d', 10));
    await store.close();
  });
});

describe('SQLite readings', () => {
  test('are grouped in parts, each counted once, also while writes move readings between the tables', async () => {
    const path = freshPath();
    const [db, other] = [await openDatabase(path), await openDatabase(path)];
    const readings = new SqliteReadings(db, 100);
    const writer = new SqliteReadings(other, 100);
    for (const device of ['a', 'b', 'c']) await readings.write(series(device, 12_000));
    let done = false;
    const moves = (async () => {
      // Each write merges a slot of recent readings.
      for (let round = 0; !done; round += 1) {
        await writer.write(series(`other-${round}`, 101, 'noise'));
        await nextTurn();
      }
    })();
    const groups = await Promise.all(
      (['device', 'day', 'metric'] as const).map((by) =>
        readings.groups({ by, metric: 'temperature', limit: 10 }),
      ),
    ).finally(() => {
      done = true;
    });
    await moves;
    const sum = (12_000 * 11_999) / 2;
    const figures = { min: 0, max: 11_999, mean: 5999.5 };
    const [devices, days, metrics] = groups.map((each) => each.groups);
    assert.deepEqual(
      devices,
      ['a', 'b', 'c'].map((key) => ({ key, count: 12_000, ...figures, sum })),
    );
    assert.deepEqual(days, [{ key: '2026-11-21', count: 36_000, ...figures, sum: 3 * sum }]);
    assert.deepEqual(metrics, [{ key: 'temperature', count: 36_000, ...figures, sum: 3 * sum }]);
    db.close();
    other.close();
  });

  test('are grouped in parts that begin where they are in a long series', async () => {
    const db = await openDatabase(freshPath());
    for (const by of ['device', 'metric', 'day'] as const) {
      const { partEnd, part } = groupStatements({ by, limit: 1 });
      for (const statement of [partEnd, part]) {
        const plan = db.connection.prepare(`explain query plan ${statement}`).all();
        const steps = plan.map(({ detail }) => String(detail)).filter((detail) => / r\b/.test(detail));
        assert.deepEqual(steps, [
          'SEARCH r USING PRIMARY KEY (series=? AND time>? AND time<?)',
          // A part is small, and these tables too.
          ...(statement === part ? ['SCAN r', 'SCAN r'] : []),
        ]);
      }
    }
    db.close();
  });

  test('store all or nothing of a batch when the disk is full, and continue when it has space', async () => {
    const db = await openDatabase(freshPath());
    const readings = new SqliteReadings(db, 100);
    const pages = () => db.connection.prepare('pragma page_count').get()?.page_count as number;
    await readings.write(series('d', 300));
    db.connection.exec(`pragma max_page_count = ${pages() + 2}`);
    await rejection(readings.write(series('d', 4000)), 'UNAVAILABLE');
    const query = { device: 'd', order: 'asc', limit: 10_000 } as const;
    assert.deepEqual(await collect(readings.range(query)), series('d', 300));
    db.connection.exec('pragma max_page_count = 100000');
    assert.deepEqual(await readings.write(series('d', 4000)), { stored: 3700, duplicate: 300 });
    assert.deepEqual(await collect(readings.range(query)), series('d', 4000));
    db.close();
  });

  test('are equal to a map by identity, for any order of arrival', async () => {
    const names = fc.record({ device: fc.constantFrom('a', 'b'), metric: fc.constantFrom('x', 'y') });
    const row = fc.record({
      name: names,
      offset: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 3 })),
      value: fc.constantFrom(1, 2, 'text'),
    });
    const batches = fc.array(
      fc.record({
        writer: fc.nat(1),
        rows: fc.oneof(
          fc.array(row, { minLength: 1, maxLength: 2 }),
          fc.array(row, { minLength: 1, maxLength: 25 }),
        ),
        before: fc.nat(30),
      }),
      { minLength: 1, maxLength: 30 },
    );
    const property = fc.asyncProperty(batches, async (steps) => {
      const path = freshPath();
      const databases = [await openDatabase(path), await openDatabase(path)];
      // Few rows, so that readings often move between the slots and the tables.
      const writers = databases.map((db) => new SqliteReadings(db, 10, 6));
      const model = new Map<string, Reading>();
      for (const [index, { writer, rows, before }] of steps.entries()) {
        const batch = rows.map(({ name, offset, value }) => reading({ ...name, time: T0 + offset, value }));
        let fresh = 0;
        for (const one of batch) {
          const key = `${one.device} ${one.metric} ${one.time}`;
          if (model.get(key)?.value === one.value) continue;
          model.set(key, one);
          fresh += 1;
        }
        const result = await writers[writer]!.write(batch);
        assert.deepEqual(result, { stored: fresh, duplicate: batch.length - fresh });
        const cleaner = writers[before % 2]!;
        const to = T0 + before;
        const old = [...model].filter(
          ([, { time, device }]) => time < to && (index % 4 === 3 || device === 'a'),
        );
        if (index % 4 === 3) assert.equal(await cleaner.expire(to), old.length);
        else if (index % 4 === 1) assert.equal(await cleaner.delete({ device: 'a', to }), old.length);
        else continue;
        for (const [key] of old) model.delete(key);
      }
      for (const device of ['a', 'b']) {
        const kept = [...model.values()].filter((one) => one.device === device);
        kept.sort((one, other) => one.time - other.time || (one.metric < other.metric ? -1 : 1));
        assert.deepEqual(await collect(writers[0]!.range({ device, order: 'asc', limit: 1000 })), kept);
        assert.deepEqual(await collect(writers[1]!.range({ device, limit: 1000 })), kept.toReversed());
      }
      for (const db of databases) db.close();
    });
    await fc.assert(property, { numRuns: 40 });
  });

  test('that another process wrote are known as duplicates when they have been moved to their slots', async () => {
    const path = freshPath();
    const [db, other] = [await openDatabase(path), await openDatabase(path)];
    const readings = new SqliteReadings(db, 10, 6);
    const rows = series('d', 10);
    await new SqliteReadings(other, 10, 6).write(rows.slice(8, 9));
    // The third of these moves seven readings.
    for (const start of [0, 2, 4]) await readings.write(rows.slice(start, start + 2));
    assert.deepEqual(await readings.write(rows.slice(8, 9)), { stored: 0, duplicate: 1 });
    db.close();
    other.close();
  });

  test('of a large batch are known as duplicates in a small one', async () => {
    const db = await openDatabase(freshPath());
    const readings = new SqliteReadings(db, 10, 6);
    const rows = series('d', 20);
    // The fourth of these moves eight readings, and the next repeats one of them.
    for (const start of [0, 2, 4, 6]) await readings.write(rows.slice(start, start + 2));
    await readings.write(rows.slice(0, 1));
    await readings.write(rows.slice(8, 14));
    assert.deepEqual(await readings.write(rows.slice(10, 12)), { stored: 0, duplicate: 2 });
    db.close();
  });

  test('are stored once when an older one of their series was deleted meanwhile', async () => {
    const db = await openDatabase(freshPath());
    const readings = new SqliteReadings(db, 10, 6);
    const rows = series('d', 20);
    // These are merged, and the second batch is compared with them.
    await readings.write(rows);
    await readings.write(rows.slice(0, 10));
    await readings.delete({ device: 'd' });
    await readings.write(rows.slice(5, 6));
    assert.deepEqual(await readings.write(rows.slice(0, 10)), { stored: 9, duplicate: 1 });
    await readings.write(series('other', 20));
    assert.deepEqual(
      await collect(readings.range({ device: 'd', order: 'asc', limit: 100 })),
      rows.slice(0, 10),
    );
    db.close();
  });

  test('expire also when a write moves them meanwhile', async () => {
    const db = await openDatabase(freshPath());
    const readings = new SqliteReadings(db);
    await readings.write(series('first', 1));
    // So many in one slot that two transactions delete them.
    await readings.write(series('many', 1600));
    await readings.write(series('first', 2).slice(1));
    let parts = 0;
    const expired = await readings.expire(T0 + 10_000e6, async () => {
      if (parts === 0)
        await readings.write(series('new', 300).map((each) => ({ ...each, time: each.time + 20_000e6 })));
      parts += 1;
    });
    assert.equal(expired, 1602);
    assert.deepEqual(await collect(readings.range({ device: 'first', limit: 10 })), []);
    db.close();
  });

  test('can be written although an earlier version, which was still running, has stored some twice', async () => {
    const db = await openDatabase(freshPath());
    const readings = new SqliteReadings(db, 1, 6);
    const rows = series('d', 2);
    await readings.write(rows);
    db.connection.exec(`
      insert into recent select 1, time, series, value, received, boot, seq, quality from arrivals;
      insert into readings select series, time, value, received, boot, seq, quality from arrivals`);
    await readings.write(series('other', 20));
    assert.deepEqual(await collect(readings.range({ device: 'd', order: 'asc', limit: 100 })), rows);
    db.close();
  });

  test('of small batches are equal to a map, with late ones, corrections and repeated ones of two writers', async () => {
    const row = fc.record({
      device: fc.constantFrom('a', 'b', 'c'),
      ahead: fc.oneof(fc.constant(1), fc.integer({ min: -6, max: 4 })),
      value: fc.constantFrom<number | string>(1, 2, 'text'),
    });
    const step = fc.record({ rows: fc.array(row, { minLength: 1, maxLength: 8 }), writer: fc.nat(1) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const path = freshPath();
        const databases = [await openDatabase(path), await openDatabase(path)];
        // A batch of up to eight readings is small, and all move often.
        const writers = databases.map((db) => new SqliteReadings(db, 60, 20));
        const expected = new Map<string, Reading>();
        const newest = new Map<string, number>();
        for (const { rows, writer } of steps) {
          let stored = 0;
          const batch = rows.map(({ device, ahead, value }) => {
            const second = Math.max(0, (newest.get(device) ?? 0) + ahead);
            newest.set(device, Math.max(second, newest.get(device) ?? 0));
            const each = reading({ device, time: T0 + second * 1e6, value });
            const key = `${device} ${second}`;
            if (expected.get(key)?.value !== value) {
              stored += 1;
              expected.set(key, each);
            }
            return each;
          });
          assert.equal((await writers[writer]!.write(batch)).stored, stored);
          for (const device of newest.keys()) {
            const own = [...expected.values()].filter((each) => each.device === device);
            const all = own.toSorted((one, other) => one.time - other.time);
            const read = (order: 'asc' | 'desc') =>
              collect(writers[1 - writer]!.range({ device, order, limit: 1000 }));
            assert.deepEqual(await read('asc'), all);
            assert.deepEqual(await read('desc'), all.toReversed());
          }
        }
        for (const db of databases) db.close();
      }),
      { numRuns: 60 },
    );
  });

  test('of many series are read also after another process and this one have changed the newest', async () => {
    const path = freshPath();
    const databases = [await openDatabase(path), await openDatabase(path)];
    const [readings, other] = databases.map((db) => new SqliteReadings(db));
    const devices = Array.from({ length: 300 }, (_, index) => `d${index}`);
    const write = (to: SqliteReadings | undefined, second: number, value: number) =>
      to!.write(devices.map((device) => reading({ device, time: T0 + second * 1e6, value })));
    const check = async (expected: readonly number[]) => {
      for (const device of devices) {
        const range = { device, metric: 'temperature', from: T0, to: T0 + 10e6 };
        const pages = await collect(readings!.numbers(range));
        assert.deepEqual(
          pages.flatMap(({ values }) => Array.from(values)),
          expected,
          device,
        );
      }
    };
    await write(readings, 1, 1);
    await write(readings, 20, 1);
    await check([1]);
    await write(other, 2, 2);
    await check([1, 2]);
    await write(readings, 3, 3);
    await write(readings, 2, 4);
    await check([1, 4, 3]);
    // So many that they are no arrivals.
    await other!.write(series('many', 1100));
    await check([1, 4, 3]);
    for (const db of databases) db.close();
  });

  test('of small batches change few pages', async () => {
    const db = await openDatabase(freshPath());
    const readings = new SqliteReadings(db);
    const batch = Array.from({ length: 20 }, (_, index) => reading({ device: `d${index}`, time: T0 }));
    await readings.write(batch);
    db.connection.exec('pragma wal_checkpoint(truncate)');
    await readings.write(batch.map((each) => ({ ...each, time: T0 + 1 })));
    const { log } = db.connection.prepare('pragma wal_checkpoint(passive)').get() as { log: number };
    assert.ok(log > 0 && log <= 2, `${log} pages in the log`);
    db.close();
  });

  test('do not accumulate before they are merged', async () => {
    const db = await openDatabase(freshPath());
    const readings = new SqliteReadings(db, 1000);
    for (let part = 0; part < 20; part += 1) {
      await readings.write(series('d', 4000).slice(part * 200, part * 200 + 200));
    }
    const count = db.connection.prepare('select count(*) as count from recent').get()?.count as number;
    assert.ok(count <= 1000, `${count} rows`);
    db.close();
  });

  test('of many series accumulate for longer, within a bound', async () => {
    for (const [devices, bound] of [
      [450, 1500],
      [2000, 3000],
    ] as const) {
      const db = await openDatabase(freshPath());
      const readings = new SqliteReadings(db, 1000);
      let most = 0;
      for (let time = T0; time < T0 + 8; time += 1) {
        await readings.write(
          Array.from({ length: devices }, (_, index) => reading({ device: `d${index}`, time })),
        );
        const count = db.connection.prepare('select count(*) as count from recent').get()?.count as number;
        most = Math.max(most, count);
      }
      assert.ok(most <= bound && most > 0.9 * bound, `${most} rows of ${devices} series`);
      db.close();
    }
  });
});

describe('the space of a SQLite file', () => {
  const rows = series('d', 24_000).map((each) => ({ ...each, value: `text ${each.value}`.padEnd(100, '.') }));
  const write = async (store: Store) => {
    for (let start = 0; start < rows.length; start += 5000)
      await store.readings.write(rows.slice(start, start + 5000));
  };

  test('becomes free after a deletion, while another process uses the file', async () => {
    const path = freshPath();
    const [store, other] = [await openStore(`sqlite:${path}`), await openStore(`sqlite:${path}`)];
    await write(store);
    await store.readings.write(series('kept', 2000));
    const before = await store.space();
    assert.ok(before!.shrinks);
    assert.equal(before!.path, folder);
    let parts = 0;
    await store.readings.delete({ device: 'd', to: T0 + 20_000e6 }, async () => {
      parts += 1;
    });
    assert.ok(parts > 4, `${parts} parts`);
    const after = await store.space();
    assert.ok(after!.used < 0.3 * before!.used, `${after!.used} of ${before!.used} bytes`);
    assert.ok(after!.spare < 0.15 * after!.used, `${after!.spare} bytes to spare`);
    assert.deepEqual(
      await collect(other.readings.range({ device: 'd', order: 'asc', limit: 1e6 })),
      rows.slice(20_000),
    );
    await other.close();
    await store.close();
    const { size } = statSync(path);
    assert.ok(size < 0.3 * (before!.used + before!.spare), `${size} bytes`);
    const again = await openStore(`sqlite:${path}`);
    assert.equal((await stored(again, 'kept')).length, 2000);
    await again.close();
  });

  test('becomes free after an expiry', async () => {
    const path = freshPath();
    const store = await openStore(`sqlite:${path}`);
    await write(store);
    await store.close();
    const before = statSync(path).size;
    const again = await openStore(`sqlite:${path}`);
    assert.equal(await again.readings.expire(T0 + 23_500e6), 23_500);
    await again.close();
    assert.ok(statSync(path).size < 0.15 * before, `${statSync(path).size} of ${before} bytes`);
  });

  test('becomes free in a small file of an earlier version, which is converted when it is opened', async () => {
    const path = freshPath();
    const db = await openDatabase(path);
    const readings = new SqliteReadings(db);
    for (let start = 0; start < rows.length; start += 5000)
      await readings.write(rows.slice(start, start + 5000));
    assert.equal(db.connection.prepare('pragma auto_vacuum').get()!.auto_vacuum, 0);
    db.close();
    const before = statSync(path).size;
    const [store, other] = await Promise.all([openStore(`sqlite:${path}`), openStore(`sqlite:${path}`)]);
    assert.ok((await other.space())!.shrinks);
    assert.deepEqual(await stored(other, 'd'), rows);
    await store.readings.expire(T0 + 23_500e6);
    await other.close();
    await store.close();
    assert.ok(statSync(path).size < 0.15 * before, `${statSync(path).size} of ${before} bytes`);
  });
});
