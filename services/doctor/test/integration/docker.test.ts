import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '@tidegauge/lab';
import { type Boards, startBoards } from '@tidegauge/lab/docker/boards';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import type { Report } from '../../src/report.ts';
import { only } from '../support/findings.ts';
import { runDoctor } from '../support/run-doctor.ts';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
// An empty image: the container uses the programs of this machine.
const EMPTY = `d=$(mktemp -d); cd "$d"; mkdir usr; for l in bin lib lib64 sbin; do ln -s usr/$l; done; tar -c .; rm -r "$d"`;
const NODE = ['-v', '/usr:/usr:ro', '-v', `${process.execPath}:/node:ro`];
const PORT = 8883;

const started = await startOrSkip('docker', () => startBoards(2, { memory: 2 ** 30 }));
const skip = 'skip' in started ? started.skip : false;
const { boards, swarm, stop } = ('server' in started ? started.server : {}) as Boards;
after(() => stop?.());
const temporary = temporaryDirectory('doctor');
after(() => temporary.remove());

const docker = (...args: string[]): Promise<string> => boards[0]!.docker(args);

/** Runs the doctor in a container on the first board, with the board's network and engine, as docs/deploy.md does. */
async function examineBoard(...args: string[]): Promise<Report> {
  const socket = `${boards[0]!.host.slice('unix://'.length)}:/var/run/docker.sock`;
  const mounts = ['-v', socket, '-v', `${ROOT}:${ROOT}:ro`, '-v', `${temporary.path}:${temporary.path}`];
  const main = join(ROOT, 'services/doctor/src/main.ts');
  const env = ['-e', `TIDEGAUGE_DATA=${temporary.path}`];
  const requested = ['--json', '--disk-time', '200ms', '--store', 'postgres', '--profile', '1gb', ...args];
  const container = ['run', '--rm', '--network', 'host', ...NODE, ...mounts, ...env, 'empty'];
  // The shell ends with 0, because the test needs the findings for any exit code of the doctor.
  const script = '"$@" || true';
  const command = ['sh', '-c', script, 'sh', '/node', main, '--data', temporary.path, ...requested];
  return JSON.parse(await docker(...container, ...command)) as Report;
}

test('for an engine without a swarm the fix is docker swarm init', { skip }, async () => {
  await boards[0]!.docker(['import', '-', 'empty'], { input: execFileSync('sh', ['-c', EMPTY]) });
  const { findings } = await examineBoard();
  assert.match(only(findings, 'docker.engine', 'ok').message, /^Docker \d+\.\d+/);
  assert.match(only(findings, 'swarm.state', 'error').fix!, /docker swarm init/);
  assert.match(only(findings, 'ports.free', 'ok').message, /8883/);
});

test('the suggested fixes work: labels, secrets and directories, until only expected findings are left', {
  skip,
}, async () => {
  await swarm();
  const before = await examineBoard();
  const labels = before.findings.filter(({ check }) => check === 'swarm.labels');
  assert.equal(labels.length, 2, 'broker and postgres have no board');
  for (const { fix } of labels) await docker(...fix!.replace(/^docker /, '').split(' '));
  const secrets = only(before.findings, 'swarm.secrets', 'error');
  assert.match(secrets.fix!, /^stacks\/bin\/secrets postgres/);
  for (const name of secrets.message.match(/tidegauge_\w+/g)!) {
    await boards[0]!.docker(['secret', 'create', name, '-'], { input: 'x' });
  }
  // One label went to each board; the directory is required where its service will run.
  const [requested, ...others] = (await examineBoard()).findings.filter(
    ({ check }) => check === 'disk.directories',
  );
  assert.deepEqual(others, []);
  assert.equal(requested!.level, 'error');
  mkdirSync(/^(\S+) does not exist/.exec(requested!.message)![1]!);

  const { findings } = await examineBoard();
  for (const check of ['swarm.state', 'swarm.nodes', 'swarm.engines', 'swarm.labels', 'swarm.secrets'])
    only(findings, check, 'ok');
  for (const check of ['disk.directories', 'network.mtu', 'network.boards', 'ports.free', 'docker.images'])
    only(findings, check, 'ok');
  assert.equal(findings.filter(({ check, level }) => check === 'swarm.memory' && level === 'ok').length, 2);
});

test('overlay networks have 50 bytes less than their MTU, and a larger MTU than that of the boards is an error', {
  skip,
}, async () => {
  await docker('network', 'create', '-d', 'overlay', '--attachable', 'plain');
  const read = 'require("fs").readFileSync("/sys/class/net/eth0/mtu","utf8")';
  const inside = await docker('run', '--rm', '--network', 'plain', ...NODE, 'empty', '/node', '-p', read);
  assert.equal(inside.trim(), '1450');
  await docker('network', 'create', '-d', 'overlay', '--opt', 'com.docker.network.driver.mtu=9000', 'jumbo');
  const { findings } = await examineBoard();
  assert.match(only(findings, 'network.mtu', 'error').message, /eth0 has MTU 1500, but jumbo assumes 9000/);
  await docker('network', 'rm', 'jumbo', 'plain');
});

test('a port of another container is reported with the name of the container', { skip }, async () => {
  const listen = `require("net").createServer().listen(${PORT})`;
  const publish = ['--name', 'squatter', '-p', `${PORT}:${PORT}`];
  await docker('run', '-d', ...publish, ...NODE, 'empty', '/node', '-e', listen);
  const { findings } = await examineBoard();
  assert.match(
    only(findings, 'ports.taken', 'error').message,
    /port 8883, which mosquitto publishes, is in use by container squatter/,
  );
  await docker('rm', '-f', 'squatter');
});

test('a drained board and a board that is down are listed', { skip }, async () => {
  await docker('node', 'update', '--availability', 'drain', 'board-2');
  const drained = only(
    (await examineBoard()).findings.filter(({ level }) => level !== 'ok'),
    'swarm.nodes',
    'warning',
  );
  assert.match(drained.message, /board-2 receives no tasks/);
  await boards[1]!.docker(['swarm', 'leave']);
  await docker('node', 'update', '--availability', 'active', 'board-2');
  for (const deadline = Date.now() + 60_000; ; ) {
    const state = await docker('node', 'inspect', '-f', '{{.Status.State}}', 'board-2');
    if (state === 'down') break;
    assert.ok(Date.now() < deadline, `board-2 stayed ${state}`);
  }
  const { findings } = await examineBoard();
  const dead = only(
    findings.filter(({ level }) => level === 'error'),
    'swarm.nodes',
    'error',
  );
  assert.match(dead.fix!, /docker node rm --force board-2/);
});

test('from another network the board is checked through its engine, and the rest is unknown', {
  skip,
}, async () => {
  const { stdout } = await runDoctor([
    ...['--json', '--disk-time', '100ms', '--store', 'postgres', '--data', temporary.path],
    ...['--docker-host', boards[0]!.host],
  ]);
  const { findings } = JSON.parse(stdout) as Report;
  only(findings, 'swarm.state', 'ok');
  only(findings, 'network.mtu', 'unknown');
});
