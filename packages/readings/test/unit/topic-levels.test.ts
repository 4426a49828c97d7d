import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  compileMapping,
  compileTopicTemplate,
  type Decode,
  DecodeError,
  formats,
  type MappingOptions,
  templateNames,
} from '@tidegauge/readings';
import fc from 'fast-check';
import { RECEIVED } from './helpers.ts';

/** `device metric` of the readings of a message, or the reason and message of a refusal. */
function series(
  topic: string,
  payload: string,
  {
    template = 'sensors/{device+}/{metric}',
    decode = formats.auto!,
    drops = false,
    captures = [] as readonly string[],
  } = {},
): string[] {
  const names = compileTopicTemplate(template, { captures }).match(topic);
  assert.ok(names !== null && !(names instanceof DecodeError), `${template} ${topic}`);
  const { full, ...others } = names;
  const context = { ...others, topic, received: RECEIVED, ...(drops ? {} : { full }) };
  const decoded = decode(Buffer.from(payload), context);
  if (decoded instanceof DecodeError) return [`${decoded.reason}: ${decoded}`];
  return decoded.map(({ device, metric }) => `${device} ${metric}`);
}

function mapped(mapping: MappingOptions, topic: string, payload: string, template?: string): string[] {
  const options = { decode: compileMapping(mapping) as Decode, captures: templateNames(mapping) };
  return series(topic, payload, template === undefined ? options : { ...options, template });
}

/** Payloads in which the value has a name, and the metric that it becomes. */
const NAMED: Readonly<Record<string, string>> = {
  '{"temperature":21.5}': 'temperature',
  '{"temperature":21.5,"t":1795262399}': 'temperature',
  '{"temperature":21.5,"last_seen":"2026-11-21T11:00:00Z"}': 'temperature',
  '{"temperature":null,"x":{"y":1}}': 'x.y',
  '{"metric":"temperature","v":21.5}': 'temperature',
  '[{"temperature":21.5}]': 'temperature',
  '{"readings":[{"temperature":21.5}]}': 'temperature',
  '[{"name":"temperature","value":21.5}]': 'temperature',
  '[{"name":"temperature","value":21.5,"t":1795262399}]': 'temperature',
  '{"air":{"co2":412}}': 'air.co2',
  '{"co2":{"value":412,"unit":"ppm"}}': 'co2',
  '{"co2":NaN,"hum":45}': 'hum',
  '[{"n":"temperature","v":21.5}]': 'temperature',
  '{"device":"kitchen","temperature":21.5}': 'temperature',
  'air temperature=21.5': 'air.temperature',
};

/** Payloads in which the value has no name. */
const UNNAMED = [
  '21.5',
  '21.5 °C',
  'open',
  '"warm"',
  '{"v":21.5}',
  '{"value":21.5,"unit":"°C"}',
  '{"v":21.5,"t":1795262399,"boot":"a","seq":1}',
  '[{"v":21.5,"t":1795262399}]',
  '[{"v":21.5}]',
];

