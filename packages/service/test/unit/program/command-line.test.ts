import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assignment,
  boolean,
  ConfigError,
  defineConfig,
  integer,
  list,
  loadConfig,
  oneOf,
  repeated,
  text,
} from '@tidegauge/service/program';

const schema = defineConfig({
  server: { kind: oneOf(['postgres', 'mosquitto']), positional: true, required: true, help: 'The server.' },
  names: { kind: repeated(text('a name')), positional: true, help: 'Names.' },
  target: { kind: list(text('a host')), help: 'Targets.' },
  property: { kind: repeated(assignment('a property such as a=1')), alias: 'p', help: 'Properties.' },
  threads: { kind: integer(-5, 5), alias: 'threads', help: 'Threads.' },
  status: { kind: boolean(), default: 'false', alias: 's', help: 'Status.' },
});

function problems(...argv: string[]): readonly string[] {
  try {
    loadConfig(schema, argv, {});
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
  return [];
}

test('arguments are read in the order of the schema, and the last one may be a list', () => {
  const config = loadConfig(schema, ['postgres', 'a', '--threads', '3', 'b'], { SERVER: 'mosquitto' });
  assert.equal(config.server, 'postgres');
  assert.deepEqual(config.names, ['a', 'b']);
  assert.equal(config.threads, 3);
});

test('an argument comes from the command line only', () => {
  assert.throws(
    () => loadConfig(schema, [], { SERVER: 'postgres' }),
    /^ConfigError: SERVER is missing: one of/,
  );
});

test('a list is separated by commas, given several times, or both', () => {
  const config = loadConfig(schema, ['postgres', '--target', 'a,b', '--target=c'], {});
  assert.deepEqual(config.target, ['a', 'b', 'c']);
});

test('a repeated option keeps commas in its values', () => {
  const config = loadConfig(schema, ['postgres', '-p', 'a=1,2', '-pb=3', '--property', 'c=x=y'], {});
  assert.deepEqual(config.property, [
    ['a', '1,2'],
    ['b', '3'],
    ['c', 'x=y'],
  ]);
});

test('an alias of several letters has one dash, and a value may be negative', () => {
  const config = loadConfig(schema, ['-threads', '-3', 'postgres', '-s'], {});
  assert.deepEqual([config.threads, config.status], [-3, true]);
});

test('after two dashes everything is an argument', () => {
  assert.deepEqual(loadConfig(schema, ['postgres', '--', '--threads'], {}).names, ['--threads']);
});

test('the last value of an option counts', () => {
  assert.equal(loadConfig(schema, ['postgres', '--threads=1', '--threads=2'], {}).threads, 2);
});

test('a mistake gives one line with the option and the nearest known option', () => {
  assert.deepEqual(problems('postgres', '--thread', '3'), [
    'unknown option --thread: did you mean --threads?',
  ]);
  assert.deepEqual(problems('postgres', '-x'), ['unknown option -x']);
  assert.deepEqual(problems('postgres', '--threads'), [
    '--threads needs a value: a whole number from -5 to 5',
  ]);
  assert.deepEqual(problems('postgres', '--no-status=true'), ['--no-status has no value']);
  assert.deepEqual(problems('postgress'), [
    'SERVER must be one of postgres, mosquitto; got "postgress": there is no postgress: did you mean postgres?',
  ]);
  assert.deepEqual(problems('postgres', '-p', 'a'), [
    '-p must be a property such as a=1; got "a": it is not NAME=VALUE',
  ]);
});

test('arguments that a program does not have are reported', () => {
  const only = defineConfig({ threads: { kind: integer(1, 5), help: 'Threads.' } });
  assert.throws(
    () => loadConfig(only, ['stray'], {}),
    /^ConfigError: unexpected argument "stray": options begin with --$/,
  );
});
