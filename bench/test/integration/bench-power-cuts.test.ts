import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findProgram } from '@tidegauge/lab';
import { mountPowerCutDisk } from '@tidegauge/lab/power-cut-disk';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgramSync, temporaryDirectory } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/power-cuts.ts', import.meta.url));
const PUBACK = fileURLToPath(new URL('../../programs/puback.ts', import.meta.url));
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

for (const target of ['sqlite', 'compaction', 'json', 'quarantine', 'spool', 'ledger', 'backup', 'copy']) {
  test(`power cuts lose nothing that was acknowledged: ${target}`, { skip }, () => {
    const { stdout } = runProgramSync(process.execPath, [BENCH, target, '--quick']);
    const [, acknowledged] = /3 power cuts, ([\d,]+) messages acknowledged/.exec(stdout) ?? [];
    assert.ok(Number(acknowledged?.replaceAll(',', '')) > 0, stdout);
    assert.match(stdout, /^cuts with a loss: 0$/m);
  });
}

test('bench puback: mosquitto loses what it acknowledged since its last save, and direct mode nothing', {
  skip,
}, () => {
  const folder = temporaryDirectory('puback');
  try {
    const [json, markdown] = [join(folder.path, 'figures.json'), join(folder.path, 'table.md')];
    runProgramSync(process.execPath, [PUBACK, '--quick', '--json', json, '--markdown', markdown]);
    const { results } = JSON.parse(readFileSync(json, 'utf8')) as {
      readonly results: readonly {
        readonly subject: string;
        readonly fault: string;
        readonly figures: { readonly acknowledged: number; readonly withLoss: number };
      }[];
    };
    for (const { figures } of results) assert.ok(figures.acknowledged > 0);
    const losses = results.map(({ subject, fault, figures }) => [subject, fault, figures.withLoss]);
    assert.deepEqual(losses, [
      ['mosquitto, settings of Debian', 'kill', 2],
      ['mosquitto, settings of Debian', 'power cut', 2],
      ['Tidegauge direct, SQLite', 'kill', 0],
      ['Tidegauge direct, SQLite', 'power cut', 0],
    ]);
    assert.equal(readFileSync(markdown, 'utf8').trimEnd().split('\n').length, 2 + results.length);
  } finally {
    folder.remove();
  }
});
