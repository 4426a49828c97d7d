import assert from 'node:assert/strict';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { freePort } from '@tidegauge/lab';
import { type Certificates, makeCertificates } from '@tidegauge/lab/certificates';
import { type Mariadb, startMariadb } from '@tidegauge/lab/mariadb';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { suspend } from '@tidegauge/process';
import { freshDevice, reading, rejection, series, stored, writeFirmly } from '../../conformance/data.ts';
import { createStore, openStore, type Store, type StoreError } from '../../src/index.ts';
import { pageStatements } from '../page-statements.ts';
import { fixtureText, proveUpgrade, VERSIONS } from '../upgrade/prove-upgrade.ts';

const DAY = 86_400_000_000;
const NOW = Date.now() * 1000;

const started = await startOrSkip('mariadb', startMariadb);
const skip = 'skip' in started ? started.skip : false;
// Tests are skipped if there is no server.
const server = ('server' in started ? started.server : null)!;
after(() => server?.stop());

let last = 0;

async function freshDatabase(): Promise<string> {
  last += 1;
  await server.query(`create database facts_${last}`);
  return `facts_${last}`;
}

/** Runs `use` with a store on a separate database. `options` are appended to the URL. */
async function withStore(
  use: (store: Store, database: string) => Promise<void>,
  options = '',
  database?: string,
): Promise<void> {
  const name = database ?? (await freshDatabase());
  const store = await openStore(server.url(name) + options);
  try {
    await use(store, name);
  } finally {
    await store.close();
  }
}

/** Resolves to the error of opening the URL. Fails if that takes longer than `withinMs`. */
async function refusal(url: string, code: StoreError['code'], withinMs = 5000): Promise<StoreError> {
  const started = performance.now();
  const error = await rejection(openStore(url), code);
  assert.ok(performance.now() - started < withinMs, `it took ${performance.now() - started} ms`);
  assert.ok(error.hint);
  return error;
}

for (const [version, options] of Object.entries(VERSIONS)) {
  test(`a MariaDB database of version ${version} keeps its data and remains usable`, { skip }, async () => {
    const database = await freshDatabase();
    await server.query(`use ${database}; ${await fixtureText(version, 'mariadb.sql')}`);
    await proveUpgrade(server.url(database), options);
  });
}

test('users with the grants of the documentation can do what it describes', { skip }, async (t) => {
  // The administrator of the server is called tidegauge.
  const blocks = pageStatements('mariadb').map((statements) =>
    statements.map((statement) => statement.replace('tidegauge@', 'tidegauge_owner@')),
  );
  const [create, grants] = blocks;
  const { host } = new URL(server.url('tidegauge'));
  for (const statement of create!) await server.query(statement);
  const owner = await openStore(`mariadb://tidegauge_owner:secret@${host}/tidegauge`);
  t.after(() => owner.close());
  await owner.readings.write(series('granted', 3));
  await owner.records.createTable('usertable', 2);
  await owner.records.dropTable('usertable');
  for (const statement of grants!) await server.query(statement);
  const ingest = await openStore(`mariadb://tidegauge_ingest:secret-1@${host}/tidegauge`);
  t.after(() => ingest.close());
  await ingest.devices.register(['granted']);
  assert.deepEqual(await ingest.readings.write(series('granted', 4)), { stored: 1, duplicate: 3 });
  assert.deepEqual(await stored(ingest, 'granted'), series('granted', 4));
  await rejection(ingest.records.createTable('usertable', 2), 'MISCONFIGURED');
});

