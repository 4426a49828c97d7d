import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startInfluxDb } from '@tidegauge/lab/influxdb';
import { buildTsbs } from '@tidegauge/lab/tsbs';
import { testWith } from '@tidegauge/lab/unavailable';
import { runProgramSync, temporaryDirectory } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/tsbs.ts', import.meta.url));

const test = await testWith('tsbs', async () => {
  for (const program of ['tsbs_generate_data', 'tsbs_generate_queries', 'tsbs_load_influx'] as const)
    await buildTsbs(program);
  await (await startInfluxDb()).stop();
});

test('bench tsbs --quick loads both systems, whose answers are equal', (t) => {
  const folder = temporaryDirectory('tsbs');
  t.after(() => folder.remove());
  const json = join(folder.path, 'tsbs.json');
  const { code, stdout, stderr } = runProgramSync(process.execPath, [BENCH, '--quick', '--json', json], {
    accept: 'any',
    timeoutMs: 240_000,
  });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^ {2}single-groupby-5-8-1, ms( +[\d.,]+){3}$/m);
  const { results } = JSON.parse(readFileSync(json, 'utf8'));
  const [{ series, summary }] = results;
  assert.equal(series, 100);
  // The kernel counts processor time in steps of 10 ms.
  for (const { figures } of summary)
    for (const [label, figure] of Object.entries(figures))
      assert.ok((figure as number) > 0 || (figure === 0 && label.includes('CPU')), `${label}: ${figure}`);
});
