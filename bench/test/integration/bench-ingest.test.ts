import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '@tidegauge/lab/debian';
import { testWith } from '@tidegauge/lab/unavailable';
import { runProgramSync, temporaryDirectory } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const test = await testWith('mosquitto', () => findProgram('mosquitto', 'mosquitto'));

test('bench ingest --quick loses no message, and measures ingest beside MQTT.js', (context) => {
  const folder = temporaryDirectory('bench-ingest');
  context.after(() => folder.remove());
  const json = join(folder.path, 'ingest.json');
  const { code, stderr } = runProgramSync(process.execPath, [BENCH, 'ingest', '--quick', '--json', json], {
    accept: 'any',
    timeoutMs: 240_000,
  });
  assert.equal(code, 0, stderr);
  const { messages, summary, latency } = JSON.parse(readFileSync(json, 'utf8'));
  assert.equal(messages, 20_000);
  assert.deepEqual(
    summary.map(({ consumer, correct }: { consumer: string; correct: boolean }) => [consumer, correct]),
    [
      ['ingest + store', true],
      ['ingest, no store', true],
      ['MQTT.js, no store', true],
    ],
  );
  for (const { messagesPerSecond, cpuMicrosPerMessage } of summary) {
    assert.ok(messagesPerSecond > 0 && cpuMicrosPerMessage > 0);
  }
  assert.ok(0 < latency.p50Ms && latency.p50Ms <= latency.p99Ms);
});
