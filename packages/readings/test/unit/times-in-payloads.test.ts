import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compileMapping, DecodeError, formats, formatTime, type MappingOptions } from '@tidegauge/readings';
import { autoDecoder } from '../../src/codecs/auto.ts';

const RECEIVED = Date.UTC(2026, 10, 26, 22) * 1000;
const BERLIN = autoDecoder('Europe/Berlin');

/** Metric, value and time of each reading, with the notes; or the error. */
function read(payload: unknown, decode = formats.auto!, received = RECEIVED) {
  const doubts: string[] = [];
  const notes = {
    unit: () => {},
    ignored: () => {},
    doubt: (field: string, why: string) => doubts.push(`${field}: ${why}`),
  };
  const bytes = Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
  const decoded = decode(bytes, { device: 'd', metric: 'm', received, notes });
  if (decoded instanceof DecodeError) return { error: `${decoded.reason}: ${decoded}`, readings: [], doubts };
  const readings = decoded.map(({ metric, value, time }) => [metric, value, formatTime(time).slice(0, 19)]);
  return { error: '', readings, doubts };
}
const timeOf = (time: unknown, decode = formats.auto!) => read({ time, v: 1 }, decode).readings[0]?.[2];

describe('a local time without a zone', () => {
  const texts = [
    '2026-11-26 21:30:00',
    '2026-11-26T21:30:00',
    '26.11.2026 21:30',
    '26.11.26 21:30',
    '2026/11/26 21:30',
    '20261126213000',
  ];
  for (const text of texts) {
    it(`is UTC with a note, or in the zone of the route: ${text}`, () => {
      const found = read({ time: text, v: 1 });
      assert.deepEqual(found.readings, [['m', 1, '2026-11-26T21:30:00']]);
      assert.match(found.doubts.join(), /^time: it is a local time without a zone, and is read as UTC/);
      const local = read({ time: text, v: 1 }, BERLIN);
      assert.deepEqual(local, { error: '', readings: [['m', 1, '2026-11-26T20:30:00']], doubts: [] });
    });
  }

  it('has the note also in arrays, beside other fields, in line with the strict format, and in a mapping', () => {
    const rtl = { time: '2026-11-26 21:30:00', model: 'X', mod: 7, temperature_C: 21.5 };
    assert.equal(read(rtl).doubts.length, 1);
    assert.equal(read([rtl]).doubts.length, 1);
    assert.equal(read({ readings: [rtl] }).doubts.length, 1);
    assert.equal(read({ time: '2026-11-26T21:30:00', v: 1 }, formats.json!).doubts.length, 1);
    assert.equal(read({ at: '2026-11-26 21:30:00', v: 1 }, compileMapping({ time: 'at' })).doubts.length, 1);
    const stated: MappingOptions[] = [{ time: { field: 'at', zone: 'UTC' } }, { time: { zone: 'UTC' } }];
    for (const options of stated)
      assert.deepEqual(read({ at: '2026-11-26 21:30:00', v: 1 }, compileMapping(options)).doubts, []);
  });

  it('is no matter for times with a zone, and for numbers', () => {
    for (const time of [
      '2026-11-26T21:30:00Z',
      '2026-11-26T21:30:00+01:00',
      '2026-11-26 21:30:00 -0500',
      1_795_262_400,
    ])
      assert.deepEqual(read({ time, v: 1 }).doubts, [], `${time}`);
  });
});

describe('the hour that occurs twice', () => {
  // Clocks in Berlin are set back on 2026-10-25 at 01:00 UTC from 03:00 to 02:00.
  const at = (text: string) => Date.parse(text) * 1000;
  const reading = { time: '2026-10-25 02:30:00', v: 1 };

  it('is the one nearest to the receipt, with a note', () => {
    const cases = {
      '2026-10-25T00:30:01Z': '2026-10-25T00:30:00',
      '2026-10-25T01:15:00Z': '2026-10-25T00:30:00',
      '2026-10-25T01:29:30Z': '2026-10-25T01:30:00',
      '2026-10-25T01:30:01Z': '2026-10-25T01:30:00',
      '2026-10-25T02:29:00Z': '2026-10-25T01:30:00',
    };
    for (const [received, time] of Object.entries(cases)) {
      const found = read(reading, BERLIN, at(received));
      assert.deepEqual(found.readings, [['m', 1, time]], received);
      assert.match(found.doubts.join(), /occurs twice/);
    }
  });

  it('is refused when the receipt cannot decide, so that two readings never become one', () => {
    const { error } = read(reading, BERLIN, at('2026-10-25T04:00:00Z'));
    assert.match(error, /^invalid_time: "time" is .*occurs twice.*too late to decide/);
    assert.deepEqual(
      read({ time: '2026-10-25 03:30:00', v: 1 }, BERLIN, at('2026-10-26T00:00:00Z')).readings,
      [['m', 1, '2026-10-25T02:30:00']],
    );
  });

  it('follows the order of an array', () => {
    const times = ['01:30', '02:00', '02:30', '02:00', '02:30', '03:00'];
    const records = times.map((time, v) => ({ time: `2026-10-25 ${time}:00`, v }));
    assert.deepEqual(
      read(records, BERLIN, at('2026-10-25T12:00:00Z')).readings.map(([, , time]) =>
        String(time).slice(11, 16),
      ),
      ['23:30', '00:00', '00:30', '01:00', '01:30', '02:00'],
    );
  });
});

