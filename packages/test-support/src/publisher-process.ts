import { fileURLToPath } from 'node:url';
import { runProgram } from '@tidegauge/process';
import type { PublishResult } from './publisher.ts';

export interface PublisherProcessOptions {
  readonly port: number;
  readonly count: number;
  readonly devices: number;
  /** Messages per second; without one, as fast as the broker acknowledges them. */
  readonly rate?: number;
  /** First segment of the names of devices. */
  readonly prefix?: string;
}

/**
 * Publishes from another process. Resolves when the broker has acknowledged every message.
 * @throws {ProgramError}
 */
export async function publishFromProcess(options: PublisherProcessOptions): Promise<PublishResult> {
  return runPublisher<PublishResult>('publisher-program.ts', options, Number.POSITIVE_INFINITY);
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

/**
 * Publishes from another process over many connections. Resolves when every message is acknowledged.
 * @throws {ProgramError} also when acknowledgements are not in order, or take more than five minutes
 */
export function publishFromConnections(options: PublishersOptions): Promise<PublishersResult> {
  return runPublisher<PublishersResult>('many-publishers.ts', options, MANY_MS);
}

async function runPublisher<Result>(file: string, options: object, timeoutMs: number): Promise<Result> {
  const program = fileURLToPath(new URL(file, import.meta.url));
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const { stdout } = await runProgram(process.execPath, [program, ...flags], {
    what: 'the publisher',
    stderr: 'inherit',
    timeoutMs,
  });
  return JSON.parse(stdout) as Result;
}
