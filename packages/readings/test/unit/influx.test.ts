import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  compileInfluxNames,
  DecodeError,
  deviceNameProblem,
  influxDecoder,
  influxPrecision,
  metricNameProblem,
  splitLines,
} from '@tidegauge/readings';
import fc from 'fast-check';
import { findLines, type Point, parsePoint } from '../../src/codecs/influx-line.ts';
import { brief, CONTEXT, decode, NAMELESS, RECEIVED, refuse } from './helpers.ts';

const point = (line: string): Point => {
  const parsed = parsePoint(line);
  if (typeof parsed === 'string' || parsed instanceof DecodeError) assert.fail(`${line}: ${parsed}`);
  return parsed;
};

// https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/
describe('line protocol', () => {
  it('reads the examples of its reference', () => {
    assert.deepEqual(
      point('myMeasurement,tag1=value1,tag2=value2 fieldKey="fieldValue" 1556813561098000000'),
      {
        measurement: 'myMeasurement',
        tags: [
          ['tag1', 'value1'],
          ['tag2', 'value2'],
        ],
        fields: [['fieldKey', 'fieldValue']],
        timestamp: '1556813561098000000',
      },
    );
    const fields: [string, unknown][] = [
      ['myMeasurement fieldKey=1.0', 1],
      ['myMeasurement fieldKey=1', 1],
      ['myMeasurement fieldKey=-1.234456e+78', -1.234456e78],
      ['myMeasurement fieldKey=1i', 1],
      ['myMeasurement fieldKey=12485903i', 12485903],
      ['myMeasurement fieldKey=-12485903i', -12485903],
      ['myMeasurement fieldKey=1u', 1],
      ['myMeasurement fieldKey=12485903u', 12485903],
      ['myMeasurement fieldKey="this is a string"', 'this is a string'],
      ['myMeasurement fieldKey=true', true],
      ['myMeasurement fieldKey=false', false],
      ['myMeasurement fieldKey=t', true],
      ['myMeasurement fieldKey=f', false],
      ['myMeasurement fieldKey=TRUE', true],
      ['myMeasurement fieldKey=FALSE', false],
      ['myMeasurement fieldKey="string value" 1556813561098000000', 'string value'],
      ['myMeasurement fieldKey="\\"string\\" within a string"', '"string" within a string'],
      ['myMeasurement,tagKey=🍭 fieldKey="Launch 🚀" 1556813561098000000', 'Launch 🚀'],
    ];
    for (const [line, value] of fields) assert.deepEqual(point(line).fields, [['fieldKey', value]], line);
    assert.equal(point('my\\ Measurement fieldKey="string value"').measurement, 'my Measurement');
    assert.deepEqual(
      point('myMeasurement,tag\\ Key1=tag\\ Value1,tag\\ Key2=tag\\ Value2 fieldKey=100').tags,
      [
        ['tag Key1', 'tag Value1'],
        ['tag Key2', 'tag Value2'],
      ],
    );
  });

  it('reads the examples of the tutorial of InfluxDB 1.x', () => {
    // https://docs.influxdata.com/influxdb/v1/write_protocols/line_protocol_tutorial/
    const lines: [string, Partial<Point>][] = [
      ['weather,location=us-midwest temperature=82 1465839830100400200', { fields: [['temperature', 82]] }],
      ['weather,location\\ place=us-midwest temperature=82', { tags: [['location place', 'us-midwest']] }],
      ['weather,location=us\\,midwest temperature=82', { tags: [['location', 'us,midwest']] }],
      ['weather,location=us-midwest temp\\=rature=82', { fields: [['temp=rature', 82]] }],
      ['wea\\,ther,location=us-midwest temperature=82', { measurement: 'wea,ther' }],
      ['wea\\ ther,location=us-midwest temperature=82', { measurement: 'wea ther' }],
      ['weather,location=us-midwest temperature="too\\"hot\\""', { fields: [['temperature', 'too"hot"']] }],
      ["weather,location='us-midwest' temperature=82", { tags: [['location', "'us-midwest'"]] }],
      ['weather,location="us-midwest" temperature=82', { tags: [['location', '"us-midwest"']] }],
      ['weather,location=us-midwest temperature="too\\\\hot"', { fields: [['temperature', 'too\\hot']] }],
      [
        'weather,location=us-midwest temperature_str="too\\hot/cold"',
        { fields: [['temperature_str', 'too\\hot/cold']] },
      ],
      [
        'weather,location=us-midwest temperature_str="too\\\\\\\\hot"',
        { fields: [['temperature_str', 'too\\\\hot']] },
      ],
    ];
    for (const [line, part] of lines) assert.deepEqual({ ...point(line), ...part }, point(line), line);
  });

  it('refuses what InfluxDB refuses, in its words', () => {
    const bad: [string, string][] = [
      [',tag=1 value=1', 'missing measurement'],
      ['cpu', 'missing fields'],
      ['cpu ', 'missing fields'],
      ['cpu,host=a', 'missing fields'],
      ['cpu,host value=1', 'missing tag value'],
      ['cpu,host= value=1', 'missing tag value'],
      ['cpu,=a value=1', 'missing tag key'],
      ['cpu,a=b=c value=1', 'invalid tag format'],
      ['cpu,a=1,a=2 value=1', 'duplicate tags'],
      ['cpu =1', 'missing field key'],
      ['cpu value=', 'missing field value'],
      ['cpu value=1,', 'missing field key'],
      ['cpu value=1,other', 'missing field value'],
      ['cpu value="a', 'unbalanced quotes'],
      ['cpu value=tru', 'invalid boolean'],
      ['cpu value=1x', 'invalid number'],
      ['cpu value=NaN', 'invalid number'],
      ['cpu value=Inf', 'invalid number'],
      ['cpu value=--1', 'invalid number'],
      ['cpu value=1.5i', 'invalid number'],
      ['cpu value=-1u', 'invalid number'],
      ['cpu value=1e999', 'invalid number: value out of range'],
      ['cpu value=9223372036854775808i', 'unable to parse integer: value out of range'],
      ['cpu value=18446744073709551616u', 'unable to parse unsigned: value out of range'],
      ['cpu value=1 12a', 'bad timestamp'],
      ['cpu value=1 1.5', 'bad timestamp'],
      ['cpu value=1 1 2', 'bad timestamp'],
      ['cpu value="a"b', 'invalid field format'],
      ["weather,location=us-midwest temperature='too warm'", 'invalid number'],
    ];
    for (const [line, why] of bad) assert.equal(parsePoint(line), why, line);
  });

  it('has lines, comments and empty lines, and newlines in quoted texts', () => {
    const text = '# a comment "\n\ncpu v=1\r\n  \nlog m="a\nb",n=1\n #x=1\nmem v=2';
    assert.deepEqual(
      [...findLines(text)].map(({ from, to, line }) => [line, text.slice(from, to)]),
      [
        [3, 'cpu v=1'],
        [5, 'log m="a\nb",n=1'],
        [8, 'mem v=2'],
      ],
    );
  });

  const name = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    // A backslash at the end would escape the separator after it, and a newline ends the line.
    .filter((text) => !/[\n\r\0]|\\$|\\[,= \\]|^\s|^#/.test(text) && text.isWellFormed());
  const value = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.string({ unit: 'grapheme' }).filter((text) => text.isWellFormed()),
  );
  const escaped = (text: string) => text.replaceAll(/[,= ]/g, '\\$&');
  const points = fc.record({
    measurement: name,
    tags: fc.uniqueArray(fc.tuple(name, name), { selector: ([key]) => key, maxLength: 4 }),
    fields: fc.array(fc.tuple(name, value), { minLength: 1, maxLength: 4 }),
    timestamp: fc.option(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String)),
  });
  const written = ({ measurement, tags, fields, timestamp }: Point): string => {
    const field = (raw: unknown) =>
      typeof raw === 'string' ? `"${raw.replaceAll(/["\\]/g, '\\$&')}"` : String(raw);
    const key = [measurement.replaceAll(/[, ]/g, '\\$&'), ...tags.map((tag) => tag.map(escaped).join('='))];
    const body = fields.map(([each, raw]) => `${escaped(each)}=${field(raw)}`).join(',');
    return `${key.join(',')} ${body}${timestamp === null ? '' : ` ${timestamp}`}`;
  };

  it('reads every point that is written with its escapes', () => {
    fc.assert(
      fc.property(points, (one) => {
        const line = written(one);
        assert.deepEqual(
          [...findLines(line)].map(({ from, to }) => line.slice(from, to)),
          [line],
        );
        const plain = { ...one, fields: one.fields.map(([key, raw]) => [key, raw === 0 ? 0 : raw]) };
        const read = point(line);
        assert.deepEqual(
          { ...read, fields: read.fields.map(([key, raw]) => [key, raw === 0 ? 0 : raw]) },
          plain,
        );
      }),
      { numRuns: 2000 },
    );
  });

  it('gives different series different names, and the same series the same names', () => {
    const names = compileInfluxNames();
    const series = ({ measurement, tags }: Point, field: string) => {
      const sorted = tags.toSorted(([a], [b]) => (a < b ? -1 : 1));
      return JSON.stringify([measurement, sorted, field]);
    };
    const small = fc.constantFrom(
      'a',
      'b',
      'a.b',
      'a:b',
      'host',
      '.',
      '..',
      'a/b',
      ' ',
      '~20',
      '~',
      '%',
      'c'.repeat(70),
    );
    const tag = fc.tuple(fc.oneof(small, fc.constantFrom('host')), small);
    const tiny = fc.record({
      measurement: small,
      tags: fc.uniqueArray(tag, { selector: ([key]) => key, maxLength: 9 }),
      fields: fc.constant([['', 1]] as [string, number][]),
      timestamp: fc.constant(null),
    });
    const seen = new Map<string, string>();
    fc.assert(
      fc.property(tiny, small, (one, field) => {
        const device = names.device(one, 'db', null)!;
        const metric = names.metric(one)(field);
        assert.equal(deviceNameProblem(device), null, device);
        assert.equal(metricNameProblem(metric), null, metric);
        const reversed = { ...one, tags: one.tags.toReversed() };
        assert.equal(names.device(reversed, 'db', null), device);
        const key = `${device} ${metric}`;
        const of = series(one, field);
        assert.equal(seen.get(key) ?? of, of, key);
        seen.set(key, of);
      }),
      { numRuns: 5000 },
    );
  });
});

