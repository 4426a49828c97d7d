import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { ConfigError } from './program/config-error.ts';

/** Of an existing file, its group may still read it. */
const KEPT_MODE = 0o640;

/**
 * Changes a file of secrets in one step: readers have either the old content or the new one, also after a power cut.
 * Two commands cannot change it at once. A new file can be read by its owner only. An existing one keeps its owner, its
 * group, and the permission of the group to read it. A directory that is missing is made.
 *
 * @param change returns the new content. It reads the present one, which nobody else changes meanwhile. It may be called twice
 * @throws {ConfigError} when the file cannot be written, or another command changes it
 */
export function changeFile(path: string, change: () => string): void {
  // The target of a symbolic link is changed, and the link is kept.
  const target = existsSync(path) ? realpathSync(path) : path;
  const draft = `${target}.new`;
  const directory = dirname(target);
  const isNew = !existsSync(directory);
  // A change that is refused makes no directory.
  if (isNew) change();
  let file: number;
  try {
    if (isNew) mkdirSync(directory, { recursive: true, mode: 0o700 });
    file = openSync(draft, 'wx', 0o600);
  } catch (error) {
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    throw new ConfigError([
      code === 'EEXIST' && syscall === 'open'
        ? `another command is changing ${path}: if none runs, remove ${draft}`
        : `${path} cannot be written: ${message}`,
    ]);
  }
  try {
    const content = change();
    try {
      writeFileSync(file, content);
      keepOwner(file, target);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** A command that is run as root must not take the file from the user of the service. */
function keepOwner(file: number, target: string): void {
  const old = statSync(target, { throwIfNoEntry: false });
  if (old === undefined) return;
  const { uid, gid } = old;
  if (process.getuid?.() === 0) fchownSync(file, uid, gid);
  // Another group would get the permission.
  else if (gid !== process.getgid?.()) return;
  fchmodSync(file, (old.mode & KEPT_MODE) | 0o600);
}
