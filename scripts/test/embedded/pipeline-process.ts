import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { exitText, freePorts, startProcess, waitUntil } from '@tidegauge/process';
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

/** Starts what `npm start -- …` runs, on free ports and in a new directory. Ends it and removes that after the test. */
export function startPipeline(context: TestContext, ...flags: readonly string[]): Promise<PipelineProcess> {
  return startPipelineOf(context, { tidegauge: 'apps/tidegauge/src/main.ts', cwd: ROOT }, ...flags);
}

/** The same with another file of `tidegauge`, in another working directory. */
export async function startPipelineOf(
  context: TestContext,
  { tidegauge, cwd }: { readonly tidegauge: string; readonly cwd: string },
  ...flags: readonly string[]
): Promise<PipelineProcess> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-start-'));
  const [http, mqtt, metrics] = await freePorts(3);
  const ports = ['--http-port', `${http}`, '--mqtt-port', `${mqtt}`, '--metrics-port', `${metrics}`];
  const args = [tidegauge, 'start', '--data', directory, ...ports, ...flags];
  let output = '';
  const pipeline = startProcess({
    command: NODE,
    args,
    cwd,
    env: NODE_ENVIRONMENT,
    stopSignal: 'SIGINT',
    stopMs: STOPPED_MS,
    onOutput: (text) => {
      output += text;
    },
  });
  const interrupt = async () => (await pipeline.stop()).code;
  context.after(async () => {
    await interrupt();
    await rm(directory, { recursive: true });
  });
  const wait = { timeoutMs: STARTED_MS, pollMs: 20 };
  await waitUntil(
    () => `the pipeline: ${output}`,
    () => !pipeline.running || output.includes('Tidegauge is running'),
    wait,
  );
  if (!pipeline.running) throw new Error(`the pipeline: ${exitText(await pipeline.exited)}: ${output}`);
  return {
    api: `http://127.0.0.1:${http}`,
    ingest: `http://127.0.0.1:${metrics}`,
    mqttPort: mqtt!,
    directory,
    output: () => output,
    interrupt,
    kill: () => void pipeline.kill(),
  };
}
