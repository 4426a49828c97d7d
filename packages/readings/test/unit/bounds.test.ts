import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  checkMapping,
  compileInfluxNames,
  compileMapping,
  DecodeError,
  formats,
  jsonTooLarge,
  SparkplugDecoder,
} from '@tidegauge/readings';
import fc from 'fast-check';
import { Patterns } from '../../src/mapping/patterns.ts';
import { encode } from '../sparkplug-payloads.ts';
import { CONTEXT, refuse } from './helpers.ts';

const MIB = 2 ** 20;
const payload = (value: unknown) => Buffer.from(JSON.stringify(value));
const repeated = (count: number, each: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => each(index)).join('');

describe('the memory of a decoder', () => {
  it('stays small for the worst payloads of the default MAX_PAYLOAD', async () => {
    const program = fileURLToPath(new URL('../decode-worst.ts', import.meta.url));
    // V8 ends the process when its heap does not fit. The program itself takes 12 MiB of it.
    const options = ['--max-semi-space-size=8', '--max-old-space-size=48'];
    const { stdout } = await promisify(execFile)(process.execPath, [...options, program, String(MIB)]);
    assert.equal(stdout, 'done\n');
  });
});

describe('the time of a decoder', () => {
  it('grows with the payload, whatever is repeated in it', () => {
    const units = [
      ...'\0 \t\n\r"\'\\{}[]:;,.=+-_/~019aAexé語!<$\u202f',
      '1 ',
      '1,',
      'a ',
      'a=1 ',
      '\\"',
      '"a":',
      '\r\n',
    ];
    const decoders = [formats.auto!, compileMapping({ values: { '*': 'auto' } })];
    for (const unit of units) {
      for (const [head, tail] of [
        ['', 'x'],
        ['1', ' 1'],
        ['a=1', '1'],
        ['{"a":"', '"}'],
      ]) {
        // With the square of it, one of these takes a minute.
        const text = `${head}${unit.repeat(200_000 / unit.length)}${tail}`;
        for (const decode of decoders) decode(Buffer.from(text), CONTEXT);
      }
    }
  });

  it('grows with the spaces between names and numbers', () => {
    const text = Buffer.from(`a=1${' '.repeat(8180)}1`);
    const begun = process.cpuUsage();
    for (let times = 0; times < 10; times++) formats.auto!(text, CONTEXT);
    // With the square of it, it takes 5 s.
    assert.ok(process.cpuUsage(begun).user < 1e6);
  });
});

describe('a decoder stops at its bound', () => {
  it('of fields, tags and names of a line', () => {
    const fields = `m ${repeated(10_001, (index) => `f${index}=1,`)}`;
    // The rest is no line protocol, and is not read.
    assert.equal(refuse('influx', `${fields}=`).reason, 'too_many_readings');
    assert.match(
      refuse('influx', `m${repeated(257, (index) => `,t${index}=1`)},=`).message,
      /more than 256 tags/,
    );
    assert.match(refuse('influx', `${'m'.repeat(3000)} =`).message, /the measurement has 3000 characters/);
    assert.match(refuse('influx', `m,t=${'v'.repeat(70_000)} f=1`).message, /a tag has a name or value of/);
    assert.match(refuse('influx', `m ${'f'.repeat(70_000)}=1`).message, /a field has a name or value of/);
    const text = `m f="${'\\"'.repeat(4096)}"`;
    assert.equal(refuse('influx', text.replace('f="', 'f="\\"')).reason, 'invalid_value');
  });

  it('of readings, also when several lines have them', () => {
    const line = `m ${repeated(5000, (index) => `f${index}=1,`)}f=1\n`;
    assert.match(refuse('influx', line + line).message, /10002 readings/);
  });

  it('of records, also when the same ones are named again', () => {
    const decode = compileMapping({ records: Array.from({ length: 500 }, () => 'a') });
    const decoded = decode(payload({ a: Array.from({ length: 9000 }, () => 1) }), CONTEXT);
    assert.ok(decoded instanceof DecodeError);
    assert.equal(decoded.message.slice(0, 14), '18000 readings');
  });

  it('of words that are no numbers', () => {
    const many = `[${'NaN,'.repeat(10_001)}1]`;
    assert.equal(refuse('auto', many).reason, 'invalid_value');
  });

  it('of the names that a birth adds to a message of aliases', () => {
    const decoder = new SparkplugDecoder();
    const of = (kind: string) => ({ ...CONTEXT, device: null, topic: `spBv1.0/g/${kind}/n` });
    const name = 'n'.repeat(1024);
    const metric = { name, alias: 1, datatype: 3, int_value: 1 };
    assert.ok(!(decoder.decode(encode(0, [metric]), of('NBIRTH')).decoded instanceof DecodeError));
    const aliases = (count: number) => Array.from({ length: count }, () => ({ alias: 1, int_value: 1 }));
    const few = decoder.decode(encode(1, aliases(1000)), of('NDATA'));
    assert.equal((few.decoded as readonly unknown[]).length, 1000);
    const many = decoder.decode(encode(2, aliases(10_000)), of('NDATA'));
    assert.ok(many.decoded instanceof DecodeError);
    assert.match(many.decoded.message, /more than 1048576 characters together/);
    assert.ok(many.payload.length < 100_000, 'the payload that is kept is the one that was sent');
    const long = decoder.decode(encode(0, [{ ...metric, name: `${name}n` }]), of('NBIRTH'));
    assert.match(String(long.decoded), /has 1025 characters; at most 1024/);
  });

  it('of a value that fills a template, for every field', () => {
    const decode = compileMapping({ metric: '{a}.{a}.{a}.{field}' });
    let ignored = 0;
    const notes = { unit: () => {}, ignored: () => void ignored++ };
    const fields = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`k${index}`, index]));
    const decoded = decode(payload({ a: 'é'.repeat(100_000), ...fields }), { ...CONTEXT, notes });
    assert.deepEqual([decoded, ignored], [[], 5000]);
  });
});

