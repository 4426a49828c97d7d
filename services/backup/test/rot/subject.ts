import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Progress } from '@tidegauge/copy';
import { openStore } from '@tidegauge/storage';
import { entriesOf, type RotSubject, type Use } from '@tidegauge/test-support/rot';
import { sampleReadings } from '@tidegauge/test-support/sample-readings';
import { backUp } from '../../src/back-up.ts';
import { checkFiles, readManifest } from '../../src/manifest.ts';
import { restoreBackup } from '../../src/restore.ts';

/** The compressed readings of a backup. A use is a restore. @param folder an empty directory for the files in use */
export async function backupSubject(folder: string): Promise<RotSubject> {
  const store = await openStore(`json:${join(folder, 'store')}`);
  for (const batch of sampleReadings(3000).batches()) await store.readings.write(batch);
  await store.close();
  const { signal } = new AbortController();
  const [used, restored] = [join(folder, 'used'), join(folder, 'restored')];
  const options = { store: `json:${join(folder, 'store')}`, format: 'portable', keep: null } as const;
  const { path } = await backUp({ ...options, to: join(folder, 'backups') }, signal);
  const name = 'readings-1.ndjson.gz';
  const sound = readFileSync(join(path, name));
  const use = async (data: Buffer): Promise<Use> => {
    for (const each of [used, restored]) rmSync(each, { recursive: true, force: true });
    cpSync(path, used, { recursive: true });
    writeFileSync(join(used, name), data);
    const manifest = await readManifest(used);
    await checkFiles(used, manifest, signal);
    const progress = new Progress(process.stderr, 'restore');
    const problem = await restoreBackup(used, manifest, `json:${restored}`, { signal, progress });
    progress.stop();
    return { entries: await entriesAt(`json:${restored}`), isReported: problem !== null };
  };
  const { entries } = await use(sound);
  return { name: 'backup', sound, earlier: sound.subarray(0, Math.floor(sound.length / 2)), entries, use };
}

async function entriesAt(url: string): Promise<Map<string, string>> {
  const store = await openStore(url);
  const entries = await entriesOf(store);
  await store.close();
  return entries;
}
