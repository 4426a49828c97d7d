// Plain JavaScript for any node >= 20: it runs before anything is installed.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** The Node that runs TypeScript without a build step, from the npm package `node`. */
export const NODE = join(ROOT, 'node_modules', '.bin', 'node');
/** A small young generation keeps a service within a 1 GB board's means; measured by `npm run bench -- ingest`. */
export const NODE_FLAGS = ['--max-semi-space-size=8'];
/**
 * With types stripped and code compiled once, a service starts faster and 25 MB smaller. With one arena of malloc, Node's
 * threads use memory again that another thread has freed. With a fixed threshold, large blocks are always returned to the
 * system: glibc's own grows, and connections with TLS that come and go then left twice as much memory behind.
 */
export const NODE_ENVIRONMENT = {
  NODE_COMPILE_CACHE: join(ROOT, 'node_modules', '.cache', 'tidegauge'),
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '131072',
};
export const PYTHON = join(ROOT, '.venv', 'bin', 'python');
const PROGRESS_MS = 5000;
const LOCK_MS = 500;
const LONGEST_INSTALLATION_MS = 900_000;
/** Characters of the output of a program that failed. */
const MOST_SHOWN = 4000;
/** `process.arch` of 32-bit systems. Nothing is tested there, and Node 24 and most databases have no programs for them. */
export const PROCESSORS_OF_32_BITS = ['arm', 'ia32', 'mips', 'mipsel'];
/** What must be there before. */
const PROVIDERS = { npm: 'Node.js 20.10 or later with npm', python3: 'Python 3.11 or later' };
/** Ends with 1 where Python is older. */
const OLD_PYTHON = 'import sys; sys.exit(sys.version_info < (3, 11))';
/** Folders of the Python packages and programs that are checked. */
export const PYTHON_PACKAGES = [
  'sensors-sim',
  'clients/python',
  'examples/sensors/python',
  'services/ingest/src/attest',
  'experiments/analysis',
];

/**
 * Installs Node 24 and the packages, unless the lock file is the one last installed. Without `dev`, the packages that
 * only tests and checks need are left out: they are four fifths of all, and nobody who runs Tidegauge needs them.
 */
export async function setUpNode({ dev = false } = {}) {
  if (PROCESSORS_OF_32_BITS.includes(process.arch))
    throw new Error(`Tidegauge needs a 64-bit system, and this one has 32 bits (${process.arch})`);
  const options = ['--no-audit', '--no-fund', '--loglevel=error', ...(dev ? [] : ['--omit=dev'])];
  const parts = dev ? ['all'] : ['runtime', 'all'];
  await once(join(ROOT, 'node_modules', '.tidegauge'), ['package-lock.json'], 'packages', parts, () =>
    command('npm', ['ci', ...options]),
  );
}

/** Makes `.venv` with the packages of the simulator and the Python client, unless their lists have not changed. */
export function setUpSimulator() {
  const sources = ['sensors-sim/requirements.txt'];
  // An update of the system can remove the Python that it links to.
  const isLost = lstatSync(PYTHON, { throwIfNoEntry: false }) !== undefined && !existsSync(PYTHON);
  if (isLost) rmSync(join(ROOT, '.venv'), { recursive: true, force: true });
  // Folders that moved are written again.
  const folders = ['sensors-sim/src', 'clients/python/src', 'experiments/analysis/src'];
  const stamp = join(ROOT, '.venv', '.tidegauge');
  return once(stamp, sources, 'the sensor simulator', [`${folders}`], async () => {
    await command('python3', ['-c', OLD_PYTHON], `python3 is too old: install ${PROVIDERS.python3}`);
    await command('python3', ['-m', 'venv', '.venv']);
    await pip(['--require-hashes', '-r', 'sensors-sim/requirements.txt']);
    const [site] = readdirSync(join(ROOT, '.venv', 'lib')).map((version) =>
      join(ROOT, '.venv', 'lib', version, 'site-packages'),
    );
    writeFileSync(join(site, 'tidegauge.pth'), folders.map((folder) => `${join(ROOT, folder)}\n`).join(''));
  });
}

