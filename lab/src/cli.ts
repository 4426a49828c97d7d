import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { exitText, type RunningProcess, startProcess } from '@tidegauge/process';
import {
  type CommandGroup,
  ConfigError,
  defineCommand,
  EXIT,
  integer,
  type Kind,
  oneOf,
  repeated,
  run,
  text,
} from '@tidegauge/service/program';
import { type Background, claim, find, findAll, folderOf, logFile, MARK, takeDown } from './background.ts';
import { CATALOGUE, refuseFlags, type StartFlags } from './catalogue.ts';
import { memoryOf, processesWith } from './processes.ts';
import type { Report } from './supervisor.ts';

const FOLLOW_MS = 100;
const LOG_LINES = 50;
/** Lines of the log that `up` shows: an installation takes minutes, and the start of a database seconds. */
const SHOWN = /^(Installing|Building|Downloading|Unpacking|Waiting)\b/;

const SERVERS = Object.keys(CATALOGUE);
const width = Math.max(...SERVERS.map((name) => name.length));

/** A name is used in file names and messages. "all" is reserved for `down`. */
const newName: Kind<string> = {
  takes: 'up to 31 lower-case letters, digits and dashes, and not "all"',
  placeholder: 'NAME',
  parse(value) {
    if (/^[a-z][a-z0-9-]{0,30}$/.test(value) && value !== 'all') return value;
    throw new Error('it is something else');
  },
};

const runningName = { kind: text('a name'), positional: true, required: true } as const;

export const program: CommandGroup = {
  name: 'npm run lab',
  summary:
    'Starts real servers on this machine. They listen on loopback, on ports that the system chooses, and keep their ' +
    'data in a temporary directory.',
  details: `Servers:\n${SERVERS.map((name) => `  ${name.padEnd(width)}  ${CATALOGUE[name]!.summary}`).join('\n')}`,
  examples: [
    'npm run lab -- up cassandra --nodes 3',
    'npm run lab -- logs cassandra',
    'npm run lab -- down all',
  ],
  commands: {
    up: defineCommand({
      name: 'up',
      summary: 'Start a server in the background, and print how to connect.',
      settings: {
        server: { kind: oneOf(SERVERS), positional: true, required: true, help: 'The server to start.' },
        nodes: {
          kind: integer(1, Math.max(...Object.values(CATALOGUE).map(({ maxNodes }) => maxNodes))),
          default: '1',
          help: 'The number of nodes. cassandra and hbase have at most 3.',
        },
        target: {
          kind: repeated(text('host:port', 'HOST:PORT')),
          help: 'An address that Prometheus scrapes. May be repeated.',
        },
        name: {
          kind: newName,
          help: 'Its name, to run a second server of one kind. Default: the name of the server.',
        },
      },
      run: ({ server, nodes, target, name }) => up(server, name ?? server, { nodes, targets: target ?? [] }),
    }),
    status: defineCommand({
      name: 'status',
      summary: 'List what runs, with its memory and how to connect.',
      settings: {},
      run: status,
    }),
    logs: defineCommand({
      name: 'logs',
      summary: 'Print the end of the log of a server.',
      settings: { name: { ...runningName, help: 'The name of the server.' } },
      run: ({ name }) => logs(name),
    }),
    down: defineCommand({
      name: 'down',
      summary: 'Stop a server and remove its data.',
      settings: { name: { ...runningName, help: 'The name of the server; "all" stops every one.' } },
      run: ({ name }) => down(name),
    }),
    boards: defineCommand({
      name: 'boards',
      summary: 'Run a Docker swarm of simulated boards with 1 GiB of memory each, until Ctrl-C.',
      settings: {
        count: { kind: integer(1, 15), default: '1', positional: true, help: 'The number of boards.' },
      },
      run: ({ count }, signal) => boards(count, signal),
    }),
  },
};

/** The lab needs namespaces, /proc and Debian packages. */
function requireLinux(): void {
  if (process.platform === 'linux') return;
  throw new ConfigError([`the lab needs Linux, and this is ${process.platform}: use a virtual machine`]);
}

async function up(server: string, name: string, flags: StartFlags): Promise<number> {
  requireLinux();
  const refused = refuseFlags(server, flags);
  if (refused !== null) throw new ConfigError([refused]);
  const before = find(name);
  if (before !== null && !before.alive) {
    process.stderr.write(`${name} ended without being stopped; removing what it left\n`);
    await takeDown(before);
  }
  if (!claim(name, server)) {
    throw new ConfigError([`${name} is up already: "down ${name}" first, or --name for a second one`]);
  }
  await supervise(name, server, flags);
  process.stdout.write(describe(find(name)!));
  return EXIT.OK;
}

