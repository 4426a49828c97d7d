import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

const COMMAND_MS = 120_000;
const OUTPUT_BYTES = 64 * 2 ** 20;

export interface CommandOptions {
  /** For its standard input. */
  readonly input?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
  /** Default two minutes. */
  readonly timeoutMs?: number;
}

/**
 * Runs a program to its end and resolves to what it wrote, without the last line end; rejects with what it
 * complained of.
 *
 * @param what names the command in errors
 */
export async function runCommand(
  what: string,
  [program, ...args]: readonly string[],
  { input = '', env, timeoutMs = COMMAND_MS }: CommandOptions = {},
): Promise<string> {
  const running = run(program!, args, {
    env: { ...process.env, ...env },
    timeout: timeoutMs,
    maxBuffer: OUTPUT_BYTES,
  });
  running.child.stdin?.on('error', () => {
    // It ended without reading its input, and says why itself.
  });
  running.child.stdin?.end(input);
  try {
    return (await running).stdout.trimEnd();
  } catch (error) {
    const { killed, stderr, message } = error as Error & { killed: boolean; stderr: string };
    throw new Error(`${what}: ${killed ? `no end within ${timeoutMs} ms` : stderr.trim() || message}`);
  }
}
