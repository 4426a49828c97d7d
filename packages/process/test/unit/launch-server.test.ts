import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launchServer } from '@tidegauge/process';

const launch = (command: string, args: readonly string[]) =>
  launchServer({ name: 'thing', command, args, ready: async () => false, readyMs: 10_000 });

test('a server whose program does not exist is reported in one sentence', async () => {
  await assert.rejects(launch('/nowhere/thingd', []), {
    message: 'thing cannot be started: spawn /nowhere/thingd ENOENT: is the program installed?',
  });
});

test('a server that ends before it is ready is reported with what it wrote', async () => {
  const program = "process.stderr.write('no such option'); process.exit(1)";
  await assert.rejects(launch(process.execPath, ['-e', program]), {
    message: 'thing ended before it was ready (exit code 1): no such option',
  });
});

test('the line about an error in a long log comes first', async () => {
  const log = ['starting', 'FATAL: the port is in use', 'bye'].join('\n');
  const program = `process.stderr.write(${JSON.stringify(log)}); process.exit(1)`;
  await assert.rejects(launch(process.execPath, ['-e', program]), {
    message: `thing ended before it was ready (exit code 1): FATAL: the port is in use\n${log}`,
  });
});

test('a server that needs long to start is named once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const written: string[] = [];
  const write = t.mock.method(process.stderr, 'write', (text: string) => written.push(text) > 0);
  const clock = setInterval(() => t.mock.timers.tick(1000), 10);
  const server = await launchServer({
    ...{ name: 'thing', command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] },
    ready: async () => written.length > 0,
    readyMs: 10_000,
  });
  clearInterval(clock);
  write.mock.restore();
  await server.kill();
  assert.deepEqual(written, ['Waiting for thing to start...\n']);
});
