import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { mountPowerCutDisk } from '@tidegauge/lab/power-cut-disk';
import { startToxiproxy } from '@tidegauge/lab/toxiproxy';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgramSync } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/relay.ts', import.meta.url));
const started = await startOrSkip('power-cut-disk', async () => {
  await (await mountPowerCutDisk(64)).remove();
  await (await startToxiproxy()).stop();
});

test('bench relay --quick finds everything at the centre after cuts of the link, a kill and a power cut', {
  skip: 'skip' in started ? started.skip : false,
}, () => {
  const args = ['--quick', '--store', 'sqlite', '--boards', 'sqlite,json', '--cuts', '6'];
  const { code, stdout, stderr } = runProgramSync(process.execPath, [BENCH, ...args], {
    accept: 'any',
    timeoutMs: 300_000,
  });
  assert.equal(code, 0, stderr);
  assert.match(stderr, /kill -9 of /);
  assert.match(stderr, /power of /);
  assert.match(stdout, /^ {2}board-1, sqlite +[\d,]+ +0 +0 +0 +0 +0 /m);
  assert.match(stdout, /^ {2}board-2, json +[\d,]+ +0 +0 +0 +0 +0 /m);
});
