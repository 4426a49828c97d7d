// Checks the style, the format and the types of each Python package.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { PYTHON, PYTHON_PACKAGES, ROOT } from './setup.js';

const CHECKS = [['ruff', 'check', '.'], ['ruff', 'format', '--check', '.'], ['mypy']];

for (const folder of PYTHON_PACKAGES) {
  for (const check of CHECKS) {
    const { status } = spawnSync(PYTHON, ['-m', ...check], { cwd: join(ROOT, folder), stdio: 'inherit' });
    if (status !== 0) process.exitCode = 1;
  }
}
