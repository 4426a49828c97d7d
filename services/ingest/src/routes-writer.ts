import { chmod, lstat, open, realpath, rename, rm, stat } from 'node:fs/promises';

/** A new file is private, as the other files in DATA_DIR are. */
const NEW_MODE = 0o600;
/** What an operator does for each reason why a file cannot be replaced. */
const HINTS: Readonly<Record<string, string>> = {
  EACCES: 'let the user of ingest write the file and its directory, or change the file yourself',
  EPERM: 'let the user of ingest write the file and its directory, or change the file yourself',
  EROFS: 'it is mounted read-only: change it where it comes from',
  ENOENT: 'create its directory',
  EBUSY: 'the file is a separate mount: mount its directory, or change it where it comes from',
  ENOSPC: 'the disk is full',
};

/** The file was not changed. The message has the reason and what to do. */
export class FileNotReplaced extends Error {
  override readonly name = 'FileNotReplaced';
}

/**
 * Replaces or creates a file atomically and durably: readers see the old content or the new one, also after a power
 * failure. A symbolic link stays, and an existing file keeps its mode.
 *
 * @param what names the file in the error
 * @throws {FileNotReplaced} when it cannot be replaced; the old content stays
 */
export async function replaceFile(file: string, text: string, what = 'the routes file'): Promise<void> {
  let draft: string | null = null;
  try {
    const isNew = (await lstat(file).catch(() => null)) === null;
    const target = isNew ? file : await realpath(file);
    draft = `${target}.${process.pid}.new`;
    const mode = isNew ? NEW_MODE : (await stat(target)).mode & 0o777;
    const handle = await open(draft, 'w', mode);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    // The mask of the process can have removed bits.
    await chmod(draft, mode);
    await rename(draft, target);
  } catch (error) {
    if (draft !== null) await rm(draft, { force: true }).catch(() => {});
    const { code = '', message } = error as NodeJS.ErrnoException;
    const hint = HINTS[code];
    const failure = `${what} ${file} cannot be written: ${message}`;
    throw new FileNotReplaced(hint === undefined ? failure : `${failure}: ${hint}`, { cause: error });
  }
}
