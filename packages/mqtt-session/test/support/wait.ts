import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

/** Waits until `condition` returns true. Fails with the name of the condition if it does not. */
export async function until(what: string, condition: () => boolean, timeoutMs = 10_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!condition()) {
    if (Date.now() > deadline) assert.fail(`not within ${timeoutMs} ms: ${what}`);
    await delay(5);
  }
}
