import { existsSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { exitText, startProcess } from '@tidegauge/process';

/** Shorter than the start of a program on most machines. */
const FIRST_MS = 300;
const FACTOR = 1.3;

/** Whether a folder has a file. A program can create its folders before it writes. */
export function hasFiles(folder: string): boolean {
  if (!existsSync(folder)) return false;
  return readdirSync(folder, { recursive: true, withFileTypes: true }).some((entry) => entry.isFile());
}

/**
 * Starts a Node program again and again. Each run is killed (SIGKILL) later than the one before, until one ends before
 * that. So a fast machine waits no longer than necessary, and a slow one long enough.
 *
 * @param hasWritten whether the runs so far have written a part. A kill before that interrupts nothing
 * @returns how many runs were killed after that, and the standard output of the last run
 * @throws {Error} when a run fails by itself
 */
export async function killUntilItEnds(
  args: readonly string[],
  hasWritten: () => boolean | Promise<boolean>,
): Promise<{ readonly kills: number; readonly stdout: string }> {
  let kills = 0;
  for (let afterMs = FIRST_MS; ; afterMs *= FACTOR) {
    let stdout = '';
    const onOutput = (text: string, stream: string) => {
      if (stream === 'stdout') stdout += text;
    };
    const running = startProcess({ command: process.execPath, args, onOutput });
    await Promise.race([running.exited, delay(afterMs)]);
    const exit = await running.kill();
    if (exit.signal === 'SIGKILL') kills += (await hasWritten()) ? 1 : 0;
    else if (exit.code === 0) return { kills, stdout };
    else throw new Error(`${exitText(exit)}: ${running.log()}`);
  }
}
