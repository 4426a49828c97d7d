import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@tidegauge/process';
import { type Board, type Boards, startBoards } from '../../src/docker/boards.ts';
import { startOrSkip } from '../../src/unavailable.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const WAIT_MS = 120_000;
const SILENCE_MS = 2000;
// An image without files. Its containers use the programs of this machine.
const EMPTY = `d=$(mktemp -d); cd "$d"; mkdir usr; for l in bin lib lib64 sbin; do ln -s usr/$l; done; tar -c .; rm -r "$d"`;
const PROGRAMS = [
  ...['--mount', 'type=bind,src=/usr,dst=/usr,readonly'],
  ...['--mount', `type=bind,src=${process.execPath},dst=/node,readonly`],
];
const SAY_NAME = 'require("net").createServer((c) => c.end(require("os").hostname())).listen(7)';

const started = await startOrSkip('docker', () => startBoards(3, { memory: 2 ** 29 }));
const skip = 'skip' in started ? started.skip : false;
const { boards, swarm, stop } = ('server' in started ? started.server : {}) as Boards;
after(() => stop?.());

async function until<T>(what: string, look: () => Promise<T | false | null>): Promise<T> {
  for (const deadline = Date.now() + WAIT_MS; Date.now() < deadline; await sleep(100)) {
    const seen = await look();
    if (seen) return seen;
  }
  throw new Error(`waited ${WAIT_MS} ms for ${what}`);
}

/** Host names of the boards that run a service's tasks. */
async function placesOf(service: string): Promise<string[]> {
  const format = '{{.Node}} {{.CurrentState}}';
  const tasks = await boards[0]!.docker([
    'service',
    'ps',
    '--filter',
    'desired-state=running',
    '--format',
    format,
    service,
  ]);
  return tasks
    .split('\n')
    .flatMap((line) => /^(\S+) Running/.exec(line)?.[1] ?? [])
    .toSorted();
}

function hear(host: string, port = 7): Promise<string> {
  const socket = connect({ host, port, timeout: SILENCE_MS });
  socket.on('timeout', () => socket.destroy(new Error(`${host} is silent`)));
  return text(socket);
}

test('boards form a swarm, and its tasks reach each other by name', { skip }, async () => {
  await swarm();
  await Promise.all(
    boards.map((board) =>
      board.docker(['import', '-', 'empty'], { input: execFileSync('sh', ['-c', EMPTY]) }),
    ),
  );
  const [first] = boards as [Board];
  const names = await first.docker(['node', 'ls', '--format', '{{.Hostname}} {{.Status}}']);
  assert.deepEqual(names.split('\n').toSorted(), ['board-1 Ready', 'board-2 Ready', 'board-3 Ready']);
  const nodes = (await first.get('/nodes')) as readonly { readonly Status: { readonly State: string } }[];
  assert.deepEqual(
    nodes.map(({ Status }) => Status.State),
    ['ready', 'ready', 'ready'],
  );
  await assert.rejects(first.get('/containers/none/json'), /^Error: \/containers\/none\/json: 404 .*none/);
  await first.docker(['network', 'create', '--driver', 'overlay', '--attachable', 'all']);
  const service = [
    'service',
    'create',
    '--detach',
    '--name',
    'namer',
    '--mode',
    'global',
    '--network',
    'all',
  ];
  const published = ['--endpoint-mode', 'dnsrr', '--publish', 'mode=host,published=7,target=7'];
  await first.docker([
    ...service,
    ...published,
    ...PROGRAMS,
    '--hostname',
    '{{.Node.Hostname}}',
    'empty',
    '/node',
    '-e',
    SAY_NAME,
  ]);
  await until('three tasks', async () => (await placesOf('namer')).length === 3);

  const ask = `require("dns").lookup("tasks.namer", { all: true }, async (error, found) => {
    for (const { address } of found ?? []) require("net").connect(7, address).pipe(process.stdout);
  })`;
  const answers = await until('three answers', async () => {
    const said = await first.docker([
      'run',
      '--rm',
      '--network',
      'all',
      ...PROGRAMS,
      'empty',
      '/node',
      '-e',
      ask,
    ]);
    const found = said.match(/board-\d/g)?.toSorted() ?? [];
    return found.length === 3 && found;
  });
  assert.deepEqual(answers, ['board-1', 'board-2', 'board-3']);
  for (const { name, address } of boards) assert.equal(await hear(address), name);
});

test('a task of a killed board moves to another board, and the board starts again with its disk', {
  skip,
}, async () => {
  const [first, ...others] = boards as [Board, Board, Board];
  // Swarm detects a lost task after three heartbeats.
  await first.docker(['swarm', 'update', '--dispatcher-heartbeat', '1s']);
  const notHere = ['--constraint', 'node.hostname!=board-1', '--restart-delay', '100ms'];
  await first.docker([
    'service',
    'create',
    '--detach',
    '--name',
    'wanderer',
    ...notHere,
    ...PROGRAMS,
    'empty',
    '/node',
    '-e',
    SAY_NAME,
  ]);
  const [place] = await until(
    'its place',
    async () => (await placesOf('wanderer')).length === 1 && placesOf('wanderer'),
  );
  const lost = others.find(({ name }) => name === place)!;
  await lost.kill();
  await assert.rejects(hear(lost.address), /EHOSTUNREACH|silent/);
  await assert.rejects(lost.docker(['ps']), new RegExp(`^ProgramError: docker ps on ${lost.name}: .*daemon`));
  const other = others.find((board) => board !== lost)!;
  await until('its new place', async () => (await placesOf('wanderer')).includes(other.name));

  await lost.start();
  await until('the task of the board', async () => (await hear(lost.address).catch(() => '')) === lost.name);
});

