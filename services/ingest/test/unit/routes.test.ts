import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DecodeError } from '@tidegauge/readings';
import type { Problem } from '@tidegauge/service';
import type { Part } from '../../src/part.ts';
import { decodeMessage, httpMessage } from '../../src/raw-message.ts';
import { Router } from '../../src/routes.ts';
import { defaultRoutes } from '../../src/routes-file.ts';

const router = new Router(defaultRoutes('durable'));
const received = 1_795_000_000_000_000;

test('the default route accepts any device path, and other topics match no route', () => {
  assert.deepEqual(
    (({ device, metric, error }) => ({ device, metric, error }))(router.resolve('sensors/a/b/c/temperature')),
    { device: 'a/b/c', metric: 'temperature', error: null },
  );
  assert.equal(router.resolve('other/a/temperature').error?.reason, 'unknown_topic');
  assert.equal(router.resolve('sensors/a b/temperature').device, 'a~20b');
  assert.equal(router.resolve('sensors/a//temperature').error?.reason, 'invalid_name');
});

test('the cache stays bounded when publishers invent topics', () => {
  const small = new Router(defaultRoutes('durable'));
  for (let number = 0; number < 120_000; number++) small.resolve(`sensors/device-${number}/m`);
  assert.equal(small.resolve('sensors/device-0/m').device, 'device-0');
});

test('the length of a topic is measured in bytes', () => {
  const short = new Router(defaultRoutes('durable'), { maxTopicBytes: 40 });
  for (const letter of ['x', 'ж', '山', '😀']) {
    const bytes = Buffer.byteLength(letter);
    const fits = `sensors/${letter.repeat(Math.floor(30 / bytes))}/m`;
    assert.doesNotMatch(short.resolve(fits).error?.message ?? '', /bytes/);
    const { route, error } = short.resolve(`sensors/${letter.repeat(Math.floor(30 / bytes) + 1)}/m`);
    assert.equal(route, null);
    assert.equal(error?.reason, 'invalid_name');
    assert.match(error.message, /has 4\d bytes, and at most 40 are accepted: publish to a shorter topic/);
  }
});

test('topics that cannot be stored do not evict topics that can', () => {
  const mixed = new Router(defaultRoutes('durable'));
  const known = mixed.resolve('sensors/site-3/boiler/temperature');
  for (let number = 0; number < 100_000; number++) mixed.resolve(`sensors/not-valid-${number}//m`);
  assert.equal(mixed.resolve('sensors/site-3/boiler/temperature'), known);
});

test('topics of one length above 16 KB are looked up as quickly as others', () => {
  const wide = new Router(defaultRoutes('durable'), { maxTopicBytes: 65_535 });
  // As keys of one map, 3,000 of them take 3,000 x 3,000 / 2 comparisons of 60 KB: minutes.
  const topics = Array.from(
    { length: 3000 },
    (_, number) => `sensors/d/${'x'.repeat(60_000)}${number + 1e6}`,
  );
  const begun = performance.now();
  for (const topic of topics) assert.equal(wide.resolve(topic).error?.reason, 'invalid_name');
  assert.ok(performance.now() - begun < 20_000);
});

test('a message from HTTP can be decoded again from its topic', () => {
  const message = httpMessage(
    'text/plain; charset=utf-8',
    new URLSearchParams('device=a/b&metric=m'),
    Buffer.from('2.5'),
  );
  assert.equal(message.topic, 'POST /readings?device=a%2Fb&metric=m');
  const decoded = decodeMessage(router, message, received);
  assert.ok(!(decoded instanceof DecodeError));
  assert.deepEqual(
    decoded.readings.map(({ device, metric, value }) => [device, metric, value]),
    [['a/b', 'm', 2.5]],
  );
});

test('an MQTT topic that looks like an HTTP request line is an ordinary topic', () => {
  const names = new URLSearchParams('device=a&metric=m');
  const http = httpMessage('text/plain', names, Buffer.from('2.5'));
  const decoded = decodeMessage(router, { ...http, source: 'mqtt' }, received);
  assert.ok(decoded instanceof DecodeError);
  assert.equal(decoded.reason, 'unknown_topic');
});

test('only the readings of a part are selected, and all of them when the payload decodes differently now', () => {
  const payload = Buffer.from(JSON.stringify([1, 2, 3].map((v) => ({ t: 1_790_000_000 + v, v }))));
  const message = { source: 'mqtt', topic: 'sensors/a/m', format: 'auto', payload } as const;
  const valuesOf = (part: Part) => {
    const decoded = decodeMessage(router, { ...message, part }, received);
    assert.ok(!(decoded instanceof DecodeError), String(decoded));
    return [decoded.readings.map(({ value }) => value), decoded.part];
  };
  const some = { of: 3, places: [0, 2] };
  assert.deepEqual(valuesOf(some), [[1, 3], some]);
  assert.deepEqual(valuesOf({ of: 4, places: [3] }), [[1, 2, 3], null]);
});

test('invalid names and media types are refused before anything is decoded', () => {
  const status = (type: string, query: string) => {
    try {
      httpMessage(type, new URLSearchParams(query), Buffer.from('1'));
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
