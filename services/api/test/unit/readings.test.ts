import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { formatTime, unknownDevice } from '@tidegauge/readings';
import { StoreError } from '@tidegauge/storage';
import { type Answer, reading, startApi } from '../harness.ts';

const DEVICE = 'device=site-3/boiler/probe-7';

function assertProblem(answer: Answer, status: number, detail: RegExp): void {
  assert.equal(answer.status, status);
  assert.match(answer.headers.get('Content-Type')!, /^application\/problem\+json/);
  for (const key of ['type', 'title', 'detail', 'instance'])
    assert.equal(typeof answer.body[key], 'string', key);
  assert.equal(answer.body.status, status);
  assert.match(answer.body.detail, detail);
}

test('readings are listed newest first, with microseconds, and with boot and seq if present', async (t) => {
  const api = await startApi(t);
  const stamped = reading(2, { time: reading(2).time + 250, boot: '5f0c', seq: 7 });
  await api.store.readings.write([reading(1), stamped]);
  const { status, body } = await api.call('GET', `/v1/readings?${DEVICE}`);
  assert.equal(status, 200);
  assert.deepEqual(body, {
    readings: [
      {
        device: 'site-3/boiler/probe-7',
        metric: 'temperature',
        time: '2026-11-21T00:00:02.000250Z',
        value: 2,
        received: '2026-11-21T00:00:02.001000Z',
        quality: 'ok',
        boot: '5f0c',
        seq: 7,
      },
      {
        device: 'site-3/boiler/probe-7',
        metric: 'temperature',
        time: '2026-11-21T00:00:01.000000Z',
        value: 1,
        received: '2026-11-21T00:00:01.001000Z',
        quality: 'ok',
      },
    ],
    next: null,
  });
});

test('a list without Express is answered like a list with Express, and both are measured as one route', async (t) => {
  const api = await startApi(t);
  await api.store.readings.write(
    Array.from({ length: 600 }, (_, second) => reading(second, { value: `${second} é`.padEnd(200, 'x') })),
  );
  const same = async (path: string, query: string, status: number): Promise<void> => {
    const answers = [];
    // A path with a slash at its end goes through Express.
    for (const way of [path, `${path}/`]) {
      const { headers, body, ...answer } = await api.call('GET', `${way}?${query}`);
      assert.equal(answer.status, status, `${way}?${query}: ${JSON.stringify(body)}`);
      const shown = [...headers].filter(
        ([name]) => !['date', 'content-length', 'connection', 'keep-alive'].includes(name),
      );
      const { instance: _, ...rest } = body;
      answers.push([shown.sort(), rest]);
    }
    assert.deepEqual(answers[0], answers[1], `${path}?${query}`);
  };
  await same('/v1/readings', `${DEVICE}&limit=2`, 200);
  // In several parts.
  await same('/v1/readings', `${DEVICE}&limit=600`, 200);
  await same('/v1/readings', `${DEVICE}&limit=none`, 400);
  await same('/v1/readings', `${DEVICE}&colour=red`, 400);
  await same('/v1/readings', '', 400);
  await same('/v1/readings/latest', DEVICE, 200);
  await same('/v1/readings/latest', 'device=', 400);
  const { body } = await api.call('GET', '/metrics');
  assert.match(body, /_count\{method="GET",route="\/v1\/readings",status="200"\} 4/);
  assert.match(body, /_count\{method="GET",route="\/v1\/readings",status="400"\} 6/);
});

test('a store that fails for a list is called once, and its error is the answer', async (t) => {
  const api = await startApi(t);
  const latest = t.mock.method(api.store.readings, 'latest', async () => {
    throw new StoreError('UNAVAILABLE', 'nobody there');
  });
  const answer = await api.call('GET', `/v1/readings/latest?${DEVICE}`);
  assertProblem(answer, 503, /nobody there/);
  assert.equal(latest.mock.callCount(), 1);
});

test('a list whose store fails after its first part is broken off, and the process continues', async (t) => {
  const api = await startApi(t);
  const page = Array.from({ length: 400 }, (_, second) => reading(second, { value: 'x'.repeat(200) }));
  t.mock.method(api.store.readings, 'pages', async function* () {
    yield page;
    throw new StoreError('TIMEOUT', 'slow');
  });
  await assert.rejects(api.call('GET', `/v1/readings?${DEVICE}&limit=1000`));
  assert.equal((await api.call('GET', '/healthz')).status, 200);
});

