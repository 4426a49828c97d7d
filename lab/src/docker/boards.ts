import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atExit, type ProgramOptions, runProgram, type ServerProcess } from '@tidegauge/process';
import { endCgroup } from './cgroup.ts';
import { startEngine } from './engine.ts';
import { installDocker } from './install.ts';
import { makeNetwork, removeNetwork, unplug } from './network.ts';

export interface BoardsOptions {
  /** What the engine of a board and its containers may use together, bytes; Swarm sees a board of that size. */
  readonly memory?: number;
}

export interface Board {
  /** Its host name, and so its name in a swarm: board-1, board-2, … */
  readonly name: string;
  /** Reachable from this machine and from the other boards. Its disk for data is in /mnt, for itself alone. */
  readonly address: string;
  /** What DOCKER_HOST takes. */
  readonly host: string;
  /** What a docker client needs to speak to it, and nothing of this user's own settings. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Runs a command of the docker client on it and resolves to what that wrote, without the last line end; rejects
   * with what it complained of.
   */
  docker(args: readonly string[], options?: ProgramOptions): Promise<string>;
  /**
   * Runs a program as somebody who is logged in there, so with its name, network, processes and docker, in this
   * process's directory; the rest as in `docker`.
   */
  run(command: readonly string[], options?: ProgramOptions): Promise<string>;
  /** Ends the engine and all its containers as a power cut would; its disks stay. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, with the same address and disk. */
  start(): Promise<void>;
}

export interface Boards {
  readonly boards: readonly Board[];
  /** Makes one swarm of all boards; the first is its manager, or the first few. */
  swarm(options?: { readonly managers?: number }): Promise<void>;
  /** Ends all boards and removes everything of them: processes, networks, rules, control groups, files. */
  stop(): Promise<void>;
}

/**
 * Starts Docker engines on this machine, each one a board: network namespace, address, host name, disk and
 * memory. They share a bridge and reach what this machine reaches. They need root, and they end with this process;
 * what a killed process leaves of them (no processes) is removed when boards are started the next time.
 */
export async function startBoards(count: number, { memory }: BoardsOptions = {}): Promise<Boards> {
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
    const address = network.address(number);
    const config = join(folder, name, 'client');
    mkdirSync(config, { recursive: true });
    const host = `unix://${join(folder, name, 'docker.sock')}`;
    const env = { DOCKER_HOST: host, DOCKER_CONFIG: config };
    let engine: ServerProcess | null = null;
    return {
      name,
      address,
      host,
      env,
      docker: (args, { env: more, ...rest } = {}) =>
        runCommand([client, ...args], {
          ...rest,
          what: `docker ${args.join(' ')} on ${name}`,
          env: { ...env, ...more },
        }),
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
      async start() {
        if (engine?.running) throw new Error(`${name} is running`);
        engine = await startEngine({ ...options, address });
      },
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
  // One after the other: managers that join at once disturb each other's election.
  for (const [index, board] of others.entries()) {
    const role = index + 1 < managers ? 'manager' : 'worker';
    await board.docker(['swarm', 'join', '--token', tokens[role], ...at(board), `${first.address}:2377`]);
  }
}

/** Resolves to standard output without the line ends at its end. */
async function runCommand(
  [program, ...args]: readonly [string, ...string[]],
  options: ProgramOptions,
): Promise<string> {
  return (await runProgram(program, args, options)).stdout.trimEnd();
}

/** What a program of a board is run with: its shell's namespaces, and this directory, which entering loses. */
function enter(name: string, engine: ServerProcess | null): [string, ...string[]] {
  if (!engine?.running) throw new Error(`${name} is not running`);
  const shell = readFileSync(`/proc/${engine.pid}/task/${engine.pid}/children`, 'utf8').trim();
  const namespaces = ['--mount', '--uts', '--ipc', '--net', '--pid'];
  return ['nsenter', '--target', shell, ...namespaces, 'sh', '-c', 'cd "$0"; exec "$@"', process.cwd()];
}
