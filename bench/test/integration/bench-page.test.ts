import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import { runProgramSync, temporaryDirectory } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/page.ts', import.meta.url));
const test = await testWith('chromium', findChromium);

// How fast the page is depends on what else the machine does, so only the program's user judges the times.
test('bench page --quick measures views, zooms, memory and the list of sensors', (t) => {
  const folder = temporaryDirectory('page');
  t.after(() => folder.remove());
  const json = join(folder.path, 'page.json');
  const args = [BENCH, '--stores', 'sqlite', '--days', '2', '--quick', '--json', json];
  const { code, stdout, stderr } = runProgramSync(process.execPath, args, {
    accept: 'any',
    timeoutMs: 300_000,
  });
  assert.equal(code, 0, stderr);
  const [{ filled, histories, fleets }] = JSON.parse(readFileSync(json, 'utf8')).results;
  assert.equal(filled.readings, 2 * 20 * 1440);
  const [one, many] = histories;
  assert.deepEqual([one.lines, many.lines], [1, 20]);
  for (const { all, zoomIn, zoomOut, tab, turnMs } of histories) {
    assert.deepEqual([all.steps, zoomIn.steps, zoomOut.steps], [2, 4, 4]);
    for (const { drawn, complete, settled } of [all, zoomIn, zoomOut]) {
      assert.ok(0 < drawn.p50 && drawn.p50 <= settled.p50);
      assert.ok(0 < complete.p50 && complete.p50 <= settled.p50);
    }
    assert.ok(tab.heap > 0 && tab.after > 0 && turnMs > 0);
  }
  const [few, all] = fleets;
  assert.deepEqual([few.sensors, all.sensors], [20, 1000]);
  assert.ok(few.listedMs > 0 && all.listedMs > 0);
  assert.match(stdout, /sqlite, lines: 20, zoom in +4 /);
});