describe('patterns', () => {
  const expression = (pattern: string) =>
    new RegExp(`^${pattern.replace(/[.\\]/g, '\\$&').replaceAll('*', '(.*?)')}$`, 's');

  it('find what regular expressions with the same meaning find', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', '.', '\n'), maxLength: 8 });
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*'), minLength: 1, maxLength: 6 });
    const table = fc.uniqueArray(pattern, { maxLength: 5 });
    fc.assert(
      fc.property(table, word, (texts, name) => {
        const expected = texts
          .map((text) => ({ value: text, match: expression(text).exec(name) }))
          .find(({ match }) => match !== null);
        const found = new Patterns(texts.map((text) => [text, text])).find(name);
        const parts = expected?.match?.slice(1);
        assert.deepEqual(found, expected === undefined ? null : { value: expected.value, parts });
      }),
      { numRuns: 2000 },
    );
  });

  it('take a time in proportion to the name', () => {
    // A regular expression tries 10^10 places.
    const patterns = new Patterns(Array.from({ length: 200 }, (_, index) => [`*a*a*a*a${index}`, index]));
    for (let times = 0; times < 100; times++) assert.equal(patterns.find(`${'a'.repeat(250)}b`), null);
  });
});

describe('the size of a mapping', () => {
  const problems = (options: object) => checkMapping(options).map(({ message }) => message);
  const table = (count: number, value: unknown = 1) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value]));
  const list = (count: number, each = 'k') => Array.from({ length: count }, (_, index) => `${each}${index}`);

  it('is bounded in every list and table, with one mistake for each', () => {
    const cases: readonly (readonly [object, RegExp])[] = [
      [{ drop: list(100_000) }, /^it has 100000 patterns, and at most 500 are used$/],
      [{ keep: list(501) }, /501 patterns/],
      [{ records: list(501) }, /501 paths/],
      [{ time: { field: list(21) } }, /21 fields/],
      [{ values: { a: table(501) } }, /501 words/],
      [{ values: table(501, 'text') }, /501 entries/],
      [{ rename: table(501, 'a') }, /501 entries/],
      [{ units: table(501, 'V') }, /501 entries/],
      [{ scale: table(501) }, /501 entries/],
      [{ offset: table(501) }, /501 entries/],
      [{ parse: table(501, 'json') }, /501 entries/],
      [table(40_000), /it has 40000 keys/],
      [{ time: table(40_000) }, /it has 40000 keys/],
      [{ drop: list(150, '*'), keep: list(51, '*') }, /201 patterns with \*, and at most 200/],
      [{ device: '{a|b}'.repeat(17) }, /more than 32 names/],
    ];
    for (const [options, why] of cases) {
      const found = problems(options);
      assert.equal(found.length, 1, found.slice(0, 3).join());
      assert.match(found[0]!, why);
    }
    assert.deepEqual(problems({ drop: list(500), keep: list(200, '*') }), []);
  });

  it('is bounded in templates of line protocol', () => {
    assert.throws(() => compileInfluxNames('a'.repeat(501)), /501 characters/);
    assert.throws(() => compileInfluxNames('{a,b}'.repeat(17)), /more than 32 names/);
  });
});

describe('the check of JSON before it is parsed', () => {
  it('counts values outside of texts, and levels', () => {
    const bounds = { values: 4, depth: 2 };
    const check = (text: string) => jsonTooLarge(Buffer.from(text), bounds);
    for (const text of ['', '1', '{"a,[{\\"":[1,2,3]}', '[[],[]]', '"[[[[[[,,,,,,"', ']]]]'])
      assert.equal(check(text), null, text);
    assert.equal(check('[1,2,3,4,5]'), 'more than 4 values');
    assert.equal(check('[[[]]]'), 'arrays and objects nested deeper than 2 levels');
    assert.equal(check('["\\\\",[],{},[]]'), 'more than 4 values');
    const fields = (text: string) => jsonTooLarge(Buffer.from(text), { values: 100, fields: 2 });
    for (const text of ['{"a":1,"b":2}', '[1,2,3,4]', '{"a":[1,2,3],"b":{"c":1,"d":2}}', ',,,', ']]],,,'])
      assert.equal(fields(text), null, text);
    for (const text of ['{"a":1,"b":2,"c":3}', '[{"a":[],"b":{},"c":3}]', '{"a":{"b":1,"c":2},"d":3,"e":4}'])
      assert.equal(fields(text), 'more than 2 fields in an object', text);
  });
});