test('pages have no loss or overlap in both orders, also for metrics with the same time', async (t) => {
  const api = await startApi(t);
  const metrics = ['a', 'b', 'c'];
  const written = [1, 2, 3, 4, 5].flatMap((second) => metrics.map((metric) => reading(second, { metric })));
  await api.store.readings.write(written);
  for (const order of ['asc', 'desc']) {
    const seen: string[] = [];
    let cursor = '';
    do {
      const { body } = await api.call('GET', `/v1/readings?${DEVICE}&order=${order}&limit=4${cursor}`);
      assert.ok(body.readings.length <= 4);
      for (const each of body.readings) seen.push(`${each.value}${each.metric}`);
      cursor = body.next === null ? '' : `&cursor=${body.next}`;
    } while (cursor !== '');
    const expected = written.map(({ value, metric }) => `${value}${metric}`);
    assert.deepEqual(seen, order === 'asc' ? expected : expected.reverse());
  }
});

test('a page that ends exactly with the readings has no next', async (t) => {
  const api = await startApi(t);
  await api.store.readings.write([reading(1), reading(2)]);
  const { body } = await api.call('GET', `/v1/readings?${DEVICE}&limit=2`);
  assert.equal(body.next, null);
});

test('from and to can be ISO 8601 or numbers of any unit, and to is exclusive', async (t) => {
  const api = await startApi(t);
  await api.store.readings.write([1, 2, 3, 4].map((second) => reading(second)));
  const start = Date.UTC(2026, 10, 21) / 1000;
  const ranges = [
    ['2026-11-21T00:00:02Z', '2026-11-21T01:00:04%2B01:00'],
    [start + 2, start + 4],
    [(start + 2) * 1e3, (start + 4) * 1e3],
    [(start + 2) * 1e6, (start + 4) * 1e6],
    [`${start + 2}000000000`, `${start + 4}000000000`],
  ];
  for (const [from, to] of ranges) {
    const { body } = await api.call('GET', `/v1/readings?${DEVICE}&from=${from}&to=${to}&order=asc`);
    assert.deepEqual(
      body.readings.map((each: { value: number }) => each.value),
      [2, 3],
      `${from} to ${to}`,
    );
  }
});

test('a cursor that was changed or belongs to another query gives 400', async (t) => {
  const api = await startApi(t);
  await api.store.readings.write([1, 2, 3].map((second) => reading(second)));
  const { body } = await api.call('GET', `/v1/readings?${DEVICE}&limit=1`);
  const next: string = body.next;
  const changed = next.slice(0, -1) + (next.endsWith('A') ? 'B' : 'A');
  for (const [query, cursor] of [
    [DEVICE, changed],
    [DEVICE, 'nonsense'],
    [DEVICE, `${next}=`],
    [`${DEVICE}&order=asc`, next],
    ['device=other', next],
  ]) {
    const answer = await api.call('GET', `/v1/readings?${query}&cursor=${cursor}`);
    assertProblem(answer, 400, /not a cursor of this query/);
    assert.deepEqual(answer.body.errors[0].path, '/query/cursor');
  }
});

