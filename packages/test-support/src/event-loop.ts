import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const WATCH = fileURLToPath(new URL('./watch-event-loop.js', import.meta.url));

/** Options of node with which a process that has an IPC channel measures the turns of its event loop. */
export const WATCH_FLAGS: readonly string[] = ['--import', WATCH];

/**
 * The longest turn of the event loop of a process since the last call, milliseconds of processor time. Other processes
 * on the machine do not change it. The process was started with `WATCH_FLAGS`.
 */
export async function longestTurn(child: ChildProcess): Promise<number> {
  child.send('how long?');
  // A service sends other messages too.
  for (;;) {
    const [message] = (await once(child, 'message')) as [{ mostMs?: number }];
    if (message.mostMs !== undefined) return message.mostMs;
  }
}
