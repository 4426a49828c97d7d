import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
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
  assert.match(
    of('plant/pump/state', '{"time":"12:30","v":1}').fix ?? '',
    /^set mapping: \{ time: false, drop: \[time\] \} \(it gives state = 1 at the time of receipt\)$/,
  );
  assert.match(
    of('plant/pump/mode', 'heating').fix ?? '',
    /^set mapping: \{ values: \{ '\*': text \} \} \(it gives mode = "heating"/,
  );
});

test('an explanation of a comma with two meanings has the settings of the route, which read it', () => {
  const rows = {
    '21,45': ['comma'],
    '1,435 kW': ['comma', 'point'],
    '{"power":"1,435 kW"}': ['comma', 'point'],
    '45,101.3': ['point'],
  };
  for (const [payload, decimals] of Object.entries(rows)) {
    const { fix } = of('plant/meter/power', payload);
    const settings = decimals.map((decimal) => `mapping: { decimal: ${decimal} }`);
    assert.deepEqual(fix?.match(/mapping: \{ [^}]* \}/g), settings, payload);
    for (const setting of settings) {
      const routes = parseRoutes(`- topic: plant/{device}/{metric}\n  ${setting}`, 'r', 'durable').routes;
      const [reading] = explain(
        new Router(routes),
        'plant/meter/power',
        Buffer.from(payload),
        RECEIVED,
      ).readings;
      assert.equal(typeof reading?.value, 'number', `${payload} with ${setting}`);
    }
  }
  assert.match(
    printExplanation(of('plant/m/p', '{"power":"1,435 kW"}')),
    /^fix {6}if it is a number, set mapping: \{ decimal: comma \}/m,
  );
  assert.match(
    of('plant/meter/code', '0012').fix ?? '',
    /mapping: \{ values: \{ '\*': number \} \} \(it gives code = 12 .*mapping: \{ values: \{ '\*': text \} \} \(it gives code = "0012" /,
  );
  const twoTimes = of('plant/meter/p', '{"time":"2026-11-21T11:00:00Z","ts":1795258800,"x":1}').fix ?? '';
  assert.match(
    twoTimes,
    /^set mapping: \{ time: \{ field: time \}, drop: \[ts\] \} \(it gives x = 1 at 2026-11-21T11:00:00Z\); or .*field: ts/,
  );
  const grouped = { '1 234': 1234, '1 234,5': 1234.5, '1 234.5': 1234.5, '1.234.567': 1_234_567 };
  for (const [payload, value] of Object.entries(grouped)) {
    const fix = of('plant/meter/p', payload).fix ?? '';
    assert.ok(fix.includes(`it gives p = ${value} `), `${payload}: ${fix}`);
  }
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
    /^quarantine {2}malformed: .*\nfix {6}set mapping/m,
  );
  assert.match(printExplanation(of('plant/pump/mode', 'unavailable')), /nothing to store/);
});

