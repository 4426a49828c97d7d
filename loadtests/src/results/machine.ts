import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { runProgramSync } from '@tidegauge/process';
import { ROOT } from '../../../scripts/setup.js';

/** A description of this machine, for files of figures. */
export function machine() {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    arch: arch(),
    system: `${type()} ${release()}`,
    node: process.versions.node,
  };
}

/** The time of the measurement, the version of Tidegauge, its commit, and whether files differ from the commit. */
export function provenance() {
  const { version } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as { version: string };
  return { date: new Date().toISOString(), version, ...commit() };
}

function commit(): { readonly commit: string | null; readonly modified: boolean | null } {
  const git = (...args: string[]): string =>
    runProgramSync('git', args, { cwd: ROOT, timeoutMs: 10_000 }).stdout.trim();
  try {
    return { commit: git('rev-parse', 'HEAD'), modified: git('status', '--porcelain', '-uno') !== '' };
  } catch {
    // This copy has no git history, or git is not installed.
    return { commit: null, modified: null };
  }
}
