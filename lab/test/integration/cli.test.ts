import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type ProgramResult, runProgram } from '@tidegauge/process';
import { openStore } from '@tidegauge/storage';
import mqtt from 'mqtt';
import { findProgram } from '../../src/debian.ts';
import { testWith } from '../../src/unavailable.ts';

const test = await testWith('mosquitto', () => findProgram('mosquitto', 'mosquitto'));

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const GONE_MS = 10_000;
const RUN_MS = 300_000;

type Lab = (...args: string[]) => Promise<ProgramResult>;

/** Runs the command line with a separate lab. After the test, stops the lab and checks that nothing is left. */
async function useLab(context: TestContext): Promise<{ lab: Lab; folder: () => Promise<string> }> {
  const home = await mkdtemp(join(tmpdir(), 'tidegauge-lab-test-'));
  // Other users need access, as to a folder for temporary files, because databases run as other users.
  await chmod(home, 0o711);
  const lab: Lab = (...args) => run(args, home);
  context.after(async () => {
    assert.equal((await lab('down', 'all')).code, 0);
    await rm(home, { recursive: true });
  });
  return { lab, folder: async () => join(home, (await readdir(home))[0]!) };
}

function run(args: readonly string[], home: string): Promise<ProgramResult> {
  const options = { env: { TMPDIR: home }, accept: 'any', timeoutMs: RUN_MS } as const;
  return runProgram(process.execPath, [CLI, ...args], options);
}

function brokerIn(output: string): string {
  const url = /^ {2}BROKER=(mqtt:\/\/127\.0\.0\.1:\d+)$/m.exec(output)?.[1];
  assert.ok(url !== undefined, output);
  return url;
}

async function assertAnswers(url: string): Promise<void> {
  const client = await mqtt.connectAsync(url, { reconnectPeriod: 0 });
  await client.endAsync();
}

async function assertSilent(url: string): Promise<void> {
  await assert.rejects(mqtt.connectAsync(url, { reconnectPeriod: 0, connectTimeout: 2000 }));
}

async function supervisorOf(folder: string, name: string): Promise<number> {
  const note = JSON.parse(await readFile(join(folder, name, 'note.json'), 'utf8'));
  return (note as { supervisor: { pid: number } }).supervisor.pid;
}

async function assertEnds(pid: number): Promise<void> {
  for (const deadline = Date.now() + GONE_MS; existsSync(`/proc/${pid}`); await sleep(20)) {
    assert.ok(Date.now() < deadline, `process ${pid} is still there`);
  }
}

test('a started server outlives the command, is listed, and leaves nothing after "down"', async (context) => {
  const { lab, folder } = await useLab(context);
  assert.deepEqual(await lab('status'), { code: 0, signal: null, stdout: 'nothing is up\n', stderr: '' });
  const up = await lab('up', 'mosquitto');
  assert.equal(up.code, 0, up.stderr);
  const url = brokerIn(up.stdout);
  await assertAnswers(url);

  const status = await lab('status');
  assert.match(status.stdout, /^mosquitto: ready, pid \d+, \d+ MiB$/m);
  assert.equal(brokerIn(status.stdout), url);
  const logs = await lab('logs', 'mosquitto');
  assert.equal(logs.code, 0);

  const pid = await supervisorOf(await folder(), 'mosquitto');
  assert.deepEqual(await lab('down', 'mosquitto'), {
    code: 0,
    signal: null,
    stdout: 'mosquitto is down\n',
    stderr: '',
  });
  await assertSilent(url);
  await assertEnds(pid);
  assert.deepEqual(await readdir(await folder()), []);
});

test('two servers of one kind run at once under different names, and "down all" ends both', async (context) => {
  const { lab, folder } = await useLab(context);
  const first = brokerIn((await lab('up', 'mosquitto')).stdout);
  const second = await lab('up', 'mosquitto', '--name', 'second');
  assert.match(second.stdout, /^second \(mosquitto\): ready/);
  await assertAnswers(first);
  await assertAnswers(brokerIn(second.stdout));
  const down = await lab('down', 'all');
  assert.equal(down.stdout, 'mosquitto is down\nsecond is down\n');
  await assertSilent(first);
  assert.deepEqual(await readdir(await folder()), []);
});

test('when two commands start the same name at once, one succeeds and the other fails', async (context) => {
  const { lab } = await useLab(context);
  const both = await Promise.all([lab('up', 'mosquitto'), lab('up', 'mosquitto')]);
  assert.deepEqual(both.map(({ code }) => code).toSorted(), [0, 2]);
  const refused = both.find(({ code }) => code === 2)!;
  assert.match(refused.stderr, /^mosquitto is up already: .*--name.*\n$/);
});

