// Plain JavaScript for any node >= 20: it runs before anything is installed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** The Node that runs TypeScript without a build step, from the npm package `node`. */
export const NODE = join(ROOT, 'node_modules', '.bin', 'node');
/** A small young generation keeps a service within a 1 GB board's means; measured in bench:ingest. */
export const NODE_FLAGS = ['--max-semi-space-size=8'];
/**
 * With types stripped and code compiled once, a service starts faster and 25 MB smaller. With one arena of malloc, Node's
 * threads use memory again that another thread has freed.
 */
export const NODE_ENVIRONMENT = {
  NODE_COMPILE_CACHE: join(ROOT, 'node_modules', '.cache', 'tidegauge'),
  MALLOC_ARENA_MAX: '1',
};
export const PYTHON = join(ROOT, '.venv', 'bin', 'python');
/** Folders of the Python packages and programs that are checked. */
export const PYTHON_PACKAGES = [
  'sensors-sim',
  'clients/python',
  'examples/sensors/python',
  'loadtests/analysis',
];

/** Installs Node 24 and the packages, unless the lock file is the one last installed. */
export function setUpNode() {
  once(join(ROOT, 'node_modules', '.tidegauge'), ['package-lock.json'], 'packages', () =>
    command('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']),
  );
}

/** Makes `.venv` with sensors-sim, the Python client and their tools, unless what it is made from has not changed. */
export function setUpPython() {
  const sources = [
    'sensors-sim/pyproject.toml',
    'sensors-sim/requirements-dev.txt',
    'sensors-sim/requirements.txt',
    'clients/python/pyproject.toml',
  ];
  once(join(ROOT, '.venv', '.tidegauge'), sources, 'the sensor simulator and the Python client', () => {
    command('python3', ['-m', 'venv', '.venv']);
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
    command(PYTHON, [...pip, '--require-hashes', '-r', 'sensors-sim/requirements.txt']);
    command(PYTHON, [...pip, '-r', 'sensors-sim/requirements-dev.txt']);
    command(PYTHON, [...pip, '--no-deps', '-e', 'sensors-sim', '-e', 'clients/python']);
  });
}

/** Adds the statistics of experiments to `.venv`, unless what they are made from has not changed. */
export function setUpAnalysis() {
  setUpPython();
  const sources = ['loadtests/analysis/pyproject.toml', 'loadtests/analysis/requirements.txt'];
  once(join(ROOT, '.venv', '.tidegauge-analysis'), sources, 'the statistics of experiments', () => {
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
    command(PYTHON, [...pip, '--require-hashes', '-r', 'loadtests/analysis/requirements.txt']);
    command(PYTHON, [...pip, '--no-deps', '-e', 'loadtests/analysis']);
  });
}

function once(stamp, sources, what, install) {
  const hash = createHash('sha256');
  for (const source of sources) hash.update(readFileSync(join(ROOT, source)));
  const digest = hash.digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return;
  process.stderr.write(`Installing ${what} (once)...\n`);
  install();
  writeFileSync(stamp, digest);
}

function command(program, args) {
  const { status, error } = spawnSync(program, args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status === 0) return;
  throw new Error(`${program} ${args.join(' ')} failed${error ? `: ${error.message}` : ', see above'}`);
}
