import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LedgerDocument } from '@tidegauge/readings';
import { NODE, NODE_ENVIRONMENT, NODE_FLAGS, ROOT } from '../../scripts/setup.js';

const READY_MS = 20_000;
const EXIT_MS = 30_000;

/** A real ingest process, as it is deployed, and what it says of itself over HTTP. */
export interface IngestProcess {
  readonly pid: number;
  readonly url: string;
  ledger(): Promise<LedgerDocument>;
  /** Resolves when `done` says so of the ledger; rejects after `timeoutMs` with the last one. */
  until(done: (ledger: LedgerDocument) => boolean, timeoutMs: number): Promise<LedgerDocument>;
  /** Resolves to the exit code when it ends, by itself or not. */
  readonly exited: Promise<number | null>;
  /** Asks it to stop and waits; resolves to the exit code. */
  stop(): Promise<number | null>;
  /** Ends it as a power cut would. */
  kill(): Promise<void>;
}

/**
 * Starts `services/ingest` with the given environment on a port of the system's choice and waits until it is
 * ready. Its log goes to this process's standard error.
 */
export async function startIngestProcess(env: Readonly<Record<string, string>>): Promise<IngestProcess> {
  const child = spawn(NODE, [...NODE_FLAGS, 'services/ingest/src/main.ts'], {
    cwd: ROOT,
    stdio: ['pipe', 'inherit', 'pipe'],
    env: {
      PATH: process.env.PATH,
      ...NODE_ENVIRONMENT,
      LOG_LEVEL: 'info',
      METRICS_PORT: '0',
      ...env,
      STOP_WITH_STDIN: 'true',
    },
  });
  const exited = once(child, 'exit').then(() => child.exitCode);
  const url = await listening(child, env.LOG_LEVEL);
  const ledger = async () =>
    (await fetch(`${url}/ledger`, { signal: AbortSignal.timeout(30_000) })).json() as Promise<LedgerDocument>;
  return {
    pid: child.pid!,
    url,
    exited,
    ledger,
    async until(done, timeoutMs) {
      const deadline = Date.now() + timeoutMs;
      for (;;) {
        const now = await ledger();
        if (done(now)) return now;
        if (Date.now() > deadline) throw new Error(`not so within ${timeoutMs} ms: ${JSON.stringify(now)}`);
        await sleep(50);
      }
    },
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
async function listening(child: ChildProcess, level = 'info'): Promise<string> {
  let log = '';
  const ready = new Promise<string>((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`ingest was not ready within ${READY_MS} ms: ${log}`)),
      READY_MS,
    );
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-10_000);
      const url = /"http":"(http:[^"]+)".*"ingest is ready"/.exec(log)?.[1];
      for (const line of text.split('\n'))
        if (/"level":"(warn|error|fatal)"/.test(line)) process.stderr.write(`${line}\n`);
      if (url !== undefined) {
        clearTimeout(timer);
        resolve(url);
      }
    });
    child.once('exit', (code) => reject(new Error(`ingest ended with ${code}: ${log}`)));
  });
  if (level !== 'info') throw new TypeError('the port is read from an info line: leave LOG_LEVEL at info');
  return ready;
}
