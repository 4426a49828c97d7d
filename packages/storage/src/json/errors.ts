import { DISK_FULL, StoreError, type StoreErrorCode } from '../errors.ts';

interface Meaning {
  readonly code: StoreErrorCode;
  readonly what: string;
  readonly hint: string;
}

const refused = (hint: string): Meaning => ({ code: 'MISCONFIGURED', what: 'cannot be used', hint });
const failing = (what: string, hint: string): Meaning => ({ code: 'UNAVAILABLE', what, hint });

/** Meanings of the errors of system calls. Other codes are UNEXPECTED. */
export const SYSTEM_ERRORS: Readonly<Record<string, Meaning>> = {
  ENOSPC: failing('the disk is full', DISK_FULL),
  EDQUOT: failing('the disk quota is used up', DISK_FULL),
  EFBIG: failing('the file has the largest allowed size', 'raise ulimit -f, or use ext4 in place of FAT'),
  EIO: failing('the disk fails', 'check the kernel log and replace the disk'),
  EACCES: refused('give this user read and write access to the folder and everything in it'),
  EPERM: refused('use a file system that has hard links and lets this user write'),
  ENOTSUP: refused('use a file system that has hard links'),
  EROFS: refused('the file system is read-only: mount it for writing'),
  EEXIST: refused('there is a file in place of a folder: move it, or use another path'),
  ENOTDIR: refused('there is a file in place of a folder: move it, or use another path'),
  EISDIR: refused('there is a folder in place of a file: move it, or use another path'),
  ELOOP: refused('the path goes in a circle of symbolic links'),
  ENAMETOOLONG: refused('use a shorter path'),
  EMFILE: { code: 'OVERLOADED', what: 'too many open files', hint: 'raise the limit with ulimit -n' },
  ENFILE: { code: 'OVERLOADED', what: 'too many open files on this machine', hint: 'close some' },
};

/**
 * Maps an error of file I/O under `folder` to a StoreError. Errors that no system call threw stay as they are.
 */
export function toStoreError(error: unknown, folder: string): unknown {
  const { code, path, message, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return error;
  const where = path ?? folder;
  // Node.js reports a read-only file system as ENOENT when it creates a folder.
  const meaning = SYSTEM_ERRORS[code === 'ENOENT' && syscall === 'mkdir' ? 'EROFS' : code];
  if (meaning === undefined)
    return new StoreError('UNEXPECTED', `${where}: ${message}`, { cause: error, hint: 'see the system log' });
  const text = `${where}: ${meaning.what} (${code})`;
  return new StoreError(meaning.code, text, { cause: error, hint: meaning.hint });
}

/** Runs a call of the store and maps its errors. */
export async function translated<T>(folder: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw toStoreError(error, folder);
  }
}
