import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { ROOT } from './setup.js';

/** Folders that .gitignore names, for a copy of the project without its repository. */
const IGNORED = /^(?:node_modules|\.git|\.venv|__pycache__|\.[a-z]+_cache|.*\.egg-info)$/;

/**
 * The files of the project, tracked or new, relative to its root. Without git or a repository, all files except those
 * in folders that git ignores.
 */
export function projectFiles(): string[] {
  const { status, stdout } = spawnSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    {
      cwd: ROOT,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  if (status === 0) return [...new Set(stdout.split('\0'))].filter((file) => file !== '').toSorted();
  const found = globSync('**/*', {
    cwd: ROOT,
    withFileTypes: true,
    exclude: (entry) =>
      IGNORED.test(basename(entry.name)) ||
      (entry.parentPath === ROOT && /^(?:data|dist|results)$/.test(entry.name)),
  });
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(ROOT.length + 1))
    .toSorted();
}