test('mistakes in a query are reported with their path', async (t) => {
  const api = await startApi(t);
  const cases: [string, string, RegExp][] = [
    ['/v1/readings', '/query/device', /required, unless site, city, kind or year/],
    ['/v1/readings?device=a&city=Emden', '/query/device', /leave out site, city, kind and year, or device/],
    ['/v1/readings?year=20th', '/query/year', /integer/],
    ['/v1/readings/groups', '/query/by', /required/],
    ['/v1/readings/groups?by=year', '/query/by', /device, day, metric/],
    ['/v1/readings/groups?by=all&bucket=1', '/query/bucket', /is not a whole number/],
    ['/v1/readings/groups?by=all&prefix=a//b', '/query/prefix', /segment/],
    ['/v1/readings/groups?by=day&order=max', '/query/order', /key, sum, mean, count/],
    ['/v1/readings/groups?by=day&limit=10001', '/query/limit', /<= 10000/],
    ['/v1/readings/groups?by=day&device=a', '/query/device', /unknown query parameter/],
    ['/v1/readings/groups?by=day&metric=two%20words', '/query/metric', /one word/],
    ['/v1/readings/groups?by=day&to=tomorrow', '/query/to', /not a time/],
    ['/v1/readings?device=a&limit=0', '/query/limit', />= 1/],
    ['/v1/readings?device=a&limit=10001', '/query/limit', /<= 10000/],
    ['/v1/readings?device=a&order=up', '/query/order', /asc, desc/],
    ['/v1/readings?device=a&colour=red', '/query/colour', /unknown query parameter$/],
    ['/v1/readings?device=a&limt=5', '/query/limt', /unknown query parameter: did you mean limit\?/],
    ['/v1/readings?device=a&order=', '/query/order', /empty/],
    ['/v1/readings?device=a&device=b', '/query/device', /2 times/],
    ['/v1/readings?device=a//b', '/query/device', /segment/],
    ['/v1/readings?device=a&metric=two%20words', '/query/metric', /one word/],
    ['/v1/readings?device=a&from=yesterday', '/query/from', /not a time/],
    ['/v1/readings/aggregate?device=a&metric=m&from=0&bucket=5x', '/query/bucket', /is not a whole number/],
    [
      '/v1/readings/aggregate?device=a&metric=m&from=0&bucket=5m&fn=mean,mode',
      '/query/fn/1',
      /allowed values/,
    ],
    ['/v1/readings/aggregate?device=a&metric=m&from=0&bucket=1ms', '/query/bucket', /10000 buckets/],
    ['/v1/readings/latest?device=a&device=b%20c', '/query/device/1', /segment/],
  ];
  for (const [path, where, message] of cases) {
    const answer = await api.call('GET', path);
    assertProblem(answer, 400, message);
    assert.equal(answer.body.errors[0].path, where, path);
    assert.equal(answer.body.instance, path);
  }
});

test('latest returns the newest reading of each metric of each device, if there is one', async (t) => {
  const api = await startApi(t);
  await api.store.readings.write([
    reading(1),
    reading(2),
    reading(1, { metric: 'humidity', value: 40 }),
    reading(3, { device: 'b', value: 'open' }),
  ]);
  const { body } = await api.call('GET', `/v1/readings/latest?${DEVICE}&device=b&device=none`);
  assert.deepEqual(
    body.readings.map((each: { device: string; metric: string; value: unknown }) => [
      each.device,
      each.metric,
      each.value,
    ]),
    [
      ['b', 'temperature', 'open'],
      ['site-3/boiler/probe-7', 'humidity', 40],
      ['site-3/boiler/probe-7', 'temperature', 2],
    ],
  );
});

test('readings, latest values, aggregates and a device have the units of their series', async (t) => {
  const api = await startApi(t);
  const device = 'site-3/boiler/probe-7';
  const other = 'site-3/pump';
  const metrics = ['temperature', 'rpm', 'state', '__proto__'];
  await api.store.readings.write(metrics.map((metric, second) => reading(second, { metric })));
  await api.store.readings.write([reading(9, { device: other, metric: 'rpm' })]);
  await api.store.devices.put({ ...unknownDevice(device), site: 'site-3' });
  await api.store.devices.put({ ...unknownDevice(other), site: 'site-3' });
  await api.store.readings.setUnits([
    { device, metric: 'temperature', unit: 'Cel' },
    { device, metric: 'rpm', unit: '1/min' },
    { device, metric: '__proto__', unit: 'V' },
    { device: other, metric: 'rpm', unit: 'Hz' },
  ]);
  const unitsOf = async (path: string) => {
    const { status, body } = await api.call('GET', path);
    assert.equal(status, 200, path);
    return Object.fromEntries(
      body.readings.map((each: { device: string; metric: string; unit?: string }) => [
        `${each.device} ${each.metric}`,
        'unit' in each ? each.unit : 'none',
      ]),
    );
  };
  const units = {
    [`${device} temperature`]: 'Cel',
    [`${device} rpm`]: '1/min',
    [`${device} state`]: 'none',
    [`${device} __proto__`]: 'V',
  };
  assert.deepEqual(await unitsOf(`/v1/readings?${DEVICE}`), units);
  const both = { ...units, [`${other} rpm`]: 'Hz' };
  assert.deepEqual(await unitsOf(`/v1/readings/latest?${DEVICE}&device=${other}`), both);
  assert.deepEqual(await unitsOf('/v1/readings?site=site-3'), both);
  const aggregate = '/v1/readings/aggregate?from=0&bucket=9000d';
  const { body } = await api.call('GET', `${aggregate}&${DEVICE}&metric=temperature`);
  assert.deepEqual([body.unit, body.buckets.length], ['Cel', 1]);
  const state = await api.call('GET', `${aggregate}&${DEVICE}&metric=state`);
  assert.equal('unit' in state.body, false);
  const found = await api.call('GET', `/v1/devices/${device}`);
  assert.equal(JSON.stringify(found.body.units), '{"__proto__":"V","rpm":"1/min","temperature":"Cel"}');
  assert.deepEqual((await api.call('GET', `/v1/devices?site=x`)).body.devices, []);
});

