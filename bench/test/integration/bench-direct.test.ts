import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '@tidegauge/lab/debian';
import { testWith } from '@tidegauge/lab/unavailable';
import { runProgramSync } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/direct.ts', import.meta.url));
const testBench = await testWith('mosquitto', () => findProgram('mosquitto', 'mosquitto'));

testBench('bench direct --quick stores and acknowledges every message in both ways', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-bench-test-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const json = join(folder, 'direct.json');
  const options = { accept: 'any', timeoutMs: 120_000 } as const;
  const { code, stderr } = runProgramSync(process.execPath, [BENCH, '--quick', '--json', json], options);
  assert.equal(code, 0, stderr);
  const { messages, connections, summary } = JSON.parse(readFileSync(json, 'utf8'));
  assert.deepEqual([messages, connections], [10_000, 50]);
  assert.deepEqual(
    summary.map(({ way }: { way: string }) => way),
    ['direct', 'mosquitto'],
  );
  for (const trial of summary) {
    const { acknowledgedPerSecond, storedPerSecond, cpuMicrosPerMessage, residentMiB } = trial;
    for (const figure of [acknowledgedPerSecond, storedPerSecond, cpuMicrosPerMessage, residentMiB]) {
      assert.ok(figure > 0, JSON.stringify(trial));
    }
    assert.ok(storedPerSecond <= acknowledgedPerSecond, JSON.stringify(trial));
  }
});
