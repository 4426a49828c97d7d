import { setTimeout as delay } from 'node:timers/promises';
import { exitText } from './exit.ts';
import { nameWhenSlow } from './name-when-slow.ts';
import { type StartOptions, startProcess } from './start-process.ts';

const POLL_MS = 50;

let mirror: (text: string) => void = () => {};

/** Passes on the output of all servers that are started from now on, for the log of a supervisor. */
export function mirrorServerOutput(write: (text: string) => void): void {
  mirror = write;
}

export interface LaunchOptions
  extends Pick<StartOptions, 'command' | 'args' | 'env' | 'cwd' | 'uid' | 'gid' | 'stopSignal'> {
  /** Names the server in errors. */
  readonly name: string;
  /**
   * Called until it resolves to true. It sends the server a query, or reads the end of the log of a server that
   * answers before it is ready. Must not throw or hang.
   */
  readonly ready: (log: string) => Promise<boolean>;
  readonly readyMs: number;
}

/** A server that this process has started. */
export interface ServerProcess {
  readonly pid: number;
  readonly running: boolean;
  /** The last 8,000 characters of standard output and standard error. */
  log(): string;
  /** Ends it in an orderly way; with SIGKILL after 20 s. A second call does nothing. */
  stop(): Promise<void>;
  /** Ends it with SIGKILL, as a power failure would. */
  kill(): Promise<void>;
}

/**
 * Starts a server and resolves when it is ready. It is killed when this process ends in any way. Ctrl-C in a terminal
 * does not reach it: this process stops it when its clients are done.
 *
 * @throws {Error} with the cause and the end of the log, when the server ends first or is not ready in time
 */
export async function launchServer(options: LaunchOptions): Promise<ServerProcess> {
  const { name, ready, readyMs, ...start } = options;
  const server = startProcess({ ...start, ownGroup: true, onOutput: mirror });
  const started = nameWhenSlow(`${name} to start`);
  for (const deadline = Date.now() + readyMs; !(await ready(server.log())); await delay(POLL_MS)) {
    if (server.running && Date.now() < deadline) continue;
    started();
    const late = server.running ? `was not ready within ${readyMs / 1000} s` : null;
    const exit = await server.kill();
    const [why, unknown] =
      exit.error === null
        ? [`ended before it was ready (${exitText(exit)})`, 'it wrote nothing']
        : [exitText(exit), 'is the program installed?'];
    const log = server.log().trim();
    const rest = log.includes('\n') ? `\n${log}` : '';
    throw new Error(`${name} ${late ?? why}: ${causeIn(log) || unknown}${rest}`);
  }
  started();
  return {
    pid: server.pid,
    get running() {
      return server.running;
    },
    log: server.log,
    stop: async () => void (await server.stop()),
    kill: async () => void (await server.kill()),
  };
}

/** The line of a log that has most likely the cause of a failure: the last one about an error, else the last one. */
function causeIn(log: string): string {
  const lines = log.split('\n');
  return lines.findLast((line) => /error|fatal|exception|cannot|denied/i.test(line)) ?? lines.at(-1)!;
}