test('a command on a board has its name, its engine and its disk for data', { skip }, async () => {
  const [first, second] = boards as [Board, Board];
  await second.run(['sh', '-c', 'cat >/mnt/file'], { input: 'of the second' });
  const look = 'cat /proc/sys/kernel/hostname; docker info --format "{{.Name}}"; cat /mnt/file';
  assert.equal(await second.run(['sh', '-c', look]), 'board-2\nboard-2\nof the second');
  await assert.rejects(
    first.run(['cat', '/mnt/file']),
    /^ProgramError: cat \/mnt\/file on board-1: .*No such file/,
  );
  assert.equal(await first.run(['pwd']), process.cwd());
});

test('a killed board is replaced by one with its name, its address and empty disks', { skip }, async () => {
  const [, second] = boards as [Board, Board];
  await second.kill();
  await second.replace();
  assert.equal(await second.run(['ls', '/mnt']), '');
  const format = '{{.Name}} {{.Swarm.LocalNodeState}}';
  assert.equal(await second.docker(['info', '--format', format]), 'board-2 inactive');
});

test('a board has the given amount of memory, which includes its engine', { skip }, async () => {
  const [first] = boards as [Board];
  assert.equal(await first.docker(['info', '--format', '{{.MemTotal}}']), String(2 ** 29));
  const take = (mebibytes: number): Promise<string> =>
    first.docker([
      'run',
      '--rm',
      ...PROGRAMS,
      'empty',
      '/node',
      '-p',
      `Buffer.alloc(${mebibytes} * 2 ** 20, 1).length`,
    ]);
  assert.equal(await take(100), String(100 * 2 ** 20));
  await assert.rejects(take(512), /docker run/);
});

test('a container can use the network of this machine, and its loopback', { skip }, async () => {
  const machine = await startBoards(1, { usesMachineNetwork: true });
  try {
    const [board] = machine.boards as [Board];
    await board.docker(['import', '-', 'empty'], { input: execFileSync('sh', ['-c', EMPTY]) });
    const port = await freePort();
    const listen = SAY_NAME.replace('listen(7)', `listen(${port}, "127.0.0.1")`);
    const run = ['run', '--detach', '--rm', '--network', 'host', ...PROGRAMS];
    await board.docker([...run, 'empty', '/node', '-e', listen]);
    await until('its name', async () => (await hear(board.address, port).catch(() => '')) === 'board-1');
  } finally {
    await machine.stop();
  }
});

test('several processes can have boards at once, and nothing is left after they stop', { skip }, async () => {
  const one = await holdBoard();
  const two = await holdBoard();
  assert.notEqual(one.address, two.address);
  await Promise.all([one, two].map((held) => endOwner(held, 'SIGTERM')));
  assert.deepEqual([...leftOf(one), ...leftOf(two)], []);
});

test('boards end when their owner is killed, and the next start of boards removes the rest', {
  skip,
}, async () => {
  const killed = await holdBoard();
  await endOwner(killed, 'SIGKILL');
  await until('its engine to end', async () => !leftOf(killed).some((what) => what.startsWith('process')));
  assert.deepEqual(leftOf(killed), ['bridge', 'folder', 'control group', 'rules']);
  const next = await startBoards(1);
  try {
    assert.equal(next.boards[0]!.address, killed.address);
    assert.ok(!existsSync(killed.folder));
  } finally {
    await next.stop();
  }
  assert.deepEqual(leftOf(killed), []);
});

interface Held {
  readonly owner: ChildProcess;
  readonly address: string;
  readonly bridge: string;
  readonly folder: string;
}

/** Starts one board with the command line, in another process. */
async function holdBoard(): Promise<Held> {
  const owner = spawn(process.execPath, [CLI, 'boards', '1'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  for await (const chunk of owner.stdout) {
    said += chunk;
    if (said.includes('Ctrl-C')) break;
  }
  const [, address, second, folder] =
    /^board-1, (10\.(\d+)\.\S+): export DOCKER_HOST=unix:\/\/(\/.*)\/board-1\//.exec(said)!;
  return { owner, address: address!, bridge: `tgb${Number(second) - 128}`, folder: folder! };
}

async function endOwner({ owner }: Held, signal: NodeJS.Signals): Promise<void> {
  const exited = once(owner, 'exit');
  owner.kill(signal);
  await exited;
}

/** Lists what is left of the boards of a process. */
function leftOf({ bridge, folder }: Held): string[] {
  const rules = execFileSync('iptables-save', { encoding: 'utf8' }).includes(`${bridge} `);
  const processes = readdirSync('/proc').filter(
    (pid) => /^\d+$/.test(pid) && commandOf(pid).includes(folder),
  );
  return [
    ...(existsSync(`/sys/class/net/${bridge}`) ? ['bridge'] : []),
    ...(existsSync(folder) ? ['folder'] : []),
    ...(existsSync(`/sys/fs/cgroup/memory/${bridge}`) ? ['control group'] : []),
    ...(rules ? ['rules'] : []),
    ...processes.map((pid) => `process ${commandOf(pid)}`),
  ];
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}