/** Adds the tools with which the Python programs are tested and checked. */
export async function setUpPython() {
  await setUpSimulator();
  const sources = ['sensors-sim/requirements-dev.txt'];
  await once(join(ROOT, '.venv', '.tidegauge-tools'), sources, 'the tools for Python', [''], () =>
    pip(['-r', 'sensors-sim/requirements-dev.txt']),
  );
}

/** Adds the statistics of experiments to `.venv`. */
export async function setUpAnalysis() {
  await setUpSimulator();
  const sources = ['experiments/analysis/requirements.txt'];
  await once(join(ROOT, '.venv', '.tidegauge-analysis'), sources, 'the statistics of experiments', [''], () =>
    pip(['--require-hashes', '-r', 'experiments/analysis/requirements.txt']),
  );
}

/**
 * Installs something, unless the stamp states that one of `parts`, of the same sources, is installed. The first part
 * is the one that `install` installs.
 */
async function once(stamp, sources, what, parts, install) {
  const hash = createHash('sha256');
  for (const source of sources) hash.update(readFileSync(join(ROOT, source)));
  const digest = hash.digest('hex');
  const isDone = () => {
    const done = existsSync(stamp) ? readFileSync(stamp, 'utf8') : '';
    return parts.some((part) => done === digest + part);
  };
  if (isDone()) return;
  const unlock = await lock(what);
  try {
    // The other program can have installed more than this one needs.
    if (isDone()) return;
    await installAloud(what, install);
    writeFileSync(stamp, digest + parts[0]);
  } finally {
    unlock();
  }
}

/** Waits until no other program installs the same. Returns the function that lets the next one begin. */
async function lock(what) {
  // Not in node_modules, which npm removes. A link is made with its content at once.
  const file = join(ROOT, `.installing-${what.replaceAll(' ', '-')}`);
  const until = performance.now() + LONGEST_INSTALLATION_MS;
  for (let isFirst = true; ; isFirst = false) {
    try {
      symlinkSync(String(process.pid), file);
      return () => rmSync(file, { force: true });
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (!isRunning(holderOf(file))) rmSync(file, { force: true });
    else if (performance.now() > until)
      throw new Error(`another program installs ${what}, or remove ${file}`);
    else {
      if (isFirst) process.stderr.write(`Waiting for another program that installs ${what}...\n`);
      await delay(LOCK_MS);
    }
  }
}

/** The process that made the link. null: it is gone. */
function holderOf(file) {
  try {
    return Number(readlinkSync(file));
  } catch {
    return null;
  }
}

function isRunning(pid) {
  try {
    return pid !== null && process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

async function installAloud(what, install) {
  const began = performance.now();
  const seconds = () => `${Math.round((performance.now() - began) / 1000)} s`;
  process.stderr.write(`Installing ${what} (once)...\n`);
  const progress = setInterval(() => process.stderr.write(`  ${what}: ${seconds()}\n`), PROGRESS_MS);
  try {
    await install();
  } finally {
    clearInterval(progress);
  }
  process.stderr.write(`  ${what}: installed in ${seconds()}\n`);
}

function pip(args) {
  return command(PYTHON, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...args]);
}

/**
 * Runs a program to its end. Its standard output is printed only when it fails: Python reports there that it lacks venv.
 *
 * @param problem what a failure means
 */
export async function command(program, args, problem = `${program} ${args.join(' ')} failed, see above`) {
  const child = spawn(program, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output = (output + text).slice(-MOST_SHOWN);
  });
  const [status, error] = await new Promise((resolve) => {
    child.on('error', (reason) => resolve([null, reason]));
    child.on('close', (code) => resolve([code, null]));
  });
  if (status === 0) return;
  const provider = PROVIDERS[program] ?? program;
  if (error?.code === 'ENOENT') throw new Error(`${program} is not installed: install ${provider}`);
  process.stderr.write(output);
  throw new Error(error === null ? problem : `${program} cannot be started: ${error.message}`);
}