describe('the format influx', () => {
  it('makes a reading of each field', () => {
    const lines =
      'cpu,cpu=cpu0,host=pi usage_idle=99.5,n=7i,up=t 1795262399000000000\nmem used=1u,state="ok"';
    assert.deepEqual(brief(decode('influx', lines, NAMELESS_BELOW)), [
      ['gateway/pi/cpu:cpu0', 'cpu.usage_idle', 99.5, 1e6],
      ['gateway/pi/cpu:cpu0', 'cpu.n', 7, 1e6],
      ['gateway/pi/cpu:cpu0', 'cpu.up', 1, 1e6],
      ['gateway', 'mem.used', 1, 0],
      ['gateway', 'mem.state', 'ok', 0],
    ]);
  });

  it('reads timestamps in the precision of the request, or in that of their size', () => {
    const at = (timestamp: string, precision: string) => {
      const decoder = influxDecoder({ precision: influxPrecision(precision)! });
      const readings = decoder(Buffer.from(`a b=1 ${timestamp}`), CONTEXT);
      return readings instanceof DecodeError ? readings.reason : readings[0]!.time;
    };
    assert.equal(at('1795262399000250999', 'ns'), 1795262399000250);
    assert.equal(at('1795262399000250', 'u'), 1795262399000250);
    assert.equal(at('1795262399000', 'ms'), 1795262399000000);
    assert.equal(at('1795262399', 's'), 1795262399000000);
    assert.equal(at('29921039', 'm'), 1795262340000000);
    assert.equal(at('498683', 'h'), 1795258800000000);
    assert.equal(at('999', 'ns'), 0);
    for (const [timestamp, time] of [
      ['1795262399', 1795262399000000],
      ['1795262399001', 1795262399001000],
      ['1795262399000250', 1795262399000250],
      ['1795262399000250999', 1795262399000250],
    ] as const)
      assert.equal(at(timestamp, 'auto'), time);
    assert.equal(at('-1', 'ns'), 'invalid_time');
    assert.equal(at('1795262399', 'h'), 'invalid_time');
    assert.equal(at(String((RECEIVED + 86_400_000_001) * 1000), 'ns'), 'invalid_time');
    assert.equal(influxPrecision('minutes'), null);
  });

  it('refuses a payload with one bad line, with the line', () => {
    const error = refuse('influx', 'a b=1\n# c\na b\n');
    assert.equal(error.reason, 'malformed');
    assert.equal(`${error}`, 'unable to parse "a b": missing fields (at line 3)');
    assert.equal(refuse('influx', '\n#\n').reason, 'empty_payload');
    assert.match(`${refuse('influx', 'a b=1', NAMELESS)}`, /names a device/);
  });

  it('notes values of one series in a line, and in lines without timestamps, of which the last is kept', () => {
    const ignored: string[] = [];
    const notes = {
      unit: () => {},
      ignored: (field: string, why: string) => ignored.push(`${field}: ${why}`),
    };
    decode('influx', 'm a=1,b=1\nm a=2\nn a=3 1795262300\nn a=4 1795262300\no c=1,d=2,c=3 1795262300', {
      ...CONTEXT,
      notes,
    });
    assert.equal(ignored.length, 2);
    assert.match(ignored[0]!, /^c: .* several times: only its last value is kept/);
    assert.match(
      ignored[1]!,
      /^m\.a: .* several values of it without a timestamp, and only the last is kept/,
    );
  });

  it('separates lines that can be stored from others', () => {
    const payload = Buffer.from(`a b=1\na b\na b=2,c=3\na b=1 ${RECEIVED * 2000}\na b=4`);
    const { valid, refused, refusedLines, errors, isMalformed } = splitLines(payload, {}, CONTEXT, 2);
    assert.deepEqual(valid.map(String), ['a b=1', 'a b=2,c=3', 'a b=4']);
    assert.equal(String(refused), `a b\na b=1 ${RECEIVED * 2000}`);
    assert.equal(refusedLines, 2);
    assert.deepEqual(
      errors.map(({ reason, position }) => [reason, position]),
      [
        ['malformed', 'line 2'],
        ['invalid_time', 'line 4'],
      ],
    );
    assert.ok(isMalformed);
  });

  it('splits lines with the spaces around them, on which the place where they end depends, as in InfluxDB', () => {
    const quoted = Buffer.from(' \\c="p\n,b\\ c=d a=1.5');
    assert.deepEqual(splitLines(quoted, {}, CONTEXT).valid, [quoted]);
    const escaped = Buffer.from('a b=1\\\r\na b=x');
    assert.deepEqual(splitLines(escaped, {}, CONTEXT).refused, escaped);
  });

  it('splits lines so that U+FEFF at the start of one is no byte order mark', () => {
    const [only] = splitLines(Buffer.from('a b=1\n\ufeffused=1u d=1'), {}, CONTEXT, 1).valid.slice(1);
    assert.equal(decode('influx', only).length, 1);
  });
});

