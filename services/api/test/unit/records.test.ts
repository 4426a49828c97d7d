import assert from 'node:assert/strict';
import { request } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { keyName } from '@tidegauge/workload';
import { type Api, startApi } from '../harness.ts';

const TABLE = '/v1/records/usertable';

async function withTable(t: Parameters<typeof startApi>[0]): Promise<Api> {
  const api = await startApi(t);
  assert.equal((await api.call('PUT', TABLE, { body: { fieldCount: 3 } })).status, 204);
  return api;
}

test('a record is inserted, read, updated and deleted', async (t) => {
  const api = await withTable(t);
  const path = `${TABLE}/${keyName(0)}`;
  const fields = { field0: 'a', field1: 'Größe 📏 "\\', field2: ' ' };
  assert.equal((await api.call('PUT', path, { body: { fields } })).status, 201);
  assert.deepEqual((await api.call('GET', path)).body, { key: keyName(0), fields });

  assert.equal((await api.call('PATCH', path, { body: { fields: { field1: 'b' } } })).status, 204);
  const some = await api.call('GET', `${path}?fields=field0,field1`);
  assert.deepEqual(some.body.fields, { field0: 'a', field1: 'b' });

  assert.equal((await api.call('DELETE', path)).status, 204);
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const body = method === 'PATCH' ? { fields } : undefined;
    const gone = await api.call(method, path, { body });
    assert.equal(gone.status, 404, method);
    assert.equal(gone.body.detail, `Table usertable has no record ${keyName(0)}.`);
  }
});

test('inserting a key that exists is a conflict and changes nothing', async (t) => {
  const api = await withTable(t);
  await api.call('PUT', `${TABLE}/k`, { body: { fields: { field0: 'first' } } });
  const again = await api.call('PUT', `${TABLE}/k`, { body: { fields: { field0: 'second' } } });
  assert.equal(again.status, 409);
  assert.equal((await api.call('GET', `${TABLE}/k`)).body.fields.field0, 'first');
});

test('a scan returns records from its start, in the order of keys', async (t) => {
  const api = await withTable(t);
  for (const key of ['c', 'a', 'b', 'd']) {
    await api.store.records.insert('usertable', key, { field0: key, field1: '1', field2: '2' });
  }
  const scan = await api.call('GET', `${TABLE}?start=b&count=2&fields=field0`);
  assert.deepEqual(scan.body, {
    records: [
      { key: 'b', fields: { field0: 'b' } },
      { key: 'c', fields: { field0: 'c' } },
    ],
  });
  assert.equal((await api.call('GET', TABLE)).body.records.length, 4);
  assert.deepEqual((await api.call('GET', `${TABLE}?start=e`)).body, { records: [] });
});

test('keys with any text arrive unchanged', async (t) => {
  const api = await withTable(t);
  for (const key of ['a/b', '50 %', 'ü?#&=+', '.x', 'x'.repeat(200)]) {
    const path = `${TABLE}/${encodeURIComponent(key)}`;
    const put = await api.call('PUT', path, { body: { fields: { field0: key } } });
    assert.equal(put.status, 201, key);
    assert.equal((await api.store.records.read('usertable', key, null))?.field0, key);
    assert.equal((await api.call('GET', path)).body.key, key);
  }
});

