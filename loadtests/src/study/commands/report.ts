import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { lockDirectory } from '@tidegauge/service';
import { EXIT } from '@tidegauge/service/program';
import { writeManifest } from '../archive/manifest.ts';
import { LOCK, readPlan } from '../archive/results.ts';
import { runAnalysis } from './analysis.ts';

/**
 * Analyses a results directory, complete or not, writes its report, and prints where it is. Then it writes the manifest
 * again, with the files of the report, unless a study is running in the directory.
 *
 * @returns the exit code
 */
export async function reportResults(directory: string, say: (line: string) => void): Promise<number> {
  readPlan(directory);
  const code = await runAnalysis('report', [directory]);
  if (code !== EXIT.OK) return code;
  await updateManifest(directory, say);
  const page = join(directory, 'report', 'report.html');
  if (existsSync(page)) process.stdout.write(`${page}\n`);
  return EXIT.OK;
}

async function updateManifest(directory: string, say: (line: string) => void): Promise<void> {
  const lock = await lockDirectory(directory, LOCK, { waitMs: 0, setting: '--results' }).catch(() => null);
  if (lock === null) return say('the study is still running: it writes the manifest when it ends');
  try {
    await writeManifest(directory);
  } finally {
    lock.release();
  }
}
