import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startProcess } from '@tidegauge/process';
import { stored } from '../../conformance/data.ts';
import { openStore } from '../../src/index.ts';

const WRITER = fileURLToPath(new URL('../compacting-writer.ts', import.meta.url));
const ROUNDS = 4;

test('every acknowledged reading is stored once when a process is killed while it moves readings to blocks', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidegauge-blocks-'));
  const url = `sqlite:${folder}/tidegauge.db?synchronous=normal`;
  try {
    await (await openStore(url)).close();
    let [next, steps] = [0, 0];
    for (let round = 0; round < ROUNDS; round += 1) {
      let output = '';
      const writer = startProcess({
        command: process.execPath,
        args: [WRITER, url, String(next)],
        stderr: 'inherit',
        onOutput: (text) => {
          output += text;
          // Not always at the same point of a step.
          if (output.length > 1000 + 177 * round) void writer.kill();
        },
      });
      const { signal } = await writer.exited;
      assert.equal(signal, 'SIGKILL');
      const lines = output.split('\n').slice(0, -1);
      steps += lines.filter((line) => line === 'block').length;
      const last = Number(lines.findLast((line) => line !== 'block'));
      const store = await openStore(url);
      const values = (await stored(store, 'd')).map(({ value }) => value as number).sort((a, b) => a - b);
      await store.close();
      const most = values.at(-1)!;
      assert.ok(most === last || most === last + 1, `${most} is stored, ${last} was acknowledged`);
      assert.deepEqual(
        values,
        Array.from({ length: most + 1 }, (_, number) => number),
      );
      next = most + 1;
    }
    assert.ok(steps > 10, `${steps} steps`);
  } finally {
    await rm(folder, { recursive: true });
  }
});
