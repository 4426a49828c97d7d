import { existsSync } from 'node:fs';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The cache of everything that the lab has built or downloaded. All its processes share it. */
export const CACHE = fileURLToPath(new URL('../../node_modules/.cache/tidegauge/', import.meta.url));
const POLL_MS = 250;
const WAIT_MS = 900_000;

/**
 * Returns the path of a directory in the lab's cache (such as `ferretdb/v2.7.0`), and builds it if it does not exist.
 * The directory appears only when it is complete. It is built once, even if several processes request it at the same
 * time.
 *
 * @param build makes and fills the given directory, which does not exist yet; with `resume` it may contain the files of
 *   a failed attempt
 */
export async function buildOnce(
  name: string,
  build: (directory: string) => Promise<void>,
  { resume = false } = {},
): Promise<string> {
  const path = `${CACHE}${name}`;
  if (existsSync(path)) return path;
  await mkdir(dirname(path), { recursive: true });
  const unlock = await lock(`${path}.lock`);
  const building = `${path}.building`;
  try {
    if (existsSync(path)) return path;
    if (!resume) await rm(building, { recursive: true, force: true });
    await build(building);
    await rename(building, path);
    return path;
  } finally {
    if (!resume) await rm(building, { recursive: true, force: true });
    await unlock();
  }
}

async function lock(path: string): Promise<() => Promise<void>> {
  let isSilent = true;
  for (const deadline = Date.now() + WAIT_MS; Date.now() < deadline; await delay(POLL_MS)) {
    try {
      const file = await open(path, 'wx');
      await file.writeFile(String(process.pid));
      await file.close();
      return () => rm(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    // Removes the lock of a process that was killed.
    const owner = Number(await readFile(path, 'utf8').catch(() => ''));
    if (owner > 0 && !existsSync(`/proc/${owner}`)) await rm(path, { force: true });
    else if (owner > 0 && isSilent) {
      const name = path.slice(CACHE.length, -'.lock'.length);
      process.stderr.write(`Waiting for process ${owner}, which makes ${name}...\n`);
      isSilent = false;
    }
  }
  throw new Error(
    `${path} was held by another process for ${WAIT_MS / 60_000} min: end that one, and remove the file if it stays`,
  );
}
