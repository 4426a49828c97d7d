import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Certificates, makeCertificates } from '@tidegauge/lab/certificates';
import { hasCitus } from '@tidegauge/lab/citus';
import { startPostgres } from '@tidegauge/lab/postgres';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { suspend } from '@tidegauge/process';
import { QUALITIES, type Reading } from '@tidegauge/readings';
import { freshDevice, reading, rejection, series, stored, T0, writeFirmly } from '../../conformance/data.ts';
import { openStore, type Store, type StoreError, type StoreErrorCode } from '../../src/index.ts';
import { pageStatements } from '../page-statements.ts';
import { fixtureText, proveUpgrade, VERSIONS } from '../upgrade/prove-upgrade.ts';

const SECOND = 1_000_000;
const STORAGE = fileURLToPath(new URL('../../src/index.ts', import.meta.url));

const started = await startOrSkip('postgres', startPostgres);
const skip = 'skip' in started ? started.skip : false;
// Tests are skipped if there is no server.
const server = ('server' in started ? started.server : null)!;
after(() => server?.stop());

/** An open store on a separate database, until the test ends. */
async function fresh(
  t: { after(work: () => Promise<void>): void },
  options = '',
): Promise<{ store: Store; database: string; url: string }> {
  const database = await server.createDatabase();
  const url = `${server.url(database)}${options}`;
  const store = await openStore(url);
  t.after(() => store.close());
  return { store, database, url };
}

/** Passes if opening the URL fails within `ms` with the code, and the message contains the host. */
async function refused(url: string, code: StoreErrorCode, ms = 5000): Promise<StoreError> {
  const started = performance.now();
  const error = await rejection(openStore(url), code);
  assert.ok(performance.now() - started < ms, `took ${performance.now() - started} ms`);
  const { host } = new URL(url);
  assert.ok(error.message.includes(host), `${error.message} does not name ${host}`);
  assert.ok(error.hint);
  assert.ok(!error.message.includes(server.password));
  return error;
}

