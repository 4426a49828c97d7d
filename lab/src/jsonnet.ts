import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '@tidegauge/process';
import { buildOnce } from './build-once.ts';
import { go } from './go.ts';

const VERSION = 'v0.20.0';
const MODULE = `github.com/google/go-jsonnet@${VERSION}`;

/**
 * Builds jsonnet from its Go module, once, and resolves to the path of the program.
 *
 * @throws {Error} when Go is not installed, or when this process may not build missing programs
 */
export async function buildJsonnet(): Promise<string> {
  const folder = await buildOnce(`jsonnet/${VERSION}`, async (directory) => {
    process.stderr.write(`Building jsonnet ${VERSION} (once)...\n`);
    const { Dir: source } = JSON.parse(await go(['mod', 'download', '-json', MODULE])) as { Dir: string };
    await mkdir(directory);
    const output = join(directory, 'jsonnet');
    await go(['build', '-ldflags=-s -w', '-o', output, './cmd/jsonnet'], { cwd: source });
  });
  return join(folder, 'jsonnet');
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
