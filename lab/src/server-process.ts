import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const LOG_TAIL_CHARACTERS = 8000;
const STOP_MS = 20_000;
const POLL_MS = 50;

let mirror: (text: string) => void = () => {};

/** Has everything that servers started from now on write passed on as it comes; for a supervisor's log. */
export function mirrorServerOutput(write: (text: string) => void): void {
  mirror = write;
}

export interface LaunchOptions {
  /** Names the server in errors. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Runs the server as another user; needs root. */
  readonly uid?: number;
  readonly gid?: number;
  /**
   * Asked again and again until it says yes: a query that the server answers, or, where it answers before it is
   * ready, what it wrote so far. Must not throw or hang.
   */
  readonly ready: (log: string) => Promise<boolean>;
  readonly readyMs: number;
  /** How it is asked to end; default SIGTERM. */
  readonly stopSignal?: NodeJS.Signals;
}

/** A server process of ours. */
export interface ServerProcess {
  readonly pid: number;
  readonly running: boolean;
  /** The end of what it wrote to standard output and error. */
  log(): string;
  /** Ends it as an operator would; SIGKILL after 20 s. Twice is fine. */
  stop(): Promise<void>;
  /** Ends it as a power cut would. */
  kill(): Promise<void>;
}

/**
 * Starts a server as a child and resolves when `ready` says so; rejects with the end of its log when it ends
 * before, or is late. It is killed when this process exits.
 */
export async function launchServer(options: LaunchOptions): Promise<ServerProcess> {
  const { name, command, args, ready, readyMs, stopSignal = 'SIGTERM' } = options;
  const child = spawn(command, [...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.env === undefined ? {} : { env: { ...process.env, ...options.env } }),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.uid === undefined ? {} : { uid: options.uid }),
    ...(options.gid === undefined ? {} : { gid: options.gid }),
  });
  const killChild = (): void => void child.kill('SIGKILL');
  process.once('exit', killChild);
  let running = true;
  let why = 'ended at once';
  const markEnded = (): void => {
    running = false;
    process.removeListener('exit', killChild);
  };
  const exited = once(child, 'exit').then(markEnded, (error: Error) => {
    why = `cannot be started: ${error.message}`;
    markEnded();
  });
  const log = tail(child);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (!running) return;
    child.kill(signal);
    const timer = setTimeout(killChild, STOP_MS);
    await exited.finally(() => clearTimeout(timer));
  };
  const server: ServerProcess = {
    pid: child.pid ?? -1,
    get running() {
      return running;
    },
    log,
    stop: () => end(stopSignal),
    kill: () => end('SIGKILL'),
  };
  for (const deadline = Date.now() + readyMs; !(await ready(log())); await delay(POLL_MS)) {
    if (running && Date.now() < deadline) continue;
    if (running) why = `was not ready within ${readyMs} ms`;
    await end('SIGKILL');
    const said = log().trim() || (child.pid === undefined ? 'is the program installed?' : 'it said nothing');
    throw new Error(`${name} ${why}: ${said}`);
  }
  return server;
}

function tail(child: ChildProcess): () => string {
  let log = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-LOG_TAIL_CHARACTERS);
      mirror(text);
    });
  }
  return () => log;
}

/** A port of a loopback address that nobody listens on now. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Whether somebody takes connections on a port of 127.0.0.1. */
export function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const finish = (answered: boolean): void => {
      socket.destroy();
      resolve(answered);
    };
    socket.on('connect', () => finish(true));
    socket.on('error', () => finish(false));
  });
}

/** A directory for one server's data, removed with `remove`, or when this process ends without it. */
export function temporaryDirectory(name: string): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), `tidegauge-${name}-`));
  const clean = (): void => rmSync(path, { recursive: true, force: true });
  process.once('exit', clean);
  return {
    path,
    remove() {
      process.removeListener('exit', clean);
      clean();
    },
  };
}
