import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startHbase } from '@tidegauge/lab/hbase';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgram } from '@tidegauge/process';
import { openStore } from '@tidegauge/storage';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const DAY = 86_400_000_000;
/** 2026-11-21T00:00:00Z */
const T0 = 1_795_219_200_000_000;

const started = await startOrSkip('hbase', startHbase);
const skip = 'skip' in started ? started.skip : false;
// Tests are skipped if there is no server.
const server = ('server' in started ? started.server : null)!;
after(() => server?.stop());

test('rolls up some days, then all', { skip }, async () => {
  const url = `${server.url('rollup')}?presplit=3`;
  const store = await openStore(url);
  const batch = [0, 1, 2].flatMap((days) =>
    ['humidity', 'temperature'].map((metric) => {
      const time = T0 + days * DAY;
      return {
        device: 'd',
        metric,
        time,
        received: time,
        value: days,
        boot: null,
        seq: null,
        quality: 'ok' as const,
      };
    }),
  );
  await store.readings.write(batch);
  const rollup = async (...args: readonly string[]) =>
    (await runProgram(process.execPath, [MAIN, '--store', url, ...args])).stdout.trim().split('\n');
  const days = async () => {
    const { groups } = await store.readings.groups({ by: 'day', limit: 10 });
    return groups.map(({ key, sum }) => `${key} ${sum}`);
  };

  const lines = await rollup('--from', '2026-11-20', '--to', '2026-11-22');
  assert.deepEqual(
    lines.slice(0, -1).map((line) => line.split('  ').slice(0, 2).join(' ')),
    ['2026-11-20 0 metrics', '2026-11-21 2 metrics', '2026-11-22 2 metrics'],
  );
  assert.match(lines.at(-1)!, /^4 totals of a day and a metric in/);
  assert.deepEqual(await days(), ['2026-11-21 0', '2026-11-22 2']);

  assert.match((await rollup())[0]!, /^6 totals/);
  assert.deepEqual(await days(), ['2026-11-21 0', '2026-11-22 2', '2026-11-23 4']);
  await store.close();
});
