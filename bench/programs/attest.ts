import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { startStorePlaces } from '@tidegauge/loadtests/targets/store-places';
import { checkLabStore, provideFolder } from '@tidegauge/loadtests/targets/targets';
import { runProgram } from '@tidegauge/process';
import type { Reading } from '@tidegauge/readings';
import { defineConfig, run } from '@tidegauge/service/program';
import { openStore } from '@tidegauge/storage';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';

const ATTEST = fileURLToPath(new URL('../../services/ingest/src/attest/main.ts', import.meta.url));
const VERIFIER = fileURLToPath(
  new URL('../../services/ingest/src/attest/verify_attestation.py', import.meta.url),
);
const SENSORS = 50;
const DAY = 86_400_000_000;
const FIRST = Date.UTC(2025, 0, 1) * 1000;
const PER_DAY = 144;
const BATCH = 5000;

const { store, quick, json } = BENCH_SETTINGS;
const settings = defineConfig({ store, quick, json });

export const program = defineBench({
  name: 'attest',
  summary: 'Time to write and to verify a signed document about a year of 50 sensors.',
  details: 'Each sensor has a reading each ten minutes. One reading in a thousand is missing.',
  settings,
  check({ store }) {
    checkLabStore(store);
  },
  async run({ store, quick }, _checked, { closers, signal }) {
    const days = quick ? 7 : 365;
    const places = await startStorePlaces(store);
    closers.add(() => places.stop());
    const url = await places.create('attest');
    const folder = provideFolder(closers);
    const target = await openStore(url);
    try {
      for (const batch of batches(days)) {
        signal.throwIfAborted();
        await target.readings.write(batch);
      }
    } finally {
      await target.close();
    }
    const [from, to] = [FIRST, FIRST + (days - 1) * DAY].map((time) =>
      new Date(time / 1000).toISOString().slice(0, 10),
    );
    const period = ['--from', from!, '--to', to!, '--data-dir', folder];
    const args = [ATTEST, '--store', url, ...period, '--json'];
    const [attestSeconds, output] = await timed(process.execPath, args);
    const { key, document, readings } = JSON.parse(output);
    const [verifySeconds] = await timed('python3', [VERIFIER, '--key', key, document]);
    const bytes = statSync(document).size;
    process.stdout.write(
      `${showNumber(readings)} readings of ${days} days: attested in ${showNumber(attestSeconds)} s ` +
        `(${showNumber(readings / attestSeconds)}/s), ${showNumber(bytes)} bytes, ` +
        `verified in ${showNumber(verifySeconds)} s\n`,
    );
    return { setup: { store, quick, days }, readings, attestSeconds, verifySeconds, bytes };
  },
});

function* batches(days: number): Generator<Reading[]> {
  let batch: Reading[] = [];
  for (let seq = 0; seq < days * PER_DAY; seq++) {
    for (let sensor = 0; sensor < SENSORS; sensor++) {
      if ((seq + sensor) % 1000 === 999) continue;
      const time = FIRST + seq * (DAY / PER_DAY) + sensor;
      const names = { device: `site-${sensor % 5}/cold-${sensor}`, metric: 'temperature' };
      const value = 4 + (seq % 17) / 8;
      batch.push({ ...names, time, value, received: time + 4000, boot: 'b', seq, quality: 'ok' });
      if (batch.length < BATCH) continue;
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

/** Runs a program. Resolves to its time in seconds and its output. */
async function timed(program: string, args: readonly string[]): Promise<readonly [number, string]> {
  const begun = performance.now();
  const options = { stderr: 'inherit', timeoutMs: Number.POSITIVE_INFINITY } as const;
  const { stdout } = await runProgram(program, args, options);
  return [(performance.now() - begun) / 1000, stdout];
}

if (import.meta.main) process.exitCode = await run(program);
