import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { execa } from 'execa';
import { atExit } from './at-exit.ts';
import { commandLine } from './command-line.ts';
import { type Exit, exitOf } from './exit.ts';
import { SecretWatch } from './secret-watch.ts';

const LOG_CHARACTERS = 8000;
const STOP_MS = 20_000;
/** How long the last output may take to arrive after the process has ended; a descendant can hold its pipes open. */
const DRAIN_MS = 500;
/** It is waited for in steps, so that output is read in between also when this process had no processor meanwhile. */
const DRAIN_STEPS = 10;

export interface StartOptions {
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** Added to the environment of this process, unless `extendEnv` is false. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly extendEnv?: boolean;
  /** Runs the program as another user. This needs root. */
  readonly uid?: number;
  readonly gid?: number;
  /** Default: `ignore`. With `pipe`, the input closes when this process ends, and the program can stop by itself. */
  readonly stdin?: 'ignore' | 'pipe';
  /** A file descriptor, or `inherit`, takes the output out of `log` and `onOutput`. Default: `pipe`. */
  readonly stdout?: 'pipe' | 'inherit' | number;
  readonly stderr?: 'pipe' | 'inherit' | number;
  /** Opens an IPC channel: `child.send` and `message` events. */
  readonly ipc?: boolean;
  /** Starts the program in its own process group, so that Ctrl-C in a terminal reaches only this process, which stops it. */
  readonly ownGroup?: boolean;
  /** As `ownGroup`, and the program is not killed when this process ends. */
  readonly detached?: boolean;
  /** Receives the output as it arrives. */
  readonly onOutput?: (text: string, stream: 'stdout' | 'stderr') => void;
  /** Signal of `stop`. Default: SIGTERM. */
  readonly stopSignal?: NodeJS.Signals;
  /** `stop` sends SIGKILL after this time. Default: 20 s. */
  readonly stopMs?: number;
}

/** A child process. */
export interface RunningProcess {
  /** -1 when it could not be started. */
  readonly pid: number;
  readonly running: boolean;
  /** Resolves when the process has ended or could not be started. Never rejects. */
  readonly exited: Promise<Exit>;
  readonly child: ChildProcess;
  /** The last 8,000 characters of standard output and standard error, as far as they are pipes. */
  log(): string;
  /** Ends it in an orderly way; with SIGKILL after `stopMs`. A second call does nothing. */
  stop(): Promise<Exit>;
  /** Ends it with SIGKILL, as a power failure would. */
  kill(): Promise<Exit>;
}

/**
 * Starts a child process. It is killed when this process ends in any way, including SIGKILL on Linux, unless it is
 * detached or its standard input is a pipe. A program that cannot be started is reported by `exited`.
 */
export function startProcess(options: StartOptions): RunningProcess {
  const { args = [], stdin = 'ignore', stdout = 'pipe', stderr = 'pipe', detached = false } = options;
  const {
    ownGroup = detached,
    ipc = false,
    stopSignal = 'SIGTERM',
    stopMs = STOP_MS,
    extendEnv = true,
  } = options;
  const path = options.env?.PATH ?? process.env.PATH;
  const watch = SecretWatch.of(options.command, args, options.env ?? {});
  const place = options.cwd === undefined ? {} : { cwd: options.cwd };
  const stopsItself = detached || stdin === 'pipe';
  const [program, ...rest] = stopsItself
    ? [options.command, ...args]
    : commandLine(options.command, args, { path, ...place });
  const child = execa(program, rest, {
    ...place,
    ...(options.uid === undefined ? {} : { uid: options.uid }),
    ...(options.gid === undefined ? {} : { gid: options.gid }),
    env: options.env ?? {},
    extendEnv,
    // The types of execa define descriptors up to 9 only.
    stdio: [stdin, stdout as 'pipe', stderr as 'pipe'],
    ipc,
    detached: ownGroup,
    buffer: false,
    reject: false,
    cleanup: true,
    // What execa sends when this process ends.
    killSignal: 'SIGKILL',
  });
  let running = child.pid !== undefined;
  let log = '';
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-LOG_CHARACTERS);
      watch?.read(text, stream);
      options.onOutput?.(text, stream);
    });
  }
  // The program can end before it has read its input.
  child.stdin?.on('error', () => {});
  const completed = child.then(exitOf);
  const ended = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      running = false;
      resolve({ code, signal, error: null });
    });
  });
  // execa kills only those in the group of this process.
  if (ownGroup && !detached) void ended.then(atExit(() => void (running && child.kill('SIGKILL'))));
  const exited = Promise.race([
    completed,
    ended.then((exit) => Promise.race([completed, drained().then(() => exit)])),
  ]);
  const end = async (signal: NodeJS.Signals): Promise<Exit> => {
    if (!running) return exited;
    child.kill(signal);
    const late = setTimeout(() => child.kill('SIGKILL'), stopMs);
    return exited.finally(() => clearTimeout(late));
  };
  return {
    pid: child.pid ?? -1,
    get running() {
      return running;
    },
    exited,
    child: child as unknown as ChildProcess,
    log: () => log,
    stop: () => end(stopSignal),
    kill: () => end('SIGKILL'),
  };
}

async function drained(): Promise<void> {
  for (let step = 0; step < DRAIN_STEPS; step += 1)
    await delay(DRAIN_MS / DRAIN_STEPS, undefined, { ref: false });
}
