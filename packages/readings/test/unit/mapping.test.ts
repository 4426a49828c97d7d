import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  checkMapping,
  compileMapping,
  type DecodeContext,
  DecodeError,
  formatTime,
  type MappingOptions,
  mergeMappings,
} from '@tidegauge/readings';
import { CONTEXT, RECEIVED } from './helpers.ts';

const AT_DEVICE: DecodeContext = { device: 'hub', metric: null, received: RECEIVED };
/** As a topic gives it, with which several senders in a payload are found. */
const AT_HUB: DecodeContext = { ...AT_DEVICE, full: 'hub' };

interface Outcome {
  readonly readings: readonly (readonly [string, string, number | string, string?])[];
  readonly units: Readonly<Record<string, string>>;
  readonly ignored: Readonly<Record<string, string>>;
}

/** The readings of a payload in a short form: device, metric, value, and the time unless it is that of receipt. */
function map(options: MappingOptions, payload: unknown, context: DecodeContext = AT_DEVICE): Outcome {
  assert.deepEqual(
    checkMapping(options).filter(({ isWarning }) => isWarning !== true),
    [],
  );
  const units: Record<string, string> = {};
  const ignored: Record<string, string> = {};
  const notes = {
    unit(_device: string, metric: string, unit: string) {
      units[metric] = unit;
    },
    ignored(field: string, why: string) {
      ignored[field] = why;
    },
  };
  const decoded = compileMapping(options)(bytes(payload), { ...context, notes });
  if (decoded instanceof DecodeError) assert.fail(`${decoded.reason}: ${decoded}`);
  const readings = decoded.map(({ device, metric, value, time }): Outcome['readings'][number] =>
    time === RECEIVED ? [device, metric, value] : [device, metric, value, formatTime(time)],
  );
  return { readings, units, ignored };
}

function refused(options: MappingOptions, payload: unknown, context: DecodeContext = AT_DEVICE): DecodeError {
  const decoded = compileMapping(options)(bytes(payload), context);
  assert.ok(decoded instanceof DecodeError, JSON.stringify(decoded));
  return decoded;
}

function bytes(payload: unknown): Uint8Array {
  return Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
}

/** Metric and value of each reading. */
const values = ({ readings }: Outcome) => readings.map(([, metric, value]) => [metric, value]);

describe('a mapping', () => {
  it('flattens objects, and arrays by index', () => {
    const payload = { air: { co2: 412, t: { now: 21.5 } }, phases: [{ v: 230 }, { v: 231 }] };
    assert.deepEqual(values(map({}, payload)), [
      ['air.co2', 412],
      ['air.t.now', 21.5],
      ['phases.0.v', 230],
      ['phases.1.v', 231],
    ]);
  });

  it('skips what is no value, notes it with a reason, and keeps the rest', () => {
    const payload = {
      ...{
        a: null,
        b: {},
        c: [],
        d: 'unavailable',
        e: '',
        f: '#ff8800',
        g: 1,
        h: Array(100).fill(0),
        i: 'NaN',
      },
      j: 'x'.repeat(5000),
    };
    const { readings, ignored } = map({}, payload);
    assert.deepEqual(readings, [['hub', 'g', 1]]);
    assert.deepEqual(ignored, {
      a: 'it is null',
      b: 'it is an empty object',
      c: 'it is an empty array',
      d: '"unavailable" is a word for no value',
      e: 'it is empty',
      f: 'it is a colour',
      h: 'it is an array of more than 64 elements: set records',
      i: '"NaN" is a word for no value',
      j: 'it is a text of 5000 characters; at most 4096 are kept',
    });
  });

  it('reads JSON in which numbers are NaN or infinite', () => {
    const { readings, ignored } = map({}, '{"a":NaN,"b":2,"c":"say \\"NaN\\" now","d":-Infinity}');
    assert.deepEqual(readings, [
      ['hub', 'b', 2],
      ['hub', 'c', 'say "NaN" now'],
    ]);
    assert.deepEqual(Object.keys(ignored), ['a', 'd']);
  });

  it('gives no reading, and no error, when nothing is left', () => {
    assert.deepEqual(map({}, { state: null }).readings, []);
    assert.deepEqual(map({}, 'unavailable', CONTEXT).readings, []);
    assert.deepEqual(map({}, {}).readings, []);
  });

  it('escapes characters that names cannot have', () => {
    assert.deepEqual(values(map({}, { 'Room °C': 21, 'a/b': { '': 1, '~20': 2 } })), [
      ['Room~20~C2~B0C', 21],
      ['a~2Fb.', 1],
      ['a~2Fb.~7E20', 2],
    ]);
  });

  it('bounds depth, paths and names, and notes what is cut', () => {
    let deep: unknown = 1;
    for (let depth = 0; depth < 40; depth++) deep = { a: deep };
    const { readings, ignored } = map({}, { deep, ['x'.repeat(70)]: 1, ['y'.repeat(300)]: 1, z: 1 });
    assert.deepEqual(readings, [['hub', 'z', 1]]);
    assert.equal(Object.keys(ignored).length, 3);
    assert.match(Object.values(ignored).join(), /deeper than 12 levels/);
    assert.match(Object.values(ignored).join(), /more than 64 characters: rename it/);
    assert.match(Object.values(ignored).join(), /more than 256 characters/);
  });

  it('notes a field that becomes the same metric as another one', () => {
    const { readings, ignored } = map({ rename: { b: 'a' } }, { a: 1, b: 2 });
    assert.deepEqual(readings, [['hub', 'a', 1]]);
    assert.match(ignored.b ?? '', /another field is also named a/);
  });
});

