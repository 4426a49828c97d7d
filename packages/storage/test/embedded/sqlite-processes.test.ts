import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CRASH_BATCH, crashBatch, stored, writeFirmly } from '../../conformance/data.ts';
import { openStore } from '../../src/index.ts';

const WRITER = fileURLToPath(new URL('../../conformance/crash-writer.ts', import.meta.url));

test('two processes can write readings and devices to one SQLite file at the same time', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidegauge-processes-'));
  const url = `sqlite:${folder}/tidegauge.db`;
  const child = spawn(process.execPath, [WRITER, url, 'shared', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  let acknowledged = 0;
  child.stdout.setEncoding('utf8').on('data', (lines: string) => {
    acknowledged += lines.split('\n').length - 1;
  });
  const store = await openStore(url);
  try {
    let count = 0;
    while (acknowledged < 150) {
      await store.devices.put({
        name: `d${count % 20}`,
        site: null,
        city: 'Emden',
        kind: null,
        year: 2000,
        attributes: {},
      });
      await store.devices.patchWhere({ city: 'Emden' }, { year: count % 100 });
      await writeFirmly(store, crashBatch('shared', count));
      count += 1;
    }
    child.kill('SIGTERM');
    await exited;
    const all = await stored(store, 'shared');
    const batches = Math.max(acknowledged, count);
    const expected = Array.from({ length: batches }, (_, number) => crashBatch('shared', number)).flat();
    assert.deepEqual(all.slice(0, expected.length), expected);
    assert.ok(all.length <= expected.length + CRASH_BATCH);
    assert.equal((await store.devices.list({ city: 'Emden', limit: 100 })).length, Math.min(count, 20));
  } finally {
    child.kill('SIGKILL');
    await exited;
    await store.close();
    await rm(folder, { recursive: true });
  }
});
