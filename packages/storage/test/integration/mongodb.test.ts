import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { freePort } from '@tidegauge/lab';
import { startMongodb } from '@tidegauge/lab/mongodb';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { suspend } from '@tidegauge/process';
import { Binary, BSON, type Document, type IndexDescription, MongoClient } from 'mongodb';
import { collect, reading, rejection, series, stored, T0, writeFirmly } from '../../conformance/data.ts';
import { openStore, type Store } from '../../src/index.ts';
import { refused, withSilentHost } from '../refused.ts';
import { fixtureText, proveUpgrade, VERSIONS } from '../upgrade/prove-upgrade.ts';

const started = await startOrSkip('mongodb', () => startMongodb());
const server = 'server' in started ? started.server : null;
const skip = 'skip' in started ? started.skip : false;
after(() => server?.stop());

describe('mongodb, without a server', () => {
  test('an unreachable host is UNAVAILABLE within the connect timeout', async () => {
    const port = await freePort();
    const error = await refused(`mongodb://127.0.0.1:${port}/db?connect=500`, 'UNAVAILABLE', 2500);
    assert.match(error.message, /ECONNREFUSED/);
  });

  test('a host that accepts connections and never answers is UNAVAILABLE within the connect timeout', async () => {
    await withSilentHost((port) =>
      refused(`mongodb://127.0.0.1:${port}/db?connect=500`, 'UNAVAILABLE', 2500),
    );
  });

  test('a missing certificate authority is MISCONFIGURED, and the error names the option', async () => {
    const options = 'tls=true&tlsCAFile=/nowhere/ca.pem&connect=500';
    const error = await refused(`mongodb://127.0.0.1:1/db?${options}`, 'MISCONFIGURED', 2500);
    assert.match(error.hint ?? '', /tlsCAFile/);
  });

  test('a name that does not resolve is UNAVAILABLE', async () => {
    await refused('mongodb://no-such-host.invalid:27017/db?connect=500', 'UNAVAILABLE', 2500);
  });
});

for (const version of Object.keys(VERSIONS)) {
  test(`a MongoDB database of version ${version} keeps its data and remains usable`, { skip }, async (t) => {
    const url = server!.url('upgrade');
    const client = await new MongoClient(url).connect();
    t.after(() => client.close());
    await client.db().dropDatabase();
    const collections: Readonly<Record<string, { documents: Document[]; indexes: IndexDescription[] }>> =
      BSON.EJSON.parse(await fixtureText(version, 'mongodb.json'), { relaxed: false });
    for (const [name, { documents, indexes }] of Object.entries(collections)) {
      const collection = await client.db().createCollection(name);
      if (indexes.length > 0) await collection.createIndexes(indexes);
      if (documents.length > 0) await collection.insertMany(documents);
    }
    // The marks of tables belong to the collections that were created, and not to copies of them.
    await proveUpgrade(url, { usesEmptyTable: false });
    await client.db().dropDatabase();
  });
}

