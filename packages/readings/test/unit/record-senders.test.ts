import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compileMapping, DecodeError, formats, type MappingOptions } from '@tidegauge/readings';
import { RECEIVED } from './helpers.ts';

const GATEWAY = { device: 'gw', metric: 'scan', full: 'gw/scan', received: RECEIVED };

/** `device metric value` of the readings, or the message of a refusal. */
function read(
  payload: unknown,
  decode = formats.auto!,
  context: typeof GATEWAY | object = GATEWAY,
): string[] {
  const decoded = decode(Buffer.from(JSON.stringify(payload)), { ...GATEWAY, ...context });
  if (decoded instanceof DecodeError) return [`${decoded.reason}: ${decoded.message}`];
  return decoded.map(({ device, metric, value }) => `${device} ${metric} ${value}`);
}

const mapped = (mapping: MappingOptions, payload: unknown) => read(payload, compileMapping(mapping));

/** Two records of two senders, which have different values of a field. */
function pair(field: string, [one, other]: readonly [unknown, unknown], times: readonly unknown[] = [1, 2]) {
  const t = (index: number) => (times[index] === null ? {} : { t: 1_795_262_000 + Number(times[index]) });
  return [
    { [field]: one, ...t(0), temperature: 21.5, humidity: 40 },
    { [field]: other, ...t(1), temperature: 25.5, humidity: 50 },
  ];
}

const FIELDS: readonly (readonly [string, readonly [unknown, unknown]])[] = [
  ['mac', ['A4C138000001', 'A4C138000002']],
  ['MAC', ['A4:C1:38:00:00:01', 'A4:C1:38:00:00:02']],
  ['ble_mac', ['A4', 'B5']],
  ['macAddress', ['A4', 'B5']],
  ['addr', [17, 18]],
  ['address', ['17', '18']],
  ['devEUI', ['70B3D5', '70B3D6']],
  ['dev_eui', ['70B3D5', '70B3D6']],
  ['serialno', ['AG-1', 'AG-2']],
  ['serial', [111, 222]],
  ['Serial-Number', ['x', 'y']],
  ['id', ['a', 'b']],
  ['id', [1, 2]],
  ['device_id', ['a', 'b']],
  ['deviceId', ['a', 'b']],
  ['sensor', ['a', 'b']],
  ['sensor_id', ['a', 'b']],
  ['name', ['kitchen', 'office']],
  ['node', [3, 4]],
  ['imei', ['86', '87']],
];