test('an invalid record, field, table or count is refused with the reason', async (t) => {
  const api = await withTable(t);
  const cases: [method: string, path: string, body: unknown, pointer: string][] = [
    ['PUT', `${TABLE}/k`, { fields: {} }, '/body/fields'],
    ['PUT', `${TABLE}/k`, { fields: { colour: 'red' } }, '/body/fields'],
    ['PUT', `${TABLE}/k`, { fields: { field0: 7 } }, '/body/fields/field0'],
    ['PATCH', `${TABLE}/k`, { field0: 'bare' }, '/body/fields'],
    ['GET', `${TABLE}/k?fields=colour`, undefined, '/query/fields/0'],
    ['GET', `${TABLE}/k?fields=`, undefined, '/query/fields'],
    ['GET', `${TABLE}/k?colour=red`, undefined, '/query/colour'],
    ['GET', `${TABLE}?count=10001`, undefined, '/query/count'],
    ['GET', `${TABLE}/${'k'.repeat(201)}`, undefined, '/params/key'],
    ['GET', '/v1/records/readings/k', undefined, '/params/table'],
    ['GET', '/v1/records/1st/k', undefined, '/params/table'],
    ['DELETE', '/v1/records/devices', undefined, '/params/table'],
    ['PUT', '/v1/records/other', { fieldCount: 1001 }, '/body/fieldCount'],
  ];
  for (const [method, path, body, pointer] of cases) {
    const answer = await api.call(method, path, { body });
    assert.equal(answer.status, 400, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    assert.ok(
      answer.body.errors[0].path.startsWith(pointer),
      `${method} ${path}: ${JSON.stringify(answer.body)}`,
    );
  }
  const unknown = await api.call('GET', '/v1/records/nowhere/k');
  assert.equal(unknown.status, 404);
  assert.match(unknown.body.detail, /table nowhere .* create the table/s);
  const nul = await api.call('PUT', `${TABLE}/k`, { body: { fields: { field0: '\0' } } });
  assert.equal(nul.status, 400);
  assert.equal(nul.body.errors[0].path, '/body/fields/field0');
});

test('a body beyond the limit is refused, and reading records needs no body budget', async (t) => {
  const api = await startApi(t, { config: { bodyLimit: 2048 } });
  await api.call('PUT', TABLE, { body: { fieldCount: 1 } });
  const large = await api.call('PUT', `${TABLE}/k`, { body: { fields: { field0: 'x'.repeat(2048) } } });
  assert.equal(large.status, 413);
  const reads = await Promise.all(Array.from({ length: 200 }, () => api.call('GET', `${TABLE}/k`)));
  assert.deepEqual([...new Set(reads.map(({ status }) => status))], [404]);
});

test('many records are inserted with one request, and inserting them again changes nothing', async (t) => {
  const api = await startApi(t, { config: { bodyLimit: 2 ** 20 } });
  await api.call('PUT', TABLE, { body: { fieldCount: 3 } });
  const records = Array.from({ length: 1000 }, (_, index) => ({
    key: keyName(index),
    fields: { field0: `Größe ${index} 📏 "\\`, field2: '' },
  }));
  const answer = await api.call('POST', TABLE, { body: { records } });
  assert.equal(answer.status, 204, JSON.stringify(answer.body));
  for (const record of [records[0]!, records[499]!, records[999]!])
    assert.deepEqual((await api.call('GET', `${TABLE}/${record.key}`)).body, record);
  assert.equal((await api.store.records.scan('usertable', '', 2000, null)).length, 1000);
  const others = [
    { key: records[7]!.key, fields: { field0: 'second' } },
    { key: 'a/b %', fields: { field1: 'new' } },
  ];
  assert.equal((await api.call('POST', TABLE, { body: { records: others } })).status, 204);
  assert.deepEqual((await api.call('GET', `${TABLE}/${records[7]!.key}`)).body, records[7]);
  assert.deepEqual((await api.store.records.read('usertable', 'a/b %', null))?.field1, 'new');
});

test('a batch with an invalid record is refused, and none of its records is stored', async (t) => {
  const api = await withTable(t);
  const fine = { key: 'fine', fields: { field0: 'a' } };
  const wrong: [record: unknown, status: number, where: string][] = [
    [{ key: '', fields: { field0: 'a' } }, 400, '/body/records/1/key'],
    [{ key: 'k\0', fields: { field0: 'a' } }, 400, '/body/records/1/key'],
    [{ key: 'k'.repeat(201), fields: { field0: 'a' } }, 400, '/body/records/1/key'],
    [{ fields: { field0: 'a' } }, 400, '/body/records/1/key'],
    [{ key: 'k', fields: {} }, 400, '/body/records/1/fields'],
    [{ key: 'k', fields: { field0: 7 } }, 400, '/body/records/1/fields/field0'],
    [{ key: 'k', fields: { colour: 'red' } }, 400, '/body/records/1/fields'],
    [{ key: 'k', fields: { field0: 'a' }, ttl: 1 }, 400, '/body/records/1/ttl'],
    [{ key: 'k', fields: { field0: '\ud800' } }, 422, '1 of 2 records: field0 contains half'],
    [{ key: 'k', fields: { field9: 'a' } }, 422, 'usertable or one of its fields does not exist'],
  ];
  for (const [record, status, where] of wrong) {
    const { body, ...answer } = await api.call('POST', TABLE, { body: { records: [fine, record] } });
    assert.equal(answer.status, status, `${where}: ${JSON.stringify(body)}`);
    assert.ok(body.detail.includes(where), `${where}: ${body.detail}`);
  }
  for (const records of [[], Array.from({ length: 1001 }, () => fine)]) {
    const answer = await api.call('POST', TABLE, { body: { records } });
    assert.equal(answer.status, 400);
    assert.equal(answer.body.errors[0].path, '/body/records');
  }
  assert.equal((await api.call('GET', `${TABLE}/fine`)).status, 404);
  const nowhere = await api.call('POST', '/v1/records/nowhere', { body: { records: [fine] } });
  assert.equal(nowhere.status, 404);
});

test('1,000 records of ten fields fit, and a body with more values is refused before it is parsed', async (t) => {
  const api = await startApi(t, { config: { bodyLimit: 2 ** 20 } });
  await api.call('PUT', TABLE, { body: { fieldCount: 10 } });
  const fields = Object.fromEntries(
    Array.from({ length: 10 }, (_, index) => [`field${index}`, 'x'.repeat(50)]),
  );
  const records = Array.from({ length: 1000 }, (_, index) => ({ key: keyName(index), fields }));
  assert.equal((await api.call('POST', TABLE, { body: { records } })).status, 204);
  const many = { fields: { field0: Array.from({ length: 20_000 }, () => ({})) } };
  const refused = await api.call('PUT', `${TABLE}/k`, { body: many });
  assert.equal(refused.status, 413);
  assert.match(refused.body.detail, /more than 20000 values/);
});

test('a batch beyond the limits of a body or of a store is refused with 413', async (t) => {
  const small = await startApi(t, { config: { bodyLimit: 2048 } });
  await small.call('PUT', TABLE, { body: { fieldCount: 1 } });
  const two = (length: number) => ['a', 'b'].map((key) => ({ key, fields: { field0: 'x'.repeat(length) } }));
  assert.equal((await small.call('POST', TABLE, { body: { records: two(1024) } })).status, 413);
  assert.equal((await small.call('POST', TABLE, { body: { records: two(100) } })).status, 204);
  const large = await startApi(t, { config: { bodyLimit: 64 * 2 ** 20 } });
  await large.call('PUT', TABLE, { body: { fieldCount: 1 } });
  const field0 = 'x'.repeat(2 ** 20);
  const many = Array.from({ length: 17 }, (_, index) => ({ key: `k${index}`, fields: { field0 } }));
  const answer = await large.call('POST', TABLE, { body: { records: many } });
  assert.equal(answer.status, 413);
  assert.match(answer.body.detail, /17825833 characters: at most 16777216 are accepted/);
  assert.equal((await large.call('POST', TABLE, { body: { records: many.slice(1) } })).status, 413);
  assert.equal((await large.call('POST', TABLE, { body: { records: many.slice(2) } })).status, 204);
});

test('beyond loopback, writing and reading a record need the token', async (t) => {
  const token = 'a-long-and-random-token';
  const api = await startApi(t, { config: { httpListen: '0.0.0.0', apiToken: token } });
  for (const [method, path] of [
    ['PUT', TABLE],
    ['DELETE', TABLE],
    ['POST', TABLE],
    ['PUT', `${TABLE}/k`],
    ['PATCH', `${TABLE}/k`],
    ['DELETE', `${TABLE}/k`],
  ] as const) {
    assert.equal((await api.call(method, path, { body: {} })).status, 401, `${method} ${path}`);
  }
  const headers = { Authorization: `Bearer ${token}` };
  assert.equal((await api.call('PUT', TABLE, { body: { fieldCount: 1 }, headers })).status, 204);
  assert.equal((await api.call('GET', `${TABLE}/k`)).status, 401);
  assert.equal((await api.call('GET', `${TABLE}/k`, { headers })).status, 404);
  const body = { fields: { field0: 'a' } };
  const wrong = { Authorization: `Bearer ${token}x` };
  assert.equal((await api.call('PUT', `${TABLE}/k`, { body, headers: wrong })).status, 401);
  assert.equal((await api.call('PUT', `${TABLE}/k`, { body, headers })).status, 201);
  assert.equal((await api.call('PATCH', `${TABLE}/k`, { body, headers })).status, 204);
});

test('dropping a table deletes its records, and creating an existing table changes nothing', async (t) => {
  const api = await withTable(t);
  await api.call('PUT', `${TABLE}/k`, { body: { fields: { field0: 'a' } } });
  assert.equal((await api.call('PUT', TABLE, { body: { fieldCount: 3 } })).status, 204);
  assert.equal((await api.call('GET', `${TABLE}/k`)).status, 200);
  assert.equal((await api.call('DELETE', TABLE)).status, 204);
  assert.equal((await api.call('GET', `${TABLE}/k`)).status, 404);
  assert.equal((await api.call('DELETE', TABLE)).status, 204);
});

test('a table of another program cannot be used or dropped', async (t) => {
  const api = await startApi(t);
  const db = new DatabaseSync(api.file, { timeout: 5000 });
  t.after(() => db.close());
  db.exec(`create table orders (id integer primary key, customer text); insert into orders values (1, 'a')`);
  const fields = { fields: { field0: 'x' } };
  for (const [method, path, body] of [
    ['DELETE', '/v1/records/orders'],
    ['PUT', '/v1/records/orders', { fieldCount: 1 }],
    ['GET', '/v1/records/orders'],
    ['POST', '/v1/records/orders', { records: [{ key: '1', ...fields }] }],
    ['GET', '/v1/records/orders/1'],
    ['PUT', '/v1/records/orders/1', fields],
    ['PATCH', '/v1/records/orders/1', fields],
    ['DELETE', '/v1/records/orders/1'],
    // The same table for SQLite, which ignores case.
    ['DELETE', '/v1/records/ORDERS'],
  ] as const) {
    const answer = await api.call(method, path, { body });
    assert.equal(answer.status, 403, `${method} ${path}`);
    assert.match(answer.body.detail, /orders is not a table of records/i);
  }
  assert.deepEqual({ ...db.prepare('select * from orders').get() }, { id: 1, customer: 'a' });
});

test('a read without Express has the headers of a read with Express, and both are measured as one route', async (t) => {
  const api = await withTable(t);
  await api.call('PUT', `${TABLE}/user1`, { body: { fields: { field0: 'é', field1: 'b', field2: 'c' } } });
  for (const query of ['', '?fields=field1', '?fields=field2,field0']) {
    const short = await api.call('GET', `${TABLE}/user1${query}`);
    // HEAD goes through Express.
    const long = await api.call('HEAD', `${TABLE}/user1${query}`);
    const [left, right] = [short, long].map(({ headers }) =>
      [...headers].filter(([name]) => !['date', 'connection', 'keep-alive'].includes(name)),
    );
    assert.equal(short.status, long.status);
    assert.deepEqual(left, right, query);
    assert.equal(
      (await api.call('GET', `${TABLE}/%75ser1${query}`)).body.fields.field0,
      short.body.fields.field0,
    );
  }
  assert.equal((await api.call('GET', `${TABLE}/user2`)).status, 404);
  const { body } = await api.call('GET', '/metrics');
  const route = '{table}/{key}",status="200"} 6';
  assert.ok(body.includes(`_count{method="GET",route="/v1/records/${route}`), 'six reads');
});

test('reads without Express are refused for a foreign host name and for the tables of the store', async (t) => {
  const api = await withTable(t);
  await api.call('PUT', `${TABLE}/user1`, { body: { fields: { field0: 'a' } } });
  const status = (path: string, host: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = request(api.url + path, { headers: { Host: host } }, (response) => {
        response.resume();
        resolve(response.statusCode!);
      });
      sent.on('error', reject).end();
    });
  assert.equal(await status(`${TABLE}/user1`, 'localhost'), 200);
  assert.equal(await status(`${TABLE}/user1`, 'evil.example'), 421);
  assert.equal(await status('/v1/records/readings/user1', 'localhost'), 400);
});