test('a server ends with its killed supervisor, is reported, and can be started again', async (context) => {
  const { lab, folder } = await useLab(context);
  const url = brokerIn((await lab('up', 'mosquitto')).stdout);
  const pid = await supervisorOf(await folder(), 'mosquitto');
  process.kill(pid, 'SIGKILL');
  await assertEnds(pid);
  await assertSilent(url);
  assert.match((await lab('status')).stdout, /^mosquitto: ended without being stopped; "down mosquitto"/);
  const again = await lab('up', 'mosquitto');
  assert.equal(again.code, 0, again.stderr);
  await assertAnswers(brokerIn(again.stdout));
});

test('down removes the files that a killed supervisor has left', async (context) => {
  const { lab, folder } = await useLab(context);
  const url = brokerIn((await lab('up', 'mosquitto')).stdout);
  const pid = await supervisorOf(await folder(), 'mosquitto');
  process.kill(pid, 'SIGKILL');
  await assertEnds(pid);
  assert.equal((await lab('down', 'mosquitto')).code, 0);
  await assertSilent(url);
  assert.deepEqual(await readdir(await folder()), []);
});

test('a server that ended by itself is reported', async (context) => {
  const { lab } = await useLab(context);
  const up = await lab('up', 'mosquitto');
  const pid = Number(/pid (\d+)/.exec(up.stdout)?.[1]);
  process.kill(pid, 'SIGKILL');
  await assertEnds(pid);
  assert.match((await lab('status')).stdout, /^mosquitto: ended by itself$/m);
  assert.equal((await lab('down', 'mosquitto')).code, 0);
});

test('a database gets a STORE that opens, ends with its killed supervisor, and down removes its files', async (context) => {
  const { lab, folder } = await useLab(context);
  const up = await lab('up', 'postgres');
  assert.equal(up.code, 0, up.stderr);
  const url = /^ {2}STORE=(postgres:.+)$/m.exec(up.stdout)?.[1];
  assert.ok(url !== undefined, up.stdout);
  const store = await openStore(url);
  await store.devices.register(['site/probe']);
  assert.equal((await store.devices.get('site/probe'))?.name, 'site/probe');
  await store.close();

  const supervisor = await supervisorOf(await folder(), 'postgres');
  process.kill(supervisor, 'SIGKILL');
  await assertEnds(supervisor);
  const server = Number(/pid (\d+)/.exec(up.stdout)?.[1]);
  await assertEnds(server);
  assert.equal((await lab('down', 'postgres')).code, 0);
  assert.deepEqual(await readdir(await folder()), []);
});

test('other users cannot read notes, because they contain passwords', async (context) => {
  const { lab, folder } = await useLab(context);
  await lab('up', 'mosquitto');
  const mode = (path: string): number => statSync(path).mode & 0o777;
  assert.equal(mode(join(await folder(), 'mosquitto', 'note.json')), 0o600);
  assert.equal(mode(join(await folder(), 'mosquitto', 'log')), 0o600);
  assert.equal(mode(await folder()), 0o711);
});

test('bad usage gives one line on standard error and exit code 2', async (context) => {
  const { lab } = await useLab(context);
  const mistakes: [string[], RegExp][] = [
    [['up', 'oracle'], /^SERVER must be one of mosquitto, .*; got "oracle"/],
    [['up', 'mongdb'], /: did you mean mongodb\?$/m],
    [['up', 'constructor'], /^SERVER must be .*; got "constructor": there is no constructor/],
    [['up'], /^SERVER is missing: one of /],
    [['up', 'mosquitto', '--nodes', '3'], /^mosquitto runs as one node/],
    [['up', 'mosquitto', '--target', 'a:1'], /^mosquitto takes no --target$/m],
    [['up', 'prometheus', '--target', 'a'], /^--target takes host:port, not "a"$/m],
    [['up', 'mosquitto', '--name', '../x'], /^--name must be /],
    [['up', 'mosquitto', '--colour', 'red'], /^unknown option --colour/],
    [['down', 'mosquitto'], /^mosquitto is not up: nothing is$/m],
    [['logs', '../etc'], /^\.\.\/etc is not up/],
    [['start'], /^unknown command start; the commands are up, status, logs, down, boards$/m],
  ];
  for (const [args, message] of mistakes) {
    const { code, stdout, stderr } = await lab(...args);
    assert.equal(code, 2, args.join(' '));
    assert.equal(stdout, '');
    assert.match(stderr, message);
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
  }
});

test('--help names every server and command', async (context) => {
  const { lab } = await useLab(context);
  const { code, stdout } = await lab('--help');
  assert.equal(code, 0);
  for (const word of ['up SERVER', 'status', 'logs NAME', 'down NAME', 'mosquitto', 'prometheus']) {
    assert.ok(stdout.includes(word), word);
  }
  const up = await lab('up', '--help');
  for (const option of ['--nodes', '--target', '--name']) assert.ok(up.stdout.includes(option), option);
});
