import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Api, reading, startApi } from '../harness.ts';

const SERIES = 'device=site-3/boiler/probe-7&metric=temperature';
const RANGE = 'from=2026-11-20T00:00:00Z&to=2026-11-22T00:00:00Z';

/** A reading every minute from 00:00 to 01:59. The one at 00:10 is 1000, and the one at 00:20 -1000. */
async function twoHours(api: Api): Promise<void> {
  const { readings } = api.store;
  const minutes = Array.from({ length: 120 }, (_, minute) => reading(minute * 60, { value: 20 }));
  await readings.write(minutes);
  await readings.write([reading(600, { value: 1000 }), reading(1200, { value: -1000 })]);
  await readings.write([reading(30, { value: 'text' }), reading(0, { device: 'other', value: 7 })]);
}

async function figures(api: Api): Promise<unknown> {
  const { body } = await api.call('GET', `/v1/readings/aggregate?${SERIES}&${RANGE}&bucket=2d&fn=min,max`);
  const { body: grouped } = await api.call('GET', `/v1/readings/groups?by=all&prefix=site-3&${RANGE}`);
  const [{ count, min, max }] = body.buckets;
  assert.deepEqual(
    grouped.groups.map((group: Record<string, number>) => [group.count, group.min, group.max]),
    [[count, min, max]],
    'groups and aggregates agree',
  );
  return [count, min, max];
}

const valuesAt = async (api: Api, second: number) => {
  const { time } = reading(second);
  const found: unknown[] = [];
  const query = { device: 'site-3/boiler/probe-7', from: time, to: time + 1, limit: 10 };
  for await (const { value } of api.store.readings.range(query)) found.push(value);
  return found;
};

// That rollups change with a correction to a text is in the conformance suite of the stores.
test('readings that are marked as wrong stay stored, are in no figure, and can be restored', async (t) => {
  const api = await startApi(t);
  await twoHours(api);
  assert.deepEqual(await figures(api), [120, -1000, 1000]);
  const mark = (query: string) => api.call('POST', `/v1/readings/wrong?${SERIES}&${query}`);
  const above = await mark(`${RANGE}&above=100`);
  assert.deepEqual([above.status, above.body], [200, { changed: 1, next: null }]);
  assert.deepEqual(await figures(api), [119, -1000, 20]);
  assert.deepEqual(await valuesAt(api, 600), ['{"wrong":1000}']);
  const one = await mark('from=2026-11-21T00:20:00Z');
  assert.deepEqual(one.body, { changed: 1, next: null });
  assert.deepEqual(await figures(api), [118, 20, 20]);
  assert.deepEqual((await mark(`${RANGE}&above=100&below=-100`)).body, { changed: 0, next: null });
  const restored = await api.call('DELETE', `/v1/readings/wrong?${SERIES}&${RANGE}`);
  assert.deepEqual([restored.status, restored.body], [200, { changed: 2, next: null }]);
  assert.deepEqual(await figures(api), [120, -1000, 1000]);
  assert.deepEqual([await valuesAt(api, 600), await valuesAt(api, 30)], [[1000], ['text']]);
});

test('a range of many readings is marked as a whole, and another series is not changed', async (t) => {
  const api = await startApi(t);
  const count = 1200;
  for (const metric of ['temperature', 'rpm']) {
    const written = Array.from({ length: count }, (_, second) => reading(second, { metric }));
    await api.store.readings.write(written);
  }
  const { body } = await api.call('POST', `/v1/readings/wrong?${SERIES}&${RANGE}`);
  assert.deepEqual(body, { changed: count, next: null });
  const groups = await api.call('GET', `/v1/readings/groups?by=metric&${RANGE}`);
  assert.deepEqual(
    groups.body.groups.map((group: { key: string; count: number }) => [group.key, group.count]),
    [['rpm', count]],
  );
});

test('marked readings of several series are listed with their numbers', async (t) => {
  const api = await startApi(t);
  await twoHours(api);
  await api.call('POST', `/v1/readings/wrong?${SERIES}&${RANGE}&above=100&below=-100`);
  await api.call('POST', '/v1/readings/wrong?device=other&metric=temperature&from=2026-11-21T00:00:00Z');
  const list = async (query: string) => {
    const { status, body } = await api.call('GET', `/v1/readings/wrong?metric=temperature&${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.complete, true);
    return body.readings.map(({ device, time, value }: Record<string, unknown>) => [device, time, value]);
  };
  const probe = 'site-3/boiler/probe-7';
  const at = (minute: string) => `2026-11-21T00:${minute}:00.000000Z`;
  assert.deepEqual(await list(`device=other&device=nobody&device=${probe}&${RANGE}`), [
    ['other', at('00'), 7],
    [probe, at('10'), 1000],
    [probe, at('20'), -1000],
  ]);
  assert.deepEqual(await list(`device=${probe}&from=${at('11')}`), [[probe, at('20'), -1000]]);
  await api.call('DELETE', `/v1/readings/wrong?${SERIES}&${RANGE}`);
  assert.deepEqual(await list(`device=${probe}&${RANGE}`), []);
});

test('a search for marked readings has bounds, and reports that it is not complete', async (t) => {
  const api = await startApi(t);
  const marked = Array.from({ length: 1001 }, (_, second) => reading(second, { value: '{"wrong":5}' }));
  await api.store.readings.write(marked);
  const { body } = await api.call('GET', `/v1/readings/wrong?${SERIES}&${RANGE}`);
  assert.deepEqual([body.readings.length, body.complete], [1000, false]);
  for (let start = 0; start < 50_000; start += 10_000) {
    const part = Array.from({ length: 10_000 }, (_, second) => reading(start + second, { value: 1 }));
    await api.store.readings.write(part);
  }
  const many = await api.call('GET', `/v1/readings/wrong?${SERIES}&from=2026-11-21T00:00:00Z`);
  assert.deepEqual(many.body, { readings: [], complete: false });
});

test('a mark needs a series and a range', async (t) => {
  const api = await startApi(t);
  for (const [query, path] of [
    ['device=a&from=0', '/query/metric'],
    [SERIES, '/query/from'],
    [`${SERIES}&from=5&to=5`, '/query/to'],
    [`${SERIES}&from=5&above=much`, '/query/above'],
  ] as const) {
    const { status, body } = await api.call('POST', `/v1/readings/wrong?${query}`);
    assert.deepEqual([status, body.errors[0].path], [400, path], query);
  }
});
