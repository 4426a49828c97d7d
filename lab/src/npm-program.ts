import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '@tidegauge/process';
import { buildOnce } from './build-once.ts';
import { assertMayInstall } from './install-policy.ts';

/**
 * Installs one npm package with its dependencies outside of this project and its lock file, and resolves to the path of
 * the package. For test programs with hundreds of packages. No script of a package runs.
 *
 * @throws {Error} when this process may not install missing programs
 */
export async function installNpmProgram(name: string, version: string): Promise<string> {
  const folder = await buildOnce(`${name}/${version}`, async (directory) => {
    assertMayInstall(name);
    await mkdir(directory);
    await writeFile(join(directory, 'package.json'), '{"private":true}');
    const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
    await runProgram('npm', ['install', '--ignore-scripts', ...quiet, `${name}@${version}`], {
      cwd: directory,
      timeoutMs: 300_000,
    });
  });
  return join(folder, 'node_modules', name);
}
