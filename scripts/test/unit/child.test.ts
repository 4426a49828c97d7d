import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startChild } from '../../child.ts';
import { NODE } from '../../setup.js';

const ended = (program: string, args: readonly string[]) =>
  new Promise<string>((resolve) => {
    startChild('part', program, args, {}, (error) => resolve(error.message));
  });

test('a program that is not there is one clear error', async () => {
  assert.match(
    await ended('/nowhere/python', []),
    /^part cannot be started: spawn \/nowhere\/python ENOENT: is the program there, and may this user run it\?$/,
  );
});

test('a part that ends unasked is reported with how it ended', async () => {
  assert.match(await ended(NODE, ['-e', 'process.exit(3)']), /^part ended by itself \(exit code 3\)/);
});

test('a part that cannot be started is stopped at once, and is no error then', async () => {
  let told = false;
  const { stop } = startChild('part', '/nowhere/python', [], {}, () => {
    told = true;
  });
  await stop();
  assert.equal(told, false);
});
