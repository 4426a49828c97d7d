import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ProgramOptions, runProgram } from '@tidegauge/process';

/** The directory of the project, which has the stack files. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SCRIPT_MS = 300_000;

/** Runs the docker client, which reaches the engine of DOCKER_HOST. Resolves to its output. */
export function docker(args: readonly string[], options: ProgramOptions = {}): Promise<string> {
  return run('docker', args, { what: `docker ${args[0]} ${args[1]}`, ...options });
}

/** Runs a docker command that prints a list. Resolves to its lines. */
export async function listed(args: readonly string[]): Promise<string[]> {
  return (await docker(args)).split('\n').filter(Boolean);
}

/** Runs a script of stacks/bin, which gets the variables of this process and further ones. */
export function script(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const path = join('stacks/bin', name);
  return run(join(ROOT, path), args, { what: path, timeoutMs: SCRIPT_MS, env });
}

async function run(program: string, args: readonly string[], options: ProgramOptions): Promise<string> {
  return (await runProgram(program, args, options)).stdout;
}
