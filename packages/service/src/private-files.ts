import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from './logger.ts';

const OTHERS = 0o077;

/**
 * Removes the permissions of other users from the service's files, which an older version or another umask may have
 * set. The directory can contain other files; if other users can read it, that is logged.
 *
 * @param isOurs whether a file of the directory belongs to the service, by its name
 */
export function keepPrivate(directory: string, isOurs: (name: string) => boolean, logger: Logger): void {
  const { mode, uid } = lstatSync(directory);
  if ((mode & OTHERS) !== 0) {
    const fix = `chmod 700 ${directory}`;
    logger.warn({ directory, fix }, 'other users of this machine can list the data directory');
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