describe('a time in another form', () => {
  const forms: Record<string, string> = {
    '261126220000W': '2026-11-26T21:00:00',
    '260726220000S': '2026-07-26T20:00:00',
    '20261126T210000Z': '2026-11-26T21:00:00',
    '20261126T220000+0100': '2026-11-26T21:00:00',
    '20261126210000': '2026-11-26T21:00:00',
    '202611262100': '2026-11-26T21:00:00',
    '20261126T2100Z': '2026-11-26T21:00:00',
  };
  for (const [text, time] of Object.entries(forms)) {
    it(`is read: ${text}`, () => assert.equal(timeOf(text), time));
  }

  it('is read as a number too: 20261126210000', () =>
    assert.equal(timeOf(20_261_126_210_000), '2026-11-26T21:00:00'));

  it('is read as a number without seconds, and no milliseconds since 1970: 202611262100', () => {
    assert.equal(timeOf(202_611_262_100), '2026-11-26T21:00:00');
    assert.match(read({ time: 261_126_210_000, temp: 1 }).error, /^invalid_time/);
    assert.match(read({ time: '261126210000', temp: 1 }).error, /^invalid_time/);
  });

  it('has a note when a usual field has a time in a form that is not read', () => {
    for (const text of [
      '2026-11-26T24:00:00Z',
      'Thu Nov 26 22:00:00 2026',
      '26-11-2026 22:00:00Z',
      '2026-W48-4T22:00:00Z',
    ]) {
      const { readings, doubts } = read({ last_seen: text, temp: 1 });
      assert.deepEqual(readings.at(-1), ['temp', 1, '2026-11-26T22:00:00'], text);
      assert.match(doubts.join(), /^last_seen: it looks like a time, .*The time of receipt is used$/, text);
    }
    for (const text of ['never', 'kitchen 12', '2026-11-26T22:00:00Z', 'v1.2.345678'])
      assert.deepEqual(read({ last_seen: text, temp: 1 }).doubts, [], text);
  });

  it('has a note when it is inside an object, and the record has no time', () => {
    const doubts = (payload: unknown) => read(payload).doubts.join();
    assert.match(
      doubts({ data: { time: 1_795_723_200, temp: 1 } }),
      /^data\.time: it is a time, and is stored as a value/,
    );
    assert.match(doubts({ temp: { value: 1, time: '2026-11-26T20:00:00Z' } }), /^temp\.time: it is a time/);
    assert.equal(doubts({ time: 1_795_723_200, data: { time: 1_795_723_200, temp: 1 } }), '');
    assert.equal(doubts({ data: { t: 21.5, time: 'never' } }), '');
    const mapped = compileMapping({ time: 'data.time' });
    assert.deepEqual(read({ data: { time: 1_795_723_200, temp: 1 } }, mapped).doubts, []);
  });

  it('is refused with the form of its zone', () => {
    for (const zone of [' CET', ' CEST', ' Europe/Berlin', '+01:00[Europe/Berlin]']) {
      const time = `2026-11-26T22:00:00${zone}`;
      assert.match(
        read({ time, temp: 1 }).error,
        /its zone is a name or an abbreviation.* offset such as \+01:00/,
        time,
      );
      assert.match(read({ last_seen: time, temp: 1 }).doubts.join(), /its zone is a name/, time);
    }
  });

  it('has a note when it does not occur in the zone', () => {
    const received = Date.UTC(2026, 2, 29, 2) * 1000;
    const skipped = read({ time: '2026-03-29T02:30:00', v: 1 }, BERLIN, received);
    assert.deepEqual(skipped.readings, [['m', 1, '2026-03-29T01:30:00']]);
    assert.match(skipped.doubts.join(), /^time: this local time does not occur.* set zone .*\+01:00/);
    for (const text of ['2026-03-29T01:59:59', '2026-03-29T03:00:00'])
      assert.deepEqual(read({ time: text, v: 1 }, BERLIN, received).doubts, [], text);
    const fixed = compileMapping({ time: { zone: '+01:00' } });
    assert.deepEqual(read({ time: '2026-03-29T02:30:00', v: 1 }, fixed, received), {
      ...skipped,
      doubts: [],
    });
  });

  it('is in two fields', () => {
    const both: unknown[] = [
      { date: '2026-11-26', time: '21:30:00', temp: 1 },
      { Date: '26.11.2026', Time: '21:30', temp: 1 },
      { date: '2026/11/26', time: '22:30:00+01:00', temp: 1 },
      { temp: 1, time: '21:30:00', date: '26.11.26' },
      { date: '20261126', time: '213000', temp: 1 },
      { date: '20261126', time: '2130', temp: 1 },
    ];
    for (const payload of both)
      assert.deepEqual(read(payload).readings, [['temp', 1, '2026-11-26T21:30:00']], JSON.stringify(payload));
    assert.equal(read([both[0], { date: '2026-11-26', time: '21:31:00', temp: 2 }]).readings.length, 2);
  });

  it('is refused by name when day and month can be exchanged, and read when the mapping states their order', () => {
    for (const time of ['03/04/2026 22:00', '26/11/2026 21:30:00', '11/26/2026, 9:30:00 PM'])
      assert.match(
        read({ time, v: 1 }).error,
        /^invalid_time: .*set format: day-first or format: month-first/,
      );
    const dayFirst = compileMapping({ time: { format: 'day-first' } });
    const monthFirst = compileMapping({ time: { format: 'month-first' } });
    assert.equal(timeOf('03/04/2026 22:00', dayFirst), '2026-04-03T22:00:00');
    assert.equal(timeOf('03/04/2026 22:00', monthFirst), '2026-03-04T22:00:00');
    assert.equal(timeOf('11/26/2026, 9:30:00 PM', monthFirst), '2026-11-26T21:30:00');
    assert.equal(timeOf('11/26/2026 12:05 AM', monthFirst), '2026-11-26T00:05:00');
    assert.match(read({ time: '11/26/2026 21:30', v: 1 }, dayFirst).error, /invalid_time/);
    assert.equal(timeOf('2026-11-26T21:30:00Z', dayFirst), '2026-11-26T21:30:00', 'other forms too');
    assert.match(
      read({ datetime: '03/04/2026 22:00', temp: 1 }).doubts.join(),
      /the time of receipt is used/i,
    );
  });

  it('is refused by name when it has no date', () => {
    for (const time of ['12:30', '12:30:15Z', '9:30 PM'])
      assert.match(read({ time, v: 1 }).error, /time of day without a date/, time);
  });
});