describe('connecting to MariaDB', { skip }, () => {
  test('reports the address on which nothing listens', async () => {
    const port = await freePort();
    const error = await refusal(`mariadb://a:b@127.0.0.1:${port}/c`, 'UNAVAILABLE', 2000);
    assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${port}.*ECONNREFUSED`));
  });

  test('fails within the connect timeout if a server accepts and does not answer', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const sockets = new Set<{ destroy(): void }>();
    silent.on('connection', (socket) => sockets.add(socket));
    try {
      const error = await refusal(`mariadb://a:b@127.0.0.1:${port}/c?connect=400`, 'UNAVAILABLE', 1500);
      assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${port}`));
    } finally {
      for (const socket of sockets) socket.destroy();
      silent.close();
    }
  });

  test('reports a host without an address', async () => {
    const error = await refusal('mariadb://a:b@no-such-host.invalid/c', 'UNAVAILABLE');
    assert.match(error.message, /no-such-host\.invalid/);
  });

  test('reports a wrong password', async () => {
    const error = await refusal(`mariadb://${server.user}:wrong@127.0.0.1:${server.port}/x`, 'MISCONFIGURED');
    assert.match(error.message, /127\.0\.0\.1:\d+.*Access denied/);
    assert.doesNotMatch(error.message, /wrong/);
  });

  test('reports a missing database', async () => {
    const error = await refusal(server.url('nowhere'), 'MISCONFIGURED');
    assert.match(error.message, /127\.0\.0\.1:\d+\/nowhere.*Unknown database/);
  });

  test('reports the missing right', async () => {
    const database = await freshDatabase();
    await server.query(`create user reader@'127.0.0.1' identified by 'secret-1'`);
    const url = `mariadb://reader:secret-1@127.0.0.1:${server.port}/${database}`;
    const none = await refusal(url, 'MISCONFIGURED');
    assert.match(none.message, /127\.0\.0\.1:\d+.*Access denied for user 'reader'/);
    await server.query(`grant select on ${database}.* to reader@'127.0.0.1'`);
    const few = await refusal(url, 'MISCONFIGURED');
    assert.match(few.message, /127\.0\.0\.1:\d+.*CREATE command denied/);
  });

  test('takes a URL with one host, a user and a database only', async () => {
    for (const url of ['mariadb://u:p@a,b/c', 'mariadb://u:p@a', 'mariadb://a/c', 'mariadb:path']) {
      await rejection(createStore(url), 'MISCONFIGURED');
    }
    await rejection(createStore('mariadb://u:p@a/c?writers=0'), 'MISCONFIGURED');
  });

  test('ends a call with TIMEOUT if a server hangs, and continues when it answers again', async () => {
    await withStore(async (store) => {
      const device = freshDevice();
      // A server that hangs accepts no new connection. That would be UNAVAILABLE.
      await writeFirmly(store, [reading({ device: freshDevice() })]);
      await suspend(server.pid);
      try {
        const started = performance.now();
        const error = await rejection(store.readings.write([reading({ device })]), 'TIMEOUT');
        assert.ok(performance.now() - started < 2000);
        assert.match(error.message, /127\.0\.0\.1:\d+/);
      } finally {
        process.kill(server.pid, 'SIGCONT');
      }
      await writeFirmly(store, [reading({ device })]);
      assert.deepEqual(await stored(store, device), [reading({ device })]);
    }, '?timeout=500&connect=500');
  });

  test('is UNAVAILABLE while the server is down, and the same store works when it is back', async () => {
    await withStore(async (store) => {
      const device = freshDevice();
      await store.readings.write(series(device, 10));
      await server.kill();
      await rejection(store.health(), 'UNAVAILABLE');
      const error = await rejection(store.readings.write(series(device, 10)), 'UNAVAILABLE');
      assert.match(error.message, /127\.0\.0\.1:\d+/);
      await server.restart();
      await writeFirmly(store, series(device, 20));
      assert.deepEqual(await stored(store, device), series(device, 20));
      await store.health();
    });
  });

  test('is not healthy while the server is read-only', async () => {
    await withStore(async (store) => {
      await server.query('set global read_only = 1');
      try {
        const error = await rejection(store.health(), 'UNAVAILABLE');
        assert.match(error.message, /read-only/);
      } finally {
        await server.query('set global read_only = 0');
      }
      await store.health();
    });
  });

  test('is OVERLOADED when no connection becomes free in time', async () => {
    await withStore(async (store, database) => {
      const device = freshDevice();
      await store.readings.write([reading({ device })]);
      const lock = server.query(`lock tables ${database}.readings write; select sleep(2)`);
      while (!(await server.query('show processlist')).includes('sleep(2)')) await new Promise(setImmediate);
      const held = store.readings.write([reading({ device, value: 1 })]);
      await rejection(store.readings.write([reading({ device, value: 2 })]), 'OVERLOADED');
      await Promise.all([lock, held]);
      assert.deepEqual(await stored(store, device), [reading({ device, value: 1 })]);
    }, '?writers=1&connect=300');
  });
});