describe('postgres, errors at the start', { skip }, () => {
  test('a port on which nothing listens is UNAVAILABLE', async () => {
    const nobody = createServer().listen(0, '127.0.0.1');
    await once(nobody, 'listening');
    const { port } = nobody.address() as AddressInfo;
    nobody.close();
    await refused(`postgres://u:p@127.0.0.1:${port}/db`, 'UNAVAILABLE', 1000);
  });

  test('a server that never answers is UNAVAILABLE within the connect timeout', async () => {
    const mute = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const { port } = mute.address() as AddressInfo;
    await refused(`postgres://u:p@127.0.0.1:${port}/db?connect=300`, 'UNAVAILABLE', 1500);
    mute.close();
  });

  test('an unknown host name is UNAVAILABLE', async () => {
    await refused('postgres://u:p@no-such-host.invalid/db', 'UNAVAILABLE');
  });

  test('a password that is missing or empty is MISCONFIGURED at once, and no connection is left', async () => {
    const host = `127.0.0.1:${server.port}`;
    for (const login of [server.user, `${server.user}:`]) {
      const { message, hint } = await refused(`postgres://${login}@${host}/postgres`, 'MISCONFIGURED', 1500);
      assert.match(message, /the server requires a password, and the URL has none/);
      assert.match(hint!, /write user and password into the URL/);
    }
    const program = `
      import { openStore } from ${JSON.stringify(STORAGE)};
      await openStore('postgres://${server.user}@${host}/postgres').catch(() => {});`;
    const args = ['--input-type=module-typescript', '--eval', program];
    assert.equal(
      spawnSync(process.execPath, args, { timeout: 20_000 }).status,
      0,
      'it did not end by itself',
    );
  });

  test('a wrong password, user or database is MISCONFIGURED', async () => {
    const place = `127.0.0.1:${server.port}`;
    const wrong = await refused(`postgres://${server.user}:guess@${place}/postgres`, 'MISCONFIGURED');
    assert.match(wrong.message, /password authentication failed/);
    assert.ok(!wrong.message.includes('guess'));
    await refused(`postgres://stranger:guess@${place}/postgres`, 'MISCONFIGURED');
    await refused(`postgres://${server.user}@${place}/postgres`, 'MISCONFIGURED');
    const missing = await refused(server.url('nowhere'), 'MISCONFIGURED');
    assert.match(missing.message, /database "nowhere" does not exist/);
  });

  test('a user without the right to create tables is MISCONFIGURED, and can use tables of others', async () => {
    const database = await server.createDatabase();
    await server.query(`create role guest login password 'guest'`);
    const url = `postgres://guest:guest@127.0.0.1:${server.port}/${database}`;
    const error = await refused(url, 'MISCONFIGURED');
    assert.match(error.message, /permission denied/);
    await (await openStore(server.url(database))).close();
    const grant =
      'grant select, insert, update, delete on all tables in schema public to guest; grant usage on all sequences in schema public to guest';
    await server.query(grant, database);
    const store = await openStore(url);
    const device = freshDevice();
    await store.readings.write(series(device, 3));
    assert.deepEqual(await stored(store, device), series(device, 3));
    await store.close();
  });

  test('a server without TLS is MISCONFIGURED if the URL requires TLS', async () => {
    const error = await refused(`${server.url('postgres')}?sslmode=verify-full`, 'MISCONFIGURED');
    assert.match(error.hint ?? '', /sslmode/);
  });

  test('a database that is not in UTF-8 is MISCONFIGURED', async () => {
    await server.query(
      `create database ascii template template0 encoding 'SQL_ASCII' locale_provider libc locale 'C'`,
    );
    const error = await refused(server.url('ascii'), 'MISCONFIGURED');
    assert.match(error.message, /SQL_ASCII/);
  });

  test('a schema from a newer version is MISCONFIGURED and left as it is', async (t) => {
    const { database, url } = await fresh(t);
    await server.query('update tidegauge_schema set version = 99', database);
    const error = await refused(url, 'MISCONFIGURED');
    assert.match(error.message, /version 99 is newer/);
    assert.equal((await server.query('select version from tidegauge_schema', database)).trim(), '99');
  });

  test('citus without its extension is MISCONFIGURED', async (t) => {
    if (await hasCitus()) return t.skip('the extension is here');
    const error = await refused(server.url('postgres', 'citus'), 'MISCONFIGURED');
    assert.match(error.message, /citus extension is not available/);
  });

  test('a URL without user or database, or with wrong hosts or options, is MISCONFIGURED before any I/O', async () => {
    for (const url of [
      'postgres://h/db',
      'postgres://u@h',
      'postgres://u@h,i/db',
      'postgres:',
      'postgres://u@h/db?rf=2',
      'postgres://u@h/db?connections=0',
      'citus://u@h/db?rf=9',
      'citus://u@h/db?shards=0',
    ]) {
      const error = await rejection(openStore(url), 'MISCONFIGURED');
      assert.ok(error.hint, url);
    }
  });
});

for (const [version, options] of Object.entries(VERSIONS)) {
  test(`a database of version ${version} keeps its data and remains usable`, { skip }, async () => {
    const database = await server.createDatabase();
    await server.query(await fixtureText(version, 'postgres.sql'), database);
    await proveUpgrade(server.url(database), options);
  });
}

test('users with the grants of the documentation can do what it describes', { skip }, async (t) => {
  const [create, grants] = pageStatements('postgres');
  for (const statement of create!) {
    // The superuser of the server is called tidegauge.
    await server.query(statement.replace(/(role|owner) tidegauge\b/, '$1 tidegauge_owner'));
  }
  const url = (user: string, password: string) =>
    `postgres://${user}:${password}@${placeOf(server.url('tidegauge'))}`;
  const owner = await openStore(url('tidegauge_owner', 'secret'));
  t.after(() => owner.close());
  await owner.records.createTable('usertable', 2);
  for (const statement of grants!) await server.query(statement, 'tidegauge');
  const ingest = await openStore(url('tidegauge_ingest', 'secret-1'));
  t.after(() => ingest.close());
  await ingest.devices.register(['granted']);
  assert.equal((await ingest.readings.write(series('granted', 3))).stored, 3);
  assert.equal(await ingest.readings.expire(T0 + SECOND), 1);
  const reader = await openStore(url('tidegauge_reader', 'secret-2'));
  t.after(() => reader.close());
  assert.deepEqual(await stored(reader, 'granted'), series('granted', 3).slice(1));
  assert.deepEqual(await reader.records.scan('usertable', '', 10, null), []);
  await rejection(reader.readings.write(series('granted', 1)), 'MISCONFIGURED');
  await owner.records.dropTable('usertable');
});

