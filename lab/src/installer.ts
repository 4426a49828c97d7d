import { mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exitText, ProgramError, runProgram } from '@tidegauge/process';
import { CACHE } from './build-once.ts';
import { assertMayInstall } from './install-policy.ts';

const TIMEOUT_MS = 900_000;
const CAUSE_CHARACTERS = 400;
/** Lines of installers that do not contain the cause of a failure. */
const NOISE =
  /Can not write log|Sub-process .* returned|^E: Some index|^(Created symlink|Processing|Setting up|Unpacking) /;

export interface InstallerOptions {
  readonly cwd?: string;
  /** The whole environment. Default: the environment of this process. */
  readonly env?: NodeJS.ProcessEnv;
  readonly timeoutMs?: number;
}

/**
 * Runs a program that installs or builds something. Its whole output is written to a file in the cache.
 *
 * @param what the name of the step, such as `install ssl-cert`, for the error and the name of the file
 * @throws {Error} when it fails, with a short cause and the path of the output; or when this process may not install
 *   anything
 */
export async function runInstaller(
  what: string,
  command: string,
  args: readonly string[],
  { timeoutMs = TIMEOUT_MS, ...options }: InstallerOptions = {},
): Promise<void> {
  assertMayInstall(what.replace(/^(install|download|build|unpack) /, ''));
  const folder = join(CACHE, 'logs');
  await mkdir(folder, { recursive: true });
  const path = join(folder, `${what.replace(/[^A-Za-z0-9.]+/g, '-').slice(0, 100)}.log`);
  const log = await open(path, 'w', 0o600);
  try {
    const output = { stdout: log.fd, stderr: log.fd };
    await runProgram(command, args, {
      ...options,
      extendEnv: options.env === undefined,
      timeoutMs,
      ...output,
    });
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error;
    if (error.isMissing) throw new Error(`${what} failed: ${command} is not installed`);
    const how = error.timedOut ? `did not end within ${timeoutMs / 60_000} min` : exitText(error.exit);
    const cause = causeOf(await readFile(path, 'utf8')) ?? how;
    throw new Error(`${what} failed: ${cause} (whole output: ${path})`);
  } finally {
    await log.close();
  }
}

/** The line of an installer's output that contains the cause of its failure. null: there is no output. */
export function causeOf(output: string): string | null {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !NOISE.test(line));
  // The last line of a package's script, before dpkg reports its failure.
  const gaveUp = lines.findIndex((line) => /^dpkg: error processing (package|archive) /.test(line));
  const said = lines[gaveUp - 1];
  if (gaveUp > 0 && !said!.startsWith('dpkg:')) {
    const [, name] = /^dpkg: error processing \w+ (\S+)/.exec(lines[gaveUp]!)!;
    return `package ${name}: ${said}`.slice(0, CAUSE_CHARACTERS);
  }
  const error = lines.find((line) => /^(\[ERROR\]|E:|error:|fatal:|dpkg:)|: error: /i.test(line));
  return (error ?? lines.at(-1))?.slice(0, CAUSE_CHARACTERS) ?? null;
}
