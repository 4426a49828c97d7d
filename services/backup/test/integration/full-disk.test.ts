import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { mountSmallDisk } from '@tidegauge/lab/small-disk';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { temporaryDirectory } from '@tidegauge/process';
import { BACKUP, fill, program, RESTORE, result } from '../backups.ts';

const MIB = 1024 * 1024;

for (const [format, size] of [
  ['portable', 1],
  ['auto', 3],
] as const) {
  test(`a full disk fails a backup (${format}) with one line, and keeps the earlier one`, async (context) => {
    const started = await startOrSkip('tmpfs', () => mountSmallDisk(size * MIB));
    if ('skip' in started) return context.skip(started.skip);
    const disk = started.server;
    const folder = temporaryDirectory('backup-full');
    context.after(async () => {
      await disk.remove();
      folder.remove();
    });
    const to = `${disk.path}/backups`;
    const [small, large] = [`sqlite:${folder.path}/small.db`, `sqlite:${folder.path}/large.db`];
    await fill(small, 200);
    await fill(large, 100_000);
    const first = await result(BACKUP, '--store', small, '--to', to, '--format', format);
    const { code, stderr } = await program(BACKUP, '--store', large, '--to', to, '--format', format);
    assert.equal(code, 1);
    assert.match(stderr, /^\S+: the disk is full: .* earlier ones are complete.*\n$/);
    assert.equal(readdirSync(to).filter((name) => name.startsWith('tidegauge-')).length, 1);
    const found = await result(RESTORE, '--from', to, '--store', `sqlite:${folder.path}/restored.db`);
    assert.deepEqual([found.verified, found.readings], [true, first.readings]);
  });
}