/** Host, port and database of a URL. */
function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return host + pathname;
}

describe('postgres with TLS', { skip }, () => {
  let certificates: Certificates;
  let database: string;
  before(async () => {
    certificates = await makeCertificates();
    const { uid, gid } = await stat(`/proc/${server.pid}`);
    await certificates.giveTo(uid, gid);
    database = await server.createDatabase();
    const { certificate, key } = certificates;
    for (const setting of [`ssl_cert_file = '${certificate}'`, `ssl_key_file = '${key}'`, 'ssl = on']) {
      await server.query(`alter system set ${setting}`);
    }
    await server.query('select pg_reload_conf()');
    await until(async () => (await server.query('show ssl')).trim() === 'on');
  });
  after(async () => {
    await server.query('alter system set ssl = off');
    await server.query('select pg_reload_conf()');
    certificates?.remove();
  });

  const url = (options: string): string => `${server.url(database)}?${options}`;

  test('readings are sent encrypted, and the certificate is checked as sslmode requires', async () => {
    const known = `sslrootcert=${certificates.authority}`;
    const modes = ['sslmode=require', `sslmode=verify-ca&${known}`, `sslmode=verify-full&${known}`];
    for (const options of modes) {
      const store = await openStore(url(options));
      const device = freshDevice();
      await store.readings.write(series(device, 10));
      assert.deepEqual(await stored(store, device), series(device, 10));
      const plain = await server.query(
        `select count(*) from pg_stat_ssl join pg_stat_activity using (pid)
         where application_name = 'tidegauge' and datname = '${database}' and not ssl`,
      );
      assert.equal(plain.trim(), '0', options);
      await store.close();
    }
  });

  test('a certificate of another authority is MISCONFIGURED, with the name of the option', async () => {
    for (const options of [`sslmode=verify-ca&sslrootcert=${certificates.stranger}`, 'sslmode=verify-full']) {
      const error = await refused(url(options), 'MISCONFIGURED');
      assert.match(error.hint ?? '', /sslrootcert/);
    }
  });

  test('verify-full requires the host name in the certificate, verify-ca does not', async () => {
    const elsewhere = url(`sslrootcert=${certificates.authority}`).replace('127.0.0.1', 'localhost');
    const error = await refused(`${elsewhere}&sslmode=verify-full`, 'MISCONFIGURED');
    assert.match(error.message, /localhost/);
    await (await openStore(`${elsewhere}&sslmode=verify-ca`)).close();
  });

  test('a missing file of the authority is MISCONFIGURED, with the name of the option', async () => {
    const error = await rejection(
      openStore(url('sslmode=verify-full&sslrootcert=/nowhere.pem')),
      'MISCONFIGURED',
    );
    assert.match(error.message, /^sslrootcert: .*nowhere/);
  });
});

