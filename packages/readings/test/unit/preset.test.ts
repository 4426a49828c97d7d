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
    assert.deepEqual(problem.known, ['json', 'ruuvi']);
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
});
