import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { findSyntaxProblem } from '../../src/codecs/json-syntax.ts';
import { refuse } from './helpers.ts';

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('bad JSON', () => {
  it('is refused with the position of the error and the expected character', () => {
    const refused: [string, number, RegExp][] = [
      ['{"v":1', 6, /"," or "}" should be, the payload ends/],
      ['{"v":x}', 5, /a value should be, there is "x"/],
      ['{"v":1,}', 7, /a field name in double quotes should be, there is "}"/],
      ["{'v':1}", 1, /a field name in double quotes/],
      ['{"v" 1}', 5, /":" after the field name should be, there is "1"/],
      ['[1 2]', 3, /"," or "]" should be, there is "2"/],
      ['[1,]', 3, /a value should be/],
      ['{"v":01}', 6, /"," or "}"/],
      ['{"v":1.}', 7, /a digit after the decimal point/],
      ['{"v":-}', 6, /a digit should be/],
      ['{"v":1e}', 7, /a digit of the exponent/],
      ['{"v":"a\n"}', 7, /an escape/],
      ['{"v":"\\x"}', 7, /one of/],
      ['{"v":"\\u12g4"}', 10, /four hexadecimal digits/],
      ['"open', 5, /closing quote/],
      ['{"v":1} {"v":2}', 8, /the end of the payload should be, there is "\{"/],
      ['{"größe":x}', 11, /a value/],
      ['\ufeff{"v":x}', 8, /a value/],
    ];
    for (const [payload, byte, message] of refused) {
      const error = refuse('json', payload);
      assert.equal(error.reason, 'malformed', payload);
      assert.match(error.message, message, payload);
      assert.equal(error.position, `byte ${byte}`, payload);
    }
  });

  it('with NaN or Infinity, as Python writes them, is refused as no value', () => {
    for (const [payload, byte] of [
      ['{"t":1,"v":NaN}', 11],
      ['{"v":Infinity}', 5],
      ['{"v":-Infinity}', 6],
      ['[{"v":nan}]', 6],
    ] as const) {
      const error = refuse('json', payload);
      assert.equal(error.reason, 'invalid_value', payload);
      assert.equal(error.position, `byte ${byte}`);
    }
    assert.equal(refuse('json', '{"v":1,"w":Infinit}').reason, 'malformed');
  });

  it('is refused exactly when JSON.parse refuses it', () => {
    const text = fc.oneof(
      fc.json(),
      fc.string(),
      fc
        .array(fc.constantFrom(...'{}[]:,"\\u0019.eE+- tf', 'true', 'null', '"a"'), { maxLength: 12 })
        .map((all) => all.join('')),
      fc
        .tuple(fc.json(), fc.nat(), fc.constantFrom(...'{}[]:,"\\x0-.e \n'))
        .map(
          ([json, at, char]) => json.slice(0, at % json.length) + char + json.slice((at % json.length) + 1),
        ),
    );
    fc.assert(
      fc.property(text, (json) => {
        assert.equal(findSyntaxProblem(json) === null, parses(json), json);
      }),
      { numRuns: 2000 },
    );
  });
});
