import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isTable } from '@tidegauge/readings';
import { ConfigError } from '@tidegauge/service';
import { type BackupFile, bytesOf, openPart, unreadable } from './backup-files.ts';

export const MANIFEST = 'manifest.json';
const FORMAT = 'tidegauge-backup';
const VERSION = 1;
/** The database of a backup by the method `sqlite`. */
export const SQLITE_FILE = 'tidegauge.db';
/** A manifest has some kilobytes, and 200 bytes for each further GiB of the backup. */
const MAX_MANIFEST = 2 ** 20;
const FILE_NAME = /^[a-z]+(-\d+\.ndjson\.gz|\.db)$/;

const IDENTITY = /^[\w-]{1,64}$/;

/** `portable`: lines of JSON for any store. `sqlite`: a database file with everything of the store. */
export type BackupMethod = 'portable' | 'sqlite';

interface Part {
  readonly count: number;
  readonly digest: string;
}

/** What a backup has. It is written last, so a folder without it is no backup. */
export interface Manifest {
  readonly format: typeof FORMAT;
  readonly version: typeof VERSION;
  readonly method: BackupMethod;
  /** The version of Tidegauge that wrote it. */
  readonly tidegauge: string;
  readonly node: string;
  /** The store, without secrets. */
  readonly store: string;
  /** The identity of the store's data. Null or missing: it had none. */
  readonly identity?: string | null;
  readonly started: string;
  readonly finished: string;
  readonly readings: Part;
  readonly units: Part;
  readonly devices: Part;
  readonly files: readonly BackupFile[];
}

export function newManifest(fields: Omit<Manifest, 'format' | 'version' | 'node'>): Manifest {
  return { format: FORMAT, version: VERSION, node: process.version, ...fields };
}

/** @throws {ConfigError} when the folder has no backup that this version reads */
export async function readManifest(folder: string): Promise<Manifest> {
  const path = join(folder, MANIFEST);
  if (!existsSync(path)) throw new ConfigError([`${folder} is not a complete backup: it has no ${MANIFEST}`]);
  const manifest = parse(await readText(path));
  if (manifest?.format !== FORMAT) throw new ConfigError([`${path} is not of a backup`]);
  if (manifest.version !== VERSION) {
    const reads = `this program reads version ${VERSION}`;
    throw new ConfigError([
      `${folder} has version ${manifest.version} of the format, and ${reads}: use the Tidegauge that wrote it, or a later one`,
    ]);
  }
  if (!isWhole(manifest)) throw new ConfigError([`${path} is damaged: use another backup`]);
  return manifest;
}

/** The text of a manifest; empty if it is too large to be one. */
async function readText(path: string): Promise<string> {
  const handle = await openPart(path);
  try {
    return (await handle.stat()).size > MAX_MANIFEST ? '' : await handle.readFile('utf8');
  } catch (error) {
    throw unreadable(path, error);
  } finally {
    await handle.close();
  }
}

function isWhole(
  manifest: Readonly<Record<string, unknown>>,
): manifest is Readonly<Record<string, unknown>> & Manifest {
  const { files, method } = manifest;
  if (!Array.isArray(files) || !files.every(isBackupFile)) return false;
  // A file of SQLite holds everything.
  if (method !== 'portable' && !(method === 'sqlite' && files.some(({ name }) => name === SQLITE_FILE)))
    return false;
  if (manifest.identity != null && !IDENTITY.test(String(manifest.identity))) return false;
  return [manifest.readings, manifest.units, manifest.devices].every(
    (part) => isTable(part) && Number.isSafeInteger(part.count) && typeof part.digest === 'string',
  );
}

/** Whether it names a file of the folder itself. */
function isBackupFile(file: unknown): file is BackupFile {
  return (
    isTable(file) &&
    typeof file.name === 'string' &&
    FILE_NAME.test(file.name) &&
    Number.isSafeInteger(file.bytes) &&
    typeof file.sha256 === 'string'
  );
}

function parse(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isTable(value) ? value : null;
  } catch {
    return null;
  }
}

/** Compares each file with the manifest. @throws {ConfigError} for the first file that is missing or damaged */
export async function checkFiles(folder: string, { files }: Manifest, signal: AbortSignal): Promise<void> {
  for (const { name, bytes, sha256 } of files) {
    const path = join(folder, name);
    const hash = createHash('sha256');
    const handle = await openPart(path);
    const { size } = await handle.stat();
    for await (const part of bytesOf(handle, path, signal)) hash.update(part);
    if (size !== bytes || hash.digest('hex') !== sha256)
      throw new ConfigError([`${path} is damaged: use another backup`]);
  }
}
