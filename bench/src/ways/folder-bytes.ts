import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The bytes of all files below a folder, without links. 0 when it does not exist. */
export function folderBytes(folder: string): number {
  if (!existsSync(folder)) return 0;
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + lstatSync(join(parentPath, name)).size, 0);
}