describe('the schema in MariaDB', { skip }, () => {
  test('of a newer version is refused', async () => {
    const database = await freshDatabase();
    await withStore(async () => {}, '', database);
    await server.query(`update ${database}.tidegauge_schema set version = 99`);
    const error = await refusal(server.url(database), 'MISCONFIGURED');
    assert.match(error.message, /127\.0\.0\.1:\d+\/facts_\d+.*version 99 is newer/);
  });

  test('needs no right to change tables after its creation', async () => {
    const database = await freshDatabase();
    await withStore(async () => {}, '', database);
    await server.query(`create user worker@'127.0.0.1' identified by 'secret-2'`);
    await server.query(`grant select, insert, update, delete on ${database}.* to worker@'127.0.0.1'`);
    const store = await openStore(
      `mariadb://worker:secret-2@127.0.0.1:${server.port}/${database}?partition=60`,
    );
    const device = freshDevice();
    await store.readings.write(series(device, 5));
    await store.close();
    await withStore(async (own) => assert.equal((await stored(own, device)).length, 5), '', database);
  });

  test('orders and compares texts by code point, whatever the collation of the database is', async () => {
    const database = await freshDatabase();
    await server.query(`alter database ${database} character set latin1 collate latin1_german1_ci`);
    await withStore(
      async (store) => {
        const names = ['B', 'a', 'ä', '\uff21', '\u{20000}'].map((name) => `code/${name}`);
        await store.devices.register([...names].reverse());
        const listed = await store.devices.list({ limit: 10 });
        assert.deepEqual(
          listed.map(({ name }) => name),
          names,
        );
      },
      '',
      database,
    );
  });
});

describe('partitions of readings in MariaDB', { skip }, () => {
  /** Names of partitions, oldest first. */
  async function partitions(database: string): Promise<string[]> {
    const list = await server.query(
      `select partition_name from information_schema.partitions where table_schema = '${database}'
       and table_name = 'readings' order by partition_ordinal_position`,
    );
    return list.trim().split('\n');
  }

  test('are created in advance, by one of several stores that start together', async () => {
    const database = await freshDatabase();
    const stores = await Promise.all([1, 2, 3].map(() => openStore(server.url(database))));
    for (const store of stores) await store.close();
    const names = await partitions(database);
    assert.equal(names.length, 5);
    assert.equal(names.at(-1), 'future');
    for (const name of names.slice(0, -1)) assert.match(name, /^before_2\d{7}$/);
  });

  test('are dropped when they are older than the retention, and old rows of the last one are deleted', async () => {
    await withStore(async (store, database) => {
      const device = freshDevice();
      const at = (days: number) => reading({ device, time: NOW + days * DAY, value: days });
      const days = [-40, -3, -2, -1, 0, 1, 2, 3];
      await store.readings.write(days.map(at));
      const count = (await partitions(database)).length;
      const midnight = Math.floor(NOW / DAY) * DAY;
      assert.equal(await store.readings.expire(midnight - NOW + at(2).time), null);
      assert.ok((await partitions(database)).length < count);
      assert.deepEqual(await stored(store, device), [at(2), at(3)]);
      // A late reading is stored in the oldest remaining partition.
      await store.readings.write([at(-40)]);
      assert.deepEqual(await stored(store, device), [at(-40), at(2), at(3)]);
      assert.equal(await store.readings.expire(at(0).time), 1);
      assert.deepEqual(await stored(store, device), [at(2), at(3)]);
    }, '?partition=1');
  });

  test('are split from the partition future with its readings', async () => {
    const database = await freshDatabase();
    const device = freshDevice();
    const batch = [0, 10, 50, 400].map((days) => reading({ device, time: NOW + days * DAY, value: days }));
    await withStore((store) => store.readings.write(batch).then(() => {}), '?partition=1', database);
    const few = await partitions(database);
    await withStore(
      async (store) => {
        assert.ok((await partitions(database)).length > few.length);
        assert.deepEqual(await stored(store, device), batch);
        assert.deepEqual(await store.readings.latest([device]), batch.slice(-1));
        assert.deepEqual(await store.readings.write(batch), { stored: 0, duplicate: 4 });
      },
      '?partition=30',
      database,
    );
  });
});