describe('postgres, while it runs', { skip }, () => {
  test('a statement that takes too long is TIMEOUT, and the next one works', async (t) => {
    const { store, database } = await fresh(t, '?timeout=1000');
    const device = freshDevice();
    await store.readings.write([reading({ device })]);
    const lock = server.query('begin; lock table readings; select pg_sleep(2.5); commit', database);
    await until(() => isLocked(database));
    const started = performance.now();
    const error = await rejection(store.readings.write([reading({ device, value: 1 })]), 'TIMEOUT');
    assert.ok(performance.now() - started < 2500);
    assert.match(error.message, new RegExp(`127.0.0.1:${server.port}`));
    await lock;
    assert.equal((await store.readings.write([reading({ device, value: 1 })])).stored, 1);
  });

  test('a server that stops answering is TIMEOUT, and works again on new connections', async (t) => {
    const { store, database } = await fresh(t, '?timeout=1000');
    const device = freshDevice();
    await store.readings.write([reading({ device })]);
    const sql = `select pid from pg_stat_activity where application_name = 'tidegauge' and datname = '${database}'`;
    const pids = (await server.query(sql)).trim().split('\n').map(Number);
    for (const pid of pids) await suspend(pid);
    try {
      await rejection(store.readings.write([reading({ device, value: 1 })]), 'TIMEOUT');
      assert.equal((await store.readings.write([reading({ device, value: 2 })])).stored, 1);
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    }
  });

  test('connections that the server ended are replaced', async (t) => {
    const { store, database } = await fresh(t);
    const device = freshDevice();
    for (let round = 0; round < 3; round += 1) {
      await writeFirmly(store, [reading({ device, value: round })]);
      await server.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}' and pid <> pg_backend_pid()`,
      );
    }
    await until(() => store.health().then(() => true, isUnavailable));
  });

  test('many reads at once have their own results, on few connections', async (t) => {
    const { store, database } = await fresh(t, '?connections=3');
    await store.records.createTable('many', 1);
    const records = Array.from({ length: 300 }, (_, n) => ({ key: `k${n}`, fields: { field0: `v${n}` } }));
    await store.records.insertMany('many', records);
    for (let round = 0; round < 3; round += 1) {
      const found = await Promise.all(records.map(({ key }) => store.records.read('many', key, null)));
      assert.deepEqual(
        found.map((fields) => fields!.field0),
        records.map(({ fields }) => fields.field0),
      );
    }
    const sql = `select count(*) from pg_stat_activity where application_name = 'tidegauge' and datname = '${database}'`;
    assert.ok(Number(await server.query(sql)) <= 5, 'three connections, and two of writers');
  });

  test('reads at once have their own results when keys are absent, equal or ambiguous', async (t) => {
    const { store, database } = await fresh(t);
    // The first type ignores spaces at the end, as a key of another program can.
    for (const type of ['char(8)', 'varchar(255)']) {
      const table = type === 'char(8)' ? 'padded' : 'exact';
      await server.query(
        `create table ${table} (ycsb_key ${type} primary key, field0 text, field1 text)`,
        database,
      );
      await server.query(
        `insert into ${table} select 'k' || n, 'v' || n, case when n % 2 = 0 then 'w' || n end from generate_series(1, 40) n`,
        database,
      );
      const keys = Array.from({ length: 60 }, (_, n) => (n % 3 === 2 ? 'k1' : `k${n}`));
      const wanted = keys.map((key) => {
        const n = Number(key.slice(1));
        return n < 1 || n > 40 ? null : { field0: `v${n}`, ...(n % 2 === 0 ? { field1: `w${n}` } : {}) };
      });
      for (let round = 0; round < 3; round += 1) {
        assert.deepEqual(await Promise.all(keys.map((key) => store.records.read(table, key, null))), wanted);
        const some = await Promise.all(keys.map((key) => store.records.read(table, key, ['field1'])));
        assert.deepEqual(
          some,
          wanted.map((fields) => fields && (fields.field1 === undefined ? {} : { field1: fields.field1 })),
        );
      }
    }
  });

  test('a read that waits for a lock does not hold up the reads of other tables', async (t) => {
    const { store, database } = await fresh(t);
    for (const table of ['locked', 'free_one']) {
      await store.records.createTable(table, 1);
      await store.records.insert(table, 'k', { field0: table });
    }
    // The first reads open the connections.
    for (let round = 0; round < 20; round += 1) await store.records.read('free_one', 'k', null);
    const lock = server.query('begin; lock table locked; select pg_sleep(2); commit', database);
    await until(() => isLocked(database));
    const waiting = store.records.read('locked', 'k', null);
    const started = performance.now();
    for (let round = 0; round < 20; round += 1) await store.records.read('free_one', 'k', null);
    assert.ok(performance.now() - started < 1500, `${performance.now() - started} ms`);
    await lock;
    assert.equal((await waiting)!.field0, 'locked');
  });

  test('reads continue after their connections ended and after their table was created again', async (t) => {
    const { store, database } = await fresh(t);
    const read = () => store.records.read('again', 'k', null);
    for (const fields of [{ field0: 'a' }, { field0: 'b', field1: 'c' }]) {
      await server.query('drop table if exists again', database);
      await store.records.createTable('again', 2);
      await store.records.insert('again', 'k', fields);
      for (let round = 0; round < 10; round += 1) assert.deepEqual({ ...(await read()) }, fields);
    }
    await server.query(`alter table again add column field2 text default 'd'`, database);
    for (let round = 0; round < 10; round += 1) {
      assert.deepEqual({ ...(await read()) }, { field0: 'b', field1: 'c', field2: 'd' });
    }
    await server.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}' and pid <> pg_backend_pid()`,
    );
    await until(() => read().then((fields) => fields !== null, isUnavailable));
  });

  test('calls are OVERLOADED when every connection is busy, and ingest continues', async (t) => {
    const { store, database } = await fresh(t, '?connections=1&connect=300&timeout=5000');
    const lock = server.query('begin; lock table devices; select pg_sleep(1.5); commit', database);
    await until(() => isLocked(database));
    const waiting = store.devices.get(freshDevice());
    const error = await rejection(store.health(), 'OVERLOADED');
    assert.match(error.hint ?? '', /connections option/);
    assert.equal((await store.readings.write(series(freshDevice(), 10))).stored, 10);
    await lock;
    assert.equal(await waiting, null);
  });

  test('a read-only server is not healthy', async (t) => {
    const { url, database } = await fresh(t);
    await server.query(`alter database ${database} set default_transaction_read_only = on`);
    const store = await openStore(url);
    await rejection(store.health(), 'UNAVAILABLE');
    await rejection(store.devices.register([freshDevice()]), 'UNAVAILABLE');
    await store.close();
  });

  test('one reading that is written with several values at once is stored as its last', async (t) => {
    const { store } = await fresh(t);
    const device = freshDevice();
    await store.readings.write([reading({ device, value: 1 })]);
    const values = [2, 1, 1, 3, 1];
    const batch = values.map((value, seq) => reading({ device, value, seq, boot: 'b' }));
    assert.deepEqual(await store.readings.write(batch), { stored: 4, duplicate: 1 });
    assert.deepEqual(await stored(store, device), [batch[4]]);
  });

  test('expiry counts the deleted rows, over many series and more rows than one part', async (t) => {
    const { store, database } = await fresh(t);
    const device = freshDevice();
    await store.readings.write(series(device, 12_000, 'long'));
    // More than one device, because a device has at most 500 metrics.
    const many = Array.from({ length: 1200 }, (_, index) =>
      reading({ device: `${device}/${index % 3}`, metric: `m${index}` }),
    );
    await store.readings.write(many);
    assert.equal(await store.readings.expire(T0 + 11_500 * SECOND), 11_500 + 1200);
    assert.equal((await server.query('select count(*) from readings', database)).trim(), '500');
  });

  test('a sum beyond the largest double is infinite', async (t) => {
    const { store } = await fresh(t);
    const device = freshDevice();
    await store.readings.write([1, 2].map((time) => reading({ device, time, value: 1.7e308 })));
    const query = { device, metric: 'temperature', from: 0, to: 10, bucket: 10 };
    const [bucket] = (await store.readings.aggregate(query)).buckets;
    assert.equal(bucket?.count, 2);
    assert.equal(bucket?.sum, Number.POSITIVE_INFINITY);
  });

  test('readings are ordered by series and time, texts by code point', async (t) => {
    const { database } = await fresh(t);
    const key = await server.query(
      `select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'readings'::regclass`,
      database,
    );
    assert.equal(key.trim(), 'PRIMARY KEY (series, "time")');
    const odd = await server.query(
      `select table_name, column_name from information_schema.columns
       where table_schema = 'public' and data_type = 'text' and collation_name is distinct from 'C'`,
      database,
    );
    assert.equal(odd.trim(), '');
  });

  test('other tables are not mistaken for tables of records', async (t) => {
    const { store, database } = await fresh(t);
    const key = 'ycsb_key text primary key';
    await server.query(
      `create table base (${key}, field0 text);
       create view a_view as select * from base;
       create materialized view a_copy as select * from base;
       create index an_index on base (field0);
       create sequence a_sequence;
       create type a_type as (field0 text);
       create table more (${key}, field0 text, secret text);
       create table numbers (${key}, field0 integer);
       create table without_fields (${key});
       create table almost_marked (id integer);
       comment on table almost_marked is 'tidegauge:records '`,
      database,
    );
    const all = 'select relname, relkind, oid from pg_class order by oid';
    const before = await server.query(all, database);
    const tables = ['a_view', 'a_copy', 'an_index', 'a_sequence', 'a_type', 'more', 'numbers'];
    for (const table of [...tables, 'without_fields', 'almost_marked', 'MORE']) {
      await rejection(store.records.createTable(table, 1), 'FORBIDDEN');
      await rejection(store.records.read(table, 'a', null), 'FORBIDDEN');
      await rejection(store.records.insert(table, 'a', { field0: 'x' }), 'FORBIDDEN');
      await rejection(store.records.dropTable(table), 'FORBIDDEN');
    }
    assert.equal(await server.query(all, database), before);
  });

  test('a table of YCSB can be read, also after it was created again with other fields', async (t) => {
    const { store, database } = await fresh(t);
    await server.query(
      `create table usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 TEXT, FIELD1 TEXT);
       insert into usertable values ('user1', 'a', 'b')`,
      database,
    );
    const whole = await store.records.read('usertable', 'user1', null);
    assert.deepEqual(whole, { field0: 'a', field1: 'b' });
    assert.deepEqual(await store.records.scan('usertable', '', 10, ['field1']), [
      { key: 'user1', fields: { field1: 'b' } },
    ]);
    // Every connection has prepared the statement.
    await Promise.all(Array.from({ length: 20 }, () => store.records.read('usertable', 'user1', null)));
    await rejection(store.records.dropTable('usertable'), 'FORBIDDEN');
    await server.query('drop table usertable', database);
    await store.records.createTable('usertable', 3);
    await store.records.insert('usertable', 'user1', { field2: 'c' });
    const again = Array.from({ length: 20 }, () => store.records.read('usertable', 'user1', null));
    for (const read of again) assert.deepEqual(await read, { field2: 'c' });
  });
});

