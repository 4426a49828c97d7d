import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatTime, MAX_READINGS_PER_PAYLOAD } from '@tidegauge/readings';
import { brief, CONTEXT, decode, NAMELESS, RECEIVED, refuse } from './helpers.ts';

const NOW = RECEIVED / 1e6;

/** Readings of a pack without a topic: `[device, metric, value]`, with the time unless it is now. */
function of(pack: unknown) {
  return decode('senml-json', pack, NAMELESS).map(({ device, metric, value, time }) =>
    time === RECEIVED ? [device, metric, value] : [device, metric, value, formatTime(time)],
  );
}

describe('an example pack of RFC 8428', () => {
  it('5.1.1, single datapoint', () => {
    assert.deepEqual(of([{ n: 'urn:dev:ow:10e2073a01080063', u: 'Cel', v: 23.1 }]), [
      ['urn:dev:ow', '10e2073a01080063', 23.1],
    ]);
  });

  it('5.1.2, voltage and current now', () => {
    const pack = [
      { bn: 'urn:dev:ow:10e2073a01080063:', n: 'voltage', u: 'V', v: 120.1 },
      { n: 'current', u: 'A', v: 1.2 },
    ];
    assert.deepEqual(of(pack), [
      ['urn:dev:ow:10e2073a01080063', 'voltage', 120.1],
      ['urn:dev:ow:10e2073a01080063', 'current', 1.2],
    ]);
  });

  it('5.1.2, current over the last seconds', () => {
    const base = { bn: 'urn:dev:ow:10e2073a0108006:', bt: 1.276020076001e9, bu: 'A', bver: 5 };
    const pack = [
      { ...base, n: 'voltage', u: 'V', v: 120.1 },
      ...[-5, -4, -3, -2, -1].map((t, i) => ({ n: 'current', t, v: 1.2 + i / 10 })),
      { n: 'current', v: 1.7 },
    ];
    const device = 'urn:dev:ow:10e2073a0108006';
    const readings = of(pack);
    assert.equal(readings.length, 7);
    assert.deepEqual(readings[0], [device, 'voltage', 120.1, '2010-06-08T18:01:16.001000Z']);
    assert.deepEqual(readings[1], [device, 'current', 1.2, '2010-06-08T18:01:11.001000Z']);
    assert.deepEqual(readings[6], [device, 'current', 1.7, '2010-06-08T18:01:16.001000Z']);
  });

  it('5.1.2, a stream of humidity closed to a pack', () => {
    const seconds = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 91, 92];
    const pack = seconds.map((t, i) => ({
      ...(i === 0 ? { bn: 'urn:dev:ow:10e2073a01080063', bt: 1.320067464e9, bu: '%RH' } : {}),
      t,
      v: 21.2 + i / 10,
    }));
    const readings = of(pack);
    assert.equal(readings.length, 12);
    assert.equal(readings[0]?.[3], '2011-10-31T13:24:24.000000Z');
    assert.equal(readings[11]?.[3], '2011-10-31T13:25:56.000000Z');
  });

  it('5.1.3, several quantities under one name, distinguished by their units', () => {
    const pack = [
      { bn: 'urn:dev:ow:10e2073a01080063', bt: 1.320067464e9, bu: '%RH', v: 20 },
      { u: 'lon', v: 24.30621 },
      { u: 'lat', v: 60.07965 },
      { t: 60, v: 20.3 },
      { u: 'lon', t: 60, v: 24.30622 },
      { u: 'lat', t: 60, v: 60.07965 },
      { u: '%EL', t: 150, v: 98 },
    ];
    const [first, second] = ['2011-10-31T13:24:24.000000Z', '2011-10-31T13:25:24.000000Z'];
    assert.deepEqual(of(pack), [
      ['urn:dev:ow', '10e2073a01080063_pctRH', 20, first],
      ['urn:dev:ow', '10e2073a01080063_lon', 24.30621, first],
      ['urn:dev:ow', '10e2073a01080063_lat', 60.07965, first],
      ['urn:dev:ow', '10e2073a01080063_pctRH', 20.3, second],
      ['urn:dev:ow', '10e2073a01080063_lon', 24.30622, second],
      ['urn:dev:ow', '10e2073a01080063_lat', 60.07965, second],
      ['urn:dev:ow', '10e2073a01080063_pctEL', 98, '2011-10-31T13:26:54.000000Z'],
    ]);
  });

  it('5.1.4, the resolved form, without base fields, gives the same readings', () => {
    const pack = [
      { bn: 'urn:dev:ow:10e2073a01080063:', bt: 1.320067464e9, bu: 'Cel', n: 'a', v: 20 },
      { n: 'b', t: 60, v: 20.3 },
    ];
    const resolved = [
      { n: 'urn:dev:ow:10e2073a01080063:a', u: 'Cel', t: 1.320067464e9, v: 20 },
      { n: 'urn:dev:ow:10e2073a01080063:b', u: 'Cel', t: 1.320067524e9, v: 20.3 },
    ];
    assert.deepEqual(of(pack), of(resolved));
  });

  it('5.1.5, multiple data types', () => {
    const pack = [
      { bn: 'urn:dev:ow:10e2073a01080063:', n: 'temp', u: 'Cel', v: 23.1 },
      { n: 'label', vs: 'Machine Room' },
      { n: 'open', vb: false },
      { n: 'nfc-reader', vd: 'aGkgCg' },
    ];
    const device = 'urn:dev:ow:10e2073a01080063';
    assert.deepEqual(of(pack), [
      [device, 'temp', 23.1],
      [device, 'label', 'Machine Room'],
      [device, 'open', 0],
      [device, 'nfc-reader', 'aGkgCg'],
    ]);
  });

  it('5.1.6, a collection of resources', () => {
    const pack = [
      { bn: '2001:db8::2/', bt: 1.320078429e9, n: 'temperature', u: 'Cel', v: 25.2 },
      { n: 'humidity', u: '%RH', v: 30 },
      { bn: '2001:db8::1/', n: 'temperature', u: 'Cel', v: 12.3 },
      { n: 'humidity', u: '%RH', v: 67 },
    ];
    const time = '2011-10-31T16:27:09.000000Z';
    assert.deepEqual(of(pack), [
      ['2001:db8::2', 'temperature', 25.2, time],
      ['2001:db8::2', 'humidity', 30, time],
      ['2001:db8::1', 'temperature', 12.3, time],
      ['2001:db8::1', 'humidity', 67, time],
    ]);
  });

  it('5.1.7, setting an actuator, whose first record only carries the base name', () => {
    const pack = [
      { bn: 'urn:dev:ow:10e2073a01080063:' },
      { n: 'temp', u: 'Cel', v: 23.1 },
      { n: 'heat', u: '/', v: 1 },
      { n: 'fan', u: '/', v: 0 },
    ];
    const device = 'urn:dev:ow:10e2073a01080063';
    assert.deepEqual(of(pack), [
      [device, 'temp', 23.1],
      [device, 'heat', 1],
      [device, 'fan', 0],
    ]);
  });

  it('5.1.7, dimming lights at once and a tenth of a second later', () => {
    const pack = [
      { bt: 1.320078429e9, bu: '/', n: '2001:db8::3', v: 0.5 },
      { n: '2001:db8::4', v: 0.5 },
      { n: '2001:db8::3', t: 0.1, v: 0 },
      { n: '2001:db8::4', t: 0.1, v: 0 },
    ];
    const [first, second] = ['2011-10-31T16:27:09.000000Z', '2011-10-31T16:27:09.100000Z'];
    assert.deepEqual(of(pack), [
      ['2001:db8:', '3', 0.5, first],
      ['2001:db8:', '4', 0.5, first],
      ['2001:db8:', '3', 0, second],
      ['2001:db8:', '4', 0, second],
    ]);
  });
});

