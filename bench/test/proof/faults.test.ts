import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findProgram } from '@tidegauge/lab';
import { mountPowerCutDisk } from '@tidegauge/lab/power-cut-disk';
import { mountSmallDisk } from '@tidegauge/lab/small-disk';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgramSync, temporaryDirectory } from '@tidegauge/process';

const PROGRAM = fileURLToPath(new URL('../../programs/faults.ts', import.meta.url));
const started = await startOrSkip('faults', async () => {
  await findProgram('mosquitto', 'mosquitto');
  await (await mountSmallDisk(1024 * 1024)).remove();
});
const disk = await startOrSkip('power-cut-disk', async () => (await mountPowerCutDisk(64)).remove());
const skip = 'skip' in started ? started.skip : false;

function faults(...args: readonly string[]) {
  return runProgramSync(process.execPath, [PROGRAM, ...args], { accept: 'any', timeoutMs: 300_000 });
}

test('a random sequence of all faults on SQLite loses nothing, and its figures are written and drawn', {
  skip,
}, (context) => {
  const folder = temporaryDirectory('faults');
  context.after(() => folder.remove());
  const [json, picture] = [join(folder.path, 'faults.json'), join(folder.path, 'faults.svg')];
  const without = 'skip' in disk ? ['--without', 'power-cut'] : [];
  const args = ['random', '--quick', ...without, '--json', json, '--picture', picture];
  const { code, stdout, stderr } = faults(...args);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /nothing acknowledged is missing, and nothing is stored twice/);
  const figures = JSON.parse(readFileSync(json, 'utf8'));
  assert.ok(figures.faults.length >= 10);
  assert.ok(figures.readings.acknowledged > 1000);
  // What the broker lost, ingest never had.
  assert.equal(figures.readings.acknowledged, figures.readings.stored);
  assert.ok(figures.quarantine.acknowledged > 10);
  assert.ok(figures.named.lost >= 10 && figures.named.wrong === 0);
  assert.ok(figures.recoverySeconds > 0 && figures.peakBytes > 2 ** 20);
  assert.match(readFileSync(picture, 'utf8'), /<desc id="svg-faults-desc">random on sqlite/);
});

test('sensors send again what the broker lost, until nothing is missing', { skip }, () => {
  const { code, stdout, stderr } = faults('queue-kill', '--quick', '--heal');
  assert.equal(code, 0, stderr);
  assert.match(stdout, /messages sent again +[1-9]/);
  assert.match(stdout, /nothing acknowledged is missing, and nothing is stored twice/);
});

test('power cuts of the disk of ingest lose nothing that it has acknowledged, and its ledger keeps all names', {
  skip: 'skip' in disk ? disk.skip : false,
}, () => {
  const { code, stdout, stderr } = faults('power-cut', '--quick');
  assert.equal(code, 0, stderr);
  assert.match(stdout, /lost by sensors +20\n +listed by ingest +20\n/);
  assert.match(stdout, /nothing acknowledged is missing, and nothing is stored twice/);
});

test('the check names the readings that a kill loses when they are acknowledged on arrival', { skip }, () => {
  const { code, stdout, stderr } = faults(
    'kill-in-outage',
    '--quick',
    '--way',
    'direct',
    '--ack',
    'received',
  );
  assert.equal(code, 1);
  assert.match(stderr, /^FAILED: \d+ acknowledged readings are not in the store$/m);
  assert.match(stdout, /^missing: faults\/readings\/probe-\d+ seq \d+/m);
});

test('the profiles are listed', () => {
  const { code, stdout } = faults('list');
  assert.equal(code, 0);
  assert.match(stdout, /^store-half-open +data between ingest and the store is dropped/m);
});
