import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runProgram } from '@tidegauge/process';

const ROOT = new URL('../../../', import.meta.url);
const DIGITS = 12;

/** The version, and the commit where it is known: `0.2.0, commit 1b484029c0de`. */
export async function version(): Promise<string> {
  // `npm run package` writes the commit into the package.
  const manifest = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as {
    readonly version: string;
    readonly gitHead?: string;
  };
  const commit = manifest.gitHead ?? (await commitOfClone());
  if (commit === null) return manifest.version;
  return `${manifest.version}, commit ${commit.slice(0, DIGITS)}`;
}

/** The commit that is checked out here. Null outside a clone, and without git. */
export async function commitOfClone(): Promise<string | null> {
  // Without this check, git uses the repository of a folder above.
  if (!existsSync(new URL('.git', ROOT))) return null;
  const cwd = fileURLToPath(ROOT);
  const found = await runProgram('git', ['rev-parse', 'HEAD'], { cwd }).catch(() => null);
  return found === null ? null : found.stdout.trim();
}