describe('the names of a mapping', () => {
  it('renames by exact paths and by patterns; the first one counts', () => {
    const rename = { 'ENERGY.Power': 'power', 'ENERGY.*': 'energy_*', '*.Temperature': '*.t' };
    const payload = { ENERGY: { Power: 5, Total: 7 }, SI7021: { Temperature: 20 } };
    assert.deepEqual(values(map({ rename }, payload)), [
      ['power', 5],
      ['energy_Total', 7],
      ['SI7021.t', 20],
    ]);
  });

  it('keeps and drops by patterns, also whole objects, without a note', () => {
    const payload = { a: { x: 1, y: 2 }, b: { z: null }, c: 3 };
    const dropped = map({ drop: ['a.y', 'b'] }, payload);
    assert.deepEqual(values(dropped), [
      ['a.x', 1],
      ['c', 3],
    ]);
    assert.deepEqual(dropped.ignored, {});
    assert.deepEqual(values(map({ keep: ['a.*'], drop: ['*.x'] }, payload)), [['a.y', 2]]);
  });

  it('names a payload that is one value by the rest of a template with {field}', () => {
    const context = { ...AT_DEVICE, captured: { type: 'switch', name: 'pump' } };
    const metric = '{type}.{name}.{field}';
    assert.deepEqual(values(map({ metric }, '1', context)), [['switch.pump', 1]]);
    assert.deepEqual(values(map({ metric }, { v: 1 }, context)), [['switch.pump.v', 1]]);
    assert.equal(refused({ metric: '{field}' }, '1', context).reason, 'invalid_name');
  });

  it('takes no device from a field that it drops', () => {
    const payload = { device: 'rtlwmbus[1]', total_m3: 1 };
    assert.deepEqual(map({ drop: ['device'] }, payload).readings, [['hub', 'total_m3', 1]]);
    const several = [
      { device: 'radio-1', id: 1, total_m3: 1 },
      { device: 'radio-2', id: 2, total_m3: 2 },
    ];
    assert.match(refused({ drop: ['device'] }, several, AT_HUB).message, /different values of "id"/);
  });

  it('makes the device from topic and payload', () => {
    const payload = { end_device_ids: { device_id: 'my dev' }, n: 4, t: 1_795_000_000, temp: 1 };
    assert.deepEqual(map({ device: '{end_device_ids.device_id}' }, payload).readings[0]?.slice(0, 3), [
      'my~20dev',
      'n',
      4,
    ]);
    const context = { ...AT_DEVICE, captured: { site: 'north side' } };
    const template = { device: '{site}/{device}/{missing|n}' };
    assert.equal(map(template, payload, context).readings[0]?.[0], 'north~20side/hub/4');
    assert.equal(map({ device: 'fixed' }, { a: 1 }).readings[0]?.[0], 'fixed');
    const error = refused({ device: '{id}' }, { a: 1 });
    assert.equal(error.reason, 'invalid_name');
    assert.match(error.message, /the payload has no "id", which device of the mapping uses/);
  });

  it('does not escape names of the topic and of fields twice', () => {
    const context = {
      device: 'Living~20Room',
      metric: 'switch~200',
      received: RECEIVED,
      captured: { site: 'a b' },
    };
    const options = { device: '{site}/{device}', metric: '{metric}.{field}' };
    assert.deepEqual(map(options, { 'x y': 1 }, context).readings, [
      ['a~20b/Living~20Room', 'switch~200.x~20y', 1],
    ]);
    assert.deepEqual(map(options, '7', context).readings, [['a~20b/Living~20Room', 'switch~200', 7]]);
    assert.deepEqual(map({}, { value: 7 }, context).readings, [['Living~20Room', 'switch~200', 7]]);
  });

  it('keeps the device of the topic above a device that the payload names itself', () => {
    assert.equal(map({}, { device: 'Living Room', x: { y: 1 } }).readings[0]?.[0], 'hub/Living~20Room');
  });

  it('makes metrics from topic and field', () => {
    const context = { ...AT_DEVICE, metric: 'switch:0' };
    assert.deepEqual(values(map({ metric: '{metric}.{field}' }, { output: true, power: 8.9 }, context)), [
      ['switch:0.output', 1],
      ['switch:0.power', 8.9],
    ]);
  });
});

