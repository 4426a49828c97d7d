import { join } from 'node:path';
import { runAnalysis } from '@tidegauge/loadtests/results/run-analysis';
import { whileItRuns } from '@tidegauge/loadtests/while-it-runs';
import { lockDirectory } from '@tidegauge/service';
import { EXIT, reportError } from '@tidegauge/service/program';
import { writeManifest } from '../archive/manifest.ts';
import { LOCK, readPlan } from '../archive/results.ts';
import { printReport } from '../report-pdf.ts';

/**
 * Analyses a results directory, complete or not, writes its report as HTML and, where Chromium is
 * installed, as PDF. Then it writes the manifest
 * again, with the files of the report, unless a study is running in the directory.
 *
 * @param against results of the same study on a second machine, for the slowdown of each group
 * @returns the exit code
 */
export async function reportResults(
  directory: string,
  say: (line: string) => void,
  against: string | null = null,
): Promise<number> {
  for (const each of [directory, ...(against === null ? [] : [against])]) readPlan(each);
  const other = against === null ? [] : ['--against', against];
  const code = await runAnalysis('report', [directory, ...other]);
  if (code !== EXIT.OK) return code;
  const page = join(directory, 'report', 'report.html');
  try {
    await whileItRuns('the PDF of the report', say, () => printReport(page));
  } catch (error) {
    say(`there is no PDF of the report: ${reportError(error).text.split('\n')[0]}`);
  }
  await updateManifest(directory, say);
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
