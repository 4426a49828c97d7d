import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atExit, type ProgramOptions, runProgram, type ServerProcess } from '@tidegauge/process';
import { endCgroup, memoryCgroup } from './cgroup.ts';
import { DISKS, startEngine } from './engine.ts';
import { getFromEngine } from './engine-api.ts';
import { installDocker } from './install.ts';
import { makeNetwork, removeNetwork, unplug } from './network.ts';

export interface BoardsOptions {
  /** Memory limit of a board's engine and all its containers, in bytes. The board reports this size to Swarm. */
  readonly memory?: number;
  /**
   * A board uses the network of this machine, so that a container with `--network host` listens on its loopback. There
   * is no other network for containers. For one board. Default: a network for each board.
   */
  readonly usesMachineNetwork?: boolean;
}

export interface Board {
  /** Its host name, which is also its name in a swarm: board-1, board-2, … */
  readonly name: string;
  /** Reachable from this machine and from the other boards. */
  readonly address: string;
  /** Directory of the memory control group of the engine and all its containers. */
  readonly cgroup: string;
  /** The board's /mnt, as a directory of this machine. */
  readonly disk: string;
  /** The value for DOCKER_HOST. */
  readonly host: string;
  /** Environment variables for a docker client of this board, without the settings of this user. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Runs a command of the docker client on the board. Resolves to its output without the last line end. Rejects with
   * its error message.
   */
  docker(args: readonly string[], options?: ProgramOptions): Promise<string>;
  /**
   * The answer of the engine's API to a GET request for a path, such as `/nodes`. To look repeatedly, use this instead of
   * `docker`: it starts no process. Rejects with the answer when the engine refuses.
   */
  get(path: string): Promise<unknown>;
  /**
   * Runs a program inside the board, with the board's host name, network, processes and docker, in the directory of
   * this process. Otherwise as `docker`.
   */
  run(command: readonly string[], options?: ProgramOptions): Promise<string>;
  /** Kills the engine and all its containers, as a power failure would. The disks stay. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, with the same address and disk. */
  start(): Promise<void>;
  /** Starts another board in its place after `kill`, with its name, its address and empty disks. */
  replace(): Promise<void>;
}

export interface Boards {
  readonly boards: readonly Board[];
  /** Joins all boards to one swarm. The first `managers` boards are its managers. Default 1. */
  swarm(options?: { readonly managers?: number }): Promise<void>;
  /** Ends all boards and removes their processes, networks, firewall rules, control groups and files. */
  stop(): Promise<void>;
}

/**
 * Starts Docker engines on this machine. Each engine is a board with its own network namespace, address, host name,
 * data disk (/mnt) and memory limit. The boards share a bridge, and reach all networks that this machine reaches. They
 * need root. They end with this process, even if it is killed. Networks and files of a killed process are removed when
 * boards are started the next time.
 */
export async function startBoards(
  count: number,
  { memory, usesMachineNetwork = false }: BoardsOptions = {},
): Promise<Boards> {
  const client = await installDocker();
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-boards-'));
  const network = makeNetwork(folder);
  const { bridge, gateway } = network;
  const remove = atExit(() => removeNetwork(bridge));
  const stop = async (): Promise<void> => remove();

  const makeBoard = (number: number): Board => {
    const name = `board-${number}`;
    const cgroup = `/${bridge}/${number}`;
    const options = { name, folder: join(folder, name), bridge, gateway, cgroup, memory: memory ?? null };
    const address = usesMachineNetwork ? '127.0.0.1' : network.address(number);
    const config = join(folder, name, 'client');
    mkdirSync(config, { recursive: true });
    const socket = join(folder, name, 'docker.sock');
    const host = `unix://${socket}`;
    const env = { DOCKER_HOST: host, DOCKER_CONFIG: config };
    let engine: ServerProcess | null = null;
    const start = async (empty: boolean): Promise<void> => {
      if (engine?.running) throw new Error(`${name} is running`);
      if (empty) {
        for (const disk of DISKS) await rm(join(folder, name, disk), { recursive: true, force: true });
      }
      engine = await startEngine({ ...options, address: usesMachineNetwork ? null : address });
    };
    return {
      name,
      address,
      cgroup: memoryCgroup(cgroup),
      disk: join(folder, name, 'mnt'),
      host,
      env,
      docker: (args, { env: more, ...rest } = {}) =>
        runCommand([client, ...args], {
          ...rest,
          what: `docker ${args.join(' ')} on ${name}`,
          env: { ...env, ...more },
        }),
      get: (path) => getFromEngine(socket, path),
      run: async (command, commandOptions) =>
        runCommand([...enter(name, engine), ...command], {
          ...commandOptions,
          what: `${command.join(' ')} on ${name}`,
        }),
      async kill() {
        endCgroup(cgroup);
        unplug(bridge, number);
        await engine?.kill();
      },
      start: () => start(false),
      replace: () => start(true),
    };
  };
  const boards = Array.from({ length: count }, (_, index) => makeBoard(index + 1));
  const started = await Promise.allSettled(boards.map((board) => board.start()));
  const failed = started.find((each) => each.status === 'rejected');
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }
  return { boards, swarm: ({ managers = 1 } = {}) => makeSwarm(boards, managers), stop };
}

async function makeSwarm(boards: readonly Board[], managers: number): Promise<void> {
  const [first, ...others] = boards as [Board, ...Board[]];
  const at = ({ address }: Board): string[] => ['--advertise-addr', address, '--listen-addr', address];
  await first.docker(['swarm', 'init', ...at(first)]);
  const token = (role: string): Promise<string> => first.docker(['swarm', 'join-token', '--quiet', role]);
  const tokens = { manager: await token('manager'), worker: await token('worker') };
  // Boards join one after the other, because managers that join at the same time disturb the election.
  for (const [index, board] of others.entries()) {
    const role = index + 1 < managers ? 'manager' : 'worker';
    await board.docker(['swarm', 'join', '--token', tokens[role], ...at(board), `${first.address}:2377`]);
  }
}

/** Runs a command. Resolves to its standard output without trailing line ends. */
async function runCommand(
  [program, ...args]: readonly [string, ...string[]],
  options: ProgramOptions,
): Promise<string> {
  return (await runProgram(program, args, options)).stdout.trimEnd();
}

/** The command that enters a board's namespaces and runs a program in the current directory, which nsenter changes. */
function enter(name: string, engine: ServerProcess | null): [string, ...string[]] {
  if (!engine?.running) throw new Error(`${name} is not running`);
  const shell = readFileSync(`/proc/${engine.pid}/task/${engine.pid}/children`, 'utf8').trim();
  const namespaces = ['--mount', '--uts', '--ipc', '--net', '--pid'];
  return ['nsenter', '--target', shell, ...namespaces, 'sh', '-c', 'cd "$0"; exec "$@"', process.cwd()];
}