describe('the advice for a message', () => {
  const own = new Router(
    parseRoutes(
      `
- topic: plant/{device}/{metric}
- topic: strict/{device}/{metric}
  format: json
- topic: objects/{device}
- topic: any/{metric}
`,
      'routes.yml',
      'durable',
    ).routes,
  );
  const explained = (topic: string, payload: string | Uint8Array) =>
    explain(own, topic, typeof payload === 'string' ? Buffer.from(payload) : payload, RECEIVED);

  it('is what reads this message, with the reading', () => {
    const advice: Record<string, [topic: string, payload: string, fix: RegExp]> = {
      'a date with slashes': [
        'plant/a/b',
        '{"time":"03/04/2026 22:00","v":1}',
        /^set mapping: \{ time: \{ format: day-first \} \} \(it gives b = 1 at 2026-04-03T22:00:00Z\); or mapping: \{ time: \{ format: month-first \} \} \(it gives b = 1 at 2026-03-04T22:00:00Z\); or .*time: false, drop: \[time\]/,
      ],
      'a date with slashes that has one order': [
        'plant/a/b',
        '{"time":"20/11/2026 22:00","v":1}',
        /^set mapping: \{ time: \{ format: day-first \} \} [^;]*; or mapping: \{ time: false, drop: \[time\] \} [^;]*$/,
      ],
      'another field': [
        'plant/a/b',
        '{"time":"nonsense","clock2":"2026-11-21T11:00:00Z","v":1}',
        /^set mapping: \{ time: \{ field: clock2 \}, drop: \[time\] \} \(it gives b = 1 at 2026-11-21T11:00:00Z/,
      ],
      'a format': [
        'strict/a/b',
        'temp,hum\n21.5,45',
        /^set format: auto \(it gives temp = 21.5 .*, and 1 more\)$/,
      ],
      'a metric': ['objects/a', '21.5', /^set mapping: \{ metric: value \} \(it gives value = 21.5/],
      'a device': ['any/m', '{"v":1,"mac":"aa11"}', /^set mapping: \{ device: '\{mac\}' \} \(it gives m = 1/],
      'a word': ['plant/a/b', 'heating', /values: \{ '\*': text \}/],
    };
    for (const [name, [topic, payload, fix]] of Object.entries(advice))
      assert.match(explained(topic, payload).fix ?? '', fix, name);
  });

  it('is none when no setting reads it', () => {
    for (const payload of [
      '0x1F',
      '21.5;45;1013',
      '<a>1</a>',
      '{"a":1',
      '1,2\n3,4',
      Buffer.from([0xff, 1, 2]),
    ]) {
      const { error, fix } = explained('plant/a/b', payload);
      assert.equal(error?.reason, 'malformed');
      assert.equal(fix, null, `${payload}`);
    }
  });

  it('is a preset when that reads the message, also on topics that begin with the device', () => {
    const shelly =
      '{"src":"shellyplus1pm-a8","dst":"x","method":"NotifyStatus","params":{"ts":1795262000,"switch:0":{"id":0,"apower":8.9}}}';
    const found = explained('shellyplus1pm-a8/events/rpc', shelly);
    assert.deepEqual(found.proposals?.[0], { preset: 'shelly' });
    assert.match(found.fix ?? '', /^add a route: - preset: shelly/);
    assert.deepEqual(explained('boiler/events/rpc', '21.5').proposals, [
      { topic: 'boiler/{device+}/{metric}' },
    ]);
    assert.deepEqual(explained('zigbee2mqtt/lamp', 'no JSON').proposals, []);
    assert.match(
      explained('zigbee2mqtt/lamp/mode', 'heating').fix ?? '',
      /add a route: .*, and set mapping: \{ values/,
    );
  });

  it('is a template with a last / for such a topic, and routes without it read the topic', () => {
    assert.deepEqual(explained('hub/kitchen/temp/', '21.5').proposals, [
      { topic: 'hub/{device+}/{metric}/' },
    ]);
    const { device, metric, readings } = explained('plant/kitchen/temp/', '21.5');
    assert.deepEqual([device, metric, readings.length], ['kitchen', 'temp', 1]);
    assert.equal(explained('objects/kitchen/', '{"temp":21.5}').device, 'kitchen');
  });

  it('has a note for a local time, unless the route or the site has a zone', () => {
    const payload = '{"time":"2026-11-21 11:30:00","v":1}';
    const noted = explained('plant/a/b', payload);
    assert.match(noted.doubts?.[0]?.reason ?? '', /read as UTC: set zone of its route/);
    assert.match(printExplanation(noted), /^note {5}time: it is a local time/m);
    const text =
      '- topic: plant/{device}/{metric}\n  zone: Europe/Berlin\n- preset: tasmota\n- topic: utc/{device}/{metric}\n  mapping: { time: { zone: UTC } }';
    const site = new Router(parseRoutes(text, 'routes.yml', 'durable', 'America/New_York').routes);
    const timeOf = (topic: string, message: string) => {
      const found = explain(site, topic, Buffer.from(message), RECEIVED);
      assert.equal(found.doubts, undefined);
      return found.readings[0]?.time.slice(11, 16);
    };
    assert.equal(timeOf('plant/a/b', payload), '10:30');
    assert.equal(timeOf('utc/a/b', payload), '11:30');
    const tasmota = '{"Time":"2026-11-21T06:30:00","SI7021":{"Temperature":21.5}}';
    assert.equal(timeOf('tele/attic/SENSOR', tasmota), '11:30', 'the zone of the site');
    assert.throws(
      () => parseRoutes('- topic: a/{device}\n  zone: Berlin', 'r', 'durable'),
      /is not a time zone/,
    );
    assert.throws(
      () => parseRoutes('- topic: a/{device}\n  zone: UTC\n  format: json', 'r', 'durable'),
      /leave zone or format out/,
    );
  });
});

describe('a setting for values that would overwrite each other', () => {
  const AT = RECEIVED / 1e6 - 60;
  const fixFor = (payload: unknown) => of('plant/gw/scan', JSON.stringify(payload)).fix;

  it('separates them by a field, or by their times, and keeps their times', () => {
    for (const [setting, payload] of [
      ["metric: '{tag}'", ['P1.Temp', 'P1.Press'].map((tag, v) => ({ tag, v, t: AT }))],
      ["device: '{device}/{room}'", ['kitchen', 'bath'].map((room, temp) => ({ room, temp }))],
      ["device: '{device}/{zone}'", [1, 2].map((zone) => ({ zone, temp: 21 + zone }))],
      ['time: { zone: UTC }', [10, 11].map((hour) => ({ date: `2026-11-21 ${hour}:00:00`, value: hour }))],
      ['drop: [rxInfo]', { time: AT, temp: 21, rxInfo: [-80, -90].map((rssi) => ({ rssi, time: AT })) }],
    ] as const) {
      const fix = fixFor(payload);
      assert.ok(fix?.startsWith(`set mapping: { ${setting} } (it gives `), `${fix}`);
      assert.doesNotMatch(`${fix}`, /time: false/);
    }
  });

  it('is not there when no field separates them', () => {
    assert.equal(fixFor([{ temp: 1 }, { temp: 2 }]), null);
  });
});