describe('an example pack of RFC 9193', () => {
  it('section 1, binary data beside other values', () => {
    const pack = [
      { bn: 'urn:dev:ow:10e2073a01080063:', n: 'temp', u: 'Cel', v: 7.1 },
      { n: 'open', vb: false },
      { n: 'nfc-reader', vd: 'aGkgCg' },
    ];
    const device = 'urn:dev:ow:10e2073a01080063';
    assert.deepEqual(of(pack), [
      [device, 'temp', 7.1],
      [device, 'open', 0],
      [device, 'nfc-reader', 'aGkgCg'],
    ]);
  });

  it('sections 1 and 4, data with its content format, which is not stored', () => {
    // The example leaves out the data of the image.
    const pack = [
      { n: 'nfc-reader', vd: 'gmNmb28YKg', bct: '60', bt: 1627430700 },
      { n: 'nfc-reader', vd: 'gmNiYXIYKw', t: 10 },
      { n: 'iris-photo', vd: 'iVBORw0KGgo', ct: 'image/png', t: 10 },
      { n: 'nfc-reader', vd: 'gmNiYXoYLA', t: 20 },
    ];
    const readings = decode('senml-json', pack, CONTEXT).map(({ metric, value, time }) => [
      metric,
      value,
      formatTime(time),
    ]);
    assert.deepEqual(readings, [
      ['nfc-reader', 'gmNmb28YKg', '2021-07-28T00:05:00.000000Z'],
      ['nfc-reader', 'gmNiYXIYKw', '2021-07-28T00:05:10.000000Z'],
      ['iris-photo', 'iVBORw0KGgo', '2021-07-28T00:05:10.000000Z'],
      ['nfc-reader', 'gmNiYXoYLA', '2021-07-28T00:05:20.000000Z'],
    ]);
    assert.deepEqual(of([{ n: 'a/nfc-reader', vd: 'gmNmb28YKg', ct: '60' }]), [
      ['a', 'nfc-reader', 'gmNmb28YKg'],
    ]);
  });
});

