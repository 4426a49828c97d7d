import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { mountSmallDisk } from '@tidegauge/lab/small-disk';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { temporaryDirectory } from '@tidegauge/process';
import { openStore } from '@tidegauge/storage';
import { fillStore } from '@tidegauge/test-support/sample-readings';
import { backup, restore, result } from '../backups.ts';

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
    await fillStore(openStore(small), 200);
    await fillStore(openStore(large), 100_000);
    const first = await result(backup, '--store', small, '--to', to, '--format', format);
    const { code, stderr } = await backup('--store', large, '--to', to, '--format', format);
    assert.equal(code, 1);
    const lines = linesOf(stderr);
    assert.equal(lines.length, 1, stderr);
    assert.match(lines[0]!, /^\S+: the disk is full: .* earlier ones are complete/);
    assert.equal(readdirSync(to).filter((name) => name.startsWith('tidegauge-')).length, 1);
    const found = await result(restore, '--from', to, '--store', `sqlite:${folder.path}/restored.db`);
    assert.deepEqual([found.verified, found.readings], [true, first.readings]);
  });
}

/** What a program printed besides its progress, which it reports on a slow machine. */
function linesOf(stderr: string): string[] {
  return stderr.split('\n').filter((line) => line !== '' && !/^(backup|restore): /.test(line));
}

for (const format of ['portable', 'auto'] as const) {
  test(`a full disk fails a restore (${format}) with one line, and the next one restores everything`, async (context) => {
    const started = await startOrSkip('tmpfs', () => mountSmallDisk(MIB / 2));
    if ('skip' in started) return context.skip(started.skip);
    const disk = started.server;
    const folder = temporaryDirectory('restore-full');
    context.after(async () => {
      await disk.remove();
      folder.remove();
    });
    const [store, to] = [`sqlite:${folder.path}/store.db`, `${folder.path}/backups`];
    await fillStore(openStore(store), 20_000);
    const made = await result(backup, '--store', store, '--to', to, '--format', format);
    const restored = `sqlite:${disk.path}/restored.db`;
    const { code, stdout, stderr } = await restore('--from', to, '--store', restored);
    const lines = linesOf(stderr);
    assert.deepEqual([code, stdout, lines.length], [1, '', 1], stderr);
    assert.match(lines[0]!, /disk is full.*: free some space on the disk of the store/);
    if (format === 'auto') assert.deepEqual(readdirSync(disk.path), [], 'nothing is left of it');
    await disk.resize(64 * MIB);
    const found = await result(restore, '--from', to, '--store', restored);
    assert.deepEqual([found.verified, found.readings], [true, made.readings]);
  });
}
