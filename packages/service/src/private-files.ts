import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from './logger.ts';

const OTHERS = 0o077;

/**
 * Takes what others may do with files of ours away from them: files that an older version has made, or one with
 * another umask. The directory itself may hold more than ours: others who may look into it are reported.
 *
 * @param isOurs by the name of a file in the directory
 */
export function keepPrivate(directory: string, isOurs: (name: string) => boolean, logger: Logger): void {
  const { mode, uid } = lstatSync(directory);
  if ((mode & OTHERS) !== 0) {
    const fix = `chmod 700 ${directory}`;
    logger.warn({ directory, fix }, 'others on this machine may look into the data directory');
  }
  const self = process.getuid?.();
  if (self === undefined || (uid !== self && self !== 0)) return;
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    const file = lstatSync(path, { throwIfNoEntry: false });
    if (!isOurs(name) || !file?.isFile() || file.nlink > 1 || (file.mode & OTHERS) === 0) continue;
    chmodSync(path, file.mode & 0o700);
  }
}