describe('templates of names', () => {
  const named = (device: string, metric: string, line: string) => {
    const names = compileInfluxNames(device, metric);
    const one = point(line);
    return [names.device(one, 'ha', null), names.metric(one)(one.fields[0]![0])];
  };

  it('use tags, the measurement, the field and the database', () => {
    // As Home Assistant writes it: https://www.home-assistant.io/integrations/influxdb/
    const line = '°C,domain=sensor,entity_id=office_temp value=21.5';
    assert.deepEqual(named('{db}/{host,entity_id}/{*}', '{measurement}.{field}', line), [
      'ha/office_temp/domain:sensor',
      '~C2~B0C.value',
    ]);
    assert.deepEqual(named('{domain}.{entity_id}', '{field}', line), ['sensor.office_temp', 'value']);
    assert.deepEqual(named('site/{room}/{entity_id}', '{measurement}', line), [
      'site/office_temp',
      '~C2~B0C',
    ]);
    assert.deepEqual(named('{room}', '{room}', line), [null, 'value']);
  });

  it('are checked', () => {
    for (const [device, metric] of [
      ['', undefined],
      ['a//b', undefined],
      ['x{*}', undefined],
      ['{a,}', undefined],
      ['{field}', undefined],
      ['a b', undefined],
      ['a', '{*}'],
      ['a', 'b/c'],
      ['a', ''],
    ] as const)
      assert.throws(() => compileInfluxNames(device, metric), TypeError, `${device} ${metric}`);
  });
});

const NAMELESS_BELOW = { device: 'gateway', metric: null, received: RECEIVED };
