import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { startProcess, suspend, waitUntil } from '@tidegauge/process';

test('a suspended process does nothing until it is continued', async () => {
  const child = startProcess({
    command: process.execPath,
    args: ['-e', "setInterval(() => console.log('x'), 1)"],
  });
  try {
    await waitUntil('its output', () => child.log() !== '', { timeoutMs: 10_000, pollMs: 5 });
    await suspend(child.pid);
    const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8');
    assert.match(stat, /\) T /);
  } finally {
    process.kill(child.pid, 'SIGCONT');
    await child.stop();
  }
});

test('a process that does not exist cannot be suspended', async () => {
  await assert.rejects(suspend(2 ** 22 + 1), /ESRCH/);
});
