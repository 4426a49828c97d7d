import { readdirSync, readFileSync } from 'node:fs';
import { waitUntil } from './wait-until.ts';

const STOP_MS = 10_000;

/**
 * Suspends a process (SIGSTOP). Resolves when all of its threads have stopped: on a busy machine, it can answer for some time
 * after the signal was sent.
 *
 * @throws {Error} when there is no such process, or after ten seconds
 */
export async function suspend(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await waitUntil(`process ${pid} to stop`, () => isStopped(pid), { timeoutMs: STOP_MS, pollMs: 5 });
}

/** By the states in `/proc` (proc_pid_stat(5)): the field after the name of the program, which can have any characters. */
function isStopped(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) => {
    const text = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).startsWith('T');
  });
}
