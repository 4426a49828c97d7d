import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '@tidegauge/process';
import { buildOnce } from './build-once.ts';
import { assertMayInstall } from './install-policy.ts';

const TIMEOUT_MS = 300_000;

/**
 * Installs Python packages in a separate virtual environment, once for each version of the list, and resolves to the
 * path of its Python. Each file is checked with its hash. Scripts of the packages contain the path of another directory:
 * use `python -m`.
 *
 * @param name of the environment in messages and in the lab's cache
 * @param requirements path of a requirements file with hashes
 * @throws {Error} when this process may not install missing programs
 */
export async function installPythonPackages(name: string, requirements: string): Promise<string> {
  const hash = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 12);
  const folder = await buildOnce(`${name}/${hash}`, async (directory) => {
    assertMayInstall(name);
    await runProgram('python3', ['-m', 'venv', '--copies', directory], { timeoutMs: TIMEOUT_MS });
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--require-hashes'];
    await runProgram(
      join(directory, 'bin/python'),
      // The list is complete, because each package needs a hash.
      [...pip, '--no-deps', '--only-binary=:all:', '--requirement', requirements],
      { timeoutMs: TIMEOUT_MS },
    );
  });
  return join(folder, 'bin/python');
}