test('an answer of many parts has the unit of each reading', async (t) => {
  const api = await startApi(t);
  const written = Array.from({ length: 3000 }, (_, index) => reading(index, { metric: `m${index % 300}` }));
  await api.store.readings.write(written);
  await api.store.readings.setUnits(
    written.slice(0, 300).map(({ device, metric }) => ({ device, metric, unit: metric.toUpperCase() })),
  );
  const { body } = await api.call('GET', `/v1/readings?${DEVICE}&limit=3000`);
  assert.equal(body.readings.length, 3000);
  for (const { metric, unit } of body.readings) assert.equal(unit, metric.toUpperCase());
});

test('latest accepts 200 devices and refuses 201', async (t) => {
  const api = await startApi(t);
  const names = (count: number) => Array.from({ length: count }, (_, index) => `device=d${index}`).join('&');
  assert.equal((await api.call('GET', `/v1/readings/latest?${names(200)}`)).status, 200);
  assertProblem(await api.call('GET', `/v1/readings/latest?${names(201)}`), 400, /200 items/);
});

test('latest returns pages of all registered devices, of a prefix and of those that match', async (t) => {
  const api = await startApi(t);
  const names = ['site-3', 'site-3-a', 'site-3/boiler', 'site-3/pump', 'site-30', 'z'];
  for (const name of names)
    await api.store.devices.put({ ...unknownDevice(name), site: name.startsWith('site-3/') ? 's3' : null });
  const metrics = ['humidity', 'rpm', 'temperature'];
  for (const device of [...names.filter((name) => name !== 'site-30'), 'unlisted']) {
    for (const metric of metrics)
      await api.store.readings.write([1, 2].map((second) => reading(second, { device, metric })));
  }
  const allOf = async (query: string) => {
    const found: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const path: string = `/v1/readings/latest?${query}${cursor === '' ? '' : `&cursor=${cursor}`}`;
      const { status, body } = await api.call('GET', path);
      assert.equal(status, 200, JSON.stringify(body));
      for (const each of body.readings) {
        assert.equal(each.value, 2);
        found.push(`${each.device} ${each.metric}`);
      }
      cursor = body.next;
    }
    return found;
  };
  const series = (some: readonly string[], of = metrics) =>
    some.flatMap((device) => of.map((metric) => `${device} ${metric}`));
  for (const limit of [1, 2, 3, 4, 1000]) {
    const paging = `limit=${limit}`;
    assert.deepEqual(await allOf(paging), series(names.filter((name) => name !== 'site-30')));
    const below = series(['site-3', 'site-3/boiler', 'site-3/pump']);
    assert.deepEqual(await allOf(`prefix=site-3&${paging}`), below);
    assert.deepEqual(await allOf(`site=s3&${paging}`), series(['site-3/boiler', 'site-3/pump']));
    const some = ['rpm', 'temperature'];
    assert.deepEqual(
      await allOf(`prefix=site-3&site=s3&metric=temperature&metric=rpm&metric=none&${paging}`),
      series(['site-3/boiler', 'site-3/pump'], some),
    );
  }
  assert.deepEqual(await allOf('prefix=nowhere'), []);
  const { body } = await api.call('GET', '/v1/readings/latest?device=site-3&device=unlisted&metric=rpm');
  assert.deepEqual([body.readings.length, body.next], [2, null]);
  const first = await api.call('GET', '/v1/readings/latest?prefix=site-3&limit=1');
  for (const query of ['', 'prefix=site-30&', 'prefix=site-3&metric=rpm&', 'prefix=site-3&site=s3&']) {
    const path = `/v1/readings/latest?${query}limit=1&cursor=${first.body.next}`;
    assertProblem(await api.call('GET', path), 400, /not a cursor of this query/);
  }
  for (const other of ['prefix=a', 'site=s3', 'year=1', 'limit=1', `cursor=${first.body.next}`])
    assertProblem(await api.call('GET', `/v1/readings/latest?device=z&${other}`), 400, /or device/);
});

