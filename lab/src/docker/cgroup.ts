import { globSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';

// Control groups of version 1. Each controller has a tree, and the same path in each tree is the same group.

const ROOT = '/sys/fs/cgroup';
const MEMORY = `${ROOT}/memory`;
const GONE_MS = 20_000;
const POLL_MS = 10;

/** The directory of a control group in the tree of the memory controller. */
export function memoryCgroup(path: string): string {
  return `${MEMORY}${path}`;
}

/** Makes a control group with a memory limit in bytes. null: no limit. */
export function makeCgroup(path: string, memory: number | null): void {
  mkdirSync(`${MEMORY}${path}`, { recursive: true });
  if (memory !== null) writeFileSync(`${MEMORY}${path}/memory.limit_in_bytes`, String(memory));
}

/**
 * Kills all processes in a group and in the groups below it, and removes these groups from every controller. It blocks
 * until that is done, because it is called while the process exits.
 */
export function endCgroup(path: string): void {
  const groups = `${MEMORY}${path}/{,**/}cgroup.procs`;
  for (const deadline = Date.now() + GONE_MS; ; pause(POLL_MS)) {
    const pids = globSync(groups).flatMap(readPids);
    if (pids.length === 0) break;
    if (Date.now() > deadline) throw new Error(`${path}: processes ${pids.join(', ')} do not end`);
    for (const pid of pids) kill(Number(pid));
  }
  for (const controller of readdirSync(ROOT)) removeTree(`${ROOT}/${controller}${path}`);
}

function readPids(file: string): string[] {
  return unlessGone(() => readFileSync(file, 'utf8').split('\n').filter(Boolean)) ?? [];
}

function removeTree(group: string): void {
  const entries = unlessGone(() => readdirSync(group, { withFileTypes: true })) ?? [];
  for (const entry of entries) if (entry.isDirectory()) removeTree(`${group}/${entry.name}`);
  unlessGone(() => rmdirSync(group));
}

function kill(pid: number): void {
  unlessGone(() => process.kill(pid, 'SIGKILL'));
}

/** Returns null if the process or the group no longer exists. Another process may have removed it. */
function unlessGone<T>(act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    if (['ENOENT', 'ENODEV', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
