import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compileMapping, DecodeError, formats, type MappingOptions } from '@tidegauge/readings';
import { RECEIVED } from './helpers.ts';

/** The fields with a note, and the series and ages in seconds of the readings. */
function read(payload: unknown, how: MappingOptions | string = 'auto', names: object = {}) {
  const doubts: string[] = [];
  const reasons: string[] = [];
  const doubt = (field: string, why: string) => {
    doubts.push(field);
    reasons.push(why);
  };
  const notes = { unit() {}, ignored() {}, doubt };
  const context = { device: 'gw', metric: 'state', full: 'gw/state', received: RECEIVED, notes, ...names };
  const decode = typeof how === 'string' ? formats[how]! : compileMapping(how);
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const decoded = decode(Buffer.from(text), context);
  if (decoded instanceof DecodeError) assert.fail(`${decoded}`);
  const ages = decoded.map(({ device, metric, time }) => `${device} ${metric} ${(RECEIVED - time) / 1e6}`);
  return { doubts, reasons, ages };
}

const T = RECEIVED / 1e6;

describe('a field that can name the sender or the value of a record', () => {
  it('has a note', () => {
    for (const [field, payload] of [
      ['id', { model: 'Nexus-TH', id: 87, temperature_C: 21.5 }],
      ['mac', { name: 'ATC_1', mac: 'A4C138', hum: 45 }],
      ['mac', [{ mac: 'A4C138', hum: 45 }]],
      ['name', { name: 'temp', value: 21.5 }],
      ['n', { n: 'temp', v: 21.5, u: 'Cel' }],
      ['key', { key: 'temp', value: 21.5, timestamp: T }],
      ['channel', { channel: 2, value: 21.5 }],
      ['topic', { payload: 21.5, topic: 'kitchen' }],
      ['parameter', { parameter: 'ph', value: 7 }],
      ['pin', { pin: 3, value: 1 }],
      ['idx', { idx: 5, nvalue: 0, svalue: '21.5' }],
      ['Device ID', { 'Device ID': 'A4C138', hum: 45 }],
    ] as const)
      assert.deepEqual(read(payload).doubts, [field], JSON.stringify(payload));
  });

  it('has a note in an object', () => {
    for (const [field, payload] of [
      ['device.id', { device: { id: 'A', name: 'x' }, temp: 21 }],
      ['deviceInfo.devEui', { deviceInfo: { devEui: 'A' }, temp: 21 }],
      ['sensor.mac', { sensor: { mac: 'AA', temp: 21 } }],
      ['tags.sensor', { tags: { sensor: 'A' }, temp: 1 }],
      ['tags.room', { tags: { room: 'A' }, temp: 1 }],
      ['header.deviceId', { header: { deviceId: 'A' }, body: { temp: 1 } }],
      ['data.id', { data: { id: 87, temp: 21 } }],
      ['data.device', { data: { device: 'A', temp: 21 } }],
      ['data.device.id', { data: { device: { id: 'A' }, temp: 21 } }],
    ] as const)
      assert.deepEqual(read(payload).doubts, [field], JSON.stringify(payload));
    assert.deepEqual(read({ A: { mac: '1', x: 1 }, B: { mac: '2', x: 1 } }).doubts, ['A.mac', 'B.mac']);
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`a${n}`, { mac: 'A', x: n }]));
    assert.equal(read(many).doubts.length, 4);
  });

  it('has a note in a batch of one sender, in every form', () => {
    const records = [1, 2].map((n) => ({ ts: T - n, mac: 'A', temp: n }));
    const lines = records.map((each) => JSON.stringify(each)).join('\n');
    const csv = `ts,mac,temp\n${T - 1},A,1\n${T - 2},A,2`;
    for (const payload of [records, { readings: records }, lines, csv])
      for (const how of ['auto', {}]) assert.deepEqual(read(payload, how).doubts, ['mac'], `${payload}`);
    assert.deepEqual(read({ data: records }).doubts, ['data.mac']);
    for (const payload of ['mac=17&temp=21', '{"mac":"A","temp":NaN,"hum":45}', "{'mac': 'A', 'temp': 21}"])
      for (const how of ['auto', {}]) assert.deepEqual(read(payload, how).doubts, ['mac'], payload);
  });

  it('has a note with format: json, also over HTTP, and with a mapping that does not use it', () => {
    const payload = { mac: 'A', temp: 21 };
    assert.deepEqual(read(payload, 'json').doubts, ['mac']);
    assert.deepEqual(read([payload], 'json', { full: undefined, metric: null }).doubts, ['mac']);
    assert.deepEqual(read(payload, { rename: { temp: 'temperature' } }).doubts, ['mac']);
    const captured = { site: 'here' };
    assert.deepEqual(read(payload, { device: '{site}' }, { captured }).doubts, ['mac']);
  });

  it('has none when its name is used, or cannot be one', () => {
    for (const payload of [
      { device: 'a', temperature: 21.5 },
      { device: 'a', mac: 'A4C138', temperature: 21.5 },
      { metric: 'temp', value: 21.5 },
      { temperature: 21.5, type: 'indoor' },
      { id: null, temperature: 21.5 },
      { t: T, v: 21.5 },
      [{ name: 'a', value: 1 }],
      { 'switch:0': { id: 0, power: 3 } },
      { A4C138: { mac: 'A4C138', temp: 21 } },
      { Wifi: { Channel: 6, Signal: -60 } },
      { sensor: 'external', temperature: 21.5 },
      { update: { name: 'v2' }, temp: 21 },
      { port: 3, temperature: 3 },
    ])
      assert.deepEqual(read(payload).doubts, [], JSON.stringify(payload));
    for (const mapping of [
      { device: '{device}/{id}' },
      { metric: '{id}.{field}' },
      { drop: ['id', 'mac'] },
      { keep: ['temp'] },
    ])
      assert.deepEqual(read({ id: 87, mac: 'A', temp: 21.5 }, mapping).doubts, [], JSON.stringify(mapping));
    assert.deepEqual(read({ a: { mac: 'A', x: 1 } }, { records: 'a', metric: '{key}.{field}' }).doubts, []);
  });

  it('has none when the topic has its name, and another field is noted', () => {
    const names = { device: 'home/a4c138', full: 'home/a4c138/state' };
    assert.deepEqual(read({ mac: 'A4:C1:38', temp: 21.5 }, 'auto', names).doubts, []);
    assert.deepEqual(read({ gw_mac: 'A4C138', mac: 'B5', temp: 21.5 }, 'auto', names).doubts, ['mac']);
  });

  it('has none without a device of the topic, which the payload then names', () => {
    const nameless = { device: null, full: null, metric: null };
    assert.deepEqual(read({ device: 'a', mac: 'A', temp: 21.5 }, 'json', nameless).doubts, []);
  });

  it('has the setting that names the senders', () => {
    const records = [{ ts: T, mac: 'A', temp: 1 }];
    for (const [payload, mapping] of [
      [{ mac: 'A', temp: 1 }, { device: '{device}/{mac}' }],
      [records, { device: '{device}/{mac}' }],
      [{ device: { id: 'A' }, temp: 1 }, { device: '{device}/{device.id}' }],
      [{ data: records }, { records: 'data', device: '{device}/{mac}' }],
    ] as const) {
      const [reason = ''] = read(payload).reasons;
      const setting = Object.entries(mapping).map(([key, value]) =>
        key === 'device' ? `device: '${value}'` : `${key}: ${value}`,
      );
      assert.ok(reason.endsWith(`, such as { ${setting.join(', ')} }`), reason);
      const mapped = read(payload, mapping);
      assert.deepEqual(mapped.doubts, []);
      assert.ok(mapped.ages[0]!.startsWith('gw/state/A temp'), mapped.ages[0]);
    }
    for (const payload of [
      { 'a b': { mac: 'X1', temp: 1 } },
      { A: { mac: '1', x: 1 }, B: { mac: '2', x: 1 } },
    ])
      assert.match(read(payload).reasons[0]!, /of a mapping$/);
  });
});