test('aggregates of several series have the same buckets, and are those of each series alone', async (t) => {
  const api = await startApi(t);
  const probe = 'site-3/boiler/probe-7';
  await api.store.readings.write(
    ['temperature', 'rpm'].flatMap((metric) => [1, 2, 61].map((second) => reading(second, { metric }))),
  );
  await api.store.readings.write([reading(2, { device: 'b', value: 7 })]);
  await api.store.readings.write([reading(3, { device: 'b', value: 'x' })]);
  await api.store.readings.setUnits([{ device: probe, metric: 'temperature', unit: 'Cel' }]);
  const range = 'from=2026-11-21T00:00:00Z&to=2026-11-21T00:05:00Z&bucket=1m&fn=mean,last';
  const check = async (query: string, series: readonly (readonly [device: string, metric: string])[]) => {
    const { status, body } = await api.call('GET', `/v1/readings/series?${query}&${range}`);
    assert.equal(status, 200, JSON.stringify(body));
    const expected = await Promise.all(
      series.map(async ([device, metric]) => {
        const path = `/v1/readings/aggregate?device=${device}&metric=${metric}&${range}`;
        return { device, metric, ...(await api.call('GET', path)).body };
      }),
    );
    assert.deepEqual(body.series, expected);
  };
  await check(`device=${probe}&device=b&device=none&metric=temperature`, [
    [probe, 'temperature'],
    ['b', 'temperature'],
    ['none', 'temperature'],
  ]);
  await check(`device=${probe}&metric=rpm&metric=temperature`, [
    [probe, 'rpm'],
    [probe, 'temperature'],
  ]);
  await check(`device=b&device=${probe}&metric=temperature&metric=rpm`, [
    ['b', 'temperature'],
    [probe, 'rpm'],
  ]);
  const many = Array.from({ length: 50 }, (_, index) => `device=d${index}`).join('&');
  const refused = async (query: string, message: RegExp) =>
    assertProblem(await api.call('GET', `/v1/readings/series?${query}`), 400, message);
  await refused(`device=a&device=b&device=c&metric=m&metric=n&${range}`, /2 names for 3 devices/);
  await refused(`${many}&device=more&metric=m&${range}`, /50 items/);
  await refused(`${many}&metric=m&from=0&to=2000&bucket=1s`, /more than 50000 buckets of 50 series/);
  await refused('device=a&metric=m&from=0&to=20000&bucket=1s', /more than 10000 buckets/);
  await refused(`device=a&device=b%20c&metric=m&${range}`, /segment/);
});

test('aggregate returns the requested figures, and always the count', async (t) => {
  const api = await startApi(t);
  await api.store.readings.write([1, 2, 61, 62, 63].map((second) => reading(second)));
  const query = `${DEVICE}&metric=temperature&from=2026-11-21T00:00:00Z&to=2026-11-21T00:05:00Z&bucket=1m`;
  const some = await api.call('GET', `/v1/readings/aggregate?${query}&fn=mean,max`);
  assert.deepEqual(some.body.buckets, [
    { time: '2026-11-21T00:00:00.000000Z', count: 2, max: 2, mean: 1.5 },
    { time: '2026-11-21T00:01:00.000000Z', count: 3, max: 63, mean: 62 },
  ]);
  const all = await api.call('GET', `/v1/readings/aggregate?${query}`);
  assert.deepEqual(Object.keys(all.body.buckets[0]), ['time', 'count', 'min', 'max', 'mean', 'sum']);
});

test('a delivery is forwarded to ingest unchanged, and the counts are returned', async (t) => {
  const api = await startApi(t);
  const good = await api.call('POST', '/v1/readings?device=site-3/a&metric=level', {
    body: '21.50',
    headers: { 'Content-Type': 'text/plain' },
  });
  assert.equal(good.status, 202);
  assert.deepEqual(good.body, { received: 1, stored: 1, duplicate: 0, quarantined: 0 });
  const bad = await api.call('POST', '/v1/readings', {
    body: '{ "t": oops',
    headers: { 'Content-Type': 'application/senml+json' },
  });
  const errors = [{ reason: 'malformed', detail: 'expected a number', position: null }];
  assert.deepEqual(bad.body, { received: 1, stored: 0, duplicate: 0, quarantined: 1, errors });
  const [first, second] = api.ingest.delivered;
  assert.equal(first!.url, '/readings?device=site-3%2Fa&metric=level');
  assert.equal(first!.contentType, 'text/plain');
  assert.equal(first!.body.toString(), '21.50');
  assert.equal(second!.body.toString(), '{ "t": oops');
});

