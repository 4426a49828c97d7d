import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DecodeError, presetNames, presets } from '@tidegauge/readings';
import { ConfigError } from '@tidegauge/service';
import { subscriptions } from '../../src/broker-source.ts';
import { decodeMessage } from '../../src/raw-message.ts';
import { Router } from '../../src/routes.ts';
import { parseRoutes } from '../../src/routes-file.ts';

const RECEIVED = 1_795_000_000_000_000;

function mistakes(text: string): readonly string[] {
  try {
    parseRoutes(text, 'routes.yml', 'durable');
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.problems;
  }
  return [];
}

/** Device, metric and value of each reading. */
function decode(router: Router, topic: string, payload: unknown) {
  const bytes = Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
  const message = { source: 'mqtt', topic, payload: bytes, format: 'auto', part: null } as const;
  const decoded = decodeMessage(router, message, RECEIVED, true);
  if (decoded instanceof DecodeError) return decoded.reason;
  return decoded.readings.map(({ device, metric, value }) => [device, metric, value]);
}

function routerOf(text: string): Router {
  return new Router(parseRoutes(text, 'routes.yml', 'durable').routes);
}

test('each mistake has file, line, column, key and what is valid', () => {
  assert.deepEqual(
    mistakes(`
- topic: a/{device}/{metric}
  formatt: json
  qos: 3
- topic: b/#
  mapping:
    time: { field: t, zone: Europe/Berln }
    units: { t: 5 }
    drops: [x]
- preset: zigbee2mqt
- name: x
- base: b
  topic: c
- topic: d
  format: json
  mapping: {}
- 5
- topic: e
  format: influx
  influx: { precisoin: ns, precision: us, metric: 5 }
`),
    [
      'routes.yml:3:3: [1].formatt: formatt is not a key of a route (name, topic, format, preset, base, mapping, influx, qos, retained, ack, filter, zone): did you mean format?',
      'routes.yml:4:8: [1].qos: 3 is not one of 0, 1, 2',
      'routes.yml:7:29: [2].mapping.time.zone: "Europe/Berln" is not a time zone; give a name of the IANA database such as Europe/Berlin, or UTC',
      'routes.yml:8:17: [2].mapping.units.t: 5 is not a unit, a text of 1 to 64 characters',
      'routes.yml:9:5: [2].mapping.drops: drops is not a key of a mapping (records, parse, device, metric, value, unit, time, keep, drop, rename, values, units, scale, offset, decimal): did you mean drop?',
      `routes.yml:10:11: [3].preset: "zigbee2mqt" is not one of ${presetNames.join(', ')}: did you mean zigbee2mqtt?`,
      'routes.yml:11:3: [4]: topic is missing; a route has a topic, a preset or both',
      'routes.yml:12:9: [5].base: only a preset has a base topic',
      'routes.yml:12:9: [5].base: topic replaces all topics of the preset: leave base out',
      'routes.yml:15:11: [6].format: a mapping or preset reads JSON and plain values, with the format auto: leave format out',
      'routes.yml:17:3: [7]: a route must have at least a topic or a preset',
      'routes.yml:20:13: [8].influx.precisoin: precisoin is not a key of influx (device, metric, precision): did you mean precision?',
      'routes.yml:20:51: [8].influx.metric: it must be a text',
    ],
  );
  assert.match(mistakes('- topic: [').join(), /^routes\.yml:1:\d+: /);
  assert.deepEqual(mistakes('{}'), [
    'routes.yml:1:1: it must be a list of routes, each with a topic or a preset',
  ]);
  assert.match(
    mistakes('- topic: a\n  name: x\n- topic: b\n  name: x\n').join(),
    /routes\.yml:4:9: \[2\]\.name: two routes/,
  );
});

test('a unit that is not registered is a warning', () => {
  const { warnings } = parseRoutes(
    '- topic: a/{device}\n  mapping: { units: { t: Celsus } }\n',
    'r.yml',
    'durable',
  );
  assert.deepEqual(warnings, [
    'r.yml:2:26: [1].mapping.units.t: "Celsus" is not in the SenML registry; it is used as it is',
  ]);
});

test('a route with a mapping decodes by it, with the levels of its topic', () => {
  const router = routerOf(`
- topic: homie/{unit}/{node}/{metric}
  mapping:
    device: '{unit}/{node}'
    values: { mode: text }
`);
  assert.deepEqual(decode(router, 'homie/heat pump/tank/temperature', '48.5 °C'), [
    ['heat~20pump/tank', 'temperature', 48.5],
  ]);
  assert.deepEqual(router.routes[0]?.notes.units(), [
    { device: 'heat~20pump/tank', metric: 'temperature', unit: 'Cel' },
  ]);
  assert.deepEqual(decode(router, 'homie/hp/tank/mode', 'eco'), [['hp/tank', 'mode', 'eco']]);
  assert.match(mistakes('- topic: homie/{unit}/{node}\n').join(), /no template of the mapping uses \{unit\}/);
});

test('a preset is one route for each of its topics, below its base or another one', () => {
  for (const name of presetNames) {
    const { routes } = parseRoutes(`- preset: ${name}\n`, 'r.yml', 'durable');
    assert.equal(routes.length, presets[name]!.routes.length);
    assert.equal(new Set(routes.map((route) => route.name)).size, routes.length);
  }
  const router = routerOf('- preset: zigbee2mqtt\n  base: home/z2m\n');
  assert.deepEqual(
    decode(router, 'home/z2m/Kitchen/Lamp', { state: 'ON', brightness: 254, update: { state: 'idle' } }),
    [
      ['Kitchen/Lamp', 'state', 1],
      ['Kitchen/Lamp', 'brightness', 254],
    ],
  );
  assert.deepEqual(decode(router, 'home/z2m/Kitchen/Lamp/availability', 'offline'), [
    ['Kitchen/Lamp', 'availability', 0],
  ]);
  assert.deepEqual(decode(router, 'home/z2m/bridge/devices', [{ ieee_address: '0x00' }]), []);
});

test('keys of the mapping of a route change its preset', () => {
  const router = routerOf(`
- preset: tasmota
  topic: haus/{device}/SENSOR
  mapping:
    time: { zone: Europe/Berlin }
    rename: { 'SI7021.*': '*' }
`);
  const payload = { Time: '2026-11-18T12:00:00', SI7021: { Temperature: 21.5 }, TempUnit: 'C' };
  assert.deepEqual(decode(router, 'haus/attic/SENSOR', payload), [['attic', 'Temperature', 21.5]]);
  const bytes = Buffer.from(JSON.stringify(payload));
  const { route, ...names } = router.resolve('haus/attic/SENSOR');
  const decoded = route!.decode(bytes, { ...names, received: RECEIVED });
  assert.ok(!(decoded instanceof DecodeError));
  assert.equal(decoded[0]?.time, Date.UTC(2026, 10, 18, 11) * 1000);
});

test('topics that are ignored are not subscribed to, nor filters that another one covers', () => {
  const { routes } = parseRoutes(
    '- preset: zigbee2mqtt\n- topic: a/+/c\n- topic: a/b/c\n- topic: a/b/d\n- topic: a/b/+\n  qos: 0\n- topic: +/x\n- topic: $SYS/x\n',
    'r.yml',
    'durable',
  );
  assert.deepEqual(
    subscriptions(routes, null).map(({ filter, qos }) => `${filter} ${qos}`),
    ['zigbee2mqtt/# 1', 'a/+/c 1', 'a/b/d 1', 'a/b/+ 0', '+/x 1', '$SYS/x 1'],
  );
});