/** Starts the supervisor, shows the progress of installations, and waits until the server is ready. */
async function supervise(name: string, server: string, flags: StartFlags): Promise<void> {
  const log = openSync(logFile(name), 'a', 0o600);
  const folder = folderOf(name);
  const program = fileURLToPath(new URL('supervisor.ts', import.meta.url));
  const supervisor = startProcess({
    command: process.execPath,
    args: [...process.execArgv, program, server, JSON.stringify(flags)],
    detached: true,
    stdout: log,
    stderr: log,
    ipc: true,
    // Temporary files of the server are removed together with its folder.
    env: { [MARK]: folder, TMPDIR: join(folder, 'tmp') },
  });
  closeSync(log);
  const interrupt = (): void => void supervisor.child.kill('SIGTERM');
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const shown = new AbortController();
  const follow = followInstalls(logFile(name), shown.signal);
  const report = await Promise.race([reportOf(supervisor), endOf(supervisor)]);
  shown.abort();
  await follow;
  process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  if (report.ready) {
    supervisor.child.unref();
    return;
  }
  const left = find(name);
  if (left !== null) await takeDown(left);
  throw new Error(`${server} did not start: ${report.why}`);
}

function reportOf(supervisor: RunningProcess): Promise<Report> {
  return once(supervisor.child, 'message').then(
    ([report]) => report as Report,
    // It could not be started.
    () => endOf(supervisor),
  );
}

async function endOf({ exited }: RunningProcess): Promise<Report> {
  return { ready: false, why: `it ended: ${exitText(await exited)}` };
}

/** Prints messages about installations and slow starts as they appear. */
async function followInstalls(file: string, signal: AbortSignal): Promise<void> {
  let shown = 0;
  while (!signal.aborted) {
    await delay(FOLLOW_MS, undefined, { signal }).catch(() => {});
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    for (const line of lines.slice(shown)) {
      if (SHOWN.test(line)) process.stderr.write(`${line}\n`);
    }
    shown = lines.length;
  }
}

function status(): number {
  requireLinux();
  const all = findAll();
  if (all.length === 0) process.stdout.write('nothing is up\n');
  for (const server of all) process.stdout.write(describe(server));
  return EXIT.OK;
}

function describe(server: Background): string {
  const { name, phase, supervisor, connect, alive } = server;
  const title = name === server.server ? name : `${name} (${server.server})`;
  if (!alive) return `${title}: ended without being stopped; "down ${name}" removes what it left\n`;
  const processes = processesWith(MARK, folderOf(name)).filter((pid) => pid !== supervisor.pid);
  const state = phase === 'starting' ? 'starting' : processes.length === 0 ? 'ended by itself' : 'ready';
  const memory = Math.round(processes.reduce((sum, pid) => sum + memoryOf(pid), 0) / 2 ** 20);
  const lines = Object.entries(connect).map(([key, value]) => `  ${key}=${value}\n`);
  const pids = processes.length === 0 ? '' : `, pid ${Math.min(...processes)}, ${memory} MiB`;
  return `${title}: ${state}${pids}\n${lines.join('')}`;
}

function logs(name: string): number {
  requireLinux();
  requireUp(name);
  const lines = readFileSync(logFile(name), 'utf8').trimEnd().split('\n');
  process.stdout.write(`${lines.slice(-LOG_LINES).join('\n')}\n`);
  return EXIT.OK;
}

async function down(name: string): Promise<number> {
  requireLinux();
  for (const server of name === 'all' ? findAll() : [requireUp(name)]) {
    await takeDown(server);
    process.stdout.write(`${server.name} is down\n`);
  }
  return EXIT.OK;
}

async function boards(count: number, signal: AbortSignal): Promise<number> {
  requireLinux();
  const { startBoards } = await import('./docker/boards.ts');
  const started = await startBoards(count, { memory: 2 ** 30 });
  try {
    await started.swarm();
    for (const { name, address, host } of started.boards) {
      process.stdout.write(`${name}, ${address}: export DOCKER_HOST=${host}\n`);
    }
    process.stdout.write('Ctrl-C stops them and removes their data.\n');
    if (!signal.aborted) await once(signal, 'abort');
    return EXIT.OK;
  } finally {
    await started.stop();
  }
}

/**
 * Returns the server with this name.
 *
 * @throws {ConfigError} when there is none
 */
function requireUp(name: string): Background {
  const server = /^[a-z][a-z0-9-]*$/.test(name) ? find(name) : null;
  if (server !== null) return server;
  const running = findAll().map((other) => other.name);
  const others = running.length === 0 ? 'nothing is' : `choose from ${running.join(', ')}`;
  throw new ConfigError([`${name} is not up: ${others}`]);
}

if (import.meta.main) process.exitCode = await run(program);
