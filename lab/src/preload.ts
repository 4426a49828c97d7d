import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram } from '@tidegauge/process';
import { buildOnce } from './build-once.ts';
import { findProgram } from './debian.ts';

/**
 * The path of a library for `LD_PRELOAD`, of `native/NAME.c`. A C compiler builds it once for each state of its source.
 *
 * @throws {Error} when there is no C compiler, or when it fails
 */
export async function buildPreload(name: string): Promise<string> {
  const source = fileURLToPath(new URL(`../native/${name}.c`, import.meta.url));
  const hash = createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 12);
  const library = `${name}.so`;
  const folder = await buildOnce(`${name}/${process.arch}-${hash}`, async (target) => {
    mkdirSync(target);
    const compiler = await findProgram('cc', 'gcc');
    await runProgram(compiler, [
      '-O2',
      '-Wall',
      '-shared',
      '-fPIC',
      '-o',
      join(target, library),
      source,
      '-ldl',
    ]);
  });
  return join(folder, library);
}
