import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_READINGS_PER_PAYLOAD, toReadingDocument } from '@tidegauge/readings';
import { brief, CONTEXT, decode, NAMELESS, RECEIVED, refuse } from './helpers.ts';

const SECONDS = RECEIVED / 1e6;
const DEVICE = 'site-3/probe-7';

describe('a JSON payload', () => {
  it('may be a bare number, boolean or text', () => {
    assert.equal(decode('json', '21.5')[0]?.value, 21.5);
    assert.equal(decode('json', ' true ')[0]?.value, 1);
    assert.equal(decode('json', 'false')[0]?.value, 0);
    assert.equal(decode('json', '"open"')[0]?.value, 'open');
  });

  it('is refused when it has so many values that parsing it would use too much memory', () => {
    for (const value of ['{}', '[]', '0', '{"":0}', '"\\""']) {
      const payload = `{"a":[${`${value},`.repeat(251_000)}0]}`;
      assert.equal(refuse('json', payload).reason, 'too_many_readings', value);
      assert.equal(refuse('auto', `[${`${value},`.repeat(251_000)}0]`).reason, 'too_many_readings', value);
    }
  });

  it('may contain any number of commas and brackets in its texts', () => {
    const text = '\\"[,{'.repeat(800);
    const records = Array.from({ length: 200 }, (_, index) => `{"t":${SECONDS - index},"v":"${text}"}`);
    assert.equal(decode('json', `[${records.join(',')}]`).length, 200);
  });

  it('may be one stamped reading', () => {
    const payload = `{"t":${RECEIVED - 5},"v":21.5,"boot":"a1","seq":17}`;
    assert.deepEqual(decode('json', payload), [
      {
        device: DEVICE,
        metric: 'temperature',
        time: RECEIVED - 5,
        value: 21.5,
        received: RECEIVED,
        boot: 'a1',
        seq: 17,
        quality: 'ok',
      },
    ]);
  });

  it('reads the time from t, time, ts or timestamp, and the value from v or value', () => {
    for (const time of ['t', 'time', 'ts', 'timestamp']) {
      for (const value of ['v', 'value']) {
        const payload = { [time]: '2026-11-21T11:59:59Z', [value]: 3 };
        assert.deepEqual(brief(decode('json', payload)), [[DEVICE, 'temperature', 3, 1_000_000]]);
      }
    }
    assert.match(refuse('json', { t: SECONDS, ts: 2, v: 3 }).message, /"t" and "ts" say the same thing/);
    assert.match(refuse('json', { v: 1, value: 2 }).message, /"v" and "value" say the same thing/);
  });

  it('without a time, or with null for it, has the time of receipt', () => {
    assert.deepEqual(brief(decode('json', { v: 3 })), [[DEVICE, 'temperature', 3, 0]]);
    const unstamped = { t: null, v: 3, boot: null, seq: null, device: null, metric: null };
    assert.deepEqual(brief(decode('json', unstamped)), [[DEVICE, 'temperature', 3, 0]]);
  });

  it('keeps boot as text and seq as a number', () => {
    assert.equal(decode('json', { v: 1, boot: 42 })[0]?.boot, '42');
    for (const boot of ['', 'x'.repeat(65), 1.5, true, {}, 'a\0']) {
      assert.equal(refuse('json', { v: 1, boot }).reason, 'invalid_value', String(boot));
    }
    for (const seq of [-1, 1.5, '7', 2 ** 53, []]) {
      assert.equal(refuse('json', { v: 1, seq }).reason, 'invalid_value', String(seq));
    }
  });

  it('may be many metrics in one object, which share its time and stamps', () => {
    const payload = {
      t: SECONDS - 1,
      temperature: 21.5,
      humidity: 40,
      door: 'open',
      on: true,
      boot: 'b',
      seq: 3,
    };
    const readings = decode('json', payload);
    assert.deepEqual(brief(readings), [
      [DEVICE, 'temperature', 21.5, 1_000_000],
      [DEVICE, 'humidity', 40, 1_000_000],
      [DEVICE, 'door', 'open', 1_000_000],
      [DEVICE, 'on', 1, 1_000_000],
    ]);
    assert.ok(readings.every(({ boot, seq }) => boot === 'b' && seq === 3));
  });

  it('may contain the value of the topic and more metrics', () => {
    assert.deepEqual(brief(decode('json', { v: 21.5, battery: 3.7 })), [
      [DEVICE, 'temperature', 21.5, 0],
      [DEVICE, 'battery', 3.7, 0],
    ]);
    assert.match(
      refuse('json', { v: 1, temperature: 2 }).message,
      /"v" and "temperature" say the same thing/,
    );
  });

  it('may be an array of readings, of several devices and metrics', () => {
    const payload = [
      { t: SECONDS - 2, v: 1 },
      { t: SECONDS - 1, v: 2, metric: 'humidity' },
      { t: SECONDS, temperature: 3, humidity: 4, device: 'inner' },
    ];
    assert.deepEqual(brief(decode('json', payload)), [
      [DEVICE, 'temperature', 1, 2_000_000],
      [DEVICE, 'humidity', 2, 1_000_000],
      [`${DEVICE}/inner`, 'temperature', 3, 0],
      [`${DEVICE}/inner`, 'humidity', 4, 0],
    ]);
  });

  it('may be a response of the API', () => {
    const readings = decode('json', { t: SECONDS - 1, v: 1.5, boot: 'b', seq: 9 });
    const documents = { readings: readings.map(toReadingDocument) };
    assert.deepEqual(decode('json', documents, NAMELESS), readings);
  });

  it('reads quality and received as metrics when there is no value that they belong to', () => {
    assert.deepEqual(brief(decode('json', { quality: 5, received: 1 })), [
      [DEVICE, 'quality', 5, 0],
      [DEVICE, 'received', 1, 0],
    ]);
  });

  it('reads quality and received beside a value as metrics when they are not those of the API', () => {
    for (const format of ['json', 'auto'] as const)
      assert.deepEqual(brief(decode(format, { v: 1, quality: 'bad', received: 3 })), [
        [DEVICE, 'temperature', 1, 0],
        [DEVICE, 'quality', 'bad', 0],
        [DEVICE, 'received', 3, 0],
      ]);
  });

  it('is refused when it has no value', () => {
    for (const payload of [{}, { time: 1 }, { metric: 'x' }, { metric: 'x', humidity: 4 }]) {
      assert.equal(refuse('json', payload).reason, 'malformed', JSON.stringify(payload));
    }
    assert.equal(refuse('json', []).reason, 'empty_payload');
    assert.equal(refuse('json', { readings: [] }).reason, 'empty_payload');
  });

  it('is refused when a value is null, nested or beyond a double', () => {
    for (const payload of [
      'null',
      '{"v":null}',
      '{"v":{}}',
      '{"a":[1]}',
      '{"a":{"b":1}}',
      '{"v":1e999}',
      '1e999',
    ]) {
      assert.equal(refuse('json', payload).reason, 'invalid_value', payload);
    }
    assert.equal(
      refuse('json', '{"air":{"co2":400}}').message,
      '"air" is an object; a value is a number, true, false or a text',
    );
  });

  it('is refused when a text is too long, or contains characters that databases cannot store', () => {
    assert.equal(decode('json', { v: 'x'.repeat(4096) }).length, 1);
    for (const v of ['x'.repeat(4097), 'a\0b', '\ud800']) {
      assert.equal(refuse('json', { v }).reason, 'invalid_value');
    }
  });

  it('is refused when a name is invalid', () => {
    for (const payload of [
      { 'two words': 1 },
      { 'a/b': 1 },
      { '': 1 },
      { v: 1, metric: 5 },
      { v: 1, device: '' },
    ]) {
      assert.equal(refuse('json', payload).reason, 'invalid_name', JSON.stringify(payload));
    }
  });

  it('is refused when its time is invalid or more than 24 hours ahead', () => {
    for (const time of ['yesterday', -1, true, {}, '9999-12-31T23:59:59Z', 253402300799e9]) {
      assert.equal(refuse('json', { time, v: 1 }).reason, 'invalid_time', String(time));
    }
    for (const t of ['12:30', '21/11/2026', '9999-12-31T23:59:59Z', 253402300799e9]) {
      assert.equal(refuse('json', { t, v: 1 }).reason, 'invalid_time', String(t));
    }
    assert.equal(decode('json', { t: SECONDS + 86_400, v: 1 })[0]?.quality, 'skewed');
    const ahead = refuse('json', { t: SECONDS + 86_401, v: 1 });
    assert.equal(ahead.reason, 'invalid_time');
    assert.match(ahead.message, /^"t" is 2026-11-22T12:00:01\.000000Z, more than 24 hours ahead/);
    assert.equal(decode('json', { ts: 17, v: 1 })[0]?.quality, 'unsynced');
  });

  it('is refused with the number of the invalid record, and without the other records', () => {
    const error = refuse('json', [
      { ts: 1, v: 1 },
      { ts: 2, v: null },
      { ts: 3, v: 3 },
    ]);
    assert.equal(error.position, 'record 2 of 3');
    assert.equal(refuse('json', [1, 2]).position, 'record 1 of 2');
    assert.equal(refuse('json', [[{ v: 1 }]]).reason, 'malformed');
  });

  it('is refused when readings without a time would overwrite each other', () => {
    const error = refuse('json', [{ v: 1 }, { v: 2 }]);
    assert.equal(error.reason, 'invalid_time');
    assert.equal(error.position, 'record 2 of 2');
    assert.equal(decode('json', [{ v: 1 }, { v: 2, metric: 'humidity' }]).length, 2);
  });

  it('holds at most 10,000 readings', () => {
    const readings = Array.from({ length: MAX_READINGS_PER_PAYLOAD + 1 }, (_, i) => ({ ts: i, v: i }));
    assert.equal(refuse('json', readings).reason, 'too_many_readings');
    assert.equal(decode('json', readings.slice(1)).length, MAX_READINGS_PER_PAYLOAD);
    const metrics = Object.fromEntries(readings.map((_, i) => [`m${i}`, i]));
    assert.equal(refuse('json', metrics).reason, 'too_many_readings');
    const pairs = readings.slice(5000).map(({ ts }) => ({ ts, a: 1, b: 2 }));
    assert.equal(refuse('json', pairs).reason, 'too_many_readings');
  });

  it('may contain fields named __proto__ or constructor', () => {
    const payload = '{"__proto__":1,"constructor":2,"toString":3}';
    assert.deepEqual(brief(decode('json', payload)), [
      [DEVICE, '__proto__', 1, 0],
      [DEVICE, 'constructor', 2, 0],
      [DEVICE, 'toString', 3, 0],
    ]);
    assert.equal(refuse('json', '{"__proto__":{"v":1}}').reason, 'invalid_value');
    assert.equal(({} as Record<string, unknown>).v, undefined);
  });
});

describe('a device named in a JSON payload', () => {
  const placed = (device: string, context = CONTEXT) => decode('json', { v: 1, device }, context)[0]?.device;

  it('is below the device of the topic', () => {
    assert.equal(placed('pump'), 'site-3/probe-7/pump');
    assert.equal(placed('site-3'), 'site-3/probe-7/site-3');
    assert.equal(placed('site-3/probe-70'), 'site-3/probe-7/site-3/probe-70');
  });

  it('does not change when it is the device of the topic or already below it', () => {
    assert.equal(placed('site-3/probe-7'), 'site-3/probe-7');
    assert.equal(placed('site-3/probe-7/pump'), 'site-3/probe-7/pump');
  });

  it('is the device when the topic contains none', () => {
    assert.equal(placed('else/where', { ...CONTEXT, device: null }), 'else/where');
    assert.equal(refuse('json', { v: 1 }, { ...CONTEXT, device: null }).reason, 'invalid_name');
  });

  it('cannot leave the device of the topic or have too many levels', () => {
    for (const device of ['../probe-8', 'a/../../b', '/probe-8', '1/2/3/4/5/6/7']) {
      assert.equal(refuse('json', { v: 1, device }).reason, 'invalid_name', device);
    }
  });
});
