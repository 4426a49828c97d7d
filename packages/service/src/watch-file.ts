import { statSync } from 'node:fs';

/**
 * The state of a file, which every change of its content, its permissions and its name changes. Empty when there is no
 * file, or it cannot be looked at. Times count in nanoseconds, so that two changes within a millisecond differ.
 */
export function fileVersion(path: string): string {
  try {
    const { ino, size, mtimeNs, mode } = statSync(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs} ${mode}`;
  } catch {
    return '';
  }
}

/**
 * Calls `look` at an interval, and not again before it is done. Files are polled, because not every file system reports
 * changes of mounted secrets and links. The process does not stay alive for it.
 *
 * @param look must not throw or reject
 * @returns ends the calls
 */
export function poll(look: () => void | Promise<void>, intervalMs: number): () => void {
  let isBusy = false;
  const timer = setInterval(async () => {
    if (isBusy) return;
    isBusy = true;
    await look();
    isBusy = false;
  }, intervalMs).unref();
  return () => clearInterval(timer);
}