describe('values of several times', () => {
  const T = RECEIVED / 1e6 - 1800;
  const first = '2026-11-26T21:30:00';
  const second = '2026-11-26T21:31:00';
  const m = [
    ['m', 1, first],
    ['m', 2, second],
  ];
  const cases: Record<string, readonly [payload: unknown, readings: unknown]> = {
    'a start and a step': [{ start: T, step: 60, values: [1, 2] }, m],
    'a start and an interval': [{ start: T, interval: 60, values: [1, 2] }, m],
    milliseconds: [{ startTime: T * 1000, interval: 60_000, data: [1, 2] }, m],
    'a unit in the name': [{ t0: `${first}Z`, intervalMs: 60_000, samples: [1, 2] }, m],
    minutes: [{ start_time: T, step_minutes: 1, values: [1, 2] }, m],
    'several columns and a further field': [
      { start: T, interval_s: 60, temp: [1, 2], hum: [3, null], battery: 90 },
      [
        ['temp', 1, first],
        ['hum', 3, first],
        ['temp', 2, second],
        ['battery', 90, '2026-11-26T22:00:00'],
      ],
    ],
    'a column of times': [
      { time: [T, T + 60], temp: [1, 2], hourly: { time: [`${first}Z`, `${second}Z`], hum: [3, 4] } },
      [
        ['temp', 1, first],
        ['temp', 2, second],
        ['hourly.hum', 3, first],
        ['hourly.hum', 4, second],
      ],
    ],
    'pairs of time and value': [
      [
        [T, 1],
        [T + 60, 2],
      ],
      m,
    ],
    'the history of Milesight': [
      {
        temperature: 3,
        history: [
          { timestamp: T, temperature: 1 },
          { timestamp: T + 60, temperature: 2 },
        ],
      },
      [
        ['temperature', 3, '2026-11-26T22:00:00'],
        ['history.temperature', 1, first],
        ['history.temperature', 2, second],
      ],
    ],
    'the datalog of Dragino': [
      {
        datalog: [
          [3.3, 21.5, `${first}Z`],
          [3.4, 21.6, `${second}Z`],
        ],
      },
      [
        ['datalog.0', 3.3, first],
        ['datalog.1', 21.5, first],
        ['datalog.0', 3.4, second],
        ['datalog.1', 21.6, second],
      ],
    ],
    'ThingsBoard with further fields': [
      [
        { ts: T * 1000, values: { temp: 1 }, rssi: -60 },
        { ts: T * 1000 + 60_000, values: { temp: 2 }, rssi: -61 },
      ],
      [
        ['values.temp', 1, first],
        ['rssi', -60, first],
        ['values.temp', 2, second],
        ['rssi', -61, second],
      ],
    ],
    'ThingsBoard of a gateway': [
      {
        A: [
          { ts: T * 1000, values: { temp: 1 } },
          { ts: T * 1000 + 60_000, values: { temp: 2 } },
        ],
      },
      [
        ['A.values.temp', 1, first],
        ['A.values.temp', 2, second],
      ],
    ],
    'names and values with times': [
      {
        x: [
          { name: 'a', value: 1, time: T },
          { name: 'a', value: 2, time: T + 60 },
        ],
      },
      [
        ['x.a', 1, first],
        ['x.a', 2, second],
      ],
    ],
  };
  for (const [name, [payload, readings]] of Object.entries(cases)) {
    it(`are read at their times: ${name}`, () => assert.deepEqual(read(payload).readings, readings));
  }

  it('are refused by name when their times are not certain', () => {
    const uncertain: Record<string, RegExp> = {
      [`{"start":${T}000,"step":60,"values":[1,2]}`]:
        /unit of "step" is not certain: name it step_s or step_ms/,
      [`{"start":${T},"step":1000,"values":[1,2]}`]: /unit of "step"/,
      [`{"start":${T},"interval":7201,"values":[1,2]}`]: /unit of "interval"/,
      [`{"t":${T},"interval":60,"values":[1,2]}`]:
        /whether "t" is the time of the first or of the last value/,
      [`{"start":${T},"interval":60,"a":[1,2],"b":[1,2,3]}`]: /different lengths/,
      [`{"time":[${T},${T + 60}],"a":[1,2,3]}`]: /different lengths/,
    };
    for (const [payload, message] of Object.entries(uncertain)) {
      const { error } = read(payload);
      assert.match(error, /^invalid_time: /, payload);
      assert.match(error, message, payload);
    }
  });

  it('never become one reading', () => {
    const twice: unknown[] = [
      [
        { t: T, v: 1 },
        { t: T, v: 2 },
      ],
      [
        { t: T + 60, v: 1 },
        { t: T, v: 2 },
        { t: T + 60, v: 3 },
      ],
      {
        history: [
          { t: T, v: 1 },
          { t: T, v: 2 },
        ],
      },
      { time: [T, T], v: [1, 2] },
      [
        [T, 1],
        [T, 2],
      ],
    ];
    for (const payload of twice)
      assert.match(read(payload).error, /^invalid_time: .*overwrite/, JSON.stringify(payload));
    assert.equal(
      read([
        { t: T, v: 1 },
        { t: T, v: 1 },
      ]).error,
      '',
      'the same value again changes nothing',
    );
    assert.equal(
      read([
        { t: T, a: 1 },
        { t: T, b: 1 },
      ]).readings.length,
      2,
    );
  });

  it('are other values when nothing is a time', () => {
    const others = [
      { interval: 60, phases: [230, 231] },
      { t: T, interval: 60, phases: [230, 231] },
      {
        history: [
          { t: 21.5, h: 45 },
          { t: 22, h: 40 },
        ],
      },
      { start: 5, step: 2, values: [1, 2] },
      { steps: 5000, values: [1, 2] },
    ];
    for (const payload of others) assert.equal(read(payload).error, '', JSON.stringify(payload));
  });
});
