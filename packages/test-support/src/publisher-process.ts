import { fileURLToPath } from 'node:url';
import { runProgram } from '@tidegauge/process';
import type { PublishResult } from './publisher.ts';

const PROGRAM = fileURLToPath(new URL('./publisher-program.ts', import.meta.url));

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
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const { stdout } = await runProgram(process.execPath, [PROGRAM, ...args], {
    what: 'the publisher',
    stderr: 'inherit',
    timeoutMs: Number.POSITIVE_INFINITY,
  });
  return JSON.parse(stdout) as PublishResult;
}
