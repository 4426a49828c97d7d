import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';

/** A limit for the memory of a process, and its peak. */
export interface MemoryLimit {
  /**
   * `cgroup`: the kernel enforces the limit, including page cache and socket buffers. `rss`: nothing enforces it, and
   * the test compares the peak with it.
   */
  readonly kind: 'cgroup' | 'rss';
  /** The shell command that starts the process. */
  readonly command: string;
  /** Peak memory so far, bytes. */
  peak(pid: number): number;
  remove(): void;
}

let groups = 0;

/** Creates a separate memory cgroup when this user has the permission. Otherwise reads the memory from /proc. */
export function limitMemory(bytes: number): MemoryLimit {
  groups += 1;
  const folder = `/sys/fs/cgroup/memory/tidegauge-test-${process.pid}-${groups}`;
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

/** The peak of anonymous memory. Memory of files is not counted, because the kernel can reclaim it. */
function anonymousPeak(): (pid: number) => number {
  let peak = 0;
  return (pid) => {
    const kilobytes = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
    peak = Math.max(peak, Number(kilobytes) * 1024);
    return peak;
  };
}
