import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';

/** A program of ours whose `start` is the given code; it stops within a second, whatever happens. */
function program(start: string): string {
  return `
    import { run } from '@tidegauge/service';
    process.exitCode = await run({
      usage: 'test', schema: {}, stopSeconds: () => 1,
      start: async (_config, signal) => { process.stdout.write('started'); ${start} },
    });`;
}

/** Runs it, asks it to stop once it has started, and gives how it ended. */
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

const LATE = /^stopping took longer than 1 s: what was not finished is left undone$/m;
/** Keeps the event loop alive, as a socket would. */
const HANDLE = 'setInterval(() => {}, 1000);';

test('a program that stops as it should ends at once', async (context) => {
  const start = `const handle = ${HANDLE} return { stop: async () => clearInterval(handle) };`;
  const { code, log, ms } = await stopped(context, start);
  assert.deepEqual([code, log], [0, '']);
  assert.ok(ms < 1000, `${ms} ms`);
});

for (const [what, start] of [
  ['whose stop hangs', `${HANDLE} return { stop: () => new Promise(() => {}) };`],
  ['that leaves a handle open', `${HANDLE} return { stop: async () => {} };`],
  ['that is asked to stop while its start hangs', `${HANDLE} await new Promise(() => {});`],
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
