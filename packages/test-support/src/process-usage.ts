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

/** Samples a process's resident memory; what it returns ends that and gives the peak, bytes. */
export function watchMemory(pid: number): () => number {
  let peak = residentBytes(pid);
  const timer = setInterval(() => {
    peak = Math.max(peak, residentBytes(pid));
  }, 50);
  timer.unref();
  return () => {
    clearInterval(timer);
    return peak;
  };
}
