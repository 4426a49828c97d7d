import { runProgram } from '@tidegauge/process';
import { buildGoProgram } from './go-program.ts';

const JSONNET = {
  name: 'jsonnet',
  module: 'github.com/google/go-jsonnet',
  version: 'v0.20.0',
  main: './cmd/jsonnet',
};

/**
 * Builds jsonnet from its Go module, once, and resolves to the path of the program.
 *
 * @throws {Error} when Go is not installed, or when this process may not build missing programs
 */
export function buildJsonnet(): Promise<string> {
  return buildGoProgram(JSONNET);
}

/**
 * The result of a program in jsonnet, as JSON values.
 *
 * @param folder where it imports files from
 */
export async function evaluateJsonnet(program: string, folder: string): Promise<unknown> {
  const { stdout } = await runProgram(await buildJsonnet(), ['-e', program], { cwd: folder });
  return JSON.parse(stdout);
}
