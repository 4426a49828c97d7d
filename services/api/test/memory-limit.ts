import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';

/** A bound on the memory of a process, and what it has taken at most. */
export interface MemoryLimit {
  /** `cgroup`: the kernel enforces the limit, page cache and socket buffers included. `rss`: somebody has to look. */
  readonly kind: 'cgroup' | 'rss';
  /** A shell command that the process is started with. */
  readonly command: string;
  /** Bytes at most so far. */
  peak(pid: number): number;
  remove(): void;
}

/** A memory cgroup of its own where this user may make one, else what the process says of itself. */
export function limitMemory(bytes: number): MemoryLimit {
  const folder = `/sys/fs/cgroup/memory/tidegauge-test-${process.pid}`;
  try {
    mkdirSync(folder);
    writeFileSync(`${folder}/memory.limit_in_bytes`, String(bytes));
  } catch {
    return { kind: 'rss', command: 'exec "$@"', peak: anonymousPeak(), remove() {} };
  }
  return {
    kind: 'cgroup',
    command: `echo $$ > ${folder}/cgroup.procs && exec "$@"`,
    peak: () => Number(readFileSync(`${folder}/memory.max_usage_in_bytes`, 'utf8')),
    remove: () => rmdirSync(folder),
  };
}

/** Memory that is not a file's, which the kernel could take back. */
function anonymousPeak(): (pid: number) => number {
  let peak = 0;
  return (pid) => {
    const kilobytes = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
    peak = Math.max(peak, Number(kilobytes) * 1024);
    return peak;
  };
}
