import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findProgram } from '@tidegauge/lab';
import { mountPowerCutDisk } from '@tidegauge/lab/power-cut-disk';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgramSync } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/power-cuts.ts', import.meta.url));
const started = await startOrSkip('power-cut-disk', async () => {
  await findProgram('mosquitto', 'mosquitto');
  await (await mountPowerCutDisk(64)).remove();
});
const skip = 'skip' in started ? started.skip : false;

test('bench power-cuts measures what mosquitto loses between its saves', { skip }, () => {
  const { stdout } = runProgramSync(process.execPath, [BENCH, 'mosquitto', '--quick']);
  assert.match(stdout, /^mosquitto: 3 power cuts, [\d,]+ messages acknowledged/m);
  // It saves its queues once in a minute, and the test takes seconds.
  assert.match(stdout, /^cuts with a loss: 3$/m);
});

for (const target of ['sqlite', 'json', 'quarantine', 'spool']) {
  test(`power cuts lose nothing that ingest acknowledged: ${target}`, { skip }, () => {
    const { stdout } = runProgramSync(process.execPath, [BENCH, target, '--quick']);
    const [, acknowledged] = /3 power cuts, ([\d,]+) messages acknowledged/.exec(stdout) ?? [];
    assert.ok(Number(acknowledged?.replaceAll(',', '')) > 0, stdout);
    assert.match(stdout, /^cuts with a loss: 0$/m);
  });
}
