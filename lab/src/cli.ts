import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseFlags } from '@tidegauge/service';
import { didYouMean } from '@tidegauge/text';
import { type Background, claim, find, findAll, folderOf, logFile, MARK, takeDown } from './background.ts';
import { CATALOGUE, refuseFlags, type StartFlags } from './catalogue.ts';
import { memoryOf, processesWith } from './processes.ts';
import type { Report } from './supervisor.ts';

const FOLLOW_MS = 100;
const LOG_LINES = 50;

const names = Object.keys(CATALOGUE);
const width = Math.max(...names.map((name) => name.length));
const USAGE = `Real servers on this machine: loopback, ports of the system's choice, data in a temporary folder.

  npm run lab -- up SERVER     start one in the background and say how to connect
  npm run lab -- status        what runs, its memory and how to connect
  npm run lab -- logs NAME     the end of what it wrote
  npm run lab -- down NAME     stop it and remove its data; "down all" for every one
  npm run lab -- boards N      a Docker swarm of N boards with 1 GiB each, until Ctrl-C

Servers:
${names.map((name) => `  ${name.padEnd(width)}  ${CATALOGUE[name]!.summary}`).join('\n')}

Flags of up:
  --nodes N            how many nodes (cassandra and hbase: 1 to 3, citus: 1 to 4)
  --target HOST:PORT   what to scrape (prometheus); again for more
  --name NAME          to have a second one of a kind; default: the server's name
`;

/** A mistake of the person at the keyboard: one line, exit code 2. */
class UsageError extends Error {}

const COMMANDS: Readonly<Record<string, (args: readonly string[], flags: Flags) => Promise<void>>> = {
  up,
  status,
  logs,
  down,
  boards,
};