describe('the last level of a topic', () => {
  it('is the last segment of the device of a value that has a name', () => {
    for (const [payload, metric] of Object.entries(NAMED)) {
      for (const sensor of ['bme280', 'scd41', 'all', 'state'])
        assert.deepEqual(
          series(`sensors/kitchen/${sensor}`, payload),
          [`kitchen/${sensor} ${metric}`],
          payload,
        );
      assert.deepEqual(
        series('sensors/kitchen/bme280', payload, { drops: true }),
        [`kitchen ${metric}`],
        payload,
      );
    }
  });

  it('is the metric of a value without a name', () => {
    for (const payload of UNNAMED)
      for (const drops of [false, true])
        assert.deepEqual(series('sensors/kitchen/level', payload, { drops }), ['kitchen level'], payload);
    const senml = '[{"u":"Cel","bt":1795262399,"v":21.5}]';
    const decode = formats['senml-json']!;
    assert.deepEqual(series('sensors/kitchen/level', senml, { decode }), ['kitchen level']);
    assert.deepEqual(series('sensors/kitchen/level', '[{"n":"shelf:","v":1}]', { decode }), [
      'kitchen/shelf level',
    ]);
  });

  it('is the metric when the value has the same name', () => {
    const payloads = [
      '{"temperature":21.5}',
      '{"metric":"temperature","v":1}',
      '[{"n":"temperature","v":1}]',
      '[{"bn":"kitchen/","n":"temperature","v":1}]',
      '{"temperature":21.5,"x":null}',
    ];
    for (const payload of payloads)
      assert.deepEqual(series('sensors/kitchen/temperature', payload), ['kitchen temperature'], payload);
    assert.deepEqual(series('sensors/a/air.t', 'air t=1,u=2'), ['a air.t', 'a/air.t air.u']);
  });

  it('does not depend on the other fields of the payload', () => {
    const topic = 'sensors/kitchen/temperature';
    assert.deepEqual(series(topic, '{"v":1,"rssi":-60}'), [
      'kitchen temperature',
      'kitchen/temperature rssi',
    ]);
    assert.deepEqual(series(topic, '{"v":1,"rssi":-60,"x":{"y":1}}'), [
      ...['kitchen temperature', 'kitchen/temperature rssi', 'kitchen/temperature x.y'],
    ]);
    assert.deepEqual(series(topic, '{"v":1,"temperature":2}').length, 1);
  });

  it('is above a device of the payload, which can repeat the device of the topic', () => {
    const topic = 'sensors/gateway/all';
    for (const device of ['pump', 'gateway/pump', 'gateway/all/pump'])
      assert.deepEqual(series(topic, `{"device":"${device}","rpm":1}`), ['gateway/all/pump rpm'], device);
    for (const device of ['gateway', 'gateway/all'])
      assert.deepEqual(series(topic, `{"device":"${device}","rpm":1}`), ['gateway/all rpm'], device);
    assert.deepEqual(series('sensors/gateway/flow', '{"device":"pump","v":1}'), ['gateway/pump flow']);
    assert.deepEqual(series(topic, '[{"bn":"urn:dev:1:","n":"rpm","v":1}]'), ['gateway/all/urn:dev:1 rpm']);
    assert.deepEqual(series(topic, 'cpu,host=pi idle=1'), ['gateway/all/pi cpu.idle']);
  });

  it('can be several levels, in any place of the topic', () => {
    const payload = '{"temperature":21.5}';
    const levels = (template: string, topic: string) => series(topic, payload, { template });
    assert.deepEqual(levels('s/{device}/{metric+}', 's/kitchen/shelf/bme280'), [
      'kitchen/shelf/bme280 temperature',
    ]);
    assert.deepEqual(levels('{metric}/{device+}', 'air/a/kitchen'), ['a/kitchen/air temperature']);
    assert.deepEqual(levels('house/{metric}', 'house/bme280'), ['bme280 temperature']);
    assert.deepEqual(levels('s/{device}/+', 's/kitchen/bme280'), ['kitchen temperature']);
    assert.deepEqual(levels('sensors/{device+}/{metric}', 'sensors/kitchen/my sensor'), [
      'kitchen/my~20sensor temperature',
    ]);
  });

  it('refuses a named value when the device has more than 8 segments, and takes one without a name', () => {
    const topic = 'sensors/1/2/3/4/5/6/7/8/bme280';
    assert.deepEqual(series(topic, '21.5'), ['1/2/3/4/5/6/7/8 bme280']);
    assert.deepEqual(series(topic, '{"v":21.5}'), ['1/2/3/4/5/6/7/8 bme280']);
    assert.deepEqual(series(topic, '{"bme280":21.5}'), ['1/2/3/4/5/6/7/8 bme280']);
    for (const payload of Object.keys(NAMED))
      assert.match(
        series(topic, payload)[0]!,
        /^invalid_name: .*1\/2\/3\/4\/5\/6\/7\/8\/bme280.*at most 8 segments; write \+ for a level/,
        payload,
      );
    const long = `sensors/${'x'.repeat(200)}/bme280`;
    assert.match(series(long, '{"temperature":1}')[0]!, /invalid_name: .*at most 200 characters/);
    assert.deepEqual(series(topic, '{"temperature":1}', { drops: true }), ['1/2/3/4/5/6/7/8 temperature']);
  });

  it('keeps topics apart for any names', () => {
    const level = fc.stringMatching(/^[a-z][a-z0-9]{0,3}$/);
    const topic = fc
      .array(level, { minLength: 2, maxLength: 6 })
      .map((levels) => `sensors/${levels.join('/')}`);
    fc.assert(
      fc.property(topic, topic, fc.constantFrom(...Object.keys(NAMED)), (one, other, payload) => {
        fc.pre(one !== other);
        const found = series(one, payload).filter((name) => series(other, payload).includes(name));
        assert.deepEqual(found, []);
      }),
    );
  });
});

describe('the last level of a topic, with a mapping', () => {
  const topic = 'sensors/kitchen/bme280';

  it('is in the device unless a template names it', () => {
    const payload = '{"data":{"t1":1},"mac":"A4"}';
    const cases: [MappingOptions, string[]][] = [
      [{ drop: ['mac'] }, ['kitchen/bme280 data.t1']],
      [{ records: 'data' }, ['kitchen/bme280 t1']],
      [{ records: 'data', device: 'house/{device}' }, ['house/kitchen/bme280 t1']],
      [{ records: 'data', device: '{device}/{mac}' }, ['kitchen/bme280/A4 t1']],
      [{ records: 'data', device: '{metric}/{mac}' }, ['bme280/A4 t1']],
      [{ records: 'data', metric: '{metric}.{field}' }, ['kitchen bme280.t1']],
      [{ records: 'data', metric: 'x.{field}' }, ['kitchen/bme280 x.t1']],
      [{ records: 'data', device: '{mac}' }, ['A4 t1']],
      [{ value: 'data.t1' }, ['kitchen bme280']],
      [{ value: 'data.t1', metric: 'temperature' }, ['kitchen/bme280 temperature']],
      [{ value: 'data.t1', metric: '{metric}' }, ['kitchen bme280']],
      [{ value: 'data' }, ['kitchen bme280.t1']],
      [{ records: 'data', rename: { t1: 'bme280' } }, ['kitchen bme280']],
    ];
    for (const [mapping, expected] of cases)
      assert.deepEqual(mapped(mapping, topic, payload), expected, JSON.stringify(mapping));
  });

  it('is the metric of a value without a name', () => {
    for (const payload of ['21.5', '{"v":1}', '{"value":1,"unit":"C"}'])
      assert.deepEqual(mapped({}, topic, payload), ['kitchen bme280'], payload);
    assert.deepEqual(mapped({}, topic, '[1,2]'), ['kitchen bme280.0', 'kitchen bme280.1']);
    assert.deepEqual(mapped({}, topic, '{"v":1,"rssi":2}'), ['kitchen bme280', 'kitchen/bme280 rssi']);
    assert.deepEqual(mapped({ metric: 'x' }, topic, '21.5'), ['kitchen/bme280 x']);
    assert.deepEqual(mapped({ metric: '{field}' }, topic, '21.5'), ['kitchen bme280']);
  });

  it('is not read as {device} when the topic has none', () => {
    const names = mapped({ device: '{device}' }, 'gw/bme280', '{"device":"pump","rpm":1}', 'gw/{metric}');
    assert.deepEqual(names, ['pump rpm']);
  });
});
