import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DecodeError } from '@tidegauge/readings';
import type { Problem } from '@tidegauge/service';
import { decodeParcel, httpParcel } from '../../src/parcels.ts';
import type { Part } from '../../src/part.ts';
import { defaultRoutes, Router } from '../../src/routes.ts';

const router = new Router(defaultRoutes('durable'));
const received = 1_795_000_000_000_000;

test('the default route takes any device path, and other topics belong to none', () => {
  assert.deepEqual(
    (({ device, metric, error }) => ({ device, metric, error }))(router.resolve('sensors/a/b/c/temperature')),
    { device: 'a/b/c', metric: 'temperature', error: null },
  );
  assert.equal(router.resolve('other/a/temperature').error?.reason, 'unknown_topic');
  assert.equal(router.resolve('sensors/a b/temperature').error?.reason, 'invalid_name');
});

test('topics that publishers make up do not grow the cache without bound', () => {
  const small = new Router(defaultRoutes('durable'));
  for (let number = 0; number < 120_000; number++) small.resolve(`sensors/device-${number}/m`);
  assert.equal(small.resolve('sensors/device-0/m').device, 'device-0');
});

test('a topic is too long by its bytes, whatever its characters', () => {
  const short = new Router(defaultRoutes('durable'), 40);
  for (const letter of ['x', 'ж', '山', '😀']) {
    const bytes = Buffer.byteLength(letter);
    const fits = `sensors/${letter.repeat(Math.floor(30 / bytes))}/m`;
    assert.doesNotMatch(short.resolve(fits).error?.message ?? '', /bytes/);
    const { route, error } = short.resolve(`sensors/${letter.repeat(Math.floor(30 / bytes) + 1)}/m`);
    assert.equal(route, null);
    assert.equal(error?.reason, 'invalid_name');
    assert.match(error.message, /has 4\d bytes, and at most 40 are taken: .*MAX_TOPIC/);
  }
});

test('topics that cannot be stored drive out none of those that can', () => {
  const mixed = new Router(defaultRoutes('durable'));
  const known = mixed.resolve('sensors/site-3/boiler/temperature');
  for (let number = 0; number < 100_000; number++) mixed.resolve(`sensors/not valid ${number}/m`);
  assert.equal(mixed.resolve('sensors/site-3/boiler/temperature'), known);
});

test('topics of one length above 16 KB are told apart as quickly as others', () => {
  const wide = new Router(defaultRoutes('durable'), 65_535);
  // As keys of one map, 3,000 of them take 3,000 x 3,000 / 2 comparisons of 60 KB: minutes.
  const topics = Array.from(
    { length: 3000 },
    (_, number) => `sensors/d/${'x'.repeat(60_000)}${number + 1e6}`,
  );
  const begun = performance.now();
  for (const topic of topics) assert.equal(wide.resolve(topic).error?.reason, 'invalid_name');
  assert.ok(performance.now() - begun < 20_000);
});

test('what came by HTTP can be decoded again from its topic', () => {
  const parcel = httpParcel(
    'text/plain; charset=utf-8',
    new URLSearchParams('device=a/b&metric=m'),
    Buffer.from('2.5'),
  );
  assert.equal(parcel.topic, 'POST /readings?device=a%2Fb&metric=m');
  const decoded = decodeParcel(router, parcel, received);
  assert.ok(!(decoded instanceof DecodeError));
  assert.deepEqual(
    decoded.readings.map(({ device, metric, value }) => [device, metric, value]),
    [['a/b', 'm', 2.5]],
  );
});

test('a topic of the broker that looks like the request line of HTTP is a topic like any other', () => {
  const names = new URLSearchParams('device=a&metric=m');
  const http = httpParcel('text/plain', names, Buffer.from('2.5'));
  const decoded = decodeParcel(router, { ...http, source: 'mqtt' }, received);
  assert.ok(decoded instanceof DecodeError);
  assert.equal(decoded.reason, 'unknown_topic');
});

test('of a payload only the readings of its part are decoded, and all when the payload reads otherwise now', () => {
  const payload = Buffer.from(JSON.stringify([1, 2, 3].map((v) => ({ t: 1_790_000_000 + v, v }))));
  const parcel = { source: 'mqtt', topic: 'sensors/a/m', format: 'auto', payload } as const;
  const valuesOf = (part: Part) => {
    const decoded = decodeParcel(router, { ...parcel, part }, received);
    assert.ok(!(decoded instanceof DecodeError), String(decoded));
    return [decoded.readings.map(({ value }) => value), decoded.part];
  };
  const some = { of: 3, places: [0, 2] };
  assert.deepEqual(valuesOf(some), [[1, 3], some]);
  assert.deepEqual(valuesOf({ of: 4, places: [3] }), [[1, 2, 3], null]);
});

test('names and media types that cannot be are refused before anything is decoded', () => {
  const status = (type: string, query: string) => {
    try {
      httpParcel(type, new URLSearchParams(query), Buffer.from('1'));
    } catch (error) {
      return (error as Problem).details.status;
    }
    return 202;
  };
  assert.equal(status('text/plain', 'device=a&metric=m'), 202);
  assert.equal(status('image/png', ''), 415);
  assert.equal(status('text/plain', 'device=a b'), 400);
  assert.equal(status('text/plain', 'metric='), 400);
  assert.equal(status('text/plain', 'color=red'), 400);
});
