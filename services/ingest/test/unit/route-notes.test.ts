import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeMessage, httpMessage } from '../../src/raw-message.ts';
import { RouteNotes } from '../../src/route-notes.ts';
import { Router } from '../../src/routes.ts';
import { defaultRoutes } from '../../src/routes-file.ts';

const PACK = Buffer.from('[{"bn":"pump/","n":"rpm","u":"1/min","v":900},{"n":"open","vb":true}]');

test('an ignored field is listed once, with its first reason and its count', () => {
  const notes = new RouteNotes();
  notes.ignored('update.state', 'it is null');
  notes.ignored('update.state', 'it is an empty object');
  notes.ignored('color', 'it is a colour');
  assert.equal(notes.ignoredTotal, 3);
  assert.deepEqual(notes.ignoredFields(), [
    { field: 'update.state', reason: 'it is null', count: 2 },
    { field: 'color', reason: 'it is a colour', count: 1 },
  ]);
});

test('fields that publishers invent do not fill the memory, and are counted', () => {
  const notes = new RouteNotes();
  for (let number = 0; number < 10_000; number++) notes.ignored(`field-${number}`, 'it is null');
  const listed = notes.ignoredFields().length;
  assert.ok(listed > 100 && listed < 400, `${listed}`);
  assert.equal(notes.ignoredUnlisted, 10_000 - listed);
  notes.ignored('field-0', 'it is null');
  assert.equal(notes.ignoredFields()[0]?.count, 2, 'listed fields are still counted');
});

test('a name that is in no series is marked when it changes within one', () => {
  const router = new Router(defaultRoutes('durable'));
  const { notes } = router.routes[0]!;
  const send = (topic: string, payload: object) => {
    const bytes = Buffer.from(JSON.stringify(payload));
    const message = { source: 'mqtt', topic, payload: bytes, format: 'auto', part: null } as const;
    decodeMessage(router, message, 1_795_000_000_000_000, true);
  };
  const reasons = () => notes.doubts().map(({ field, reason }) => `${field} ${reason}`);
  for (const temp of [1, 2]) send('sensors/a/all', { mac: 'A4', temp });
  send('sensors/b/all', { mac: 'B5', temp: 1 });
  assert.match(reasons().join(), /^mac it can be the name of a sender/, 'other devices have other names');
  send('sensors/a/all', { mac: 'B5', temp: 1 });
  for (const mac of ['A4', 'B5']) send('sensors/a/all', { devices: [{ mac, temp: 1 }] });
  const [mac = '', place = ''] = reasons();
  assert.match(mac, /^mac its value changes within one series; it can be the name of a sender/);
  assert.match(place, /^devices\.\*\.mac its value changes within one series; elements of an array/);
  assert.equal(notes.doubts()[0]?.count, 4);
});

test('each unit is reported, and the list of units is bounded', () => {
  const notes = new RouteNotes();
  const reported: string[] = [];
  notes.onUnit = (name, _device, _metric, unit) => reported.push(`${name} ${unit}`);
  notes.unit('a', 'm', 'Cel');
  notes.unit('a', 'm', 'Cel');
  notes.unit('a', 'm', 'K');
  assert.deepEqual(reported, ['a m Cel', 'a m Cel', 'a m K']);
  assert.deepEqual(notes.units(), [{ device: 'a', metric: 'm', unit: 'K' }]);
  notes.unit('b', 'm', 'x'.repeat(1000));
  assert.equal(notes.units().length, 1, 'a unit of 1,000 characters is no unit');
  for (let number = 0; number < 20_000; number++) notes.unit(`device-${number}`, 'm', 'Cel');
  const kept = notes.units();
  assert.ok(kept.length > 500 && kept.length < 4000, `${kept.length}`);
  assert.equal(new Set(kept.map(({ device }) => device)).size, kept.length, 'each series is listed once');
});

test('the units of a message are recorded for its route, and those of HTTP separately', () => {
  const router = new Router(defaultRoutes('durable'));
  const message = {
    source: 'mqtt',
    topic: 'sensors/gw/all',
    payload: PACK,
    format: 'auto',
    part: null,
  } as const;
  decodeMessage(router, message, 1_795_000_000_000_000);
  assert.deepEqual(
    router.routes[0]?.notes.units(),
    [],
    'a message that is decoded again is not recorded again',
  );
  decodeMessage(router, message, 1_795_000_000_000_000, true);
  assert.deepEqual(router.routes[0]?.notes.units(), [
    { device: 'gw/all/pump', metric: 'rpm', unit: '1/min' },
  ]);
  const http = httpMessage('application/senml+json', new URLSearchParams('device=x'), PACK);
  decodeMessage(router, http, 1_795_000_000_000_000, true);
  assert.deepEqual(router.httpNotes.units(), [{ device: 'x/pump', metric: 'rpm', unit: '1/min' }]);
});
