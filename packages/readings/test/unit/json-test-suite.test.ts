import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { DecodeError, formatNames, formats } from '@tidegauge/readings';
import { parseJson } from '../../src/codecs/parse-json.ts';
import { checkDecoded } from '../check-decoded.ts';
import { CONTEXT, NAMELESS } from './helpers.ts';

/** The files of JSONTestSuite, which has their source and licence, and its two large files. */
const suite: { readonly files: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync(new URL('../json-test-suite.json', import.meta.url), 'utf8'),
);
const files: readonly (readonly [name: string, payload: Buffer])[] = [
  ...Object.entries(suite.files).map(([name, text]) => [name, Buffer.from(text, 'base64')] as const),
  ['n_structure_100000_opening_arrays', Buffer.from('['.repeat(100_000))],
  ['n_structure_open_array_object', Buffer.from(`${'[{"":'.repeat(50_000)}\n`)],
];
const filesOf = (kind: string) => files.filter(([name]) => name.startsWith(`${kind}_`));

describe('JSONTestSuite', () => {
  it('has 95 valid texts, which are read', () => {
    const valid = filesOf('y');
    assert.equal(valid.length, 95);
    for (const [name, payload] of valid) {
      assert.deepEqual(parseJson(payload), JSON.parse(payload.toString()), name);
    }
  });

  it('has 188 texts that are not JSON, which are refused with a reason', () => {
    const bad = filesOf('n');
    assert.equal(bad.length, 188);
    for (const [name, payload] of bad) {
      const error = parseJson(payload);
      assert.ok(error instanceof DecodeError, name);
      assert.match(error.reason, /^(?:malformed|empty_payload|invalid_value)$/, name);
      assert.ok(formats.json!(payload, CONTEXT) instanceof DecodeError, name);
    }
  });

  it('has 35 texts that a parser may refuse, which give a value or a reason', () => {
    const either = filesOf('i');
    assert.equal(either.length, 35);
    for (const [name, payload] of either) {
      const result = parseJson(payload);
      assert.ok(result !== undefined, name);
      if (result instanceof DecodeError) assert.equal(result.reason, 'malformed', name);
    }
  });

  it('gives valid readings or a reason with every format', () => {
    for (const [, payload] of files) {
      for (const name of formatNames) {
        for (const context of [CONTEXT, NAMELESS]) {
          checkDecoded(formats[name]!(payload, context), context, {
            mayBeEmpty: name === 'auto' || name === 'json',
          });
        }
      }
    }
  });
});
