import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  compileMapping,
  type Decode,
  DecodeError,
  formats,
  type MappingOptions,
  type Reading,
  toReadingDocument,
} from '@tidegauge/readings';
import { CONTEXT, NAMELESS, RECEIVED } from './helpers.ts';

type Metric = readonly [metric: string, value: number | string, unit?: string];

/** Metric, value and unit of each reading. */
function metrics(decode: Decode, payload: object): readonly Metric[] {
  const units = new Map<string, string>();
  const notes = {
    unit: (_device: string, metric: string, unit: string) => void units.set(metric, unit),
    ignored: () => {},
  };
  const decoded = decode(Buffer.from(JSON.stringify(payload)), { ...CONTEXT, notes });
  if (decoded instanceof DecodeError) assert.fail(`${decoded}`);
  return decoded.map(({ metric, value }): Metric => {
    const unit = units.get(metric);
    return unit === undefined ? [metric, value] : [metric, value, unit];
  });
}

const mapped = (options: MappingOptions) => compileMapping(options);
/** The ways to read JSON, which agree about units. */
const WAYS: Readonly<Record<string, Decode>> = {
  auto: formats.auto!,
  json: formats.json!,
  'a mapping': mapped({}),
};

for (const [name, decode] of Object.entries(WAYS)) {
  describe(`a unit in a field, read by ${name},`, () => {
    const cases: readonly (readonly [string, object, readonly Metric[]])[] = [
      ['is that of the value beside it', { value: 21.5, unit: 'Cel' }, [['temperature', 21.5, 'Cel']]],
      [
        'has other usual names, and other spellings of units',
        { v: 21.5, unit_of_measurement: '°C', battery: 3 },
        [
          ['temperature', 21.5, 'Cel'],
          ['battery', 3],
        ],
      ],
      ['can be in no registry', { value: 3, uom: 'pieces' }, [['temperature', 3, 'pieces']]],
      ['is no metric when it is empty', { value: 3, unit: ' ' }, [['temperature', 3]]],
      [
        'is a text beside the only number, which can be a setting',
        { interval: 60, unit: 'C', seq: 7 },
        [
          ['interval', 60],
          ['unit', 'C'],
        ],
      ],
      [
        'is that of the field it is named after',
        { t_in: 21.5, t_in_unit: 'C', rh: 40, rhUnit: '%' },
        [
          ['t_in', 21.5, 'Cel'],
          ['rh', 40, '%'],
        ],
      ],
      [
        'is a text when several numbers can have it',
        { t_in: 21.5, t_out: 4, unit: 'C' },
        [
          ['t_in', 21.5],
          ['t_out', 4],
          ['unit', 'C'],
        ],
      ],
      [
        'is a text beside a text when it is no known unit',
        { value: 'let', unit: '12B' },
        [
          ['temperature', 'let'],
          ['unit', '12B'],
        ],
      ],
      [
        'is a text when it is too long for a unit',
        { value: 1, unit: 'x'.repeat(65) },
        [
          ['temperature', 1],
          ['unit', 'x'.repeat(65)],
        ],
      ],
      [
        'is a number when it is one',
        { value: 1, unit: 7 },
        [
          ['temperature', 1],
          ['unit', 7],
        ],
      ],
      ['is a text alone', { unit: 'Cel' }, [['unit', 'Cel']]],
    ];
    for (const [behaviour, payload, expected] of cases) {
      it(behaviour, () => assert.deepEqual(metrics(decode, payload), expected));
    }
  });
}

