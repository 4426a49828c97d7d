import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from '@tidegauge/process';
import { ConfigError } from '@tidegauge/service/program';
import { ROOT } from './setup.js';

/**
 * The time of the sources in seconds since 1970, for reproducible files (reproducible-builds.org): SOURCE_DATE_EPOCH, or
 * the time of the last commit.
 *
 * @throws {ConfigError} when SOURCE_DATE_EPOCH is no time
 */
export async function sourceTime(): Promise<number> {
  const given = process.env.SOURCE_DATE_EPOCH;
  if (given !== undefined) {
    if (!/^[1-9]\d{0,10}$/.test(given))
      throw new ConfigError([`SOURCE_DATE_EPOCH is ${given}: it takes seconds since 1970`]);
    return Number(given);
  }
  // Without this check, git uses the repository of a folder above.
  const isClone = existsSync(join(ROOT, '.git'));
  const log = isClone
    ? await runProgram('git', ['log', '-1', '--format=%ct'], { cwd: ROOT }).catch(() => null)
    : null;
  return log === null ? Math.floor(statSync(join(ROOT, 'package.json')).mtimeMs / 1000) : Number(log.stdout);
}