test('a delivery that is too large or of another type is not forwarded', async (t) => {
  const api = await startApi(t);
  const headers = { 'Content-Type': 'application/json' };
  assertProblem(
    await api.call('POST', '/v1/readings', { body: '1'.repeat(65 * 1024), headers }),
    413,
    /too large/,
  );
  const type = { 'Content-Type': 'application/xml' };
  assertProblem(
    await api.call('POST', '/v1/readings', { body: '<v>1</v>', headers: type }),
    415,
    /application\/xml/,
  );
  assert.equal(api.ingest.delivered.length, 0);
});

test('an empty body is forwarded to ingest, like an empty MQTT payload', async (t) => {
  const api = await startApi(t);
  await api.call('POST', '/v1/readings?device=a', { headers: { 'Content-Type': 'text/plain' } });
  assert.equal(api.ingest.delivered[0]!.body.length, 0);
});

/** Three devices, two of them in Emden, with two readings each. */
async function threeDevices(api: Awaited<ReturnType<typeof startApi>>): Promise<void> {
  const { store } = api;
  for (const [name, city] of [
    ['a', 'Emden'],
    ['b', 'Aveiro'],
    ['c', 'Emden'],
  ] as const) {
    await store.devices.put({ ...unknownDevice(name), city, year: 2020 });
    await store.readings.write([
      reading(1, { device: name, value: 1 }),
      reading(86_400, { device: name, value: name.charCodeAt(0), metric: 'humidity' }),
    ]);
  }
}

test('readings of the devices that match are listed by device, in pages without loss or overlap', async (t) => {
  const api = await startApi(t);
  await threeDevices(api);
  for (const [order, expected] of [
    ['desc', ['a 97', 'a 1', 'c 99', 'c 1']],
    ['asc', ['a 1', 'a 97', 'c 1', 'c 99']],
  ] as const) {
    for (const limit of [1, 3, 10]) {
      const seen: string[] = [];
      let cursor = '';
      do {
        const query = `city=Emden&year=2020&order=${order}&limit=${limit}${cursor}`;
        const { status, body } = await api.call('GET', `/v1/readings?${query}`);
        assert.equal(status, 200);
        for (const { device, value } of body.readings) seen.push(`${device} ${value}`);
        cursor = body.next === null ? '' : `&cursor=${body.next}`;
      } while (cursor !== '');
      assert.deepEqual(seen, expected);
    }
  }
  const { body } = await api.call('GET', '/v1/readings?city=Emden&limit=1');
  const other = await api.call('GET', `/v1/readings?city=Aveiro&limit=1&cursor=${body.next}`);
  assertProblem(other, 400, /not a cursor of this query/);
  const none = await api.call('GET', '/v1/readings?city=Oslo');
  assert.deepEqual(none.body, { readings: [], next: null });
});

test('groups have figures by device, day and metric, of all devices or of those that match', async (t) => {
  const api = await startApi(t);
  await threeDevices(api);
  const ask = async (query: string) => (await api.call('GET', `/v1/readings/groups?${query}`)).body;
  assert.deepEqual(await ask('by=day'), {
    groups: [
      { key: '2026-11-21', count: 3, min: 1, max: 1, mean: 1, sum: 3 },
      { key: '2026-11-22', count: 3, min: 97, max: 99, mean: 98, sum: 294 },
    ],
    source: 'rows',
    asOf: null,
    sources: ['raw', 'hour', 'day'],
    incompleteBefore: null,
  });
  await api.store.readings.setUnits([{ device: 'b', metric: 'humidity', unit: '%RH' }]);
  const units = async (query: string) =>
    (await ask(query)).groups.map(({ key, unit }: { key: string; unit?: string }) => `${key} ${unit}`);
  assert.deepEqual(await units('by=device&metric=humidity'), ['a undefined', 'b %RH', 'c undefined']);
  assert.deepEqual(await units('by=metric&metric=humidity'), ['humidity undefined']);
  const keys = async (query: string) => (await ask(query)).groups.map(({ key }: { key: string }) => key);
  assert.deepEqual(await keys('by=device&order=sum&limit=2'), ['c', 'b']);
  assert.deepEqual(await keys('by=device&city=Emden&year=2020'), ['a', 'c']);
  assert.deepEqual(await keys('by=metric&from=2026-11-22T00:00:00Z'), ['humidity']);
  assert.deepEqual(await keys('by=day&metric=temperature'), ['2026-11-21']);
  assert.deepEqual(await keys('by=device&site=none'), []);
});

