import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goProblem } from '../../src/go.ts';

const problemOf = (stderr: string) => goProblem({ isMissing: false, stderr });

test('a Go that is missing or too old is distinguished from a failed build', () => {
  assert.equal(goProblem({ isMissing: true, stderr: '' }), 'not installed');
  assert.equal(problemOf('go: go.mod requires go >= 1.25 (running go 1.22.1; GOTOOLCHAIN=local)'), 'too old');
  assert.equal(problemOf("go: errors parsing go.mod:\ngo.mod:3: invalid go version '1.25.0'"), 'too old');
  assert.equal(problemOf('./main.go:7:2: undefined: x'), null);
});