describe('mongodb', { skip }, () => {
  const url = (options: Readonly<Record<string, string>> = {}) => server!.url('facts', options);
  let client: MongoClient;
  let store: Store;

  before(async () => {
    client = await new MongoClient(url()).connect();
    store = await openStore(url());
  });
  after(async () => {
    await store?.close();
    await client?.db().dropDatabase();
    await client?.close();
  });

  test('a wrong password is MISCONFIGURED at once', async () => {
    const wrong = url({ connect: '2000' }).replace(/:[^:@]+@/, ':wrong@');
    const error = await refused(wrong, 'MISCONFIGURED', 2500);
    assert.match(error.hint ?? '', /password/);
  });

  test('a missing login is MISCONFIGURED at once if the server requires one', async () => {
    await refused(url({ connect: '2000' }).replace(/\/\/[^@]+@/, '//'), 'MISCONFIGURED', 2500);
  });

  test('a user who can only read is MISCONFIGURED, and the error names the right', {
    skip: server?.server === 'mongod' ? false : 'FerretDB checks logins and no rights',
  }, async () => {
    const user = { createUser: 'reader', pwd: 'reads', roles: [{ role: 'read', db: 'denied' }] };
    await client.db('admin').command(user);
    const denied = server!.url('denied').replace(/\/\/[^@]+@/, '//reader:reads@');
    const error = await refused(denied, 'MISCONFIGURED', 2500);
    assert.match(error.hint ?? '', /readWrite/);
    await client.db('admin').command({ dropUser: 'reader' });
  });

  test('a wrong replica set is UNAVAILABLE, and the error names the option', async () => {
    const error = await refused(url({ replicaSet: 'other', connect: '500' }), 'UNAVAILABLE', 2500);
    assert.match(error.hint ?? '', /replica set/);
  });

  test('a missing database is created by the first start', async () => {
    const fresh = await openStore(server!.url('brand_new'));
    await fresh.readings.write(series('new/device', 3));
    assert.equal((await stored(fresh, 'new/device')).length, 3);
    await fresh.close();
    await client.db('brand_new').dropDatabase();
  });

  test('processes that start at the same time on an empty database do not fail', async () => {
    for (let number = 0; number < 12; number++) {
      const name = `race_${number}`;
      const stores = await Promise.all([1, 2, 3].map(() => openStore(server!.url(name))));
      await Promise.all(stores.map((each) => each.close()));
      await client.db(name).dropDatabase();
    }
  });

  test('a newer schema is refused', async () => {
    const newer = client.db('newer');
    await newer.collection('tidegauge_schema').insertOne({ _id: 'schema' as never, version: 99 });
    const error = await refused(server!.url('newer'), 'MISCONFIGURED', 2500);
    assert.match(error.message, /version 99 is newer/);
    await newer.dropDatabase();
  });

  test('ranges, newest readings and expiry use the index on _id, without a sort', async () => {
    await store.readings.write(series('indexed/device', 2000));
    const series0 = await client.db().collection('series').findOne({ d: 'indexed/device' });
    const key = (t: number) => ({ s: series0!._id, t });
    const range = { _id: { $gte: key(T0) as never, $lt: key(T0 + 1e9) as never } };
    for (const direction of [1, -1] as const) {
      const plan = await client
        .db()
        .collection('readings')
        .find(range)
        .sort({ _id: direction })
        .limit(10)
        .explain('queryPlanner');
      const text = JSON.stringify(plan);
      assert.match(text, /"(?:IXSCAN|Index Scan|EXPRESS_IXSCAN)"/);
      assert.doesNotMatch(text, /COLLSCAN|Seq Scan|"SORT"|"Sort"/);
    }
  });

  test('numbers are doubles, and missing fields take no space', async () => {
    await store.readings.write([reading({ device: 'layout/device', value: 20 })]);
    const one = await client.db().collection('series').findOne({ d: 'layout/device' });
    const id = { s: one!._id, t: T0 };
    const options = { promoteValues: false };
    const document = await client
      .db()
      .collection('readings')
      .findOne({ _id: id as never }, options);
    assert.equal(document?.v._bsontype, 'Double');
    assert.deepEqual(Object.keys(document ?? {}), ['_id', 'v', 'r']);
  });

  test('records have the layout of YCSB in both directions', async () => {
    await store.records.createTable('usertable', 2);
    const table = client.db().collection<{ _id: string; field0: Binary; field1?: Binary }>('usertable');
    await store.records.insert('usertable', 'ours', { field0: 'grün' });
    assert.deepEqual((await table.findOne({ _id: 'ours' }))?.field0, new Binary(Buffer.from('grün')));
    await table.insertOne({
      _id: 'theirs',
      field0: new Binary(Buffer.from('a')),
      field1: new Binary(Buffer.from('b')),
    });
    assert.deepEqual(await store.records.read('usertable', 'theirs', null), { field0: 'a', field1: 'b' });
  });

  test('a record beyond 16 MiB is REJECTED', async () => {
    await store.records.createTable('large', 20);
    const fields = Object.fromEntries(
      Array.from({ length: 18 }, (_, index) => [`field${index}`, 'x'.repeat(1_048_576)]),
    );
    await rejection(store.records.insert('large', 'key', fields), 'REJECTED');
    assert.equal(await store.records.read('large', 'key', null), null);
  });

  test('attributes keep names that fields cannot have', async () => {
    const attributes = { 'a.b': 1, $where: true, '': null };
    await store.devices.put({ name: 'odd', site: null, city: null, kind: null, year: null, attributes });
    assert.deepEqual((await store.devices.get('odd'))?.attributes, attributes);
  });

  test('expires series by series, and counts', async () => {
    const devices = ['old/a', 'old/b', 'old/c'];
    for (const device of devices) {
      const old = series(device, 6000).map((row) => ({ ...row, time: row.time - 1e12 }));
      await store.readings.write(old);
    }
    assert.equal(await store.readings.expire(T0 - 1e12 + 5500e6), 3 * 5500);
    assert.equal((await collect(store.readings.range({ device: 'old/a', limit: 10_000 }))).length, 500);
  });

  test('two stores that correct the same readings at the same time count each change once', async () => {
    const other = await openStore(url());
    const device = 'contested';
    await store.readings.write(series(device, 500));
    const corrected = series(device, 500).map((row) => ({ ...row, value: -1 }));
    const results = await Promise.all([store, other].map(({ readings }) => readings.write(corrected)));
    const sum = results.reduce((total, { stored: count }) => total + count, 0);
    assert.equal(sum, 500);
    await other.close();
  });

  test('a server that stops answering is TIMEOUT, and works when it answers again', {
    skip: server !== null && server.control === null ? 'the server is not ours to stop' : false,
  }, async () => {
    const { pid } = server!.control!;
    const device = 'stopped';
    const patient = await openStore(url({ timeout: '1000', connect: '1000' }));
    try {
      await suspend(pid);
      const start = performance.now();
      await rejection(patient.readings.write(series(device, 10)), 'TIMEOUT');
      const took = performance.now() - start;
      process.kill(pid, 'SIGCONT');
      assert.ok(took < 2500, `it took ${took} ms`);
      await writeFirmly(patient, series(device, 10));
      assert.deepEqual(await stored(patient, device), series(device, 10));
    } finally {
      process.kill(pid, 'SIGCONT');
      await patient.close();
    }
  });
});
