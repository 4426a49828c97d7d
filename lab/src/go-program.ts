import { mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { buildOnce } from './build-once.ts';
import { go } from './go.ts';

/** A program in a Go module, at an exact version. */
export interface GoProgram {
  /** The folder of the build below the lab's folder, and the name of the program: its last segment. */
  readonly name: string;
  readonly module: string;
  readonly version: string;
  /** The package of the program in its module. */
  readonly main: string;
}

/**
 * Builds a program from its Go module with the versions of dependencies that the module names, once, and resolves to its
 * path. Go checks the module against its checksum database.
 *
 * @throws {Error} when Go is not installed, or when this process may not build missing programs
 */
export async function buildGoProgram({ name, module, version, main }: GoProgram): Promise<string> {
  const program = basename(name);
  const folder = await buildOnce(`${name}/${version}`, async (directory) => {
    process.stderr.write(`Building ${program} ${version} (once, some minutes)...\n`);
    const { Dir: source } = JSON.parse(await go(['mod', 'download', '-json', `${module}@${version}`])) as {
      Dir: string;
    };
    await mkdir(directory);
    await go(['build', '-ldflags=-s -w', '-o', join(directory, program), main], { cwd: source });
  });
  return join(folder, program);
}
