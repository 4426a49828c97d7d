import { mkdir } from 'node:fs/promises';
import { temporaryDirectory } from '@tidegauge/process';

/**
 * The directory of a server's files: a given one, which is made when it is missing, and which `remove` keeps, or a
 * temporary one.
 */
export async function serverDirectory(
  name: string,
  given: string | undefined,
): Promise<{ readonly path: string; remove(): void }> {
  if (given === undefined) return temporaryDirectory(name);
  await mkdir(given, { recursive: true });
  return { path: given, remove() {} };
}
