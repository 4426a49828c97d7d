import { fileURLToPath } from 'node:url';
import { exitText, runProgram, startProcess } from '@tidegauge/process';
import type { PublishResult } from './publisher.ts';

export interface PublisherProcessOptions {
  readonly port: number;
  readonly count: number;
  readonly devices: number;
  /** Messages per second; without one, as fast as the broker acknowledges them. */
  readonly rate?: number;
  /** First segment of the names of devices. */
  readonly prefix?: string;
  /** After an abort nothing more is published, and the result has what was published. */
  readonly signal?: AbortSignal;
}

/**
 * Publishes from another process. Resolves when the broker has acknowledged every message.
 * @throws {Error} with the reason, when it ends without a result
 */
export async function publishFromProcess({
  signal,
  ...options
}: PublisherProcessOptions): Promise<PublishResult> {
  const publisher = startProcess({
    command: process.execPath,
    args: commandOf('publisher-program.ts', options),
    ownGroup: true,
    stderr: 'inherit',
    stopMs: STOP_MS,
  });
  const stop = (): void => void publisher.stop();
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted) stop();
  const exit = await publisher.exited.finally(() => signal?.removeEventListener('abort', stop));
  if (exit.code !== 0) throw new Error(`the publisher: ${exitText(exit)}`);
  return JSON.parse(publisher.log()) as PublishResult;
}

export interface PublishersOptions {
  readonly port: number;
  /** Messages of all connections together. */
  readonly count: number;
  /** Each is a device. */
  readonly connections: number;
  /** Messages of a connection that wait for their acknowledgement at most. */
  readonly window: number;
}

export interface PublishersResult {
  readonly acknowledged: number;
  /** From the first publication to the last acknowledgement. */
  readonly seconds: number;
}

const MANY_MS = 300_000;
/** Longer than the publisher waits for an acknowledgement. */
const STOP_MS = 60_000;

/**
 * Publishes from another process over many connections. Resolves when every message is acknowledged.
 * @throws {ProgramError} also when acknowledgements are not in order, or take more than five minutes
 */
export async function publishFromConnections(options: PublishersOptions): Promise<PublishersResult> {
  const { stdout } = await runProgram(process.execPath, commandOf('many-publishers.ts', options), {
    what: 'the publisher',
    stderr: 'inherit',
    timeoutMs: MANY_MS,
  });
  return JSON.parse(stdout) as PublishersResult;
}

function commandOf(file: string, options: object): string[] {
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return [fileURLToPath(new URL(file, import.meta.url)), ...flags];
}
