import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notable } from '../../src/service-process.ts';

test('the reason why a service ended is what is no routine in its log', () => {
  const routine = '{"level":"info","msg":"api starts"}\n';
  const failure = '{"level":"error","msg":"no store"}\npostgres: refused';
  assert.equal(notable(`${routine}${failure}\n`), failure);
  assert.equal(notable(routine), routine);
});
