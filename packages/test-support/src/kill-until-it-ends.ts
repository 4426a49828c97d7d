import { setTimeout as delay } from 'node:timers/promises';
import { exitText, startProcess } from '@tidegauge/process';

/** Shorter than the start of a program on most machines. */
const FIRST_MS = 300;
const FACTOR = 1.3;

/**
 * Starts a Node program again and again. Each run is killed (SIGKILL) later than the one before, until one ends before
 * that. So a fast machine waits no longer than necessary, and a slow one long enough.
 *
 * @returns how many runs were killed, and the standard output of the last one
 * @throws {Error} when a run fails by itself
 */
export async function killUntilItEnds(
  args: readonly string[],
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
    if (exit.signal === 'SIGKILL') kills += 1;
    else if (exit.code === 0) return { kills, stdout };
    else throw new Error(`${exitText(exit)}: ${running.log()}`);
  }
}
