import assert from 'node:assert/strict';
import { test } from 'node:test';
import { whileItRuns } from '@tidegauge/loadtests/while-it-runs';

test('long work prints how long it has taken, at growing intervals, and nothing after its end', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const lines: string[] = [];
  const { promise, resolve } = Promise.withResolvers<number>();
  const done = whileItRuns(
    'load d1',
    (line) => void lines.push(line),
    () => promise,
  );
  t.mock.timers.tick(9999);
  assert.deepEqual(lines, []);
  for (const ms of [1, 10_000, 20_000, 39_999]) t.mock.timers.tick(ms);
  assert.deepEqual(lines, ['  load d1: 10 s', '  load d1: 20 s', '  load d1: 40 s']);
  resolve(5);
  assert.equal(await done, 5);
  t.mock.timers.tick(1_000_000);
  assert.equal(lines.length, 3);
});

test('work that fails ends the lines', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const lines: string[] = [];
  const failing = whileItRuns(
    'load',
    (line) => void lines.push(line),
    () => Promise.reject(new Error('no')),
  );
  await assert.rejects(failing, { message: 'no' });
  t.mock.timers.tick(1_000_000);
  assert.deepEqual(lines, []);
});
