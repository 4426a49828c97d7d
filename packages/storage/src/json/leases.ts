import { readFile } from 'node:fs/promises';
import { generationPath, isMissing, newestGeneration, publish, removeFile } from './files.ts';
import { parseLine } from './mapping.ts';

/**
 * Takes or renews a lease: a file whose newest generation has the holder and the end. Only one process can create the
 * next generation. Compares the clock of this machine, on which all processes run that use the folder.
 */
export async function takeLease(folder: string, name: string, holder: string, ms: number): Promise<boolean> {
  const file = `lease-${name}`;
  const newest = (await newestGeneration(folder, file))?.number ?? 0;
  const path = generationPath(folder, file, newest);
  const text = newest === 0 ? '' : await readFile(path, 'utf8').catch(orEmpty);
  const held = parseLine(text);
  const now = Date.now();
  if (held !== null && held.holder !== holder && Number(held.expires) > now) return false;
  const next = `${JSON.stringify({ holder, expires: now + ms })}\n`;
  if (!(await publish(folder, generationPath(folder, file, newest + 1), pieces(next)))) return false;
  if (newest > 0) await removeFile(path);
  return true;
}

/** Another process has replaced the file: then it has also created the next generation. */
function orEmpty(error: unknown): string {
  if (isMissing(error)) return '';
  throw error;
}

async function* pieces(text: string): AsyncGenerator<string> {
  yield text;
}
