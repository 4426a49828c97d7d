import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { compileInfluxNames } from '@tidegauge/readings';
import { openStore } from '@tidegauge/storage';
import { killUntilItEnds } from '@tidegauge/test-support/kill-until-it-ends';
import { influxFile } from '../../src/sources/influxdb.ts';
import { fileWith, imported, MAIN, pathOf, readingsOf } from '../imports.ts';

const LINES = 10_000;
/** With texts of this length, some thousands are a chunk, which is the unit that an import saves. */
const TEXT = 'x'.repeat(1000);

/** 40 steps and 2 full chunks. */
function manyLines(): string {
  const lines: string[] = [];
  for (let i = 0; i < LINES; i += 1)
    lines.push(`m,host=h${i % 20} value="${i} ${TEXT}" ${1_700_000_000 + Math.floor(i / 20)}000000000`);
  return lines.join('\n');
}

test('continues where it was stopped, and counts all runs together', async () => {
  const store = await openStore('sqlite::memory:');
  const path = fileWith('stopped.lp', manyLines());
  const options = { precision: 'ns', names: compileInfluxNames(), database: null, templates: [] } as const;
  const stop = new AbortController();
  let steps = 0;
  await assert.rejects(
    imported(
      store,
      (received) => {
        const source = influxFile(path, options, received);
        return {
          ...source,
          async *steps(position, tally) {
            for await (const step of source.steps(position, tally)) {
              if (++steps === 36) stop.abort();
              yield step;
            }
          },
        };
      },
      stop.signal,
    ),
  );
  const { counts, sums } = await imported(store, (received) => influxFile(path, options, received));
  assert.ok(steps < 50, `${steps} steps`);
  assert.deepEqual([counts.readings, counts.written, counts.equal], [LINES, LINES, 0]);
  assert.deepEqual([sums.source.count, sums.source.hex], [LINES, sums.store.hex]);
  await store.close();
});

test('continues after kill -9 at any moment, while another program writes', {
  timeout: 300_000,
}, async () => {
  const [path, to] = [fileWith('killed.lp', manyLines()), `sqlite:${pathOf('killed.db')}`];
  const args = [MAIN, 'influxdb', path, '--to', to, '--json'];
  const live = await openStore(to);
  let [isDone, written] = [false, 0];
  const writing = (async () => {
    for (; !isDone; written += 1) {
      const time = 1_790_000_000_000_000 + written;
      await live.readings.write([
        {
          device: 'live',
          metric: 'm',
          time,
          received: time,
          value: written,
          boot: null,
          seq: null,
          quality: 'ok',
        },
      ]);
      await delay(5);
    }
  })();
  const { kills, stdout } = await killUntilItEnds(args, async () =>
    (await readingsOf(live)).some(({ device }) => device !== 'live'),
  );
  isDone = true;
  await writing;
  const result = JSON.parse(stdout);
  assert.ok(kills > 0, 'the import was interrupted');
  assert.equal(result.complete, true);
  assert.equal(result.readings.readings, LINES);
  assert.equal(result.verified.readings, LINES);
  assert.equal(result.verified.source, result.verified.store);
  const found = await readingsOf(live);
  assert.equal(found.filter(({ device }) => device === 'live').length, written);
  assert.equal(found.length - written, LINES);
  await live.close();
});