test('a write without Express is answered like a write with Express', async (t) => {
  const api = await withTable(t);
  const fields = { field0: 'é"\\', field1: 'b', field2: 'c' };
  const [short, long] = [`${TABLE}/user1`, `${TABLE}/user2`];
  // A body with this header goes through Express.
  const quoted = { 'Content-Type': 'application/json; charset="utf-8"' };
  const same = async (method: string, body: unknown, status: number, headers = {}): Promise<void> => {
    const answers = [];
    for (const path of [short, long]) {
      const type = path === long ? quoted : { 'Content-Type': 'application/json' };
      const answer = await api.call(method, path, { body, headers: { ...type, ...headers } });
      assert.equal(answer.status, status, `${method} ${path}: ${JSON.stringify(answer.body)}`);
      const shown = [...answer.headers].filter(([name]) => !['date', 'content-length'].includes(name));
      const { instance: _, ...rest } = answer.body === '' ? {} : answer.body;
      answers.push(JSON.stringify([shown, rest]).replaceAll('user1', 'user2'));
    }
    assert.equal(answers[0], answers[1], method);
  };
  await same('PUT', { fields }, 201);
  await same('PUT', { fields }, 409);
  await same('PATCH', { fields: { field1: 'd' } }, 204);
  await same('PUT', { fields: {} }, 400);
  await same('PUT', { fields, more: 1 }, 400);
  await same('PATCH', { fields: { field0: null } }, 400);
  await same('PATCH', { fields: { field1000: '' } }, 400);
  await same('PATCH', { fields: { field0: '\0' } }, 400);
  await same('PATCH', { fields: { field0: '\ud800' } }, 422);
  await same('PATCH', '{"fields":', 400);
  await same('PATCH', '[]', 400);
  await same('PATCH', '', 400);
  await same('PATCH', { fields }, 415, { 'Content-Type': 'text/plain' });
  await same('PATCH', { fields }, 403, { Origin: 'http://evil.example' });
  for (const key of ['user1', 'user2']) {
    assert.deepEqual(await api.store.records.read('usertable', key, null), { ...fields, field1: 'd' });
  }
  await api.call('DELETE', short);
  await api.call('DELETE', long);
  await same('PATCH', { fields }, 404);
  const large = { fields: { field0: 'x'.repeat(63 * 1024) } };
  const larger = { fields: { field0: 'x'.repeat(65 * 1024) } };
  assert.equal((await api.call('PUT', `${TABLE}/large`, { body: large })).status, 201);
  assert.equal((await api.call('PUT', `${TABLE}/larger`, { body: larger })).status, 413);
});

test('an answer that cannot be serialised is a 500, with and without Express, and the process continues', async (t) => {
  const api = await withTable(t);
  const odd = {
    toJSON() {
      throw new RangeError('Invalid string length');
    },
  };
  t.mock.method(api.store.records, 'read', async () => odd);
  for (const method of ['GET', 'HEAD']) {
    const answer = await api.call(method, `${TABLE}/user1`);
    assert.equal(answer.status, 500);
    if (method === 'GET') assert.equal(answer.body.title, 'Internal error');
  }
  assert.equal((await api.call('GET', '/healthz')).status, 200);
});

test('a store that fails is called once, and its error is the answer', async (t) => {
  const api = await withTable(t);
  await api.store.close();
  for (const [method, body] of [
    ['GET', undefined],
    ['PUT', { fields: { field0: 'a' } }],
    ['PATCH', { fields: { field0: 'a' } }],
  ] as const) {
    const answer = await api.call(method, `${TABLE}/user1`, { body });
    assert.equal(answer.status, 503, method);
    assert.match(answer.body.detail, /not open/);
  }
});