test('groups select by prefix, add up sites, and have buckets of each of the top n', async (t) => {
  const api = await startApi(t);
  for (const [name, site] of [
    ['plant/a', 'north'],
    ['plant/b', 'north'],
    ['plant/c', 'south'],
    ['planted', 'north'],
  ] as const)
    await api.store.devices.put({ ...unknownDevice(name), site });
  await api.store.readings.write([
    reading(0, { device: 'plant/a', value: 1 }),
    reading(3600, { device: 'plant/b', value: 2 }),
    reading(7200, { device: 'plant/c', value: 4 }),
    reading(0, { device: 'planted', value: 8 }),
    reading(0, { device: 'plant', value: Number.MAX_VALUE, metric: 'other' }),
    reading(1, { device: 'plant', value: Number.MAX_VALUE, metric: 'other' }),
  ]);
  const ask = async (query: string) =>
    (await api.call('GET', `/v1/readings/groups?prefix=plant&${query}`)).body.groups;
  const all = await ask('by=all&metric=temperature&bucket=1h');
  assert.deepEqual(
    all.map(({ key, count, buckets }: { key: string; count: number; buckets: { sum: number }[] }) => [
      key,
      count,
      buckets.map(({ sum }) => sum),
    ]),
    [['all', 3, [1, 2, 4]]],
  );
  const [top] = await ask('by=site&metric=temperature&order=sum&limit=1&bucket=1d');
  assert.deepEqual([top.key, top.sum, top.buckets.length], ['south', 4, 1]);
  const [infinite] = await ask('by=metric&bucket=1d');
  assert.deepEqual([infinite.key, infinite.buckets[0].mean, infinite.buckets[0].sum], ['other', null, null]);
});

test('an aggregate has the first and the last value on request', async (t) => {
  const api = await startApi(t);
  await api.store.readings.write([
    reading(20, { value: 5 }),
    reading(10, { value: 7 }),
    reading(30, { value: 'text' }),
  ]);
  const path = `/v1/readings/aggregate?${DEVICE}&metric=temperature&from=2026-11-21T00:00:00Z&bucket=1d`;
  const { body } = await api.call('GET', `${path}&fn=first,last`);
  assert.deepEqual(body.buckets, [
    {
      time: '2026-11-21T00:00:00.000000Z',
      count: 2,
      first: 7,
      firstTime: formatTime(reading(10).time),
      last: 5,
      lastTime: formatTime(reading(20).time),
    },
  ]);
  assert.equal((await api.call('GET', path)).body.buckets[0].first, undefined);
});

test('a sum beyond the largest double is null, and an answer of many groups is sent in parts', async (t) => {
  const api = await startApi(t);
  const most = Number.MAX_VALUE;
  const batch = Array.from({ length: 500 }, (_, index) =>
    reading(1, { device: `many/${String(index).padStart(3, '0')}`, value: index }),
  );
  await api.store.readings.write([
    ...batch,
    reading(1, { device: 'zz', value: most }),
    reading(2, { device: 'zz', value: most }),
  ]);
  const { body } = await api.call('GET', '/v1/readings/groups?by=device&limit=1000');
  assert.equal(body.groups.length, 501);
  assert.deepEqual(
    body.groups.slice(0, 500).map(({ sum }: { sum: number }) => sum),
    batch.map(({ value }) => value),
  );
  assert.deepEqual(body.groups[500], { key: 'zz', count: 2, min: most, max: most, mean: null, sum: null });
  assert.deepEqual([body.source, body.asOf], ['rows', null]);
});

test('readings of a device are deleted in a range of times', async (t) => {
  const api = await startApi(t);
  const other = reading(3, { device: 'site-3/boiler/probe-7/inner' });
  await api.store.readings.write([0, 1, 2, 3].map((second) => reading(second)).concat(other));
  const range = 'from=2026-11-21T00:00:01Z&to=2026-11-21T00:00:03Z';
  for (const deleted of [2, 0]) {
    const { status, body } = await api.call('DELETE', `/v1/readings?${DEVICE}&metric=temperature&${range}`);
    assert.equal(status, 200);
    assert.deepEqual(body, { deleted, complete: true });
  }
  const { body } = await api.call('GET', `/v1/readings?${DEVICE}&order=asc`);
  assert.deepEqual(
    body.readings.map(({ value }: { value: number }) => value),
    [0, 3],
  );
  const inner = await api.call('GET', '/v1/readings?device=site-3/boiler/probe-7/inner');
  assert.equal(inner.body.readings.length, 1);
});

