import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseArgs } from 'node:util';
import { usageProblem } from '../../usage-problem.ts';

const options = { files: { type: 'string' }, help: { type: 'boolean' } } as const;

function problemOf(...args: string[]): string {
  try {
    parseArgs({ options, args });
  } catch (error) {
    return usageProblem(error, options);
  }
  return '';
}

test('an unknown option is reported with the nearest one', () => {
  assert.equal(problemOf('--fiels', 'x'), 'unknown option --fiels: did you mean --files?');
  assert.equal(problemOf('--colour'), 'unknown option --colour');
});

test('other mistakes are one sentence', () => {
  assert.match(problemOf('--files'), /^Option '--files.* argument missing/);
  assert.match(problemOf('--help=yes'), /^Option '--help.* does not take an argument/);
});