describe('a SenML pack', () => {
  it('without a separator in its names contains metrics of the device of the topic', () => {
    assert.deepEqual(brief(decode('senml-json', [{ n: 'humidity', v: 1 }])), [
      ['site-3/probe-7', 'humidity', 1, 0],
    ]);
  });

  it('without names, or with only a device in them, has the metric of the topic', () => {
    assert.deepEqual(brief(decode('senml-json', [{ v: 1 }])), [['site-3/probe-7', 'temperature', 1, 0]]);
    assert.deepEqual(brief(decode('senml-json', [{ bn: 'pump/', v: 1 }])), [
      ['site-3/probe-7/pump', 'temperature', 1, 0],
    ]);
    assert.equal(refuse('senml-json', [{ v: 1 }], NAMELESS).reason, 'invalid_name');
  });

  it('places the device of a name below the device of the topic', () => {
    const device = (n: string) => decode('senml-json', [{ n, v: 1 }])[0]?.device;
    assert.equal(device('urn:dev:ow:10e2:x'), 'site-3/probe-7/urn:dev:ow:10e2');
    assert.equal(device('site-3/probe-7/x'), 'site-3/probe-7');
    assert.equal(device('site-3/probe-7/pump/x'), 'site-3/probe-7/pump');
    assert.equal(refuse('senml-json', [{ n: 'a/../x', v: 1 }]).reason, 'invalid_name');
  });

  it('reads times below 2^28 as relative to now, and others as absolute', () => {
    const behind = (record: object) => brief(decode('senml-json', [{ ...record, v: 1 }]))[0]?.[3];
    assert.equal(behind({}), 0);
    assert.equal(behind({ t: -5 }), 5_000_000);
    assert.equal(behind({ t: -0.25 }), 250_000);
    assert.equal(behind({ t: 30 }), -30_000_000);
    assert.equal(behind({ bt: -60, t: 10 }), 50_000_000);
    assert.equal(behind({ bt: NOW - 10, t: 4 }), 6_000_000);
    assert.equal(behind({ t: 2 ** 28 }), RECEIVED - 2 ** 28 * 1e6);
    assert.equal(decode('senml-json', [{ t: 2 ** 28, v: 1 }])[0]?.quality, 'unsynced');
    for (const t of [2 ** 28 - 1, -(2 ** 31), NOW + 86_401, 253402300799, 1e300]) {
      assert.equal(refuse('senml-json', [{ t, v: 1 }]).reason, 'invalid_time', String(t));
    }
  });

  it('adds the base value and the base sum, each valid until it is set again', () => {
    const pack = [
      { bn: 'd/', bv: 20, n: 'a', v: 1.5 },
      { n: 'b', v: -1 },
      { bv: 0, bs: 100, n: 'c', v: 1 },
      { n: 'd', s: 5 },
      { n: 'e', vb: true },
    ];
    assert.deepEqual(
      of(pack).map(([, metric, value]) => [metric, value]),
      [
        ['a', 21.5],
        ['b', 19],
        ['c', 1],
        ['c_sum', 100],
        ['d_sum', 105],
        ['e', 1],
        ['e_sum', 100],
      ],
    );
  });

  it('gives a sum, with or without a value, as a separate metric', () => {
    assert.deepEqual(of([{ n: 'm/energy', v: 3, s: 12 }]), [
      ['m', 'energy', 3],
      ['m', 'energy_sum', 12],
    ]);
    assert.deepEqual(of([{ n: 'm/energy', s: 12 }]), [['m', 'energy_sum', 12]]);
  });

  it('notes each field that it does not know', () => {
    const ignored: string[] = [];
    const notes = { unit() {}, ignored: (field: string) => ignored.push(field) };
    for (const format of ['senml-json', 'auto'])
      decode(format, [{ n: 'temp', v: 21, mac: 'A', hum: 45 }], { ...CONTEXT, notes });
    assert.deepEqual(ignored, ['mac', 'hum', 'mac', 'hum']);
  });

  it('ignores unknown fields, but not those that end in _', () => {
    assert.equal(of([{ n: 'd/a', v: 1, l: '[]', ut: 60, vendor: { x: 1 } }]).length, 1);
    const error = refuse('senml-json', [
      { n: 'd/a', v: 1 },
      { n: 'd/b', v: 1, must_: 1 },
    ]);
    assert.equal(error.reason, 'unsupported');
    assert.equal(
      `${error}`,
      '"must_" ends with "_", so it must be understood, but it is not supported (at record 2 of 2)',
    );
  });

  it('is refused when its version is above 10, invalid, or changes', () => {
    assert.equal(
      of([
        { bver: 10, n: 'd/a', v: 1 },
        { bver: 10, n: 'd/b', v: 1 },
      ]).length,
      2,
    );
    assert.equal(
      of([
        { n: 'd/a', v: 1 },
        { bver: 10, n: 'd/b', v: 1 },
      ]).length,
      2,
    );
    for (const bver of [11, 0, -1, 5.5]) {
      assert.equal(refuse('senml-json', [{ bver, n: 'd/a', v: 1 }]).reason, 'unsupported', String(bver));
    }
    assert.equal(
      refuse('senml-json', [
        { n: 'a', v: 1 },
        { bver: 5, n: 'b', v: 1 },
      ]).reason,
      'malformed',
    );
  });

  it('is refused when a record has no value or more than one', () => {
    for (const record of [{ n: 'a' }, { t: 1 }, { n: 'a', v: 1, vs: 'x' }, { n: 'a', vb: true, vd: 'aGk' }]) {
      const error = refuse('senml-json', [{ n: 'ok', v: 1 }, record, { n: 'ok', v: 2 }]);
      assert.equal(error.reason, 'malformed', JSON.stringify(record));
      assert.equal(error.position, 'record 2 of 3');
    }
    assert.match(refuse('senml-json', [{ v: 1, vs: 'x' }]).message, /has v and vs; it must have exactly one/);
  });

  it('is refused when a field has the wrong type', () => {
    for (const field of [
      ...[{ n: 5 }, { bn: null }, { u: 1 }, { t: '2026-11-21T12:00:00Z' }, { bt: '1' }, { bver: '10' }],
      ...[{ v: '1' }, { v: null }, { v: true }, { vb: 1 }, { vs: 1 }, { vd: [] }, { s: '1' }, { ut: 'x' }],
    ]) {
      const error = refuse('senml-json', [{ n: 'a', v: 1, ...field }]);
      assert.equal(error.reason, 'invalid_value', JSON.stringify(field));
    }
    assert.equal(refuse('senml-json', '[{"n":"a","v":1e999}]').reason, 'invalid_value');
    assert.equal(refuse('senml-json', [{ bv: 1e308, v: 1e308 }]).reason, 'invalid_value');
    assert.equal(refuse('senml-json', [{ bs: 1e308, s: 1e308 }]).reason, 'invalid_value');
  });

  it('is refused when data is not base64url without padding', () => {
    for (const vd of ['aGk=', 'a+b/', 'a', 'a b']) {
      assert.equal(refuse('senml-json', [{ vd }]).reason, 'invalid_value', vd);
    }
  });

  it('is refused when a name breaks the rules of section 4.5.1', () => {
    for (const n of ['a b', ':a', '_a', '-a', 'ä', 'a@b', 'a%20', 'a~', 'a\n', 'x'.repeat(1000)]) {
      assert.equal(refuse('senml-json', [{ n, v: 1 }]).reason, 'invalid_name', n);
    }
    assert.equal(refuse('senml-json', [{ bn: 'a b', n: 'c', v: 1 }]).reason, 'invalid_name');
  });

  it('is an array of 1 to 10,000 records with a measurement', () => {
    assert.equal(refuse('senml-json', { n: 'a', v: 1 }).reason, 'malformed');
    assert.equal(refuse('senml-json', '5').reason, 'malformed');
    assert.equal(refuse('senml-json', [[]]).reason, 'malformed');
    assert.equal(refuse('senml-json', []).reason, 'empty_payload');
    assert.equal(refuse('senml-json', [{ bn: 'a' }]).reason, 'empty_payload');
    const records = Array.from({ length: MAX_READINGS_PER_PAYLOAD }, (_, t) => ({ n: 'a', t: -t, v: t }));
    assert.equal(decode('senml-json', records).length, MAX_READINGS_PER_PAYLOAD);
    assert.equal(refuse('senml-json', [...records, { v: 1 }]).reason, 'too_many_readings');
    assert.equal(refuse('senml-json', [{ bs: 1 }, ...records.slice(1)]).reason, 'too_many_readings');
  });

  it('uses the same context for every record', () => {
    const context = { ...CONTEXT, device: 'gw', metric: null };
    assert.deepEqual(
      brief(
        decode(
          'senml-json',
          [
            { bn: 'p1/', n: 'a', v: 1 },
            { bn: 'p2/', n: 'a', v: 2 },
          ],
          context,
        ),
      ),
      [
        ['gw/p1', 'a', 1, 0],
        ['gw/p2', 'a', 2, 0],
      ],
    );
  });
});