describe('the records of a mapping', () => {
  it('read arrays of names and values, with their units', () => {
    const list = [
      { name: 'temp', value: 21, unit: '°C' },
      { name: 'hum', value: '45 %', ok: true },
    ];
    for (const payload of [list, { sensors: list }]) {
      const prefix = Array.isArray(payload) ? '' : 'sensors.';
      const { readings, units } = map({}, payload);
      assert.deepEqual(readings, [
        ['hub', `${prefix}temp`, 21],
        ['hub', `${prefix}hum`, 45],
        ['hub', `${prefix}hum.ok`, 1],
      ]);
      assert.deepEqual(units, { [`${prefix}temp`]: 'Cel', [`${prefix}hum`]: '%' });
    }
  });

  it('are the elements of an array whose fields the mapping uses, also when their names differ', () => {
    const pair = (more: readonly [object, object]) => more.map((each, n) => ({ value: n + 1, ...each }));
    const rows = pair([
      { sensor: 'a', quantity: 'co2' },
      { sensor: 'b', quantity: 'hum' },
    ]);
    const bySensor: MappingOptions = { device: '{device}/{sensor}', metric: '{quantity}', value: 'value' };
    const expected = [
      ['hub/a', 'co2', 1],
      ['hub/b', 'hum', 2],
    ];
    assert.deepEqual(map(bySensor, rows).readings, expected);
    assert.deepEqual(map(bySensor, rows.slice(0, 1)).readings, expected.slice(0, 1));
    const byAddress = pair([
      { mac: 'a', name: 'co2' },
      { mac: 'b', name: 'hum' },
    ]);
    assert.deepEqual(map({ device: '{device}/{mac}' }, byAddress).readings, expected);
    // The time of an element, also by a name that no other payload has for times.
    const at = '2026-11-21T14:00:00.000000Z';
    const timed = pair([
      { name: 'co2', measured: at },
      { name: 'hum', measured: at },
    ]);
    assert.deepEqual(map({ time: 'measured' }, timed).readings, [
      ['hub', 'co2', 1, at],
      ['hub', 'hum', 2, at],
    ]);
  });

  it('have the unit beside a value', () => {
    const context = { ...AT_DEVICE, metric: 'temp' };
    const { readings, units } = map({}, { value: 21, unit: '°C', ok: true }, context);
    assert.deepEqual(readings, [
      ['hub', 'temp', 21],
      ['hub', 'ok', 1],
    ]);
    assert.deepEqual(units, { temp: 'Cel' });
  });

  it('can be objects with a value and its unit', () => {
    const { readings, units } = map(
      {},
      { t: { value: 21.5, unit: 'C' }, p: { v: 1, uom: 'hPa' }, q: { value: 1, x: 2 } },
    );
    assert.deepEqual(readings, [
      ['hub', 't', 21.5],
      ['hub', 'p', 1],
      ['hub', 'q.value', 1],
      ['hub', 'q.x', 2],
    ]);
    assert.deepEqual(units, { t: 'Cel', p: 'hPa' });
  });

  it('can be objects with a value only', () => {
    const payload = { pm1: { value: 16 }, air: { value: 'Good' }, l1: { v: 230 }, x: { value: { y: 1 } } };
    assert.deepEqual(values(map({}, payload)), [
      ['pm1', 16],
      ['air', 'Good'],
      ['l1.v', 230],
      ['x.value.y', 1],
    ]);
  });

  it('are read without a sequence number that is none', () => {
    const { readings, ignored } = map({}, { seq: 'twelve', boot: true, x: 1 });
    assert.deepEqual(readings, [['hub', 'x', 1]]);
    assert.deepEqual(Object.keys(ignored), ['boot', 'seq']);
  });

  it('can be below a path, with the time of the whole payload', () => {
    const payload = {
      time: '2026-11-21T11:00:00Z',
      data: [
        { id: 'a', kind: 't', reading: 1, unit: 'Cel' },
        { id: 'b', kind: 't', reading: 2 },
      ],
    };
    const options = {
      records: 'data',
      device: '{device}/{id}',
      metric: '{kind}',
      value: 'reading',
      unit: 'unit',
    };
    const { readings, units } = map(options, payload);
    assert.deepEqual(readings, [
      ['hub/a', 't', 1, '2026-11-21T11:00:00.000000Z'],
      ['hub/b', 't', 2, '2026-11-21T11:00:00.000000Z'],
    ]);
    assert.deepEqual(units, { t: 'Cel' });
  });

  it('can be the entries of an object, by key', () => {
    const payload = { 'aa:01': { t: { in: 1 } }, 'aa:02': { t: { in: 2 } } };
    assert.deepEqual(map({ records: '*', device: '{key}' }, payload).readings, [
      ['aa:01', 't.in', 1],
      ['aa:02', 't.in', 2],
    ]);
  });

  it('are refused when one would overwrite another', () => {
    const error = refused({}, [{ a: { b: 1 } }, { a: { b: 2 } }]);
    assert.equal(error.reason, 'invalid_time');
    assert.equal(error.position, 'record 2 of 2');
    assert.match(error.message, /would overwrite the first/);
  });

  it('are noted when the payload has none', () => {
    assert.deepEqual(map({ records: ['data', 'rows'] }, { x: 1 }).ignored, {
      'data, rows': 'the payload does not have these records',
    });
  });
});

