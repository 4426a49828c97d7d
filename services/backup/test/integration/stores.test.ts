import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STORE_SERVERS } from '@tidegauge/lab/stores';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { temporaryDirectory } from '@tidegauge/process';
import { openStore } from '@tidegauge/storage';
import { fillStore } from '@tidegauge/test-support/sample-readings';
import { BACKUP, RESTORE, result } from '../backups.ts';

const READINGS = 1000;

for (const [name, entry] of Object.entries(STORE_SERVERS)) {
  test(`${name}: a backup is restored to an empty store, with equal digests`, {
    timeout: 400_000,
  }, async (context) => {
    const started = await startOrSkip(name, () => entry.start(1));
    if ('skip' in started) return context.skip(started.skip);
    const { server } = started;
    const folder = temporaryDirectory('backup-stores');
    context.after(async () => {
      await server.stop();
      folder.remove();
    });
    const suffix = name === 'hbase' ? '?presplit=3' : '';
    const [first, second] = [await server.create('first'), await server.create('second')];
    await fillStore(openStore(first + suffix), READINGS);
    const source = await openStore(first + suffix);
    await source.identify(`data-of-${name}`);
    await source.close();
    const made = await result(BACKUP, '--store', first, '--to', folder.path);
    assert.deepEqual([made.method, made.readings.count, made.units.count > 0], ['portable', READINGS, true]);
    const found = await result(RESTORE, '--from', folder.path, '--store', second + suffix);
    assert.deepEqual([found.verified, found.problem], [true, null]);
    const target = await openStore(second + suffix);
    assert.equal(await target.identity(), `data-of-${name}`);
    await target.close();
  });
}
