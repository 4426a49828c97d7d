import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ProgramError, runProgram } from '@tidegauge/process';
import { assertMayInstall } from './install-policy.ts';

// Go's own installer uses this directory, which is not on the PATH of non-login shells.
const INSTALLED = '/usr/local/go/bin';
const TIMEOUT_MS = 900_000;
/** What a Go prints that is older than a go.mod requires. Before 1.21 it cannot read the version. */
const OLD = /requires go >=|invalid go version|unknown directive: toolchain/;

/**
 * Runs the Go command and resolves to its standard output.
 *
 * @throws {Error} when the command fails (with its output), when Go is not installed, or when this process may not
 *   build missing programs
 */
export async function go(
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<string> {
  const [command, ...operands] = args;
  if (command === 'build' || command === 'install') assertMayInstall(operands.at(-1) ?? 'a Go program');
  try {
    return (await runProgram(goTool('go'), args, { ...options, timeoutMs: TIMEOUT_MS })).stdout;
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error;
    const problem = goProblem(error);
    if (problem === null) throw error;
    throw new Error(`Go is ${problem}: install Go 1.25 or later from go.dev/dl`);
  }
}

/** What is wrong with Go itself when its command failed. null: nothing. */
export function goProblem({ isMissing, stderr }: Pick<ProgramError, 'isMissing' | 'stderr'>): string | null {
  if (isMissing) return 'not installed';
  return OLD.test(stderr) ? 'too old' : null;
}

/** The path of a program that comes with Go: `go`, `gofmt`. */
export function goTool(name: string): string {
  const installed = join(INSTALLED, name);
  return existsSync(installed) ? installed : name;
}