describe('several values of a name at one time', () => {
  it('are refused when they differ, because one would replace the other', () => {
    const now = [
      { n: 'temp', v: 21 },
      { n: 'temp', v: 22 },
    ];
    assert.equal(refuse('senml-json', now).reason, 'invalid_time');
    assert.match(refuse('senml-json', now).message, /^a second .* temp of the same time, with another value/);
    const timed = [
      { bt: 1_795_262_400, n: 'temp', v: 21 },
      { n: 'hum', v: 45 },
      { n: 'temp', v: 22 },
    ];
    assert.equal(refuse('senml-json', timed).reason, 'invalid_time');
    assert.equal(refuse('auto', timed).reason, 'invalid_time');
  });

  it('are readings when they are the same, or have their own times', () => {
    const same = [
      { n: 'temp', v: 21 },
      { n: 'temp', v: 21 },
    ];
    assert.equal(decode('senml-json', same).length, 2);
    const timed = [
      { n: 'temp', v: 21, t: -10 },
      { n: 'temp', v: 22 },
    ];
    assert.equal(decode('senml-json', timed).length, 2);
  });
});

describe('the units of a pack', () => {
  it('go to the notes with the names of the readings, and those of sums do not', () => {
    const units: string[] = [];
    const notes = {
      unit: (device: string, metric: string, unit: string) => units.push(`${device} ${metric} ${unit}`),
      ignored: () => assert.fail('SenML ignores no field'),
    };
    const pack = [
      { bn: 'pump/', bu: 'W', n: 'power', v: 40, s: 9000 },
      { n: 'temperature', u: 'Cel', v: 31 },
      { bu: '', n: 'open', vb: true },
    ];
    decode('senml-json', pack, { ...CONTEXT, notes });
    assert.deepEqual(units, ['site-3/probe-7/pump power W', 'site-3/probe-7/pump temperature Cel']);
  });
});
