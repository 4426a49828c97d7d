import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  checkMapping,
  compileMapping,
  type DecodeContext,
  DecodeError,
  type MappingOptions,
  presetMapping,
  presets,
} from '@tidegauge/readings';
import { decodeMessage } from '../senders/decode-message.ts';
import { RECEIVED } from './helpers.ts';

const AT_HUB: DecodeContext = { device: 'hub', metric: null, received: RECEIVED };

function map(options: MappingOptions, payload: string, context = AT_HUB) {
  assert.deepEqual(checkMapping(options), []);
  const ignored: string[] = [];
  const notes = {
    unit: () => {},
    ignored: (field: string, why: string) => void ignored.push(`${field}: ${why}`),
  };
  const decoded = compileMapping(options)(Buffer.from(payload), { ...context, notes });
  if (decoded instanceof DecodeError) assert.fail(`${decoded}`);
  return { readings: decoded.map(({ device, metric, value }) => [device, metric, value]), ignored };
}

describe('what presets need of a mapping', () => {
  it('is JSON in a text', () => {
    const payload = '{"fCnt":33,"objectJSON":"{\\"Bat\\":3.336,\\"Distance\\":249}"}';
    assert.deepEqual(map({ parse: { objectJSON: 'json' } }, payload).readings, [
      ['hub', 'fCnt', 33],
      ['hub', 'objectJSON.Bat', 3.336],
      ['hub', 'objectJSON.Distance', 249],
    ]);
  });

  it('is a note for a text that is something else', () => {
    const { readings, ignored } = map({ parse: { 'a.b': 'json' } }, '{"a":{"b":"{oops","c":1}}');
    assert.deepEqual(readings, [['hub', 'a.c', 1]]);
    assert.deepEqual(ignored, ['a.b: it cannot be parsed as json']);
  });

  it('is a known name of what a text holds', () => {
    const [problem] = checkMapping({ parse: { data: 'ruuvy' } });
    assert.deepEqual(problem?.path, ['parse', 'data']);
    assert.deepEqual(problem.known, ['json', 'ruuvi', 'meshtastic']);
  });

  it('is numbers, states and other words under one metric', () => {
    const context = { ...AT_HUB, metric: 'mode' };
    const mapping = { values: { '*': 'any' } } as const;
    const value = (payload: string) => map(mapping, payload, context).readings[0]?.[2];
    assert.equal(value('21.5'), 21.5);
    assert.equal(value('ON'), 1);
    assert.equal(value('"off"'), 0);
    assert.equal(value('heating'), 'heating');
    assert.equal(value('unavailable'), undefined);
  });

  it('is places of a template that may stay empty', () => {
    const device = '{host|}/{model}/{channel|}/{id|}';
    const nameOf = (payload: string) => map({ device, keep: ['v'] }, payload).readings[0]?.[0];
    assert.equal(nameOf('{"host":"pi","model":"M","channel":2,"id":7,"v":1}'), 'pi/M/2/7');
    assert.equal(nameOf('{"model":"M","id":7,"v":1}'), 'M/7');
    assert.equal(nameOf('{"host":"pi","model":"M","v":1}'), 'pi/M');
  });

  it('is a metric of the topic before each field, and alone for a single value', () => {
    const context = { ...AT_HUB, metric: 'status' };
    const mapping = { metric: '{metric}.{field}' };
    assert.deepEqual(map(mapping, '{"rssi":-60}', context).readings, [['hub', 'status.rssi', -60]]);
    assert.deepEqual(map(mapping, '4', context).readings, [['hub', 'status', 4]]);
  });

  it('is a single value that is dropped by its metric', () => {
    assert.deepEqual(map({ drop: ['$*'] }, 'any text', { ...AT_HUB, metric: '~24name' }).readings, []);
  });

  it('is an exact result of a scale such as 1e-7', () => {
    const { readings } = map({ scale: { lat: 1e-7, wh: 1 / 60 } }, '{"lat":208759687,"wh":94736}');
    assert.deepEqual(readings, [
      ['hub', 'lat', 20.8759687],
      ['hub', 'wh', 94736 / 60],
    ]);
  });

  it('is an empty payload, which deletes a retained message', () => {
    assert.deepEqual(map({}, ''), { readings: [], ignored: ['(payload): it is empty'] });
  });
});

describe('the mapping of a preset for a route with its own topic', () => {
  it('is that of the topic with the same end', () => {
    const { routes } = presets.tasmota!;
    const state = routes.find(({ topic }) => topic === 'tele/{device}/STATE');
    assert.equal(presetMapping(presets.tasmota!, 'home/tele/{device+}/STATE'), state?.mapping);
  });

  it('is the first one when no topic has the same end', () => {
    const first = presets.tasmota!.routes[0]!.mapping;
    assert.equal(presetMapping(presets.tasmota!, 'home/+/{device}/anything'), first);
  });

  it('is the most general one of several with the same end', () => {
    const routes = ['lock', '+', 'cover'].map((type) => ({
      topic: `{device}/${type}/{metric}/state`,
      mapping: { metric: type },
    }));
    const preset = { name: 'x', title: 'x', base: '', routes };
    assert.equal(presetMapping(preset, 'home/{device}/{metric}/state'), routes[1]?.mapping);
  });
});

const MESH = 'msh/EU_868/2/json/LongFast/!ba0dd62c';