describe('a field that differs between the records of a payload', () => {
  const records = (field: string, ...values: (string | number)[]) =>
    values.map((value, n) => ({ t: T - n, [field]: value, temp: n }));

  it('has a note, because it can name their senders', () => {
    assert.deepEqual(read(records('room', 'kitchen', 'bath')).doubts, ['room']);
    assert.deepEqual(read(records('ch', 1, 2, 1)).doubts, ['ch']);
    assert.deepEqual(read({ list: records('room', 'kitchen', 'bath') }).doubts, ['list.room']);
    assert.deepEqual(read({ readings: records('asset', 'a', 'b', 'c') }).doubts, ['asset']);
  });

  it('has none when it does not differ, is a state or a measurement, or is the only value', () => {
    for (const payload of [
      records('floor', 'first', 'first'),
      records('door', 'open', 'closed'),
      records('status', 'heating', 'idle'),
      records('humidity', 40, 41),
      [
        { t: T, song: 'a' },
        { t: T - 1, song: 'b' },
      ],
    ])
      assert.deepEqual(read(payload).doubts, [], JSON.stringify(payload));
    assert.deepEqual(read(records('room', 'kitchen', 'bath'), { device: '{device}/{room}' }).doubts, []);
  });
});

describe('elements of an array that are stored by their place', () => {
  it('have a note when a field seems to name them', () => {
    for (const [field, payload] of [
      ['sensors.*.name', { sensors: ['kitchen', 'bath'].map((name) => ({ name, temp: 21 })) }],
      ['sensors.*.id', { sensors: [2, 1].map((id) => ({ id, temp: 21 })) }],
      ['probes.*.rom', { probes: ['28FF1E', '28FF1F'].map((rom) => ({ rom, c: 21 })) }],
      ['d.*.tag', { d: ['AI1', 'AI2'].map((tag) => ({ tag, value: 21 })) }],
      ['a.b.*.Id', { a: { b: ['0C', '0D'].map((Id) => ({ Id, value: [1] })) } }],
      ['devices.*.mac', { devices: [{ mac: 'AA', temp: 21 }] }],
      ['sensors.*.id', { sensors: [{ id: 7, temp: 21 }] }],
      ['d.*.tag', { d: [{ tag: 'A', value: 1 }], ts: T }],
      ['sensors.*.id', { sensors: [2, 3].map((id) => ({ id, temp: 21 })) }],
      ['values.*.id', { values: ['a', 'a'].map((id) => ({ id, value: 1 })) }],
    ] as const)
      assert.deepEqual(read(payload).doubts, [field], JSON.stringify(payload));
  });

  it('have none when it counts them, or is no name', () => {
    for (const payload of [
      { relays: [0, 1].map((id) => ({ id, power: 3 })) },
      { relays: [1, 2].map((id) => ({ id, power: 3 })) },
      { relays: [{ id: 0, power: 3 }] },
      { phases: [230, 231].map((volts) => ({ volts })) },
      { tags: ['a', 'a'].map((state) => ({ state })) },
    ])
      assert.deepEqual(read(payload).doubts, [], JSON.stringify(payload));
    const dropped = { sensors: ['kitchen', 'bath'].map((name) => ({ name, temp: 21 })) };
    assert.deepEqual(read(dropped, { drop: ['*.name'] }).doubts, []);
  });
});

