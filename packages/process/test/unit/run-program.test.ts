import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProgramError, runProgram, runProgramSync } from '@tidegauge/process';

const node = (script: string, options = {}) => runProgram(process.execPath, ['-e', script], options);

const failure = (run: Promise<unknown>): Promise<ProgramError> =>
  run.then(
    () => assert.fail('the program did not fail'),
    (error: unknown) => {
      assert.ok(error instanceof ProgramError, String(error));
      return error;
    },
  );

test('a program gets its input, environment and directory, and its output is returned unchanged', async () => {
  const script = 'process.stdin.pipe(process.stdout); console.error(process.env.COLOUR, process.cwd())';
  const { code, stdout, stderr } = await node(script, { input: 'a\nb\n', env: { COLOUR: 'red' }, cwd: '/' });
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: 'a\nb\n', stderr: 'red /\n' });
});

test('a failed program is reported with its exit code and what it wrote to standard error', async () => {
  const error = await failure(
    node("console.error('no such table'); process.exit(3)", { what: 'create a table' }),
  );
  assert.equal(error.message, 'create a table: exit code 3: no such table');
  assert.equal(error.exit.code, 3);
});

test('a program that a signal ends is reported with the signal', async () => {
  const error = await failure(node("process.kill(process.pid, 'SIGKILL')", { what: 'work' }));
  assert.equal(error.message, 'work: signal SIGKILL');
});

test('a program that does not exist is reported as missing', async () => {
  const error = await failure(runProgram('tidegauge-no-such-program', []));
  assert.match(error.message, /^tidegauge-no-such-program: cannot be started: .*ENOENT/);
  assert.equal(error.isMissing, true);
});

test('a program that does not end is killed at its deadline', async () => {
  const error = await failure(node('setInterval(() => {}, 1000)', { what: 'wait', timeoutMs: 300 }));
  assert.equal(error.message, 'wait: did not end within 0.3 s');
  assert.equal(error.timedOut, true);
});

test('a program that writes more than its bound is ended', async () => {
  const script = "const line = 'x'.repeat(1e5); setInterval(() => process.stdout.write(line), 1)";
  const error = await failure(node(script, { what: 'write', outputBytes: 1e6 }));
  assert.match(error.message, /^write: wrote more than 1000000 bytes/);
});

test('exit codes can be accepted', async () => {
  assert.equal((await node('process.exit(4)', { accept: [0, 4] })).code, 4);
  assert.equal((await node("process.kill(process.pid, 'SIGTERM')", { accept: 'any' })).signal, 'SIGTERM');
  await failure(node('process.exit(5)', { accept: [0, 4] }));
});

test('a synchronous program is checked in the same way', () => {
  assert.equal(runProgramSync(process.execPath, ['-p', '1 + 1']).stdout, '2\n');
  assert.throws(() => runProgramSync(process.execPath, ['-e', 'process.exit(3)'], { what: 'work' }), {
    message: 'work: exit code 3',
  });
});
