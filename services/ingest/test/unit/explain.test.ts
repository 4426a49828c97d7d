import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explain } from '../../src/explain.ts';
import { printExplanation } from '../../src/explain-text.ts';
import { Router } from '../../src/routes.ts';
import { parseRoutes } from '../../src/routes-file.ts';

const RECEIVED = Date.UTC(2026, 10, 21, 12) * 1000;
const router = new Router(
  parseRoutes(
    `
- preset: tasmota
- topic: plant/{device}/{metric}
- topic: text/{device}
  mapping: { units: { level: '%' } }
`,
    'routes.yml',
    'durable',
  ).routes,
);

const of = (topic: string, payload: string) => explain(router, topic, Buffer.from(payload), RECEIVED);

test('an explanation has route, names, readings with units, and ignored fields with reasons', () => {
  const found = of(
    'tele/attic/SENSOR',
    '{"Time":"2026-11-21T13:00:00","SI7021":{"Temperature":21.5,"Humidity":null},"TempUnit":"C"}',
  );
  assert.deepEqual(found, {
    topic: 'tele/attic/SENSOR',
    route: { name: 'tasmota', topic: 'tele/{device}/SENSOR', format: 'auto', preset: 'tasmota' },
    device: 'attic',
    metric: null,
    total: 1,
    readings: [
      {
        device: 'attic',
        metric: 'SI7021.Temperature',
        time: '2026-11-21T12:00:00.000000Z',
        value: 21.5,
        received: '2026-11-21T12:00:00.000000Z',
        quality: 'ok',
        unit: 'Cel',
      },
    ],
    ignored: [
      {
        field: 'Time',
        reason: 'it is a local time without a zone, so the time of receipt is used: set the zone of time',
      },
      { field: 'SI7021.Humidity', reason: 'it is null' },
    ],
  });
  assert.equal(router.routes[0]?.notes.ignoredTotal, 0, 'an explanation is not counted');
});

test('an explanation of a message that would be quarantined has the reason and a setting', () => {
  const unknown = of('zigbee2mqtt/lamp', '{"state":"ON"}');
  assert.equal(unknown.route, null);
  assert.equal(unknown.error?.reason, 'unknown_topic');
  assert.match(unknown.fix ?? '', /- preset: zigbee2mqtt, or - topic: zigbee2mqtt\/\{device\}/);
  assert.match(of('a/b/c/d', '1').fix ?? '', /^add a route: - topic: a\/\{device\+\}\/\{metric\}$/);
  assert.match(of('plant/pump/state', '{"time":"12:30","v":1}').fix ?? '', /time: \{ field: NAME, zone/);
  assert.match(of('plant/pump/mode', 'heating').fix ?? '', /format: text, or mapping: \{ values/);
});

test('an explanation is printed as lines for people', () => {
  const text = printExplanation(of('text/tank', '{"level":7,"error":null}'));
  assert.equal(
    text,
    `topic    text/tank
route    route-3 (text/{device}), format auto
device   tank

reading  tank level = 7 % at 2026-11-21T12:00:00.000000Z (ok)
ignored  error: it is null
`,
  );
  assert.match(
    printExplanation(of('plant/pump/mode', 'heating')),
    /^quarantine {2}malformed: .*\nfix {6}set how/m,
  );
  assert.match(printExplanation(of('plant/pump/mode', 'unavailable')), /nothing to store/);
});
