import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { assertMayInstall } from './install-policy.ts';

const run = promisify(execFile);

// Go's own installer puts it there, which is not on the PATH of non-login shells.
const INSTALLED = '/usr/local/go/bin';
const BUILD = { timeout: 900_000, maxBuffer: 64 * 2 ** 20 };

/**
 * Runs the Go command; resolves to what it wrote.
 *
 * @throws {Error} with its output; that Go is not installed; or that this process may not build what is missing
 */
export async function go(
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<string> {
  const { env, ...rest } = options;
  const [command, ...operands] = args;
  if (command === 'build' || command === 'install') assertMayInstall(operands.at(-1) ?? 'a Go program');
  try {
    const settings = { ...BUILD, ...rest, env: { ...process.env, ...env } };
    const { stdout } = await run(goTool('go'), [...args], settings);
    return stdout;
  } catch (error) {
    const { code, stdout } = error as { code?: unknown; stdout?: string };
    if (code !== 'ENOENT') throw new Error(`go ${args[0]} failed: ${error}\n${stdout}`, { cause: error });
    throw new Error('Go is not installed: it takes 1.25 or later, from go.dev/dl', { cause: error });
  }
}

/** How to call a program that comes with Go: `go`, `gofmt`. */
export function goTool(name: string): string {
  const installed = join(INSTALLED, name);
  return existsSync(installed) ? installed : name;
}
