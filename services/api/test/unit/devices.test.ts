import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '@tidegauge/readings';
import { reading, startApi } from '../harness.ts';

const NAME = 'site-3/boiler/probe-7';

test('a device is created, replaced, changed and deleted, with raw or escaped slashes', async (t) => {
  const api = await startApi(t);
  const raw = `/v1/devices/${NAME}`;
  const escaped = `/v1/devices/${encodeURIComponent(NAME)}`;

  const created = await api.call('PUT', raw, {
    body: { city: 'Aveiro', year: 1991, attributes: { floor: 2 } },
  });
  assert.equal(created.status, 201);
  const device = { name: NAME, site: null, city: 'Aveiro', kind: null, year: 1991, attributes: { floor: 2 } };
  assert.deepEqual(created.body, device);
  assert.deepEqual((await api.call('GET', escaped)).body, { ...device, units: {} });

  const replaced = await api.call('PUT', escaped, { body: { kind: 'probe' } });
  assert.equal(replaced.status, 200);
  assert.deepEqual(replaced.body, { ...device, city: null, kind: 'probe', year: null, attributes: {} });

  const headers = { 'Content-Type': 'application/merge-patch+json' };
  const changed = await api.call('PATCH', raw, {
    body: JSON.stringify({ kind: null, site: 'site-3' }),
    headers,
  });
  assert.deepEqual(changed.body, { ...device, site: 'site-3', city: null, year: null, attributes: {} });

  assert.equal((await api.call('DELETE', raw)).status, 204);
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const body = method === 'PATCH' ? { year: 1 } : undefined;
    const gone = await api.call(method, raw, { body });
    assert.equal(gone.status, 404, method);
    assert.match(gone.body.detail, /site-3\/boiler\/probe-7/);
  }
});

test('changes of one client take turns of the event loop, so that others are answered between them', async (t) => {
  const api = await startApi(t);
  const turns: number[] = [];
  let [turn, isDone] = [0, false];
  const count = (): void => {
    turn++;
    if (!isDone) setImmediate(count);
  };
  count();
  const { put } = api.store.devices;
  t.mock.method(api.store.devices, 'put', (device: Device) => {
    turns.push(turn);
    return put(device);
  });
  await Promise.all(
    Array.from({ length: 30 }, (_, n) => api.call('PUT', `/v1/devices/d${n}`, { body: { year: n } })),
  );
  isDone = true;
  assert.equal(turns.length, 30);
  // Two can be in one count: before the count of a turn, and in the next turn before its count.
  assert.ok(new Set(turns).size >= 15, String(turns));
});

test('names with other characters than ASCII or with escapes arrive unchanged', async (t) => {
  const api = await startApi(t);
  const name = 'pläne/tür:1@~';
  await api.call('PUT', `/v1/devices/${name.split('/').map(encodeURIComponent).join('/')}`, { body: {} });
  assert.equal((await api.store.devices.get(name))?.name, name);
});

test('devices are listed by name, filtered and in pages', async (t) => {
  const api = await startApi(t);
  for (let n = 0; n < 7; n++) {
    const year = n % 2 === 0 ? 1991 : 2000;
    await api.store.devices.put({
      name: `d${n}`,
      site: 's',
      city: 'Porto',
      kind: null,
      year,
      attributes: {},
    });
  }
  const names: string[] = [];
  let cursor = '';
  do {
    const { body } = await api.call('GET', `/v1/devices?year=1991&city=Porto&limit=3${cursor}`);
    for (const device of body.devices) names.push(device.name);
    cursor = body.next === null ? '' : `&cursor=${body.next}`;
  } while (cursor !== '');
  assert.deepEqual(names, ['d0', 'd2', 'd4', 'd6']);
  const { body } = await api.call('GET', '/v1/devices?year=1991&limit=3');
  assert.equal((await api.call('GET', `/v1/devices?year=2000&limit=3&cursor=${body.next}`)).status, 400);
});

test('an update with a filter changes all devices that match, and the filter is required', async (t) => {
  const api = await startApi(t);
  for (const [name, year] of [
    ['a', 1991],
    ['b', 1991],
    ['c', 2000],
  ] as const) {
    await api.store.devices.put({ name, site: null, city: null, kind: null, year, attributes: {} });
  }
  const some = await api.call('PATCH', '/v1/devices?year=1991', { body: { city: 'Braga' } });
  assert.deepEqual(some.body, { matched: 2 });
  assert.equal((await api.store.devices.get('b'))?.city, 'Braga');
  assert.equal((await api.store.devices.get('c'))?.city, null);
  const all = await api.call('PATCH', '/v1/devices', { body: { city: 'Braga' } });
  assert.equal(all.status, 400);
  assert.equal(all.body.errors[0].path, '/query');
});

test('a body that is not a device is refused with the reason', async (t) => {
  const api = await startApi(t);
  const cases: [unknown, string][] = [
    [{ year: 'old' }, '/body/year'],
    [{ colour: 'red' }, '/body/colour'],
    [{ attributes: { nested: {} } }, '/body/attributes/nested'],
    [[], '/body'],
  ];
  for (const [body, path] of cases) {
    const answer = await api.call('PUT', '/v1/devices/a', { body });
    assert.equal(answer.status, 400);
    assert.equal(answer.body.errors[0].path, path);
  }
  const empty = await api.call('PATCH', '/v1/devices/a', { body: {} });
  assert.equal(empty.status, 400);
  const broken = await api.call('PUT', '/v1/devices/a', {
    body: '{"year":',
    headers: { 'Content-Type': 'application/json' },
  });
  assert.equal(broken.status, 400);
  assert.match(broken.headers.get('Content-Type')!, /problem\+json/);
  assert.equal((await api.call('GET', '/v1/devices/two%20words')).body.errors[0].path, '/params/name');
});

test('the unit of a metric is set and replaced, and a metric without readings has none', async (t) => {
  const api = await startApi(t);
  await api.ingest.commit([reading(0, { device: NAME, metric: 'temperature' })]);
  const put = (metric: string, unit: unknown) =>
    api.call('PUT', `/v1/readings/unit?device=${NAME}&metric=${metric}`, { body: { unit } });
  for (const unit of ['K', 'Cel']) {
    assert.equal((await put('temperature', unit)).status, 204);
    assert.deepEqual((await api.call('GET', `/v1/devices/${NAME}`)).body.units, { temperature: unit });
  }
  const none = await put('level', 'm');
  assert.deepEqual([none.status, none.body.detail], [404, `There are no readings of level of ${NAME}.`]);
  for (const wrong of ['', 'a\nb', '\ud800', 'x'.repeat(65), 7, null]) {
    const { status, body } = await put('temperature', wrong);
    assert.deepEqual([status, body.errors[0].path], [400, '/body/unit'], JSON.stringify(wrong));
  }
});