describe('limits of MariaDB', { skip }, () => {
  test('a batch of the longest texts is stored, although it exceeds a packet of the server', async () => {
    await withStore(async (store) => {
      const device = freshDevice();
      const batch = series(device, 1700).map((row) => ({ ...row, value: '水'.repeat(4096) }));
      assert.deepEqual(await store.readings.write(batch), { stored: 1700, duplicate: 0 });
      assert.deepEqual((await stored(store, device, { limit: 3 })).length, 3);
      assert.deepEqual(await store.readings.write(batch), { stored: 0, duplicate: 1700 });
    });
  });

  test('values whose sum is beyond the largest double sum to infinity', async () => {
    await withStore(async (store) => {
      const device = freshDevice();
      await store.readings.write(series(device, 3).map((row) => ({ ...row, value: 1.7e308 })));
      const { time } = reading({ device });
      const query = { device, metric: 'temperature', from: time, to: time + DAY, bucket: DAY };
      const [bucket] = (await store.readings.aggregate(query)).buckets;
      assert.equal(bucket?.count, 3);
      assert.equal(bucket?.sum, Number.POSITIVE_INFINITY);
    });
  });

  test('a record table with more fields than InnoDB allows is refused', async () => {
    await withStore(async (store) => {
      await rejection(store.records.createTable('wide', 1000), 'REJECTED');
      await store.records.createTable('narrow', 150);
    });
  });

  test('the sign of zero stays and is not a correction', async () => {
    await withStore(async (store) => {
      const device = freshDevice();
      const negative = reading({ device, value: -0, quality: 'unsynced' });
      await store.readings.write([negative]);
      assert.deepEqual(await store.readings.write([reading({ device, value: 0 })]), {
        stored: 0,
        duplicate: 1,
      });
      assert.deepEqual(await stored(store, device), [negative]);
    });
  });
});

describe('MariaDB with TLS', { skip }, () => {
  let certificates: Certificates;
  let encrypting: Mariadb;
  before(async () => {
    certificates = await makeCertificates();
    const { uid, gid } = await stat(`/proc/${server.pid}`);
    await certificates.giveTo(uid, gid);
    const { certificate, key } = certificates;
    encrypting = await startMariadb({ settings: [`--ssl-cert=${certificate}`, `--ssl-key=${key}`] });
    await encrypting.query('create database facts');
    await encrypting.query(`alter user '${encrypting.user}'@'127.0.0.1' require ssl`);
  });
  after(async () => {
    await encrypting?.stop();
    certificates?.remove();
  });

  const url = (options: string): string => `${encrypting.url('facts')}?${options}`;

  test('serves a store that trusts its authority, encrypted', async () => {
    // The account accepts only encrypted connections.
    const store = await openStore(url(`tls=true&tlsCAFile=${certificates.authority}`));
    const device = freshDevice();
    await store.readings.write(series(device, 10));
    assert.deepEqual(await stored(store, device), series(device, 10));
    await store.close();
    await refusal(url('tls=false'), 'MISCONFIGURED');
  });

  test('is refused with the name of the option if another authority signed the certificate', async () => {
    for (const options of [`tls=true&tlsCAFile=${certificates.stranger}`, 'tls=true']) {
      const error = await refusal(url(options), 'MISCONFIGURED');
      assert.match(error.message, /127\.0\.0\.1:\d+/);
      assert.match(error.hint ?? '', /tlsCAFile/);
    }
  });

  test('is refused by a server without TLS', async () => {
    const error = await refusal(`${server.url('mysql')}?tls=true`, 'MISCONFIGURED');
    assert.match(error.hint ?? '', /tls option/);
  });

  test('reports a missing file of the authority with the option', async () => {
    const error = await refusal(url('tls=true&tlsCAFile=/nowhere.pem'), 'MISCONFIGURED');
    assert.match(error.message, /^tlsCAFile: .*nowhere/);
  });
});
