import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NODE } from '../../../../scripts/setup.js';
import { startChild } from '../../src/start-child.ts';

const ended = (program: string, args: readonly string[]) =>
  new Promise<string>((resolve) => {
    startChild('part', program, args, {}, (error) => resolve(error.message));
  });

test('a program that does not exist is one clear error', async () => {
  assert.match(
    await ended('/nowhere/python', []),
    /^part cannot be started: spawn \/nowhere\/python ENOENT. Check that the program exists and that this user may run it$/,
  );
});

test('a part that ends unexpectedly is reported with its exit code', async () => {
  assert.match(await ended(NODE, ['-e', 'process.exit(3)']), /^part ended unexpectedly \(exit code 3\)/);
});

test('stop returns at once for a part that could not be started, and reports no error', async () => {
  let reported = false;
  const { stop } = startChild('part', '/nowhere/python', [], {}, () => {
    reported = true;
  });
  await stop();
  assert.equal(reported, false);
});

test('a stop that meets a failed start sends no signal to this process group', async () => {
  let signals = 0;
  const count = () => signals++;
  process.on('SIGTERM', count);
  try {
    await Promise.all(
      Array.from({ length: 50 }, () => startChild('part', '/nowhere/python', [], {}, () => {}).stop()),
    );
    assert.equal(signals, 0);
  } finally {
    process.removeListener('SIGTERM', count);
  }
});
