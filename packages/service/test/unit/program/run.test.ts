import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { describe, type TestContext, test } from 'node:test';

/** The source of a program whose `start` is the given code. It has one second to stop. */
function program(start: string): string {
  return `
    import { run } from '@tidegauge/service';
    process.exitCode = await run({
      name: 'test', summary: 'Test.', settings: {}, stopSeconds: () => 1,
      start: async (_config, signal) => { process.stdout.write('started'); ${start} },
    });`;
}

/** Runs the program, sends SIGTERM after its start if `ask` is set, and returns exit code, log and time to stop. */
async function stopped(context: TestContext, start: string, ask = true) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program(start)], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  context.after(() => child.kill('SIGKILL'));
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  const begun = performance.now();
  if (ask) child.kill('SIGTERM');
  const [code] = await exited;
  return { code, log, ms: performance.now() - begun };
}

const LATE = /^stopping took longer than 1 s: the process ends with work unfinished$/m;
/** Keeps the event loop alive, as a socket would. */
const HANDLE = 'setInterval(() => {}, 1000);';

test('a program whose stop succeeds ends at once', async (context) => {
  const start = `const handle = ${HANDLE} return { stop: async () => clearInterval(handle) };`;
  const { code, log, ms } = await stopped(context, start);
  assert.deepEqual([code, log], [0, '']);
  assert.ok(ms < 1000, `${ms} ms`);
});

// Each program takes a second to end.
describe('the deadline of a stop', { concurrency: true }, () => {
  for (const [what, start] of [
    ['whose stop hangs', `${HANDLE} return { stop: () => new Promise(() => {}) };`],
    ['that leaves a handle open', `${HANDLE} return { stop: async () => {} };`],
    ['that receives SIGTERM while its start hangs', `${HANDLE} await new Promise(() => {});`],
  ] as const) {
    test(`a program ${what} ends at its deadline, and reports it`, async (context) => {
      const { code, log } = await stopped(context, start);
      assert.equal(code, 1);
      assert.match(log, LATE);
    });
  }

  test('a program that failed by itself has the same deadline', async (context) => {
    const start = `${HANDLE} return { stop: () => new Promise(() => {}), failed: Promise.reject(new Error('no')) };`;
    const { code, log } = await stopped(context, start, false);
    assert.equal(code, 1);
    assert.match(log, LATE);
  });
});

/** A command whose work is the given code. */
function command(work: string, ...args: string[]) {
  const code = `
    import { ConfigError, defineCommand, integer, run } from '@tidegauge/service/program';
    const sample = defineCommand({
      name: 'sample', summary: 'Sample.', settings: { rounds: { kind: integer(1, 5), default: '2', help: 'Rounds.' } },
      run: async (config, signal) => { ${work} },
    });
    process.exitCode = await run(process.env.GROUP ? { name: 'group', summary: 'Group.', commands: { sample } } : sample);`;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', code, '--', 'sample.ts', ...args],
    {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      env: { ...process.env, ROUNDS: '4', ...(work === GROUP ? { GROUP: '1' } : {}) },
    },
  );
  return { status, stdout, stderr };
}
const GROUP = 'process.stdout.write(String(config.rounds)); return 0;';

test('a command ends with the exit code of its work, and takes no variable of another program', () => {
  const { status, stdout } = command('process.stdout.write(String(config.rounds)); return 3;');
  assert.deepEqual([status, stdout], [3, '2']);
});

test('an error of a command is one line', () => {
  const work = "throw new Error('no route', { cause: new Error('host unreachable') });";
  assert.deepEqual(command(work), { status: 1, stdout: '', stderr: 'no route: host unreachable\n' });
  const usage = "throw new ConfigError(['--rounds is odd']);";
  assert.deepEqual(command(usage), { status: 2, stdout: '', stderr: '--rounds is odd\n' });
});

test('an interrupted command reports it and fails', () => {
  const work =
    "const handle = setTimeout(() => {}, 60_000); process.kill(process.pid, 'SIGINT'); await new Promise((_, reject) => signal.addEventListener('abort', () => { clearTimeout(handle); reject(signal.reason); }));";
  assert.deepEqual(command(work), { status: 1, stdout: '', stderr: 'interrupted\n' });
});

test('--print-config prints the settings in force as options', () => {
  assert.equal(command('return 1;', '--rounds=5', '--print-config').stdout, '--rounds=5\n');
});

test('a group runs the command that its first argument names', () => {
  assert.equal(command(GROUP, 'sample', '--rounds', '3').stdout, '3');
  assert.match(command(GROUP, '--help').stdout, /^ {2}sample +Sample\.$/m);
  assert.match(command(GROUP, 'sample', '--help').stdout, /^Usage: group sample \[options\]$/m);
  const { status, stderr } = command(GROUP, 'smaple');
  assert.deepEqual(
    [status, stderr],
    [2, 'unknown command smaple; the commands are sample: did you mean sample?\n'],
  );
  assert.equal(command(GROUP).status, 2);
  assert.equal(
    command(GROUP, '--colour').stderr,
    'unknown option --colour: expected group COMMAND [options]\n',
  );
});
