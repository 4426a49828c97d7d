import { readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/** CPU seconds (user and system) a process has used since it started (`/proc/<pid>/stat`, Linux). */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Bytes that a process has caused to be written to disks since its start (proc_pid_io(5), `write_bytes`). */
export function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))![1]);
}

/** Resident memory of a process now, bytes; 0 once it has ended. */
export function residentBytes(pid: number): number {
  return statusBytes(pid, /^VmRSS:\s+(\d+) kB$/m);
}

/** The most resident memory that a process has had since its start, bytes; 0 once it has ended. */
export function peakResidentBytes(pid: number): number {
  return statusBytes(pid, /^VmHWM:\s+(\d+) kB$/m);
}

function statusBytes(pid: number, line: RegExp): number {
  try {
    return Number(line.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return 0;
    throw error;
  }
}

/** Memory of a process, bytes. */
export interface Memory {
  readonly resident: number;
  /** The resident memory that is no file, such as the program itself. Processes share files, and the kernel can drop them. */
  readonly anonymous: number;
}

/** Memory of a process now; 0 once it has ended. */
export function memoryOf(pid: number): Memory {
  return { resident: residentBytes(pid), anonymous: statusBytes(pid, /^RssAnon:\s+(\d+) kB$/m) };
}

/** Samples a process's memory; what it returns ends that and gives the peak of each figure. */
export function watchMemory(pid: number): () => Memory {
  let peak = memoryOf(pid);
  const timer = setInterval(() => {
    const { resident, anonymous } = memoryOf(pid);
    peak = {
      resident: Math.max(peak.resident, resident),
      anonymous: Math.max(peak.anonymous, anonymous),
    };
  }, 50);
  timer.unref();
  return () => {
    clearInterval(timer);
    return peak;
  };
}