describe('the values of a mapping', () => {
  it('are numbers for texts with a number, also with a unit, which is noted', () => {
    const { readings, units } = map(
      {},
      { a: '21.5 °C', b: '1,234.0 W', c: '45%', d: '-3.5', e: '007', f: '12 apples' },
    );
    assert.deepEqual(
      readings.map(([, , value]) => value),
      [21.5, 1234, 45, -3.5, '007', '12 apples'],
    );
    assert.deepEqual(units, { a: 'Cel', b: 'W', c: '%' });
  });

  it('are of the declared kind always; other words are skipped with a note', () => {
    const kinds = {
      values: { door: 'state', mode: { heat: 1, cool: 2 }, level: 'number', version: 'text' },
    } as const;
    const first = map(kinds, { door: 'OPEN', mode: 'Heat', level: '7', version: '1.2' });
    assert.deepEqual(values(first), [
      ['door', 1],
      ['mode', 1],
      ['level', 7],
      ['version', '1.2'],
    ]);
    const second = map(kinds, { door: 'ajar', mode: 'dry', level: 'high', version: 1.2 });
    assert.deepEqual(values(second), [['version', '1.2']]);
    assert.deepEqual(second.ignored, {
      door: '"ajar" is not a word for a state',
      mode: '"dry" is not one of its words',
      level: '"high" is not a number',
    });
  });

  it('are bare words for states and numbers with a unit; other bare words are refused with the setting', () => {
    const { readings, units } = map({}, '21.5 °C', CONTEXT);
    assert.deepEqual(readings, [['site-3/probe-7', 'temperature', 21.5]]);
    assert.deepEqual(units, { temperature: 'Cel' });
    assert.deepEqual(values(map({}, 'not_home', CONTEXT)), [['temperature', 0]]);
    assert.match(
      refused({}, 'heating', CONTEXT).message,
      /set values of the mapping, such as temperature: text/,
    );
    assert.deepEqual(values(map({ values: { '*': 'text' } }, 'heating', CONTEXT)), [
      ['temperature', 'heating'],
    ]);
  });

  it('are scaled, and have the unit of the mapping', () => {
    const options = { scale: { 'u*': 0.001 }, offset: { temp: -273.15 }, units: { u1: 'V', temp: '°C' } };
    const { readings, units } = map(options, { u1: 230_000, temp: 300.15, x: 'text' });
    assert.deepEqual(
      readings.map(([, , value]) => value),
      [230, 27, 'text'],
    );
    assert.deepEqual(units, { u1: 'V', temp: 'Cel' });
  });
});

