import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '@tidegauge/lab';
import { testWith } from '@tidegauge/lab/unavailable';
import { runProgramSync, temporaryDirectory } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/brokers.ts', import.meta.url));
const test = await testWith('mosquitto', () => findProgram('mosquitto', 'mosquitto'));

test('bench brokers finds every acknowledged message when only ingest is killed', () => {
  const folder = temporaryDirectory('brokers');
  try {
    const json = join(folder.path, 'figures.json');
    const broker = ['--command', 'mosquitto -p {port}', '--kill', 'ingest'];
    const { stdout } = runProgramSync(process.execPath, [BENCH, '--quick', '--json', json, ...broker]);
    assert.match(stdout, /^mosquitto -p \{port\}$/m);
    const { acknowledged, stored, lost } = JSON.parse(readFileSync(json, 'utf8'));
    assert.deepEqual({ acknowledged, stored, lost }, { acknowledged: 500, stored: 500, lost: [] });
  } finally {
    folder.remove();
  }
});

test('bench brokers reports what the broker wrote when it does not start', () => {
  const broker = ['--command', 'mosquitto --no-such-option {port} {directory}'];
  const { code, stderr } = runProgramSync(process.execPath, [BENCH, '--quick', ...broker], { accept: 'any' });
  assert.notEqual(code, 0);
  assert.match(stderr, /the broker on 127\.0\.0\.1:\d+ ended before it was ready \(.*\): .*no-such-option/s);
});
