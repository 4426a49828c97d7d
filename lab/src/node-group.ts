import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { atExit, type LaunchOptions } from '@tidegauge/process';
import { identify, isRunning } from './processes.ts';
import { rootRefusal } from './root.ts';

// Control groups with a memory limit, for servers that run as children of this process. Boards have their own groups,
// see docker/cgroup.ts.

const ROOT = '/sys/fs/cgroup';
const GONE_MS = 10_000;
const POLL_MS = 50;
// The name has the process and its start time, so that another process can remove the groups of a killed process.
const NAME = /^tidegauge-node-(\d+)-(\d+)-\d+$/;

interface Controller {
  readonly tree: string;
  readonly limit: string;
}

const VERSIONS: readonly (Controller & { readonly mark: string })[] = [
  { tree: join(ROOT, 'memory'), limit: 'memory.limit_in_bytes', mark: join(ROOT, 'memory/cgroup.procs') },
  { tree: ROOT, limit: 'memory.max', mark: join(ROOT, 'cgroup.subtree_control') },
];

let groups = 0;

/** A control group with a memory limit. Processes that start in it, and their children, share the limit. */
export interface NodeGroup {
  /** With cgroup v1, in the tree of the memory controller. */
  readonly directory: string;
  /** Bytes. */
  readonly memory: number;
  /** Waits until its processes have ended, and removes it. */
  remove(): Promise<void>;
}

/** Why the memory of a server cannot be limited on this machine. null: it can be limited. */
export function memoryLimitRefusal(): string | null {
  const refusal = rootRefusal('a memory limit');
  if (refusal !== null) return refusal;
  const controller = controllerOf();
  return typeof controller === 'string' ? controller : null;
}

/**
 * Makes a group with a memory limit. It is removed when this process ends, except by SIGKILL; then by the next call.
 *
 * @throws {Error} with the reason, when this machine cannot limit memory
 */
export function makeNodeGroup(memory: number): NodeGroup {
  const refusal = memoryLimitRefusal();
  if (refusal !== null) throw new Error(refusal);
  const { tree, limit } = controllerOf() as Controller;
  removeAbandoned(tree);
  groups += 1;
  const directory = join(tree, `tidegauge-node-${process.pid}-${identify(process.pid)!.started}-${groups}`);
  mkdirSync(directory);
  writeFileSync(join(directory, limit), String(memory));
  const forget = atExit(() => removeGroup(directory), { last: true });
  return {
    directory,
    memory,
    async remove() {
      for (const deadline = Date.now() + GONE_MS; Date.now() < deadline; await delay(POLL_MS)) {
        if (removeGroup(directory)) break;
      }
      forget();
      if (existsSync(directory)) throw new Error(`${directory} still contains processes after ${GONE_MS} ms`);
    },
  };
}

/** The command of a server that starts in a group, as the user that the options name. null: the options as they are. */
export function inGroup(group: NodeGroup | null, options: LaunchOptions): LaunchOptions {
  if (group === null) return options;
  const { command, args = [], uid, gid, ...rest } = options;
  // The user of the server cannot write to the group, so the shell enters it first.
  const user = uid === undefined ? [] : [`--reuid=${uid}`, `--regid=${gid ?? uid}`, '--clear-groups'];
  const enter = ['-c', 'echo 0 >"$0" && exec "$@"', join(group.directory, 'cgroup.procs')];
  return {
    ...rest,
    command: 'sh',
    args: [...enter, 'setpriv', ...user, '--pdeathsig', 'KILL', '--', command, ...args],
  };
}

/** The memory controller of cgroup v1 or v2, or the reason why there is none. */
function controllerOf(): Controller | string {
  const version = VERSIONS.find(({ mark }) => existsSync(mark));
  if (version === undefined) return `there is no control group at ${ROOT}`;
  if (version.tree !== ROOT) return version;
  if (readFileSync(version.mark, 'utf8').split(/\s/).includes('memory')) return version;
  return `${version.mark} does not list memory: on a Raspberry Pi, add cgroup_enable=memory to /boot/firmware/cmdline.txt`;
}

function removeAbandoned(tree: string): void {
  for (const name of readdirSync(tree)) {
    const [, pid, started] = NAME.exec(basename(name)) ?? [];
    if (pid === undefined || isRunning({ pid: Number(pid), started: started! })) continue;
    removeGroup(join(tree, name));
  }
}

/** Returns whether the group is gone. A group with processes stays. */
function removeGroup(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}