describe('the units of a mapping', () => {
  it('are those of numbers, and not of texts with the same pattern', () => {
    const { units } = map({ units: { 'power*': 'W' } }, { power: 5, power_on: 'previous' });
    assert.deepEqual(units, { power: 'W' });
  });

  it('can be texts of the payload, which are then no metrics', () => {
    const options = { units: { '*.t': '{TempUnit}', '*.p': '{unit.p|unit.all}' } };
    const payload = { TempUnit: 'F', unit: { p: 'mmHg' }, bme: { t: 70, p: 760, h: 45 } };
    const { readings, units } = map(options, payload);
    assert.deepEqual(
      readings.map(([, metric]) => metric),
      ['bme.t', 'bme.p', 'bme.h'],
    );
    assert.deepEqual(units, { 'bme.t': '°F', 'bme.p': 'mmHg' });
    assert.deepEqual(map(options, { bme: { t: 70 } }).units, {});
    assert.deepEqual(map(options, { TempUnit: 'x\n', bme: { t: 70 } }).units, {});
  });

  it('are checked', () => {
    const paths = checkMapping({ units: { a: '{b', c: '{d}', e: 'kPa', f: 'Cel', g: 'furlong' } });
    assert.deepEqual(
      paths.map(({ path, isWarning }) => [path.join('.'), isWarning]),
      [
        ['units.a', undefined],
        ['units.g', true],
      ],
    );
  });
});

