import { mkdirSync } from 'node:fs';
import { exitText, freePorts, listens, runProgram, startProcess, waitUntil } from '@tidegauge/process';
import type { ReadingDocument } from '@tidegauge/readings';
import { fetchFor } from '@tidegauge/service';
import mqtt from 'mqtt';

const STOP_MS = 60_000;
const REQUEST_MS = 5000;
const SHOWN_MS = 60_000;
const VALUE = 21.5;

/** How an installation starts the pipeline. Options of `tidegauge start` follow the arguments. */
export interface StartCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** The user id of its processes, which receive the data directory. Default: that of this process. */
  readonly user?: number;
}

/** A pipeline on free ports of loopback. */
export interface Pipeline {
  /** The URL of the API and the page. */
  readonly api: string;
  readonly mqttPort: number;
  readonly running: boolean;
  readonly exited: Promise<unknown>;
  /** Ends it, and waits until its services have ended. */
  stop(): Promise<void>;
}

/**
 * Starts a pipeline without simulated sensors, with SQLite in the directory `data`. Resolves when it is ready.
 *
 * @throws {Error} with the end of its output, when it ends first or is not ready within `timeoutMs`
 */
export async function startPipeline(
  { command, args, cwd, env = {}, user }: StartCommand,
  data: string,
  timeoutMs: number,
): Promise<Pipeline> {
  if (user !== undefined) {
    mkdirSync(data, { recursive: true });
    await runProgram('chown', ['--recursive', `${user}:${user}`, data]);
  }
  const [http, mqttPort, metrics] = (await freePorts(3)) as [number, number, number];
  const ports = ['--http-port', `${http}`, '--mqtt-port', `${mqttPort}`, '--metrics-port', `${metrics}`];
  const pipeline = startProcess({
    command,
    args: [...args, '--no-sim', '--data', data, ...ports],
    cwd,
    // The compile cache of this program is not that of an installation.
    env: { NODE_COMPILE_CACHE: undefined, MALLOC_ARENA_MAX: undefined, ...env },
    stopMs: STOP_MS,
  });
  const isFree = async () => {
    for (const port of [http, mqttPort, metrics]) if (await listens(port)) return false;
    return true;
  };
  const stop = async (): Promise<void> => {
    await pipeline.stop();
    // Its services end after it when it was killed.
    await waitUntil('the services to end', isFree, { timeoutMs: STOP_MS });
  };
  try {
    await waitUntil(
      () => `the pipeline: ${pipeline.log()}`,
      () => !pipeline.running || pipeline.log().includes('Tidegauge is running'),
      { timeoutMs, pollMs: 20 },
    );
    if (!pipeline.running)
      throw new Error(`the pipeline: ${exitText(await pipeline.exited)}: ${pipeline.log()}`);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    api: `http://127.0.0.1:${http}`,
    mqttPort,
    get running() {
      return pipeline.running;
    },
    exited: pipeline.exited,
    stop,
  };
}

/** Publishes a reading, and waits until the page is served and the request with which it reads returns the reading. */
export async function showReading({ api, mqttPort }: Pipeline): Promise<void> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${mqttPort}`);
  await client.publishAsync('sensors/kitchen/temperature', String(VALUE), { qos: 1 });
  await client.endAsync();
  const isShown = async () => (await readPage(api, 'kitchen'))?.value === VALUE;
  await waitUntil('the reading', isShown, { timeoutMs: SHOWN_MS, pollMs: 20 });
}

/**
 * Loads the page, and the latest reading of a device as the page does.
 *
 * @throws {Error} when one of both fails, or is not answered within five seconds
 */
export async function readPage(api: string, device: string): Promise<ReadingDocument | undefined> {
  await (await get(`${api}/`)).text();
  const latest = await get(`${api}/v1/readings/latest?device=${encodeURIComponent(device)}`);
  return ((await latest.json()) as { readonly readings: readonly ReadingDocument[] }).readings[0];
}

async function get(url: string): Promise<Response> {
  const response = await fetchFor('read the page', url, { timeoutMs: REQUEST_MS });
  if (!response.ok) throw new Error(`${url} was answered with ${response.status}`);
  return response;
}
