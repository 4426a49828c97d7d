import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger, listen, problemHandler } from '@tidegauge/service';
import express from 'express';
import { byteBudget } from '../../src/byte-budget.ts';
import { until } from '../harness.ts';

test('bodies beyond the budget wait their turn with 503, and there is room again after an answer', async (t) => {
  const answers: (() => void)[] = [];
  const app = express();
  app.post('/', byteBudget(1000, 800), express.raw({ type: () => true }), (_request, response) => {
    answers.push(() => response.json({}));
  });
  app.use(problemHandler(createLogger('test', 'silent')));
  const server = await listen(app, '127.0.0.1', 0, 'the test');
  t.after(() => server.close(0));
  const send = () => fetch(server.url, { method: 'POST', body: 'x'.repeat(600) });

  const first = send();
  await until('the first', () => answers.length === 1);
  const second = await send();
  assert.equal(second.status, 503);
  assert.equal(second.headers.get('Retry-After'), '1');
  answers[0]!();
  assert.equal((await first).status, 200);
  const third = send();
  await until('the third', () => answers.length === 2);
  answers[1]!();
  assert.equal((await third).status, 200);
});
