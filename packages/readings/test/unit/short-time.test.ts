import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DecodeError, formats, formatTime } from '@tidegauge/readings';
import { Mapping } from '../../src/mapping/compile-mapping.ts';
import { CONTEXT, RECEIVED } from './helpers.ts';

const SECONDS = RECEIVED / 1e6;

/** The values and the age of a payload in seconds, of the two decoders of JSON and of a mapping. They must agree. */
function read(payload: object | string): { [metric: string]: unknown } | string {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const decoders = [formats.json!, formats.auto!];
  // White space before the object leaves it to the general decoder.
  const results = ['', ' '].flatMap((space) => decoders.map((decode) => brief(decode, space + text)));
  results.push(brief((bytes, context) => MAPPING.read(JSON.parse(bytes.toString()), context), text));
  for (const result of results) assert.deepEqual(result, results[0], text);
  return results[0]!;
}

const MAPPING = new Mapping({}, 'json');
type Decode = (payload: Buffer, context: typeof CONTEXT) => ReturnType<NonNullable<typeof formats.json>>;

function brief(decode: Decode, payload: string): { [metric: string]: unknown } | string {
  const decoded = decode(Buffer.from(payload), CONTEXT);
  if (decoded instanceof DecodeError) return decoded.reason;
  const ages = new Set(decoded.map(({ time }) => time));
  const [time = RECEIVED] = ages;
  assert.equal(ages.size, 1);
  const values = Object.fromEntries(decoded.map(({ metric, value }) => [metric, value]));
  return time === RECEIVED ? values : { ...values, at: formatTime(time).slice(0, 19) };
}

describe('the field t', () => {
  it('is a metric when its number cannot be a date, in any weather', () => {
    for (const t of [21.5, -5.2, 21, -5, 0, -0.25, 999_999_999]) {
      assert.deepEqual(read({ t, h: 45 }), { t, h: 45 }, String(t));
      assert.deepEqual(read({ t, v: 3 }), { t, temperature: 3 }, String(t));
      assert.deepEqual(read({ h: 45, t, seq: 7 }), { t, h: 45 }, String(t));
    }
    assert.deepEqual(read({ t: 1e300, h: 1 }), 'invalid_time');
    assert.deepEqual(read({ t: true, h: 1 }), { t: 1, h: 1 });
    assert.deepEqual(read({ t: 21.5 }), { t: 21.5 });
  });

  it('is a metric when its text cannot be a date', () => {
    const texts = {
      '21.5': 21.5,
      '-5.2': -5.2,
      '0': 0,
      '21.50000000': 21.5,
      '21.5 °C': 21.5,
      '1013.25 hPa': 1013.25,
    };
    for (const [t, value] of Object.entries({ ...texts, warm: 'warm', u: 'u' }))
      assert.deepEqual(read({ t, h: 45 }), { t: value, h: 45 }, t);
  });

  it('is the time when it can be a date', () => {
    const now = '2026-11-21T12:00:00';
    assert.deepEqual(read({ t: SECONDS - 1, h: 45 }), { h: 45, at: '2026-11-21T11:59:59' });
    assert.deepEqual(read({ t: (SECONDS - 1) * 1000, v: 45 }), {
      temperature: 45,
      at: '2026-11-21T11:59:59',
    });
    assert.deepEqual(read({ t: 1e9, v: 45 }), { temperature: 45, at: '2001-09-09T01:46:40' });
    assert.deepEqual(read({ t: '2026-11-21T11:00:00Z', h: 45 }), { h: 45, at: '2026-11-21T11:00:00' });
    assert.deepEqual(read({ t: `${now}Z`, h: 45 }), { h: 45 });
    assert.equal(read({ t: '12:30', h: 45 }), 'invalid_time');
    assert.equal(read({ t: SECONDS + 1e6, h: 45 }), 'invalid_time');
  });

  it('is the time of a stamped reading, which counts from its start until its clock is set', () => {
    const at = '1970-01-01T00:00:12';
    assert.deepEqual(read({ t: 12, v: 3, boot: 'a1', seq: 1 }), { temperature: 3, at });
    assert.deepEqual(read({ seq: 1, boot: 5, value: 3, t: 12 }), { temperature: 3, at });
    assert.equal(read({ t: -12, v: 3, boot: 'a1', seq: 1 }), 'invalid_time');
    assert.deepEqual(read({ t: 12, v: 3, boot: 'a1' }), { temperature: 3, t: 12 });
    assert.deepEqual(read({ t: 12, v: 3, boot: null, seq: 1 }), { temperature: 3, t: 12 });
    assert.deepEqual(read({ t: 12, h: 45, boot: 'a1', seq: 1 }), { h: 45, t: 12 });
  });

  it('does not exclude another field with the time, unless it is a date itself', () => {
    assert.deepEqual(read({ t: 21.5, ts: SECONDS - 1 }), { t: 21.5, at: '2026-11-21T11:59:59' });
    assert.deepEqual(read({ time: 12345, t: 21.5 }), { t: 21.5, at: '1970-01-01T03:25:45' });
    assert.equal(read({ t: SECONDS, ts: SECONDS }), 'malformed');
  });

  it('is named when it can be both', () => {
    const named = (payload: object) => {
      const fields: string[] = [];
      const notes = { unit: () => {}, ignored: (field: string) => fields.push(field) };
      for (const decode of [
        formats.auto!,
        (bytes: Buffer, context: object) => MAPPING.read(JSON.parse(bytes.toString()), context as never),
      ])
        decode(Buffer.from(JSON.stringify(payload)), { ...CONTEXT, notes } as never);
      return fields;
    };
    assert.deepEqual(named({ t: 21.5, v: 3 }), ['t', 't']);
    assert.deepEqual(named({ t: 12345678, h: 3 }), ['t', 't']);
    assert.deepEqual(named({ t: 21.5, h: 3 }), []);
    assert.deepEqual(named({ t: -5.2, v: 3 }), []);
  });

  it('is the time when a mapping names it', () => {
    const mapped = new Mapping({ time: 't' }).read({ t: 12345, h: 45 }, CONTEXT);
    assert.ok(!(mapped instanceof DecodeError));
    assert.deepEqual(
      mapped.map(({ metric, time }) => [metric, time]),
      [['h', 12345_000_000]],
    );
  });
});

describe('a field that is often a time', () => {
  it('is a metric when its text is a small number', () => {
    for (const field of ['dt', 'date', 'epoch', 'Time', 'tst']) {
      const decoded = formats.auto!(Buffer.from(JSON.stringify({ [field]: '21.5', h: 45 })), CONTEXT);
      assert.ok(!(decoded instanceof DecodeError));
      assert.deepEqual(
        decoded.map(({ metric, time }) => [metric, time]),
        [
          [field, RECEIVED],
          ['h', RECEIVED],
        ],
      );
    }
  });
});

describe('the fields time, ts and timestamp', () => {
  it('are always the time', () => {
    for (const field of ['time', 'ts', 'timestamp']) {
      assert.deepEqual(read({ [field]: 12345, h: 45 }), { h: 45, at: '1970-01-01T03:25:45' });
      assert.equal(read({ [field]: -5, h: 45 }), 'invalid_time');
    }
  });
});