describe('a time below a record that has none', () => {
  it('has a note, and its path as the time of the mapping is the time', () => {
    for (const [field, payload] of [
      ['header.ts', { header: { ts: T - 60 }, body: { temp: 21 } }],
      ['payload.ts', { payload: { ts: (T - 60) * 1000, temp: 21 } }],
      ['Head.Timestamp', { Head: { Timestamp: '2026-11-21T12:59:00+01:00' }, Body: { P: 1 } }],
      ['StatusSNS.Time', { StatusSNS: { Time: '2026-11-21T11:59:00', AM: { T: 21 } } }],
    ] as const) {
      assert.deepEqual(read(payload).doubts, [field], field);
      const { ages } = read(payload, { time: field });
      assert.equal(ages.length, 1);
      assert.match(ages[0]!, / 60$/, field);
    }
    for (const [field, payload] of [
      ['bt', { bt: T - 60, e: [{ n: 'temp', v: 21.5 }] }],
      ['Systimestamp', { BatV: 3.1, Systimestamp: T - 60 }],
      ['timestamp.seconds', { timestamp: { seconds: T - 60 }, temp: 2 }],
      ['time.$date', { time: { $date: '2026-11-21T11:59:00Z' }, temp: 2 }],
      ['s.event_time', { s: { event_time: '20261121T115900Z', temp: 2 } }],
      ['sent', { sent: 'Sat, 21 Nov 2026 11:59:00 GMT', temp: 2 }],
      ['sent', { sent: '21.11.2026 11:59', temp: 2 }],
      ['state.0', [T - 60, 21.5]],
    ] as const)
      assert.deepEqual(read(payload).doubts, [field], field);
    const own = { kitchen: { ts: T - 60, temp: 21 }, bath: { ts: T - 90, temp: 22 } };
    assert.deepEqual(read(own).doubts, ['kitchen.ts', 'bath.ts']);
    assert.deepEqual(read(own, { records: '*', device: '{device}/{key}' }).ages, [
      'gw/state/kitchen temp 60',
      'gw/state/bath temp 90',
    ]);
  });

  it('has none when the record has its time, or the value is none', () => {
    assert.deepEqual(read({ ts: T - 60, meta: { ts: T - 90 }, temp: 21 }).doubts, []);
    assert.deepEqual(read({ a: { t: 21.5, time: 5 } }).doubts, []);
    assert.deepEqual(read({ installed: 1_500_000_000, total: 4_294_967_295, temp: 21 }).doubts, []);
    assert.deepEqual(read({ meta: { ts: T - 90 }, temp: 21 }, { time: false }).doubts, []);
    assert.deepEqual(read({ meta: { ts: T - 90 }, temp: 21 }, { drop: ['meta'] }).doubts, []);
  });
});