describe('the time of a mapping', () => {
  const timeOf = (options: MappingOptions, payload: object) => map(options, { ...payload, x: 1 }).readings;

  it('is found by known names when it has a zone or is a plausible number', () => {
    for (const [name, value] of Object.entries({
      time: '2026-11-21T11:00:00Z',
      Time: '2026-11-21T12:00:00+01:00',
      last_seen: Date.UTC(2026, 10, 21, 11),
      received_at: '2026-11-21T11:00:00.000000000Z',
      datetime: 'Sat, 21 Nov 2026 11:00:00 GMT',
      ts: '21.11.2026 11:00',
    })) {
      assert.deepEqual(timeOf({}, { [name]: value }), [['hub', 'x', 1, '2026-11-21T11:00:00.000000Z']], name);
    }
  });

  it('is not taken from a local time, or from a field that may be something else', () => {
    const local = map({}, { Time: '2026-11-21T12:00:00', x: 1 });
    assert.deepEqual(local.readings, [['hub', 'x', 1]]);
    assert.match(local.ignored.Time ?? '', /local time without a zone/);
    assert.deepEqual(timeOf({}, { epoch: 7 }), [
      ['hub', 'epoch', 7],
      ['hub', 'x', 1],
    ]);
  });

  it('is that of receipt when the field has a word for no value, or 0 of a sensor without a clock', () => {
    for (const time of ['', 'unknown', null, 0, '0'])
      assert.deepEqual(timeOf({}, { time }), [['hub', 'x', 1]]);
    assert.deepEqual(timeOf({ time: 'at' }, { at: 'unavailable' }), [['hub', 'x', 1]]);
  });

  it('is refused when a certain name has no time', () => {
    assert.equal(refused({}, { time: '12:30', x: 1 }).reason, 'invalid_time');
    assert.match(refused({}, { time: '12:30', x: 1 }).message, /set the time of the mapping/);
    assert.equal(refused({}, { time: '2026-11-21T11:00:00Z', ts: 5, x: 1 }).reason, 'malformed');
  });

  it('has a field, a zone, a unit and a format', () => {
    const expected = [['hub', 'x', 1, '2026-07-21T10:00:00.000000Z']];
    const at = '2026-07-21 12:00:00';
    assert.deepEqual(timeOf({ time: { field: 'at', zone: 'Europe/Berlin' } }, { at }), expected);
    assert.deepEqual(timeOf({ time: { field: ['no', 'm.at'], zone: '+02:00' } }, { m: { at } }), expected);
    assert.deepEqual(
      timeOf({ time: { field: '{d} {t}', zone: 'Europe/Berlin' } }, { d: '2026-07-21', t: '12:00' }),
      expected,
    );
    const seconds = Date.UTC(2026, 6, 21, 10) / 1000;
    assert.deepEqual(timeOf({ time: { field: 'at', unit: 'ns' } }, { at: `${seconds}000000000` }), expected);
    assert.deepEqual(timeOf({ time: { field: 'at', unit: 's' } }, { at: seconds }), expected);
    assert.deepEqual(timeOf({ time: false }, { time: 5 }), [
      ['hub', 'time', 5],
      ['hub', 'x', 1],
    ]);
    assert.deepEqual(timeOf({ time: 'at' }, {}), [['hub', 'x', 1]]);
  });

  it('follows clocks that are set back and forward', () => {
    const options = { time: { field: 'at', zone: 'Europe/Berlin' } };
    const utc = (at: string) => timeOf(options, { at })[0]?.[3];
    assert.equal(utc('2026-03-29 01:59:59'), '2026-03-29T00:59:59.000000Z');
    assert.equal(utc('2026-03-29 03:00:00'), '2026-03-29T01:00:00.000000Z');
    assert.equal(utc('2026-10-25 01:59:59'), '2026-10-24T23:59:59.000000Z');
    assert.equal(utc('2026-10-25 03:00:00'), '2026-10-25T02:00:00.000000Z');
  });
});

describe('the options of a mapping', () => {
  it('are checked, with the place of each mistake', () => {
    const problems = checkMapping({
      renames: {},
      device: '{a',
      time: { field: 't', zone: 'Europe/Berln', unit: 'sec' },
      drop: 'x',
      rename: { a: '*' },
      values: { a: 'states', b: { on: 'x' } },
      units: { a: 'Celsus', b: 5 },
      scale: { a: '2' },
      keep: ['*****'],
    });
    assert.deepEqual(
      problems.map(({ path }) => path.join('.')).toSorted(),
      'device drop keep.0 rename.a renames scale.a time.unit time.zone units.a units.b values.a values.b.on'.split(
        ' ',
      ),
    );
    assert.deepEqual(
      problems.filter(({ isWarning }) => isWarning === true).map(({ path }) => path.join('.')),
      ['units.a'],
    );
    for (const options of [null, [], 5, 'x']) assert.equal(checkMapping(options).length, 1);
  });

  it('of a route change those of its preset', () => {
    const preset: MappingOptions = {
      time: { field: 'Time', zone: 'unknown' },
      drop: ['a'],
      values: { x: 'state', '*': 'auto' },
    };
    assert.deepEqual(
      mergeMappings(preset, { time: { zone: 'UTC' }, drop: ['b'], values: { x: 'text' }, device: 'd' }),
      {
        time: { field: 'Time', zone: 'UTC' },
        drop: ['b', 'a'],
        values: { x: 'text', '*': 'auto' },
        device: 'd',
      },
    );
  });
});
