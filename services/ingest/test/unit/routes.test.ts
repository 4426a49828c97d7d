import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DecodeError } from '@tidegauge/readings';
import type { Problem } from '@tidegauge/service';
import { decodeParcel, httpParcel } from '../../src/parcels.ts';
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

test('what came by HTTP can be decoded again from its topic', () => {
  const parcel = httpParcel(
    'text/plain; charset=utf-8',
    new URLSearchParams('device=a/b&metric=m'),
    Buffer.from('2.5'),
  );
  assert.equal(parcel.topic, 'POST /readings?device=a%2Fb&metric=m');
  const readings = decodeParcel(router, parcel, received);
  assert.ok(!(readings instanceof DecodeError));
  assert.deepEqual(
    readings.map(({ device, metric, value }) => [device, metric, value]),
    [['a/b', 'm', 2.5]],
  );
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