test('a range that ends before it begins is refused, also one of days without a time', async (t) => {
  const api = await startApi(t);
  const range = 'from=2026-11-22T00:00:00Z&to=2026-11-21T00:00:00Z';
  for (const [method, path] of [
    ['GET', `/v1/readings?${DEVICE}`],
    ['GET', `/v1/readings/aggregate?${DEVICE}&metric=m&bucket=1h`],
    ['GET', '/v1/readings/groups?by=site'],
    ['GET', '/v1/export?format=csv'],
    ['DELETE', `/v1/readings?${DEVICE}`],
    ['GET', `/v1/annotations?${DEVICE}`],
    ['POST', `/v1/readings/wrong?${DEVICE}&metric=m`],
  ] as const)
    assertProblem(await api.call(method, `${path}&${range}`), 400, /\/query\/to: is before `from`/);
  const date = await api.call('GET', `/v1/readings?${DEVICE}&from=2026-11-01`);
  assertProblem(date, 400, /^\/query\/from: is not a time from 1970 to 2254, such as 2026-11-01T00:00:00Z/);
});

test('a request to delete readings that misses a bound or has a wrong one deletes nothing', async (t) => {
  const api = await startApi(t);
  await api.store.readings.write([reading(1)]);
  const cases: [string, RegExp][] = [
    [DEVICE, /\/query\/from: or `to` is required: `from=1970-01-01T00:00:00Z` deletes all readings/],
    ['from=2026-11-21', /device/],
    [`${DEVICE}&from=soon`, /from: is not a time from 1970 to 2254, such as 2026-11-01T00:00:00Z,/],
    [`${DEVICE}&to=2026-11-22T00:00:00Z&until=2026-11-22T00:00:00Z`, /until/],
  ];
  for (const [query, detail] of cases)
    assertProblem(await api.call('DELETE', `/v1/readings?${query}`), 400, detail);
  const { body } = await api.call('GET', `/v1/readings?${DEVICE}`);
  assert.equal(body.readings.length, 1);
});

test('short reads do not wait for figures of many devices', { timeout: 60_000 }, async (t) => {
  const api = await startApi(t);
  const names = Array.from({ length: 500 }, (_, n) => `many/${n}`);
  await api.store.devices.register(names);
  await api.store.readings.write(names.map((device) => reading(1, { device })));
  const { port } = new URL(api.url);
  const done: string[] = [];
  const get = (path: string, localAddress: string, name: string) =>
    new Promise<void>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path, agent: false, localAddress }, (response) => {
        response.resume().on('end', () => {
          assert.equal(response.statusCode, 200);
          done.push(name);
          resolve();
        });
      });
      sent.on('error', reject).end();
    });
  const heavy: Promise<void>[] = [];
  for (const from of ['127.0.0.2', '127.0.0.3', '127.0.0.4']) {
    for (let n = 0; n < 3; n += 1) heavy.push(get('/v1/readings/groups?by=site', from, 'groups'));
  }
  for (let n = 0; n < 5; n += 1) {
    for (const path of [
      '/v1/devices?limit=1',
      '/v1/readings?device=many/1',
      '/v1/readings/latest?device=many/2',
    ])
      await get(path, '127.0.0.9', 'short');
  }
  // Two queries run at a time. A short read waits for them at most, and not for those that wait.
  const before = done.slice(0, done.lastIndexOf('short')).join(' ').split('short');
  assert.ok(
    before.every((between) => between.split('groups').length - 1 <= 2),
    done.join(),
  );
  await Promise.all(heavy);
});

test('a query with more groups and buckets than fit the memory is refused', {
  timeout: 60_000,
}, async (t) => {
  const api = await startApi(t);
  for (const device of ['a', 'b', 'c'])
    await api.store.readings.write(Array.from({ length: 7000 }, (_, n) => reading(n, { device })));
  const ask = (query: string) => api.call('GET', `/v1/readings/groups?${query}`);
  const refused = await ask('by=device&bucket=1s&from=2026-11-20T00:00:00Z');
  assert.equal(refused.status, 422);
  assert.match(refused.body.detail, /more than 20000 groups and buckets/);
  // More buckets than one read of the store returns.
  const whole = await ask('by=all&bucket=2s&from=2026-11-20T00:00:00Z');
  assert.deepEqual([whole.status, whole.body.groups[0].buckets.length], [200, 3500]);
  assert.equal(whole.body.groups[0].buckets[0].count, 6);
});
