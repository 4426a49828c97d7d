import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
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
    await buildIn(source, main, join(directory, program));
  });
  return join(folder, program);
}

/** A program in a Go module of this repository. */
export interface OwnGoProgram extends Omit<GoProgram, 'module'> {
  /** The folder of the module. */
  readonly folder: string;
  /** What the message of the build adds, such as the time that it takes. */
  readonly note: string;
}

/**
 * Builds a program from a Go module of this repository, once for each state of its files, and resolves to its path.
 *
 * @throws {Error} when Go is not installed, or when this process may not build missing programs
 */
export async function buildOwnGoProgram(wanted: OwnGoProgram): Promise<string> {
  const { name, folder: source, version, main, note } = wanted;
  const program = basename(name);
  const files = globSync('**/*.{go,mod,sum}', { cwd: source, exclude: ['**/*_test.go'] }).toSorted();
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(join(source, file)));
  const folder = await buildOnce(
    `${name}/${version}-${hash.digest('hex').slice(0, 12)}`,
    async (directory) => {
      process.stderr.write(`Building ${program} ${version} (once${note})...\n`);
      await buildIn(source, main, join(directory, program));
    },
  );
  return join(folder, program);
}

async function buildIn(source: string, main: string, output: string): Promise<void> {
  await mkdir(dirname(output));
  await go(['build', '-ldflags=-s -w', '-o', output, main], { cwd: source });
}

/** The version of a Go module that the module in a folder requires. */
export function requiredVersion(folder: string, module: string): string {
  const words = readFileSync(join(folder, 'go.mod'), 'utf8').split(/\s+/);
  const version = words[words.indexOf(module) + 1];
  if (version?.startsWith('v')) return version;
  throw new Error(`${folder}go.mod does not name a version of ${module}`);
}
