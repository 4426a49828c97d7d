import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Progress } from '@tidegauge/copy';
import { ConfigError } from '@tidegauge/service';
import { findBackup, listBackups } from './backup-folder.ts';
import { sqliteUrl } from './dump-sqlite.ts';
import { checkFiles, readManifest } from './manifest.ts';
import { restoreBackup } from './restore.ts';
import { noteVerified, verifiedOf } from './verified.ts';

/** A restore that was verified. */
export interface DrillResult {
  /** The backup. */
  readonly path: string;
  readonly readings: number;
  readonly seconds: number;
}

/**
 * Restores the newest backup to an empty SQLite file in TMPDIR, compares it with the manifest, and notes in the backup that
 * the restore was verified. The file is removed.
 *
 * @param directory of the backups
 * @throws {ConfigError} when the backup is damaged, or the restored file differs from it
 */
export async function drillNewest(directory: string, signal: AbortSignal): Promise<DrillResult> {
  const path = await findBackup(directory);
  const manifest = await readManifest(path);
  const scratch = await mkdtemp(join(tmpdir(), 'tidegauge-drill-'));
  const progress = new Progress(process.stderr, 'drill');
  try {
    await checkFiles(path, manifest, signal);
    const store = sqliteUrl(join(scratch, 'restored.db'));
    const problem = await restoreBackup(path, manifest, store, { signal, progress });
    if (problem !== null) throw new ConfigError([`the restored ${path} differs from the backup: ${problem}`]);
    await noteVerified(path, Date.now());
    return { path, readings: manifest.readings.count, seconds: progress.seconds };
  } finally {
    progress.stop();
    await rm(scratch, { recursive: true, force: true });
  }
}

/** When a restore of any backup in a directory was verified last, milliseconds; null if none was. */
export async function lastVerified(directory: string): Promise<number | null> {
  let last: number | null = null;
  for (const { name } of await listBackups(directory)) {
    const verified = await verifiedOf(join(directory, name));
    if (verified !== null) last = Math.max(last ?? 0, Date.parse(verified));
  }
  return last;
}
