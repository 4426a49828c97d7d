import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_TEXT_LENGTH } from '@tidegauge/readings';
import fc from 'fast-check';
import { CONTEXT, decode, NAMELESS, RECEIVED, refuse } from './helpers.ts';

describe('a plain payload', () => {
  it('is one number at the time of receipt, of the device and metric of its topic', () => {
    assert.deepEqual(decode('plain', '21.5'), [
      {
        device: 'site-3/probe-7',
        metric: 'temperature',
        time: RECEIVED,
        value: 21.5,
        received: RECEIVED,
        boot: null,
        seq: null,
        quality: 'ok',
      },
    ]);
  });

  it('may have any decimal notation, with white space around', () => {
    const written = {
      '-3': -3,
      '+3': 3,
      '.5': 0.5,
      '5.': 5,
      '1.0e3': 1000,
      '1E-2': 0.01,
      ' 7\r\n': 7,
    };
    for (const [text, value] of Object.entries(written)) {
      assert.equal(decode('plain', text)[0]?.value, value, text);
    }
  });

  it('decodes every finite number in the notation of JavaScript', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        assert.equal(decode('plain', String(value))[0]?.value, value === 0 ? 0 : value);
      }),
    );
  });

  it('may be true, false, on or off in any case, stored as 1 and 0', () => {
    for (const text of ['true', 'TRUE', 'on', 'ON', 'On']) assert.equal(decode('plain', text)[0]?.value, 1);
    for (const text of ['false', 'False', 'off', 'OFF\n']) assert.equal(decode('plain', text)[0]?.value, 0);
  });

  it('is refused as no value when it is NaN, infinite, null or too large', () => {
    for (const text of ['NaN', 'nan', '-nan', 'inf', '-Infinity', 'null', 'None', '1e309', '9'.repeat(400)]) {
      assert.equal(refuse('plain', text).reason, 'invalid_value', text);
    }
  });

  it('is refused as malformed when it is neither a number nor a switch', () => {
    for (const text of [
      'hello',
      '0x10',
      '1,5',
      '007',
      '1e3',
      '1_000',
      '12 V',
      '1.2.3',
      '--1',
      'e5',
      '.',
      '+',
      '１２',
    ]) {
      assert.equal(refuse('plain', text).reason, 'malformed', text);
    }
    assert.match(refuse('plain', 'offline').message, /"offline" is not a number, true, false, on or off/);
  });

  it('is refused as empty when it has no bytes or only white space', () => {
    assert.equal(refuse('plain', '').reason, 'empty_payload');
    assert.equal(refuse('plain', ' \n').reason, 'empty_payload');
  });

  it('needs a topic that contains device and metric', () => {
    assert.equal(refuse('plain', '1', NAMELESS).reason, 'invalid_name');
    assert.match(refuse('plain', '1', { ...CONTEXT, metric: null }).message, /names a metric/);
  });
});

describe('a text payload', () => {
  it('is one text, even if it looks like another format', () => {
    for (const text of ['open', '21.5', '{"v":1}', ' spaced ', 'Zürich 🌊']) {
      assert.equal(decode('text', text)[0]?.value, text);
    }
  });

  it('is refused when it is empty, too long, contains NUL, or is not UTF-8', () => {
    assert.equal(refuse('text', '').reason, 'empty_payload');
    assert.equal(decode('text', 'x'.repeat(MAX_TEXT_LENGTH)).length, 1);
    assert.match(
      refuse('text', 'x'.repeat(MAX_TEXT_LENGTH + 1)).message,
      /text of 4097 characters; at most 4096/,
    );
    assert.equal(refuse('text', 'a\0b').reason, 'invalid_value');
    assert.equal(refuse('text', Buffer.from([0x61, 0xff])).reason, 'malformed');
  });

  it('that is not UTF-8 is refused with the offset of the first bad byte', () => {
    const bad: [number[], number][] = [
      [[0xff], 0],
      [[0x61, 0xc3], 1],
      [[0xef, 0xbf, 0xbd, 0x61, 0xed, 0xa0, 0x80], 4],
      [[0xf0, 0x9f, 0x8c, 0x8a, 0xf0, 0x9f, 0x8c], 4],
    ];
    for (const [payload, byte] of bad) {
      assert.equal(refuse('text', Buffer.from(payload)).position, `byte ${byte}`);
    }
  });

  it('may begin with a byte order mark, which is not part of it', () => {
    assert.equal(decode('text', '\ufeffopen')[0]?.value, 'open');
  });

  it('may be any Uint8Array, not only a Buffer', () => {
    const wide = new Uint8Array([0x39, 0x34, 0x32, 0x39]);
    assert.equal(decode('text', wide.subarray(1, 3))[0]?.value, '42');
  });
});