/** A batch of this size is sent as COPY. The socket does not take all of it at once. */
const LARGE = 5000;

describe('postgres, batches that are sent as COPY', { skip }, () => {
  /** A batch of many series. */
  const large = (device: string, fields: Partial<Reading> = {}, count = LARGE): Reading[] =>
    Array.from({ length: count }, (_, index) =>
      reading({ device, metric: `m${index % 50}`, time: T0 + index, value: index, ...fields }),
    );
  const countOf = async (database: string) =>
    Number(await server.query('select count(*) from readings', database));

  /** The processes of the server for connections of stores. */
  async function backends(database: string): Promise<number[]> {
    const sql = `select pid from pg_stat_activity where application_name = 'tidegauge' and datname = '${database}'`;
    return (await server.query(sql)).trim().split('\n').map(Number);
  }

  test('every value is stored as it was written', async (t) => {
    const { store } = await fresh(t);
    const device = freshDevice();
    const values = [
      ...[0, -0, 5e-324, -5e-324, 1e308, -Number.MAX_VALUE, 2 ** 53, 0.1, Number.EPSILON],
      ...['', 'on', 'NULL', '\\N', '\t\n"', 'é', '😀', 'ﷺ'.repeat(300)],
    ];
    const boots = [null, 'b1', 'b1', '', 'ß-😀', null];
    const seqs = [null, 0, 1, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1, 2 ** 53 - 1];
    const batch = Array.from({ length: 1000 }, (_, index) =>
      reading({
        device,
        metric: `m${index % 7}`,
        time: T0 + index,
        value: values[index % values.length]!,
        received: T0 + 2 ** 32 + index,
        boot: boots[index % boots.length]!,
        seq: seqs[index % seqs.length]!,
        quality: QUALITIES[index % QUALITIES.length]!,
      }),
    );
    assert.deepEqual(await store.readings.write(batch.toReversed()), { stored: 1000, duplicate: 0 });
    const found = await stored(store, device);
    assert.deepEqual(
      found.toSorted((a, b) => a.time - b.time),
      batch,
    );
    assert.deepEqual(await store.readings.write(batch), { stored: 0, duplicate: 1000 });
  });

  test('large batches are copied, and small ones are inserted', async (t) => {
    const { store, database } = await fresh(t);
    const device = freshDevice();
    await store.readings.write(large(device, { time: 1 }, 50));
    const waiting = `select query from pg_stat_activity
      where datname = '${database}' and application_name = 'tidegauge' and wait_event_type = 'Lock'`;
    for (const [count, statement] of [
      [100, /^insert into readings/],
      [200, /^copy readings/],
      [LARGE, /^copy readings/],
    ] as const) {
      const lock = server.query('begin; lock table readings; select pg_sleep(1); commit', database);
      await until(() => isLocked(database));
      const writing = store.readings.write(
        large(device, {}, count).map((each) => ({ ...each, time: each.time + count })),
      );
      let query = '';
      await until(async () => {
        query = (await server.query(waiting)).trim();
        return query !== '';
      });
      assert.match(query, statement);
      await lock;
      assert.deepEqual(await writing, { stored: count, duplicate: 0 });
    }
  });

  test('a batch with rows that exist is counted exactly, and the next one is copied again', async (t) => {
    const { store, database } = await fresh(t);
    const device = freshDevice();
    const batch = large(device);
    assert.deepEqual(await store.readings.write(batch.slice(-300)), { stored: 300, duplicate: 0 });
    const changed = batch.map((each, index) => (index % 1000 === 999 ? { ...each, value: -1 } : each));
    assert.deepEqual(await store.readings.write(changed), { stored: LARGE - 300 + 1, duplicate: 299 });
    assert.deepEqual(await store.readings.write(changed), { stored: 0, duplicate: LARGE });
    for (let round = 1; round < 6; round += 1) {
      const next = large(device, { received: T0 }).map((each) => ({
        ...each,
        time: each.time + round * LARGE,
      }));
      assert.deepEqual(await store.readings.write(next), { stored: LARGE, duplicate: 0 });
    }
    assert.equal(await countOf(database), 6 * LARGE);
  });

  test('two writers of the same rows store each row once', async (t) => {
    const { store, database } = await fresh(t);
    const device = freshDevice();
    const batches = Array.from({ length: 6 }, () => large(device));
    const results = await Promise.all(batches.map((batch) => store.readings.write(batch)));
    assert.equal(
      results.reduce((sum, each) => sum + each.stored, 0),
      LARGE,
    );
    assert.equal(await countOf(database), LARGE);
  });

  test('a lock that takes too long is TIMEOUT, and the next batch is stored', async (t) => {
    const { store, database } = await fresh(t, '?timeout=1000');
    const device = freshDevice();
    await store.readings.write(large(device, { time: 1 }, 50));
    const lock = server.query('begin; lock table readings; select pg_sleep(2.5); commit', database);
    await until(() => isLocked(database));
    const started = performance.now();
    await rejection(store.readings.write(large(device)), 'TIMEOUT');
    assert.ok(performance.now() - started < 2500);
    await lock;
    assert.equal(await countOf(database), 50);
    assert.equal((await store.readings.write(large(device))).stored, LARGE);
  });

  test('a server that stops answering is TIMEOUT, and works again on new connections', async (t) => {
    const { store, database } = await fresh(t, '?timeout=1000');
    const device = freshDevice();
    await store.readings.write(large(device, { time: 1 }, 50));
    const pids = await backends(database);
    for (const pid of pids) await suspend(pid);
    try {
      const started = performance.now();
      await rejection(store.readings.write(large(device)), 'TIMEOUT');
      assert.ok(performance.now() - started < 5000);
      assert.equal((await store.readings.write(large(device, { time: T0 - 1 }, 50))).stored, 50);
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    }
    // Nothing of the batch was stored when the processes continued: its data had not been sent.
    assert.equal((await store.readings.write(large(device))).stored, LARGE);
    assert.equal(await countOf(database), LARGE + 100);
  });

  test('a connection that the server ends while it waits is UNAVAILABLE', async (t) => {
    const { store, database } = await fresh(t);
    const device = freshDevice();
    await store.readings.write(large(device, { time: 1 }, 50));
    const lock = server.query('begin; lock table readings; select pg_sleep(1); commit', database);
    await until(() => isLocked(database));
    const failed = rejection(store.readings.write(large(device)), 'UNAVAILABLE');
    await server.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}' and application_name = 'tidegauge'`,
    );
    await failed;
    await lock;
    assert.equal(await countOf(database), 50);
    assert.equal(await writeFirmly(store, large(device)), LARGE);
  });

  for (const [end, code] of [
    ['is cut', 'UNAVAILABLE'],
    ['hangs', 'TIMEOUT'],
  ] as const) {
    test(`a connection that ${end} inside the data is ${code}, and nothing of the batch is stored`, async (t) => {
      const { url, database } = await fresh(t);
      const link = await startLink(server.port, end === 'is cut');
      t.after(() => link.close());
      const store = await openStore(`${url.replace(String(server.port), String(link.port))}?timeout=1000`);
      t.after(() => store.close());
      const device = freshDevice();
      await store.readings.write(large(device, { time: 1 }, 50));
      // Less than the data of the batch.
      link.failAfter(200_000);
      await rejection(store.readings.write(large(device)), code);
      link.failAfter(Number.POSITIVE_INFINITY);
      assert.equal(await countOf(database), 50);
      assert.equal(await writeFirmly(store, large(device)), LARGE);
      assert.equal(await countOf(database), LARGE + 50);
    });
  }

  test('a batch is stored after the server restarted, and after the table was created again', async (t) => {
    const { store, database } = await fresh(t);
    const device = freshDevice();
    await store.readings.write(large(device));
    await server.query(
      `create table again (like readings including all); drop table readings; alter table again rename to readings`,
      database,
    );
    assert.deepEqual(await store.readings.write(large(device)), { stored: LARGE, duplicate: 0 });
    await server.restart();
    assert.equal(await writeFirmly(store, large(device, { value: -1 })), LARGE);
  });

  test('a trigger that drops a row is UNEXPECTED, and a table that is missing is MISCONFIGURED', async (t) => {
    const { store, database } = await fresh(t);
    await server.query(
      `create function drop_one() returns trigger language plpgsql as
         'begin if new.value = 7 then return null; end if; return new; end';
       create trigger drop_one before insert on readings for each row execute function drop_one()`,
      database,
    );
    const error = await rejection(store.readings.write(large(freshDevice())), 'UNEXPECTED');
    assert.match(error.message, /COPY stored 4999 of 5000 rows/);
    await server.query('drop table readings', database);
    await rejection(store.readings.write(large(freshDevice())), 'MISCONFIGURED');
  });

  test('batches are inserted where row-level security applies to the user', async (t) => {
    const { store, database } = await fresh(t);
    const user = 'restricted';
    await server.query(`create role ${user} login password '${user}'`);
    for (const statement of [
      `grant all on all tables in schema public to ${user}`,
      `grant all on all sequences in schema public to ${user}`,
      'alter table readings enable row level security',
      `create policy own on readings to ${user} using (true) with check (true)`,
    ])
      await server.query(statement, database);
    const url = new URL(server.url(database));
    url.username = user;
    url.password = user;
    const restricted = await openStore(url.href);
    t.after(() => restricted.close());
    const device = freshDevice();
    for (const start of [0, 500]) {
      const batch = series(device, 500).map((each) => ({ ...each, time: each.time + start * SECOND }));
      assert.deepEqual(await restricted.readings.write(batch), { stored: 500, duplicate: 0 });
      assert.deepEqual(await restricted.readings.write(batch), { stored: 0, duplicate: 500 });
    }
    assert.equal((await stored(store, device)).length, 1000);
  });

  test('a store closes after the batch that it writes', async (t) => {
    const { store, database } = await fresh(t);
    const device = freshDevice();
    await store.readings.write(large(device, { time: 1 }, 50));
    const writing = store.readings.write(large(device));
    await Promise.all([store.close(), writing]);
    assert.equal(await countOf(database), LARGE + 50);
  });
});