describe('a unit in a field', () => {
  it('is found in nested objects that have more than value and unit', () => {
    assert.deepEqual(metrics(formats.auto!, { air: { value: 21.5, unit: '°C', ok: true } }), [
      ['air.value', 21.5, 'Cel'],
      ['air.ok', 1],
    ]);
  });

  it('is a text with unit: false', () => {
    const payload = { value: 3, unit: 'Cel', air: { value: 21.5, unit: '°C' }, t_in: 4, t_in_unit: 'C' };
    assert.deepEqual(metrics(mapped({ unit: false }), payload), [
      ['temperature', 3],
      ['unit', 'Cel'],
      ['air.value', 21.5],
      ['air.unit', '°C'],
      ['t_in', 4],
      ['t_in_unit', 'C'],
    ]);
  });

  it('of an answer of the API is read as the unit again', () => {
    const reading = formats.json!(Buffer.from('{"v":21.5}'), CONTEXT) as readonly Reading[];
    const document = { ...toReadingDocument(reading[0]!), unit: 'Cel' };
    assert.deepEqual(metrics(formats.json!, document), [['temperature', 21.5, 'Cel']]);
    assert.deepEqual(formats.json!(Buffer.from(JSON.stringify({ readings: [document] })), NAMELESS), reading);
  });
});

describe('values with a name and a time', () => {
  const decode = (payload: object) => {
    const decoded = formats.auto!(Buffer.from(JSON.stringify(payload)), CONTEXT);
    if (decoded instanceof DecodeError) assert.fail(`${decoded}`);
    return decoded.map(({ metric, value, time }) => [metric, value, (RECEIVED - time) / 1e6]);
  };
  const at = (secondsAgo: number) => RECEIVED / 1e6 - secondsAgo;

  it('are one series for each name, with their own times', () => {
    const list = [
      { name: 'temp', value: 21, t: at(2) },
      { name: 'hum', value: 45, t: at(2) },
      { name: 'temp', value: 22, t: at(1) },
    ];
    const expected = [
      ['temp', 21, 2],
      ['hum', 45, 2],
      ['temp', 22, 1],
    ];
    assert.deepEqual(decode(list), expected);
    assert.deepEqual(decode({ readings: list }), expected);
  });

  it('have the same metrics when the array has only one of them', () => {
    assert.deepEqual(decode([{ name: 'temp', value: 21 }]), [['temp', 21, 0]]);
  });

  it('are not named after numbers of messages, unless they would replace each other', () => {
    const messages = (seconds: number) => [
      { id: 'a1', v: 1, t: at(1 + seconds) },
      { id: 'a2', v: 2, t: at(1) },
    ];
    assert.deepEqual(decode(messages(1)), [
      ['temperature', 1, 2],
      ['id', 'a1', 2],
      ['temperature', 2, 1],
      ['id', 'a2', 1],
    ]);
    assert.deepEqual(decode(messages(0)), [
      ['a1', 1, 1],
      ['a2', 2, 1],
    ]);
  });
});

describe('a time with a usual name, in a payload that the strict format accepts,', () => {
  const timeOf = (payload: object) => {
    const decoded = formats.auto!(Buffer.from(JSON.stringify(payload)), CONTEXT);
    if (decoded instanceof DecodeError) assert.fail(`${decoded}`);
    return decoded.map(({ metric, time }) => [metric, (RECEIVED - time) / 1e6]);
  };

  it('is the time of the readings', () => {
    assert.deepEqual(timeOf({ co2: 412, created_at: '2026-11-21T11:59:00Z' }), [['co2', 60]]);
    assert.deepEqual(timeOf({ co2: 412, last_seen: RECEIVED / 1000 - 5000 }), [['co2', 5]]);
    assert.deepEqual(timeOf([{ co2: 412, Time: '2026-11-21T12:59:00+01:00' }]), [['co2', 60]]);
  });

  it('is a metric when it is no time, or the record has another one', () => {
    assert.deepEqual(timeOf({ co2: 412, date: 'today' }), [
      ['co2', 0],
      ['date', 0],
    ]);
    assert.deepEqual(timeOf({ t: RECEIVED / 1e6 - 1, last_seen: '2026-11-21T11:59:00Z' }), [
      ['last_seen', 1],
    ]);
  });
});
