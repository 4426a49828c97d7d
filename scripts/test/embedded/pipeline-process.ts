import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { NODE, NODE_ENVIRONMENT, ROOT } from '../../setup.js';

const STARTED_MS = 60_000;
const STOPPED_MS = 40_000;

export interface PipelineProcess {
  readonly api: string;
  readonly ingest: string;
  readonly mqttPort: number;
  readonly directory: string;
  readonly output: () => string;
  /** Sends SIGINT, as Ctrl-C does. Resolves to the exit code. */
  interrupt(): Promise<number | null>;
  /** Kills the process, as a crash would. */
  kill(): void;
}

export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

/** Starts what `npm start -- …` runs, on free ports and in a new directory. Ends it and removes both after the test. */
export async function startPipeline(
  context: TestContext,
  ...flags: readonly string[]
): Promise<PipelineProcess> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-start-'));
  const [http, mqtt, metrics] = await freePorts(3);
  const ports = ['--http-port', `${http}`, '--mqtt-port', `${mqtt}`, '--metrics-port', `${metrics}`];
  const args = ['apps/tidegauge/src/main.ts', '--data', directory, ...ports, ...flags];
  const child = spawn(NODE, args, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...NODE_ENVIRONMENT },
  });
  const exited = once(child, 'exit').then(() => child.exitCode);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const interrupt = () => {
    child.kill('SIGINT');
    const late = setTimeout(() => child.kill('SIGKILL'), STOPPED_MS);
    return exited.finally(() => clearTimeout(late));
  };
  context.after(async () => {
    await interrupt();
    await rm(directory, { recursive: true });
  });
  const deadline = Date.now() + STARTED_MS;
  while (!output.includes('Tidegauge is running')) {
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error(`the pipeline did not start: ${output}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    api: `http://127.0.0.1:${http}`,
    ingest: `http://127.0.0.1:${metrics}`,
    mqttPort: mqtt!,
    directory,
    output: () => output,
    interrupt,
    kill: () => void child.kill('SIGKILL'),
  };
}
