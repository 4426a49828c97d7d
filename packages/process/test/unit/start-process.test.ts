import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exitText, startProcess, waitUntil } from '@tidegauge/process';

const start = (script: string, options = {}) =>
  startProcess({ command: process.execPath, args: ['-e', script], ...options });

const PARENT = fileURLToPath(new URL('../parent.ts', import.meta.url));
const isAlive = (pid: number): boolean =>
  existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));

test('a process that ends is reported with its exit code and the end of its output', async () => {
  const child = start("console.log('x'.repeat(20_000)); console.log('last line'); process.exitCode = 3");
  assert.equal(exitText(await child.exited), 'exit code 3');
  assert.equal(child.running, false);
  assert.equal(child.log().length, 8000);
  assert.match(child.log(), /x\nlast line\n$/);
});

test('a program that does not exist is reported and needs no stop', async () => {
  const child = startProcess({ command: '/nowhere/thing' });
  assert.equal(exitText(await child.exited), 'cannot be started: spawn /nowhere/thing ENOENT');
  assert.equal(child.pid, -1);
  await child.stop();
});

test('a process that ignores its stop signal is killed after the deadline', async () => {
  const child = start("process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('ready')", {
    stopMs: 200,
  });
  await waitUntil('the process', () => child.log().includes('ready'), { timeoutMs: 10_000 });
  assert.equal(exitText(await child.stop()), 'signal SIGKILL');
});

test('an input that is a pipe closes, and messages pass', async () => {
  const child = start(
    "process.on('message', (text) => process.send(text + '!')); process.stdin.resume().once('end', () => process.exit(7))",
    { stdin: 'pipe', ipc: true },
  );
  const answer = new Promise((resolve) => child.child.once('message', resolve));
  child.child.send('hello');
  assert.equal(await answer, 'hello!');
  child.child.stdin!.end();
  assert.equal(exitText(await child.exited), 'exit code 7');
});

for (const [signal, how] of [
  ['SIGTERM', ''],
  ['SIGINT', ''],
  ['SIGKILL', ''],
  ['SIGTERM', 'own-group'],
  ['SIGKILL', 'own-group'],
] as const) {
  test(`a child ${how} does not outlive a parent that ${signal} ends`, {
    skip: process.platform !== 'linux',
  }, async () => {
    const parent = startProcess({ command: process.execPath, args: [PARENT, how] });
    await waitUntil('the pid of the child', () => /\d+\n/.test(parent.log()), { timeoutMs: 20_000 });
    const pid = Number(parent.log());
    assert.equal(isAlive(pid), true);
    parent.child.kill(signal);
    await parent.exited;
    await waitUntil(`the end of ${pid}`, () => !isAlive(pid), { timeoutMs: 5000 });
  });
}

test('a child with its own group is not in the group that a terminal sends Ctrl-C to', {
  skip: process.platform !== 'linux',
}, async () => {
  const parent = startProcess({
    command: process.execPath,
    args: [PARENT, 'own-group'],
    ownGroup: true,
  });
  await waitUntil('the pid of the child', () => /\d+\n/.test(parent.log()), { timeoutMs: 20_000 });
  const group = (pid: number): string => readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[4]!;
  assert.equal(group(parent.pid), String(parent.pid));
  assert.equal(group(Number(parent.log())), parent.log().trim());
  await parent.kill();
});