describe('an array of records of several senders', () => {
  it('is refused with the mapping that names their devices', () => {
    for (const [field, values] of FIELDS) {
      for (const times of [
        [1, 2],
        [1, 1],
        [2, 1],
        [null, null],
        [null, 1],
      ]) {
        for (const payload of [pair(field, values, times), { readings: pair(field, values, times) }]) {
          const [message = ''] = read(payload);
          const setting = `set mapping: { device: '{device}/{${field}}' }`;
          assert.ok(
            message.startsWith('invalid_name: ') && message.includes(setting),
            `${field}: ${message}`,
          );
        }
      }
      assert.deepEqual(
        mapped({ device: `{device}/{${field}}` }, pair(field, values)).map((text) => text.split(' ')[0]),
        values.flatMap((value) => Array(2).fill(`gw/scan/${value}`)),
      );
    }
  });

  it('names the address when a record also has a number', () => {
    const payload = [
      { id: 1, mac: 'A4', t: 1_795_262_000, x: 1 },
      { id: 2, mac: 'B5', t: 1_795_262_001, x: 1 },
    ];
    assert.match(read(payload)[0]!, /\{device\}\/\{mac\}/);
    assert.match(mapped({ drop: ['mac'] }, payload)[0]!, /\{device\}\/\{id\}/);
    assert.equal(mapped({ drop: ['mac', 'id'] }, payload).length, 2);
  });

  it('is found when other records are without the field, or the first ones are of one sender', () => {
    const record = (t: number, mac?: string) => ({
      t: 1_795_262_000 + t,
      x: t,
      ...(mac === undefined ? {} : { mac }),
    });
    assert.match(read([record(1), record(2, 'a'), record(3, 'a'), record(4, 'b')])[0]!, /"mac"/);
    assert.equal(read([record(1), record(2, 'a'), record(3, 'a')]).length, 5);
  });

  it('is refused by a mapping that does not name the devices, also of nested records', () => {
    const [field, values] = FIELDS[0]!;
    const payload = pair(field, values);
    assert.match(mapped({}, payload)[0]!, /set mapping/);
    assert.match(mapped({ records: 'data.list' }, { data: { list: payload } })[0]!, /set mapping/);
    assert.equal(mapped({ drop: ['mac'] }, payload).length, 4);
    assert.equal(mapped({ keep: ['temperature'] }, payload).length, 2);
    assert.deepEqual(mapped({ metric: '{mac}.{field}', keep: ['temperature'] }, payload), [
      'gw/scan A4C138000001.temperature 21.5',
      'gw/scan A4C138000002.temperature 25.5',
    ]);
  });

  it('is refused inside an object, where the place of an element can change', () => {
    for (const times of [
      [1, 2],
      [1, 1],
      [null, null],
    ])
      for (const field of ['mac', 'sensor'])
        assert.match(read({ x: 5, ble: { list: pair(field, ['A4', 'B5'], times) } })[0]!, /have no device/);
    const payload = { uptime: 5, ble: { devices: pair('mac', ['A4', 'B5']) } };
    const [message = ''] = read(payload);
    assert.ok(message.includes("set mapping: { records: ble.devices, device: '{device}/{mac}' }"), message);
    assert.ok(message.includes("drop: ['ble.devices.*.mac']"), message);
    const readings = mapped({ records: 'ble.devices', device: '{device}/{mac}' }, payload);
    assert.deepEqual(readings.slice(1, 3), ['gw/scan/A4 humidity 40', 'gw/scan/B5 temperature 25.5']);
    assert.ok(
      mapped({ drop: ['ble.devices.*.mac'] }, payload).includes('gw/scan ble.devices.temperature 25.5'),
    );
  });

  it('is what it was when the records name devices, metrics or one sender', () => {
    const named = [
      { device: 'a', mac: 'A4', x: 1 },
      { device: 'b', mac: 'B5', x: 2 },
    ];
    assert.ok(read(named).includes('gw/scan/b x 2'));
    assert.deepEqual(
      read([
        { id: 'a', value: 1 },
        { id: 'b', value: 2 },
      ]),
      ['gw/scan a 1', 'gw/scan b 2'],
    );
    assert.deepEqual(
      read([
        { name: 'temp', value: 1, t: 1_795_262_000 },
        { name: 'hum', value: 2, t: 1_795_262_001 },
      ]),
      ['gw/scan temp 1', 'gw/scan hum 2'],
    );
    assert.equal(read(pair('mac', ['A4', 'A4'])).length, 6);
    assert.equal(read(pair('state', ['on', 'off'])).length, 6);
  });

  it('is read as before without the full device', () => {
    assert.equal(read(pair('mac', ['A4', 'B5']), formats.auto!, { full: undefined }).length, 6);
  });
});

describe('two values of a series at one time', () => {
  const at = (t: number, v: number) => ({ t: 1_795_262_000 + t, v });

  it('are refused when they differ', () => {
    for (const payload of [
      [at(1, 1), at(1, 2)],
      [at(1, 1), at(2, 1), at(1, 2)],
      [at(3, 1), at(2, 1), at(1, 1), at(2, 2)],
    ])
      for (const full of ['gw/scan', undefined])
        assert.match(
          read(payload, formats.auto!, { full })[0]!,
          /^invalid_time: a second gw scan of the same time/,
        );
  });

  it('are read when they are equal', () => {
    assert.equal(read([at(1, 1), at(1, 1), at(0, 3)]).length, 3);
    assert.equal(read([at(2, 1), at(1, 2)]).length, 2);
  });
});

describe('names in other places', () => {
  const records = ['pi1', 'pi2'].map((host, i) => ({
    fields: { temperature: 21 + i },
    tags: { host },
    timestamp: 1_795_262_000 + i,
  }));

  it('an object of each record names its sender', () => {
    assert.match(read(records)[0]!, /different values of "tags\.host".*device: '\{device\}\/\{tags\.host\}'/);
    assert.deepEqual(
      mapped({ device: '{device}/{tags.host}' }, records).filter((line) => !line.includes('host ')),
      ['gw/scan/pi1 fields.temperature 21', 'gw/scan/pi2 fields.temperature 22'],
    );
    assert.match(read({ metrics: records })[0]!, /records: metrics, device: '\{device\}\/\{tags\.host\}'/);
    assert.equal(read(records.map((record) => ({ ...record, tags: { host: 'pi1' } }))).length, 4);
    assert.equal(read(records.map(({ tags, ...rest }) => ({ ...rest, sub: { id: tags.host } }))).length, 4);
  });

  it('elements of an array inside an object name their device', () => {
    const nodes = ['a', 'b'].map((device) => ({ device, temperature: 21 }));
    assert.match(read({ nodes })[0]!, /different values of "device".*set mapping: \{ records: nodes \}/);
    assert.deepEqual(mapped({ records: 'nodes' }, { nodes }), [
      'gw/scan/a temperature 21',
      'gw/scan/b temperature 21',
    ]);
  });
});
