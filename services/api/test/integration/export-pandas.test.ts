import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runProgram } from '@tidegauge/process';
import { PYTHON, setUpAnalysis } from '../../../../scripts/setup.js';
import { reading, startApi } from '../harness.ts';

const READ = `
import sys, pandas
frame = pandas.read_csv(sys.argv[1])
times = pandas.to_datetime(frame['time'])
print(len(frame), frame['value'].dtype, frame['value'].sum(), times.dt.tz, *frame['device'].unique())
`;

test('pandas reads an export as CSV without options', { timeout: 300_000 }, async (t) => {
  await setUpAnalysis();
  const api = await startApi(t);
  await api.ingest.commit(
    ['a', 'b'].flatMap((device) => [1, 2.5].map((value) => reading(value, { device, value }))),
  );
  const { stdout } = await runProgram(PYTHON, ['-c', READ, `${api.url}/v1/export?format=csv`], {});
  assert.equal(stdout.trim(), '4 float64 7.0 UTC a b');
});