/** A proxy to the server, which closes or stops each connection that has sent a number of bytes. */
async function startLink(
  to: number,
  cuts: boolean,
): Promise<{ port: number; failAfter(bytes: number): void; close(): void }> {
  let bound = Number.POSITIVE_INFINITY;
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const upstream = connect(to, '127.0.0.1');
    let sent = 0;
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    upstream.on('data', (data) => client.write(data));
    client.on('data', (data) => {
      sent += data.length;
      if (sent <= bound) upstream.write(data);
      else if (cuts) client.destroy();
      else client.pause();
    });
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    port: (proxy.address() as AddressInfo).port,
    failAfter(bytes) {
      bound = bytes;
    },
    close() {
      proxy.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Returns false for UNAVAILABLE, so that the caller retries. Throws any other error. */
function isUnavailable(error: StoreError): boolean {
  if (error.code === 'UNAVAILABLE') return false;
  throw error;
}

/** Whether the other session of the test holds its lock. */
async function isLocked(database: string): Promise<boolean> {
  const sql = `select count(*) from pg_locks join pg_database on pg_database.oid = pg_locks.database
    where datname = '${database}' and mode = 'AccessExclusiveLock' and granted`;
  return (await server.query(sql)).trim() !== '0';
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 10_000; !(await condition()); ) {
    assert.ok(performance.now() < deadline, 'waited for 10 s');
  }
}
