import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@tidegauge/lab';
import { startCassandra } from '@tidegauge/lab/cassandra';
import { makeCertificates } from '@tidegauge/lab/certificates';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import driver from 'cassandra-driver';
import { crashBatch, reading, rejection, series, stored, T0 } from '../../conformance/data.ts';
import { openStore } from '../../src/index.ts';
import { fixtureText, proveUpgrade, VERSIONS } from '../upgrade/prove-upgrade.ts';

const WRITER = fileURLToPath(new URL('../../conformance/crash-writer.ts', import.meta.url));
const DAY = 86_400_000_000;

const certificates = await makeCertificates();
after(() => certificates.remove());
const started = await startOrSkip('cassandra', () => startCassandra({ identity: certificates.identity }));
const skip = 'skip' in started ? started.skip : false;
// Tests are skipped if there is no server.
const server = ('server' in started ? started.server : null)!;
after(() => server?.stop());

describe('cassandra', { skip }, () => {
  let client: driver.Client;
  before(async () => {
    client = new driver.Client({
      contactPoints: [`127.0.0.1:${server.port}`],
      localDataCenter: 'datacenter1',
      credentials: { username: server.user, password: server.password },
    });
  });
  after(() => client?.shutdown());

  /** Checks that opening fails within the given time. Resolves to the error. */
  async function refusal(url: string, code: 'UNAVAILABLE' | 'MISCONFIGURED', withinMs: number) {
    const started = performance.now();
    const error = await rejection(openStore(url), code);
    const took = performance.now() - started;
    assert.ok(took < withinMs, `it took ${Math.round(took)} ms`);
    assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${new URL(url).port}`));
    assert.ok(error.hint);
    return error;
  }

  const withUser = (user: string, password: string, keyspace: string) =>
    `cassandra://${user}:${password}@127.0.0.1:${server.port}/${keyspace}`;

  for (const [version, options] of Object.entries(VERSIONS)) {
    test(`a keyspace of version ${version} keeps its data and remains usable`, async () => {
      const keyspace = `upgrade_${version.replaceAll('.', '_')}`;
      const statements = (await fixtureText(version, 'cassandra.cql')).split(/;\n+/).filter(Boolean);
      for (const statement of statements)
        await client.execute(statement.replace(/ place(?=[ .])/, ` ${keyspace}`));
      await proveUpgrade(server.url(keyspace), options);
    });
  }

  test('names a host on which nothing listens, without delay', async () => {
    const port = await freePort();
    await refusal(`cassandra://u:p@127.0.0.1:${port}/k`, 'UNAVAILABLE', 2000);
  });

  test('names the host that never answers, within the connect timeout', async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    await refusal(`cassandra://u:p@127.0.0.1:${port}/k?connect=500`, 'UNAVAILABLE', 2000);
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  test('reports a wrong password with the host', async () => {
    const error = await refusal(withUser(server.user, 'wrong', 'k'), 'MISCONFIGURED', 5000);
    assert.match(error.message, /credentials|password|incorrect/i);
    assert.match(error.hint!, /password/);
    assert.doesNotMatch(error.message, /wrong/);
  });

  test('encrypts with tls, and checks the certificate of the node', async () => {
    const url = `${server.url('encrypted')}?tls=true`;
    const store = await openStore(`${url}&tlsCAFile=${certificates.authority}`);
    await store.readings.write(series('d', 10));
    assert.deepEqual(await stored(store, 'd'), series('d', 10));
    await store.close();
    for (const options of ['', `&tlsCAFile=${certificates.stranger}`]) {
      const error = await refusal(`${url}${options}`, 'MISCONFIGURED', 5000);
      assert.match(error.hint!, /tlsCAFile/);
    }
    const missing = await rejection(openStore(`${url}&tlsCAFile=/nowhere.pem`), 'MISCONFIGURED');
    assert.match(missing.message, /^tlsCAFile: .*nowhere/);
  });

  test('reports a missing user', async () => {
    await refusal(`cassandra://127.0.0.1:${server.port}/k`, 'MISCONFIGURED', 5000);
  });

  test('reports a wrong data centre by its name', async () => {
    const error = await rejection(openStore(`${server.url('k')}?dc=nowhere`), 'MISCONFIGURED');
    assert.match(error.message, /nowhere/);
  });

  test('reports a missing keyspace that the user may not create', async () => {
    await server.query(`create role poor with login = true and password = 'poor-1'`);
    const error = await refusal(withUser('poor', 'poor-1', 'absent'), 'MISCONFIGURED', 5000);
    assert.match(error.hint!, /grant/);
  });

  test('opens for a user who can only read and write, and reports missing rights', async () => {
    await (await openStore(server.url('granted'))).close();
    await server.query(`create role clerk with login = true and password = 'clerk-1'`);
    for (const right of ['select', 'modify'])
      await server.query(`grant ${right} on keyspace granted to clerk`);
    const store = await openStore(withUser('clerk', 'clerk-1', 'granted'));
    await store.readings.write(series('clerk', 3));
    assert.equal((await stored(store, 'clerk')).length, 3);
    assert.equal(await store.readings.rollUp(T0, T0 + DAY), 1);
    const error = await rejection(store.records.createTable('usertable', 1), 'MISCONFIGURED');
    assert.match(error.message, /CREATE/i);
    await store.close();
  });

  test('refuses a schema of a later version', async () => {
    const url = server.url('later');
    await (await openStore(url)).close();
    await server.query(`update later.tidegauge_schema set value = '99' where name = 'version' if exists`);
    const error = await rejection(openStore(url), 'MISCONFIGURED');
    assert.match(error.message, /version 99 is newer/);
  });

  test('creates the keyspace and the tables with the given options', async () => {
    const store = await openStore(
      `${server.url('options')}?strategy=simple&rf=1&ttl=864000&compression=zstd&write=ONE&read=ONE`,
    );
    await store.close();
    const keyspaces = `select replication from system_schema.keyspaces where keyspace_name = 'options'`;
    assert.match((await client.execute(keyspaces)).first().replication.class, /SimpleStrategy/);
    const tables = `select * from system_schema.tables where keyspace_name = 'options' and table_name = 'readings'`;
    const table = (await client.execute(tables)).first();
    assert.equal(table.default_time_to_live, 864_000);
    assert.match(table.compression.class, /ZstdCompressor/);
    assert.match(table.compaction.class, /TimeWindowCompactionStrategy/);
  });

  test('readings expire automatically if the URL sets a ttl', async () => {
    const store = await openStore(`${server.url('expiring')}?ttl=2`);
    await store.readings.write(series('short', 5));
    const deadline = Date.now() + 15_000;
    while ((await stored(store, 'short')).length > 0 && Date.now() < deadline) await delay(100);
    assert.deepEqual(await stored(store, 'short'), []);
    assert.deepEqual(await store.readings.latest(['short']), []);
    await store.close();
  });

  test('expires whole days and removes them from the index', async () => {
    const store = await openStore(server.url('days'));
    const times = [0, 1, 2, 3].map((day) => T0 + day * DAY);
    await store.readings.write(times.map((time) => reading({ device: 'd', time })));
    assert.equal((await client.execute('select * from days.series')).rowLength, 4);
    assert.equal(await store.readings.expire(T0 + 2 * DAY + 1), null);
    assert.equal((await client.execute('select * from days.series')).rowLength, 2);
    assert.deepEqual(await stored(store, 'd'), [reading({ device: 'd', time: times[3]! })]);
    const back = reading({ device: 'd', time: times[0]! });
    await store.readings.write([back]);
    assert.deepEqual((await stored(store, 'd'))[0], back);
    await store.close();
  });

  test('finds the latest reading if the newest day has none', async () => {
    const store = await openStore(server.url('gaps'));
    const rows = [0, 1].map((day) => reading({ device: 'd', time: T0 + day * DAY, value: day }));
    await store.readings.write(rows);
    await client.execute(
      `delete from gaps.readings where device = 'd' and metric = 'temperature' and bucket = ?`,
      [Math.floor(rows[1]!.time / DAY)],
      { prepare: true },
    );
    assert.deepEqual(await store.readings.latest(['d']), [rows[0]]);
    await store.close();
  });

  test('leaves out fields that a correction does not have, without tombstones', async () => {
    const store = await openStore(server.url('corrections'));
    const full = reading({ device: 'd', value: 'open', boot: 'b', seq: 7, quality: 'skewed' });
    const bare = reading({ device: 'd', value: 1 });
    for (const row of [full, bare, full, bare]) {
      await store.readings.write([row]);
      assert.deepEqual(await stored(store, 'd'), [row]);
    }
    await store.close();
  });

  test('no request is so large that the server logs a warning', async () => {
    const store = await openStore(server.url('sizes'));
    try {
      // Some readings of each of many devices.
      for (const each of [1, 2, 5, 10, 14, 16, 40, 120]) {
        const batch = Array.from({ length: 400 * each }, (_, row) => {
          const seq = Math.floor(row / 400);
          const device = `${each}/probe-${row % 400}`;
          return reading({ device, time: T0 + seq * 1_000_000, boot: 'boot-1', seq });
        });
        for (let start = 0; start < batch.length; start += 5000)
          await store.readings.write(batch.slice(start, start + 5000));
        assert.doesNotMatch(server.nodes[0]!.log(), /exceeding specified threshold/);
      }
    } finally {
      await store.close();
    }
  });

  test('scans records in the order of their tokens', async () => {
    const store = await openStore(server.url('records'));
    await store.records.createTable('usertable', 1);
    for (let key = 0; key < 30; key += 1)
      await store.records.insert('usertable', `user${key}`, { field0: 'x' });
    const tokens = await client.execute('select y_id from records.usertable');
    const keys = tokens.rows.map(({ y_id }) => y_id);
    const scanned = await store.records.scan('usertable', keys[10], 5, null);
    assert.deepEqual(
      scanned.map(({ key }) => key),
      keys.slice(10, 15),
    );
    await store.close();
  });

  test('two processes can create one keyspace at the same time and write to it', async () => {
    const url = server.url('processes');
    const writers = ['a', 'b'].map((device) =>
      spawn(process.execPath, [WRITER, url, device, '0'], { stdio: ['ignore', 'pipe', 'inherit'] }),
    );
    await Promise.all(
      writers.map(async (child) => {
        const exited = once(child, 'exit');
        let seen = 0;
        for await (const _ of createInterface({ input: child.stdout })) {
          seen += 1;
          if (seen === 5) child.kill('SIGKILL');
        }
        const [, signal] = await exited;
        assert.equal(signal, 'SIGKILL');
      }),
    );
    const store = await openStore(url);
    for (const device of ['a', 'b']) {
      const expected = [0, 1, 2, 3, 4].flatMap((number) => crashBatch(device, number));
      assert.deepEqual((await stored(store, device)).slice(0, expected.length), expected);
    }
    await store.close();
  });
});