describe('names of fields that are times', () => {
  it('have one note', () => {
    for (const [field, payload] of [
      ['*', { [T - 120]: 21.5, [T - 60]: 21.6 }],
      ['watts.*', { watts: { '2026-11-21 10:00:00': 120, '2026-11-21 10:15:00': 130 } }],
      ['data.*.temp', { data: { [`${(T - 60) * 1000}`]: { temp: 21 } } }],
      ['*.temp', { '2026-11-21T11:00:00Z': { temp: 21.5 } }],
      ['days.*', { days: { '2026-11-20': 4.5 } }],
    ] as const)
      assert.deepEqual([...new Set(read(payload).doubts)], [field], field);
    assert.deepEqual(read({ '1.2026-11': 1, n2026: 2, 's.20261121': 3 }).doubts, []);
  });

  it('are times with the setting of the note', () => {
    const watts = { '2026-11-21T11:59:00Z': 120, '2026-11-21T11:58:00Z': 130 };
    const found = read({ watts }, { records: 'watts.*', time: '{key}' });
    assert.deepEqual(found.ages, ['gw state 60', 'gw state 120']);
    const data = { [T - 60]: { temp: 21 } };
    assert.deepEqual(read({ data }, { records: 'data.*', time: '{key}' }).ages, ['gw/state temp 60']);
    assert.deepEqual(read(data, { records: '*', time: '{key}' }).ages, ['gw/state temp 60']);
  });
});

describe('an array of values beside a time and a step', () => {
  it('has a note, because its values can be of several times', () => {
    assert.deepEqual(read({ time: T - 180, interval: 60, temps: [21, 22, 23] }).doubts, ['temps']);
    assert.deepEqual(
      read({ a: { ts: T, period_s: 10, phases: [230, 231] } }).doubts.includes('a.phases'),
      true,
    );
    assert.deepEqual(read({ start: T - 180, interval: 60, temps: [21, 22, 23] }).doubts, []);
    assert.deepEqual(read({ time: T, phases: [230, 231, 229] }).doubts, []);
    assert.deepEqual(read({ time: T, interval: 60, phases: [230] }).doubts, []);
  });
});

describe('a time of more than a year ago', () => {
  it('has a note', () => {
    // Seconds since 2000, and milliseconds since a start.
    for (const payload of [
      { ts: T - 946_684_800, v: 20 },
      { ts: 987_654_321, temp: 20 },
      { time: 200_000_000, v: 1 },
    ]) {
      const { doubts, reasons } = read(payload);
      assert.deepEqual(doubts, ['(time)'], JSON.stringify(payload));
      assert.match(reasons[0]!, /946684800 s later than 1970/);
    }
    for (const payload of [{ ts: T - 86_400 * 364, v: 20 }, { v: 1 }, { t: 5, v: 1, boot: 'a', seq: 1 }])
      assert.deepEqual(read(payload).doubts, [], JSON.stringify(payload));
  });
});
