import assert from 'node:assert/strict';
import { test } from 'node:test';
import { command } from '../../setup.js';

test('a program that is not installed is named, with what provides it', async (t) => {
  const { PATH } = process.env;
  t.after(() => {
    process.env.PATH = PATH;
  });
  process.env.PATH = '/nowhere';
  await assert.rejects(command('python3', ['-m', 'venv', '.venv']), {
    message: 'python3 is not installed: install Python 3.11 or later',
  });
});

test('what a program that failed wrote to standard output is printed', async (t) => {
  const written: string[] = [];
  const write = t.mock.method(process.stderr, 'write', (text: string) => written.push(text) > 0);
  const failing = command(process.execPath, ['-e', "console.log('ensurepip is missing'); process.exit(1)"]);
  await assert.rejects(failing, /^Error: .* failed, see above$/);
  write.mock.restore();
  assert.deepEqual(written, ['ensurepip is missing\n']);
});
