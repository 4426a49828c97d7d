import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { NODE, NODE_ENVIRONMENT, NODE_FLAGS, ROOT } from '../../../scripts/setup.js';

// The first contact makes the schema, which takes Cassandra a while.
const READY_MS = 60_000;
const EXIT_MS = 30_000;

/** A service of ours as a real process, as it is deployed. */
export interface ServiceProcess {
  readonly pid: number;
  readonly url: string;
  /** Resolves to the exit code when it ends, by itself or not. */
  readonly exited: Promise<number | null>;
  /** Asks it to stop and waits; resolves to the exit code. */
  stop(): Promise<number | null>;
  /** Ends it as a power cut would. */
  kill(): Promise<void>;
}

/**
 * Starts `services/<name>` with the given environment and waits until it is ready. Warnings and errors of its log
 * go to this process's standard error.
 *
 * @param ready matches the log once it is ready, its first group the URL it listens on
 */
export async function startServiceProcess(
  name: string,
  env: Readonly<Record<string, string>>,
  ready: RegExp,
): Promise<ServiceProcess> {
  const { LOG_LEVEL = 'info' } = env;
  if (LOG_LEVEL !== 'info')
    throw new TypeError('the port is read from an info line: leave LOG_LEVEL at info');
  const child = spawn(NODE, [...NODE_FLAGS, `services/${name}/src/main.ts`], {
    cwd: ROOT,
    stdio: ['pipe', 'inherit', 'pipe'],
    env: { PATH: process.env.PATH, ...NODE_ENVIRONMENT, LOG_LEVEL, ...env, STOP_WITH_STDIN: 'true' },
  });
  // A child that cannot be started has no exit code; `listening` rejects with the cause.
  const exited = once(child, 'exit').then(
    () => child.exitCode,
    () => null,
  );
  return {
    pid: child.pid!,
    url: await listening(child, name, ready),
    exited,
    async stop() {
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), EXIT_MS);
      return exited.finally(() => clearTimeout(late));
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** Its port stands in the log line that says it is ready. */
function listening(child: ChildProcess, name: string, ready: RegExp): Promise<string> {
  let log = '';
  return new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`${name} was not ready within ${READY_MS} ms: ${log}`));
    }, READY_MS);
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-10_000);
      const url = ready.exec(log)?.[1];
      for (const line of text.split('\n'))
        if (/"level":"(warn|error|fatal)"/.test(line)) process.stderr.write(`${line}\n`);
      if (url !== undefined) {
        clearTimeout(timer);
        resolve(url);
      }
    });
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(new Error(`${name} cannot be started: ${error.message}`));
    });
    child.once('exit', (code) => {
      clearTimeout(timer);
      reject(new Error(`${name} ended with ${code}: ${log}`));
    });
  });
}
