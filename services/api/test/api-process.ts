import { readFileSync } from 'node:fs';
import { exitText, startProcess } from '@tidegauge/process';
import { longestTurn, WATCH_FLAGS } from '@tidegauge/test-support/event-loop';
import { limitMemory, type MemoryLimit } from '@tidegauge/test-support/memory-limit';
import { NODE, NODE_ENVIRONMENT, NODE_FLAGS, ROOT } from '../../../scripts/setup.js';

const READY_MS = 60_000;

/** The API as a process with limited memory, as on a board. */
export interface LimitedApi {
  readonly port: number;
  readonly limit: MemoryLimit['kind'];
  /** Whether the process still runs. */
  readonly alive: boolean;
  /** Peak memory, bytes. */
  peak(): number;
  /** Processor time used so far, milliseconds, in steps of 10. */
  spent(): number;
  /** Longest processor time of one turn of the event loop since the last call, milliseconds. */
  held(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts the API as a separate process with limited memory. */
export async function startLimitedApi(
  bytes: number,
  env: Readonly<Record<string, string>>,
): Promise<LimitedApi> {
  const limit = limitMemory(bytes);
  // As in the image (stacks/images/tidegauge/Dockerfile).
  const args = [...NODE_FLAGS, '--max-old-space-size=56', ...WATCH_FLAGS, 'services/api/src/main.ts'];
  const port = Promise.withResolvers<number>();
  let log = '';
  const api = startProcess({
    command: 'sh',
    args: ['-c', limit.command, 'sh', NODE, ...args],
    cwd: ROOT,
    stdin: 'pipe',
    stdout: 'inherit',
    ipc: true,
    extendEnv: false,
    env: {
      PATH: process.env.PATH,
      ...NODE_ENVIRONMENT,
      HTTP_PORT: '0',
      STOP_WITH_STDIN: 'true',
      ...env,
    },
    onOutput: (text) => {
      log = (log + text).slice(-10_000);
      const found = /"url":"http:\/\/[^"]+:(\d+)"/.exec(log)?.[1];
      if (found !== undefined) port.resolve(Number(found));
    },
  });
  const late = setTimeout(() => port.reject(new Error(`the API was not ready in time: ${log}`)), READY_MS);
  void api.exited.then((exit) => port.reject(new Error(`the API: ${exitText(exit)}: ${log}`)));
  const { child, pid } = api;
  return {
    port: await port.promise.finally(() => clearTimeout(late)),
    limit: limit.kind,
    get alive() {
      return api.running;
    },
    peak: () => limit.peak(pid),
    spent: () => processorTime(pid),
    held: () => longestTurn(child),
    async stop() {
      await api.stop();
      limit.remove();
    },
  };
}

function processorTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
