import { existsSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { exitText, startProcess } from '@tidegauge/process';

const FACTOR = 1.3;
const POLL_MS = 10;

/** Whether a folder has a file. A program can create its folders before it writes. */
export function hasFiles(folder: string): boolean {
  if (!existsSync(folder)) return false;
  return readdirSync(folder, { recursive: true, withFileTypes: true }).some((entry) => entry.isFile());
}

/**
 * Starts a Node program again and again. The first run is killed (SIGKILL) when it has begun to write, because a kill
 * before that interrupts nothing. Each further run is killed later after its start than the one before, until one ends
 * before that. So a fast machine waits no longer than necessary, and a slow one long enough.
 *
 * @param hasWritten whether the first run has written a part
 * @returns how many runs were killed, and the standard output of the last run
 * @throws {Error} when a run fails by itself
 */
export async function killUntilItEnds(
  args: readonly string[],
  hasWritten: () => boolean | Promise<boolean>,
): Promise<{ readonly kills: number; readonly stdout: string }> {
  let afterMs: number | null = null;
  for (let kills = 0; ; kills += 1) {
    let stdout = '';
    const onOutput = (text: string, stream: string) => {
      if (stream === 'stdout') stdout += text;
    };
    const began = performance.now();
    const running = startProcess({ command: process.execPath, args, onOutput });
    if (afterMs === null) while (running.running && !(await hasWritten())) await delay(POLL_MS);
    else await Promise.race([running.exited, delay(afterMs)]);
    afterMs = (afterMs ?? performance.now() - began) * FACTOR;
    const exit = await running.kill();
    if (exit.code === 0) return { kills, stdout };
    if (exit.signal !== 'SIGKILL') throw new Error(`${exitText(exit)}: ${running.log()}`);
  }
}
