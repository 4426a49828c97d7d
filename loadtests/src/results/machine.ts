import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { ROOT } from '../../../scripts/setup.js';

/** Where figures come from, for the files that keep them. */
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

/** What was measured, and when: the version of Tidegauge, its commit, whether files differ from that. */
export function provenance() {
  const { version } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as { version: string };
  return { date: new Date().toISOString(), version, ...commit() };
}

function commit(): { readonly commit: string | null; readonly modified: boolean | null } {
  const git = (...args: string[]) => {
    const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio, timeout: 10_000 }).trim();
  };
  try {
    return { commit: git('rev-parse', 'HEAD'), modified: git('status', '--porcelain', '-uno') !== '' };
  } catch {
    // A copy without its history, or no git.
    return { commit: null, modified: null };
  }
}
