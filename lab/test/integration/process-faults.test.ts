import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { makeProcessFaults } from '@tidegauge/lab/process-faults';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgram } from '@tidegauge/process';

const faults = await startOrSkip('process-faults', makeProcessFaults);

/** Prints the error of an fsync, the time, the boot of the kernel, and how long a pause of 50 ms took on the monotonic clock. */
const PROBE = `
  import { openSync, fsyncSync, fdatasyncSync, readFileSync } from 'node:fs';
  const file = openSync(process.argv[1], 'w');
  const codes = [fsyncSync, fdatasyncSync].map((sync) => { try { sync(file); return 'ok'; } catch (error) { return error.code; } });
  const begun = performance.now();
  await new Promise((resolve) => setTimeout(resolve, 50));
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8');
  console.log(JSON.stringify({ codes, boot, time: Date.now(), pause: performance.now() - begun }));`;

test('fsync of a process fails, its clock is wrong, and the kernel has another boot, as they are set', {
  skip: 'skip' in faults ? faults.skip : false,
}, async (context) => {
  if ('skip' in faults) return;
  const { server } = faults;
  context.after(() => server.remove());
  const file = `${server.environment.TIDEGAUGE_PROCESS_FAULTS}-probe`;
  const boots: string[] = [];
  const probe = async () => {
    const args = ['--input-type=module', '--eval', PROBE, '--', file];
    const { stdout } = await runProgram(process.execPath, args, { env: server.environment });
    const { codes, boot, time, pause } = JSON.parse(stdout);
    assert.ok(pause < 10_000, 'the monotonic clock is right');
    assert.match(boot, /^[0-9a-f-]{36}\n$/);
    boots.push(boot);
    return { codes, hours: Math.round((time - Date.now()) / 3_600_000) + 0 };
  };
  assert.deepEqual(await probe(), { codes: ['ok', 'ok'], hours: 0 });
  server.set({ clockSeconds: -3600, syncFails: true });
  assert.deepEqual(await probe(), { codes: ['EIO', 'EIO'], hours: -1 });
  server.set({ clockSeconds: 3600 });
  assert.deepEqual(await probe(), { codes: ['ok', 'ok'], hours: 1 });
  server.set({});
  server.newBoot();
  assert.deepEqual(await probe(), { codes: ['ok', 'ok'], hours: 0 });
  // Others than that of the kernel, and the same one until there is a new one.
  const [first, second, third, last] = boots;
  assert.deepEqual([second, third], [first, first]);
  assert.equal(new Set([first, last, readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')]).size, 3);
});