interface Flags extends StartFlags {
  readonly name: string | undefined;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

async function main(argv: string[]): Promise<void> {
  const { values, positionals } = read(argv);
  const [command, ...rest] = positionals;
  if (values.help || command === undefined) {
    process[values.help ? 'stdout' : 'stderr'].write(USAGE);
    if (!values.help) process.exitCode = 2;
    return;
  }
  if (process.platform !== 'linux') throw new UsageError('the lab runs on Linux');
  if (!Object.hasOwn(COMMANDS, command)) {
    const commands = Object.keys(COMMANDS);
    throw new UsageError(
      `there is no command ${command}: they are ${commands.join(', ')}${didYouMean(command, commands)}`,
    );
  }
  const { name, nodes, target: targets } = values;
  await COMMANDS[command]!(rest, { name, nodes: Number(nodes), targets });
}

function read(args: string[]) {
  try {
    return parseFlags({
      args,
      allowPositionals: true,
      options: {
        nodes: { type: 'string', default: '1' },
        target: { type: 'string', multiple: true, default: [] },
        name: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

async function up([server, ...more]: readonly string[], flags: Flags): Promise<void> {
  if (server === undefined || !Object.hasOwn(CATALOGUE, server)) {
    const problem = server === undefined ? 'up takes a server' : `there is no server ${server}`;
    throw new UsageError(`${problem}: they are ${names.join(', ')}${didYouMean(server ?? '', names)}`);
  }
  if (more.length > 0) throw new UsageError('up takes one server; start others one by one');
  const refused = refuseFlags(server, flags);
  if (refused !== null) throw new UsageError(refused);
  const { name = server, nodes, targets } = flags;
  if (!/^[a-z][a-z0-9-]{0,30}$/.test(name) || name === 'all') {
    throw new UsageError('--name takes up to 31 lower-case letters, digits and dashes, and not "all"');
  }
  const before = find(name);
  if (before !== null && !before.alive) {
    process.stderr.write(`${name} ended without being stopped; removing what it left\n`);
    await takeDown(before);
  }
  if (!claim(name, server)) {
    throw new UsageError(`${name} is up already: "down ${name}" first, or --name for a second one`);
  }
  await supervise(name, server, { nodes, targets });
  process.stdout.write(describe(find(name)!));
}

/** Starts the supervisor and waits until it says that the server is ready; shows meanwhile what it says. */
async function supervise(name: string, server: string, flags: StartFlags): Promise<void> {
  const log = openSync(logFile(name), 'a', 0o600);
  const folder = folderOf(name);
  const program = fileURLToPath(new URL('supervisor.ts', import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, program, server, JSON.stringify(flags)], {
    detached: true,
    stdio: ['ignore', log, log, 'ipc'],
    // Whatever it makes in the temporary folder is in the folder that goes with it.
    env: { ...process.env, [MARK]: folder, TMPDIR: join(folder, 'tmp') },
  });
  closeSync(log);
  const interrupt = (): void => void child.kill('SIGTERM');
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const shown = new AbortController();
  const follow = followInstalls(logFile(name), shown.signal);
  const report = await Promise.race([reportOf(child), endOf(child)]);
  shown.abort();
  await follow;
  process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  if (report.ready) {
    child.unref();
    return;
  }
  const left = find(name);
  if (left !== null) await takeDown(left);
  throw new Error(`${server} did not start: ${report.why}`);
}

function reportOf(child: ChildProcess): Promise<Report> {
  return once(child, 'message').then(([report]) => report as Report, notStarted);
}

function endOf(child: ChildProcess): Promise<Report> {
  return once(child, 'exit').then(
    ([code, signal]) => ({ ready: false, why: `it was ended (${signal ?? `exit code ${code}`})` }),
    notStarted,
  );
}

function notStarted(error: unknown): Report {
  return { ready: false, why: `it cannot be started: ${(error as Error).message}` };
}

/** Installing takes minutes the first time: what is said of it is passed on. */
async function followInstalls(file: string, signal: AbortSignal): Promise<void> {
  let shown = 0;
  while (!signal.aborted) {
    await delay(FOLLOW_MS, undefined, { signal }).catch(() => {});
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    for (const line of lines.slice(shown)) {
      if (/^(Installing|Building|Downloading|Unpacking)\b/.test(line)) process.stderr.write(`${line}\n`);
    }
    shown = lines.length;
  }
}

async function status(args: readonly string[]): Promise<void> {
  if (args.length > 0) throw new UsageError('status takes nothing');
  const all = findAll();
  if (all.length === 0) process.stdout.write('nothing is up\n');
  for (const server of all) process.stdout.write(describe(server));
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

async function logs([name, ...more]: readonly string[]): Promise<void> {
  if (name === undefined || more.length > 0) throw new UsageError('logs takes one name');
  requireUp(name);
  const lines = readFileSync(logFile(name), 'utf8').trimEnd().split('\n');
  process.stdout.write(`${lines.slice(-LOG_LINES).join('\n')}\n`);
}

async function down([name, ...more]: readonly string[]): Promise<void> {
  if (name === undefined || more.length > 0) throw new UsageError('down takes one name, or all');
  for (const server of name === 'all' ? findAll() : [requireUp(name)]) {
    await takeDown(server);
    process.stdout.write(`${server.name} is down\n`);
  }
}

async function boards([count = '1', ...more]: readonly string[]): Promise<void> {
  if (!/^([1-9]|1[0-5])$/.test(count) || more.length > 0)
    throw new UsageError('boards takes a number, 1 to 15');
  const { startBoards } = await import('./docker/boards.ts');
  const started = await startBoards(Number(count), { memory: 2 ** 30 });
  const asked = Promise.withResolvers<void>();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => asked.resolve());
  try {
    await started.swarm();
    for (const { name, address, host } of started.boards) {
      process.stdout.write(`${name}, ${address}: export DOCKER_HOST=${host}\n`);
    }
    process.stdout.write('Ctrl-C ends them and removes all they hold.\n');
    await asked.promise;
  } finally {
    await started.stop();
  }
}

function requireUp(name: string): Background {
  const server = /^[a-z][a-z0-9-]*$/.test(name) ? find(name) : null;
  if (server !== null) return server;
  const running = findAll().map((other) => other.name);
  throw new UsageError(`${name} is not up: ${running.length === 0 ? 'nothing is' : running.join(', ')}`);
}
