import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { PublishResult } from './publisher.ts';

const PROGRAM = fileURLToPath(new URL('./publisher-program.ts', import.meta.url));

export interface PublisherProcessOptions {
  readonly port: number;
  readonly count: number;
  readonly devices: number;
  /** Messages per second; without one, as fast as acknowledgements come. */
  readonly rate?: number;
  /** First segment of the devices' names. */
  readonly prefix?: string;
}

/** Publishes from a process of its own; resolves when the broker has acknowledged everything. */
export async function publishFromProcess(options: PublisherProcessOptions): Promise<PublishResult> {
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = (await exited) as [number | null];
  if (code !== 0) throw new Error(`the publisher ended with ${code}`);
  return JSON.parse(output) as PublishResult;
}
