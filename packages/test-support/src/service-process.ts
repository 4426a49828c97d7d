import { exitText, nameWhenSlow, SecretWatch, startProcess } from '@tidegauge/process';
import { NODE, NODE_ENVIRONMENT, NODE_FLAGS, ROOT } from '../../../scripts/setup.js';
import { longestTurn, WATCH_FLAGS } from './event-loop.ts';
import { limitMemory } from './memory-limit.ts';

// A service creates its schema when it connects for the first time. This takes Cassandra on three nodes behind a slow
// network a while.
const READY_MS = 180_000;
const STOP_MS = 30_000;
const LOG_CHARACTERS = 10_000;
const METRICS_MS = 2000;
/** A line of a log that is no warning and no error. */
const ROUTINE = /^\{.*"level":"(trace|debug|info)"/;

/** A service of this project as a real process, started as in a deployment. */
export interface ServiceProcess {
  readonly pid: number;
  readonly url: string;
  /** The most memory that it has had, bytes. Only of a service whose memory is limited. */
  peakMemory(): number;
  /** See `longestTurn`. Only of a service that is started with `watchTurns`. */
  longestTurn(): Promise<number>;
  /** Resolves to the exit code when the service ends; null when a signal ended it. */
  readonly exited: Promise<number | null>;
  /** Sends SIGTERM and waits for the end; resolves to the exit code. SIGKILL after 30 s. */
  stop(): Promise<number | null>;
  /** Ends it with SIGKILL, as a power failure would. */
  kill(): Promise<void>;
}

/** How a service is started as on a board. */
export interface ServiceOptions {
  /** Memory of the service, bytes, with page cache and socket buffers. The kernel ends it beyond that (as root). */
  readonly memoryBytes?: number;
  /** Options of node, such as `--max-old-space-size=56`. */
  readonly nodeFlags?: readonly string[];
  /** Measures the turns of its event loop. */
  readonly watchTurns?: boolean;
}

/**
 * Starts `services/<name>` with the given environment and waits until it is ready. Ctrl-C in a terminal does not reach
 * it. Warnings and errors of its log,
 * and text that is not of its log, go to standard error of this process.
 *
 * @param ready matches the log line that reports that the service is ready; its first group is the URL
 * @throws {Error} with the end of the log, when the service ends first or is not ready within three minutes
 */
export async function startServiceProcess(
  name: string,
  env: Readonly<Record<string, string>>,
  ready: RegExp,
  { memoryBytes, nodeFlags = [], watchTurns = false }: ServiceOptions = {},
): Promise<ServiceProcess> {
  const { LOG_LEVEL = 'info' } = env;
  if (LOG_LEVEL !== 'info')
    throw new TypeError('LOG_LEVEL must be info: the port is read from a log line of that level');
  const url = Promise.withResolvers<string>();
  let log = '';
  let part = '';
  const read = (text: string): void => {
    log = (log + text).slice(-LOG_CHARACTERS);
    const lines = (part + text).split('\n');
    part = lines.pop()!;
    for (const line of lines) {
      if (!ROUTINE.test(line)) process.stderr.write(`${line}\n`);
      const found = ready.exec(line)?.[1];
      if (found !== undefined) url.resolve(found);
    }
  };
  const limit = memoryBytes === undefined ? null : limitMemory(memoryBytes);
  const shell = limit === null ? [] : ['sh', '-c', limit.command, 'sh'];
  const flags = [...NODE_FLAGS, ...nodeFlags, ...(watchTurns ? WATCH_FLAGS : [])];
  const program = [...shell, NODE, ...flags, `services/${name}/src/main.ts`];
  const service = startProcess({
    command: program[0]!,
    args: program.slice(1),
    cwd: ROOT,
    ownGroup: true,
    stdin: 'pipe',
    stdout: 'inherit',
    ipc: watchTurns,
    extendEnv: false,
    env: { PATH: process.env.PATH, ...NODE_ENVIRONMENT, LOG_LEVEL, ...env, STOP_WITH_STDIN: 'true' },
    onOutput: read,
    stopMs: STOP_MS,
  });
  const late = setTimeout(() => {
    void service.kill();
    url.reject(new Error(`${name} was not ready within ${READY_MS / 1000} s: ${notable(log)}`));
  }, READY_MS);
  void service.exited.then((exit) => url.reject(new Error(`${name}: ${exitText(exit)}: ${notable(log)}`)));
  const started = nameWhenSlow(`${name} to start`);
  const place = await url.promise.finally(() => {
    clearTimeout(late);
    started();
  });
  let peakMemory = 0;
  const peak = (): number => {
    if (limit !== null && service.running) peakMemory = limit.peak(service.pid);
    return peakMemory;
  };
  void service.exited.then(() => {
    if (limit?.kind === 'cgroup') peakMemory = limit.peak(service.pid);
    limit?.remove();
  });
  const watch = SecretWatch.of(`the service ${name}`, [], env);
  return {
    pid: service.pid,
    url: place,
    peakMemory: peak,
    longestTurn: () => longestTurn(service.child),
    exited: service.exited.then(({ code }) => code),
    stop: async () => {
      if (watch !== null) watch.read(await metricsOf(place), 'its metrics');
      return (await service.stop()).code;
    },
    kill: async () => void (await service.kill()),
  };
}

/** The lines of a log that say why a service ended: warnings, errors, and text that is not of its log. */
export function notable(log: string): string {
  const lines = log.trim().split('\n');
  return lines.filter((line) => !ROUTINE.test(line)).join('\n') || log;
}

/** The metrics of a service; empty when it does not answer, or refuses the request. */
async function metricsOf(url: string): Promise<string> {
  try {
    return await (await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(METRICS_MS) })).text();
  } catch {
    return '';
  }
}
