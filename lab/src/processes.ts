import { readdirSync, readFileSync } from 'node:fs';

// Linux only. /proc contains the data of ps, and reading it needs no process.

/** One process. Its id can be assigned to another process later, but id and start time together are unique. */
export interface ProcessId {
  readonly pid: number;
  /** Clock ticks since boot (proc(5), stat field 22). */
  readonly started: string;
}

/** Identifies a running process by its id. null: there is none. */
export function identify(pid: number): ProcessId | null {
  const fields = statOf(pid);
  return fields === null ? null : { pid, started: fields[19]! };
}

export function isRunning({ pid, started }: ProcessId): boolean {
  const now = statOf(pid);
  return now !== null && now[19] === started && now[0] !== 'Z';
}

/** Processes with `name=value` in their environment, and all their descendants, without this process. */
export function processesWith(name: string, value: string): number[] {
  // A server can overwrite its environment to show a title. It is then found through its parent.
  const marked = withDescendants((pid) => carries(pid, `${name}=${value}`));
  marked.delete(process.pid);
  return [...marked];
}

/** A process and all its descendants. */
export function familyOf(ancestor: number): number[] {
  return [...withDescendants((pid) => pid === ancestor)];
}

function withDescendants(isAncestor: (pid: number) => boolean): Set<number> {
  const pids = readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number);
  const parents = new Map(pids.map((pid) => [pid, Number(statOf(pid)?.[1] ?? 0)]));
  const marked = new Set(pids.filter(isAncestor));
  for (let size = -1; size !== marked.size; ) {
    size = marked.size;
    for (const [pid, parent] of parents) if (marked.has(parent)) marked.add(pid);
  }
  return marked;
}

/** Memory of a process in bytes: its private memory and its share of shared memory. 0: the process has ended. */
export function memoryOf(pid: number): number {
  const share = /^Pss:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/smaps_rollup`) ?? '');
  const resident = share ?? /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`) ?? '');
  return Number(resident?.[1] ?? 0) * 1024;
}

/** The fields of /proc/pid/stat behind the command's name: state, parent, ... */
function statOf(pid: number): string[] | null {
  const stat = read(`/proc/${pid}/stat`);
  return stat === null ? null : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function carries(pid: number, variable: string): boolean {
  return `\0${read(`/proc/${pid}/environ`) ?? ''}`.includes(`\0${variable}\0`);
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // The process has ended, or belongs to another user.
    return null;
  }
}

/** The command line of a process; empty when it has ended. */
export function commandOf(pid: number): string {
  return (read(`/proc/${pid}/cmdline`) ?? '').split('\0').join(' ').trim();
}
