import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, parseFlags } from '../../src/index.ts';

const options = { rounds: { type: 'string' }, quick: { type: 'boolean' } } as const;

test('reads flags as parseArgs does', () => {
  const { values } = parseFlags({ args: ['--rounds', '3', '--quick'], options });
  assert.deepEqual({ ...values }, { rounds: '3', quick: true });
});

test('an unknown flag is one line with the flag that was meant', () => {
  const problems = (args: string[]): readonly string[] => {
    try {
      parseFlags({ args, options });
    } catch (error) {
      assert.ok(error instanceof ConfigError);
      return error.problems;
    }
    return [];
  };
  assert.deepEqual(problems(['--round=3']), [
    '--round is not a flag of this program: did you mean --rounds?',
  ]);
  assert.deepEqual(problems(['--unheard']), ['--unheard is not a flag of this program']);
  assert.deepEqual(problems(['here']), ["Unexpected argument 'here'"]);
});
