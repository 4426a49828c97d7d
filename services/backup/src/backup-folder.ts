import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '@tidegauge/service';
import { syncPath } from './backup-files.ts';
import { type KeepRule, outdated } from './keep.ts';
import { MANIFEST, type Manifest } from './manifest.ts';

const NAME = /^tidegauge-(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2})-(\d{3})Z$/;
const PARTIAL = '.partial';

/** The name of a backup that begins at a time, milliseconds. */
export function nameOf(time: number): string {
  return `tidegauge-${new Date(time).toISOString().replaceAll(/[:.]/g, '-')}`;
}

/** When a backup began, milliseconds, or null if the name is not that of a backup. */
export function timeOf(name: string): number | null {
  const match = NAME.exec(name);
  if (match === null) return null;
  const [, day, hours, minutes, seconds, ms] = match;
  const time = Date.parse(`${day}T${hours}:${minutes}:${seconds}.${ms}Z`);
  return Number.isNaN(time) ? null : time;
}

/** The complete backups in a directory by the time of their begin, oldest first. */
export async function listBackups(
  directory: string,
): Promise<{ readonly name: string; readonly time: number }[]> {
  const found = [];
  for (const name of await readdir(directory)) {
    const time = timeOf(name);
    if (time !== null && existsSync(join(directory, name, MANIFEST))) found.push({ name, time });
  }
  return found.sort((a, b) => a.time - b.time);
}

/**
 * Writes a backup in a folder that gets its name when the backup is complete and durable. So an interrupted backup
 * never looks like one.
 *
 * @param write writes the files, and resolves to the manifest
 * @returns the path of the backup
 */
export async function writeBackup(
  directory: string,
  time: number,
  write: (folder: string) => Promise<Manifest>,
): Promise<string> {
  const path = join(directory, nameOf(time));
  const partial = `${path}${PARTIAL}`;
  await mkdir(partial, { mode: 0o700 });
  try {
    const manifest = await write(partial);
    const file = join(partial, MANIFEST);
    await writeFile(file, `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 });
    await syncPath(file);
    await syncPath(partial);
    await rename(partial, path);
    await syncPath(directory);
    return path;
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
}

/** Removes what interrupted backups and deletions left. Only while the directory is locked. */
export async function removeLeftovers(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const isPartial = name.endsWith(PARTIAL) && timeOf(name.slice(0, -PARTIAL.length)) !== null;
    const isEmptied = timeOf(name) !== null && !existsSync(join(directory, name, MANIFEST));
    if (isPartial || isEmptied) await rm(join(directory, name), { recursive: true, force: true });
  }
}

/** Deletes the backups that the rule does not keep. Resolves to their names. */
export async function deleteOutdated(directory: string, rule: KeepRule): Promise<string[]> {
  const backups = await listBackups(directory);
  const times = new Set(
    outdated(
      backups.map(({ time }) => time),
      rule,
    ),
  );
  const deleted = backups.filter(({ time }) => times.has(time)).map(({ name }) => name);
  for (const name of deleted) {
    // Without its manifest it is no backup any more, also after a kill here.
    await unlink(join(directory, name, MANIFEST));
    await rm(join(directory, name), { recursive: true, force: true });
  }
  return deleted;
}

/**
 * The folder of a backup.
 *
 * @param path a backup, or a directory with backups, of which the newest is used
 * @throws {ConfigError} when there is none
 */
export async function findBackup(path: string): Promise<string> {
  if (existsSync(join(path, MANIFEST))) return path;
  if (!existsSync(path)) throw new ConfigError([`there is no ${path}: correct --from`]);
  const newest = (await listBackups(path)).at(-1);
  if (newest === undefined) throw new ConfigError([`${path} has no complete backup`]);
  return join(path, newest.name);
}
