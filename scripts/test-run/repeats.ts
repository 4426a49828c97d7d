import { relative } from 'node:path';
import type { TestRecord } from './records.ts';
import { type Job, SUITES } from './suites.ts';

/**
 * The jobs that repeat the files of a job's failed tests, by absolute path of the file. A file that registers tests of
 * other files is repeated with them. pytest has no record of files, so its tests are not repeated.
 */
export function repeatsOf(job: Job, records: readonly TestRecord[], root: string): Map<string, Job> {
  const repeats = new Map<string, Job>();
  if (SUITES[job.suite]?.folders !== undefined) return repeats;
  for (const { file, outcome } of records) {
    if (outcome !== 'failed' || file === null) continue;
    const name = relative(root, file);
    const files = job.files.includes(name) ? [name] : job.files;
    repeats.set(file, { suite: job.suite, name: `${name}, alone`, files });
  }
  return repeats;
}

/** The records with `flaky` for tests of a file that had failed and passed in the repetition, if all tests passed there. */
export function withFlaky(
  records: readonly TestRecord[],
  file: string,
  again: readonly TestRecord[],
): TestRecord[] {
  const passed = new Set(again.filter(({ outcome }) => outcome === 'passed').map(({ name }) => name));
  const allPassed = again.every(({ outcome }) => outcome !== 'failed');
  return records.map((record) =>
    allPassed && record.file === file && record.outcome === 'failed' && passed.has(record.name)
      ? { ...record, outcome: 'flaky' }
      : record,
  );
}
