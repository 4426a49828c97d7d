import { fileURLToPath } from 'node:url';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { textTable } from '@tidegauge/loadtests/results/table';
import { STORES, startStorePlaces } from '@tidegauge/loadtests/targets/store-places';
import { runProgram } from '@tidegauge/process';
import { defineConfig, list, oneOf, run } from '@tidegauge/service/program';
import { openStore } from '@tidegauge/storage';
import { fillStore } from '@tidegauge/test-support/sample-readings';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import { startIfAvailable } from '../src/start-if-available.ts';

const COPY = fileURLToPath(new URL('../../apps/copy/src/main.ts', import.meta.url));

const { quick, json } = BENCH_SETTINGS;
const settings = defineConfig({
  stores: {
    kind: list(oneOf(STORES)),
    help: 'The stores of the chain after the first SQLite file, in this order. Default: all.',
  },
  quick,
  json,
});

interface Step {
  readonly from: string;
  readonly to: string;
  readonly readings: number;
  readonly seconds: number;
  readonly readingsPerSecond: number;
}

export const program = defineBench({
  name: 'copy',
  summary:
    'Copies readings through a chain of stores and back to SQLite, and compares the digests of both ends.',
  details:
    'The readings have texts, extreme numbers, corrections, duplicates, late times, and devices that are not registered.\n' +
    'A step is one run of npm run copy: it reads the source, writes the target, and reads the target again.',
  settings,
  check: ({ stores, quick }) => ({ stores, readings: quick ? 2000 : 1_000_000 }),
  async run(_config, { stores, readings }, { closers, signal }) {
    const steps: Step[] = [];
    const missing: string[] = [];
    const files = await startStorePlaces('sqlite');
    closers.add(() => files.stop());
    const first = { name: 'sqlite', url: await files.create('first') };
    await fillStore(openStore(first.url), readings);
    let from = first;
    let stopLast = async () => {};
    closers.add(() => stopLast());
    const step = async (name: string, url: string): Promise<void> => {
      signal.throwIfAborted();
      const result = await copyProgram('--from', from.url, '--to', url);
      const { seconds, readingsPerSecond } = result;
      if (result.readings.written !== readings)
        throw new Error(`${name}: ${result.readings.written} readings were copied in place of ${readings}`);
      steps.push({ from: from.name, to: name, readings, seconds, readingsPerSecond });
      process.stderr.write(`${from.name} to ${name}: ${showNumber(readingsPerSecond)} readings/s\n`);
      from = { name, url };
    };
    for (const name of stores ?? STORES) {
      const places = await startIfAvailable(name, stores !== null);
      if (places === null) {
        missing.push(name);
        continue;
      }
      const stopBefore = stopLast;
      stopLast = () => places.stop();
      await step(name, await places.create('chain'));
      await stopBefore();
    }
    await step('sqlite', await files.create('back'));
    const { equal, source, target } = await copyProgram('verify', '--from', first.url, '--to', from.url);
    process.stdout.write(
      textTable([
        ['copy', 'seconds', 'readings/s'],
        ...steps.map(({ from, to, seconds, readingsPerSecond }) => [
          `${from} to ${to}`,
          showNumber(seconds),
          showNumber(readingsPerSecond),
        ]),
      ]),
    );
    const failure =
      equal === true ? {} : { failure: `the digests differ: ${source.digest}, ${target.digest}` };
    return { readings, missing, steps, source, target, ...failure };
  },
});

async function copyProgram(...args: readonly string[]) {
  const { stdout } = await runProgram(process.execPath, [COPY, ...args, '--json'], {
    stderr: 'inherit',
    timeoutMs: Number.POSITIVE_INFINITY,
  });
  return JSON.parse(stdout);
}

if (import.meta.main) process.exitCode = await run(program);