// The words are those of the documentation of each sender.
describe('the mapping of a preset', () => {
  const cases = [
    ['shelly', 'shellies/x/relay/0', 'on', [['x', 'relay.0', 1]]],
    ['shelly', 'shellies/x/relay/0', 'overpower', []],
    ['shelly', 'shellies/x/roller/0', 'open', [['x', 'roller.0', 'open']]],
    ['shelly', 'shellies/x/roller/0', 'stop', [['x', 'roller.0', 'stop']]],
    ['shelly', 'shellies/x/roller/0/pos', '55', [['x', 'roller.0.pos', 55]]],
    ['shelly', 'shellies/x/roller/0/command', 'stop', []],
    ['shelly', 'shellies/x/roller/0/command/pos', '55', []],
    ['shelly', 'shellies/x/light/0/set', '{"turn":"on","brightness":50}', []],
    ['shelly', 'shellies/x/command/switch:0', 'on', []],
    [
      'shelly',
      'x/status/switch:0',
      '{"id":0,"errors":["overpower"]}',
      [['x', 'switch:0.errors.0', 'overpower']],
    ],
    [
      'shelly',
      'x/events/rpc',
      '{"params":{"events":[{"component":"bthomedevice:200","id":200,"idx":2,"event":"single_push"}]}}',
      [['x', 'bthomedevice:200.2.event', 'single_push']],
    ],
    [
      'shelly',
      'x/events/rpc',
      '{"params":{"events":[{"component":"ble","event":"ble.scan_result","data":[2,[["a1",-50,"AQ=="]]]}]}}',
      [
        ['x', 'ble.event', 'ble.scan_result'],
        ['x', 'ble.data.0', 2],
      ],
    ],
    ['esphome', 'n/sensor/x/state', '43.1', [['n', 'x', 43.1]]],
    ['esphome', 'n/switch/x/state', 'ON', [['n', 'switch.x', 1]]],
    ['esphome', 'n/binary_sensor/x/state', 'OFF', [['n', 'binary_sensor.x', 0]]],
    ['esphome', 'n/cover/x/state', 'open', [['n', 'cover.x', 'open']]],
    ['esphome', 'n/cover/x/position/state', '50', [['n', 'cover.x.position', 50]]],
    ['esphome', 'n/event/x/state', '{"event_type":"single"}', [['n', 'event.x.event_type', 'single']]],
    ['esphome', 'n/climate/x/mode/state', 'off', [['n', 'climate.x.mode', 'off']]],
    ['esphome', 'n/climate/x/mode/state', 'heat', [['n', 'climate.x.mode', 'heat']]],
    [
      'esphome',
      'n/climate/x/target_temperature/state',
      '21.5',
      [['n', 'climate.x.target_temperature', 21.5]],
    ],
    ['tasmota', 'stat/x/RESULT', '{"Button1":{"Action":"SINGLE"}}', [['x', 'Button1.Action', 'SINGLE']]],
    ['tasmota', 'stat/x/RESULT', '{"Switch1":{"Action":"TOGGLE"}}', [['x', 'Switch1.Action', 'TOGGLE']]],
    ['tasmota', 'stat/x/RESULT', '{"ButtonDebounce":50}', []],
    ['tasmota', 'tele/x/SENSOR', '{"DS18B20":{"Id":"121937000000"}}', [['x', 'DS18B20.Id', '121937000000']]],
    ['theengs', 'home/x/BTtoMQTT/A', '{"device":"Tracker","tempc":2}', [['A', 'tempc', 2]]],
    ['theengs', 'home/x/RTL_433toMQTT/Nexa/3/7', '{"state":"ON","unit":2}', [['Nexa/3/7/2', 'state', 'ON']]],
    ['zwave-js-ui', 'zwave/a/x/switch_binary/endpoint_0/currentValue/set', 'true', []],
    ['zwave-js-ui', 'zwave/a/x/switch_binary/endpoint_0/currentValue/set', '{"value":true}', []],
    [
      'meshtastic',
      MESH,
      '{"from":1,"payload":{"battery_level":90,"voltage":4.1}}',
      [
        ['1', 'battery_level', 90],
        ['1', 'voltage', 4.1],
      ],
    ],
    [
      'meshtastic',
      MESH,
      '{"from":1,"payload":{"voltage":12.6,"current":300}}',
      [
        ['1', 'current', 300],
        ['1', 'environment_voltage', 12.6],
      ],
    ],
    [
      'meshtastic',
      MESH,
      '{"from":1,"type":"waypoint","payload":{"id":5,"name":"12","expire":0,"latitude_i":208759687}}',
      [
        ['1', 'waypoint.name', '12'],
        ['1', 'waypoint.latitude', 20.8759687],
      ],
    ],
    ['meshtastic', MESH, '{"from":1,"type":"text","payload":42}', [['1', 'text', '42']]],
    [
      'meshtastic',
      'msh/EU_868/2/json/mqtt/',
      '{"from":1,"type":"sendposition","payload":{"latitude_i":1}}',
      [],
    ],
    ['home-assistant', 'homeassistant/climate/x/state', 'off', [['climate/x', 'state', 'off']]],
    ['home-assistant', 'homeassistant/climate/x/state', 'heat', [['climate/x', 'state', 'heat']]],
    ['home-assistant', 'homeassistant/person/x/state', 'not_home', [['person/x', 'state', 'not_home']]],
    ['home-assistant', 'homeassistant/switch/x/state', 'off', [['switch/x', 'state', 0]]],
  ] as const;
  for (const [preset, topic, payload, expected] of cases) {
    it(`reads ${topic} ${payload}`, () => {
      const { readings } = decodeMessage({ source: 'documentation', preset, topic, payload, readings: [] });
      if (readings instanceof DecodeError) assert.fail(`${readings}`);
      assert.deepEqual(
        readings.map(({ device, metric, value }) => [device, metric, value]),
        expected,
      );
    });
  }
});
