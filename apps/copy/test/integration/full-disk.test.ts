import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mountSmallDisk } from '@tidegauge/lab/small-disk';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { temporaryDirectory } from '@tidegauge/process';
import { openStore } from '@tidegauge/storage';
import { fillStore } from '@tidegauge/test-support/sample-readings';
import { copied, copy, verified } from '../copies.ts';

const MIB = 1024 * 1024;

for (const [scheme, place] of [
  ['sqlite', 'target.db'],
  ['json', 'target'],
]) {
  test(`a full disk of the target (${scheme}) ends a copy with one line, and the next one continues`, async (context) => {
    const started = await startOrSkip('tmpfs', () => mountSmallDisk(2 * MIB));
    if ('skip' in started) return context.skip(started.skip);
    const disk = started.server;
    const folder = temporaryDirectory('copy-full');
    context.after(async () => {
      await disk.remove();
      folder.remove();
    });
    const [from, to] = [`sqlite:${folder.path}/from.db`, `${scheme}:${disk.path}/${place}`];
    await fillStore(openStore(from), 20_000);
    const { code, stdout, stderr } = await copy('--from', from, '--to', to);
    // A slow machine reports its progress too.
    const lines = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('copy: '));
    assert.deepEqual([code, stdout, lines.length], [1, '', 1], stderr);
    assert.match(lines[0]!, /disk is full.*: free some space on the disk of the store/);
    await disk.resize(64 * MIB);
    assert.equal((await copied(from, to)).complete, true);
    const found = await verified(from, to);
    assert.deepEqual([found.equal, found.target.readings], [true, 20_000]);
  });
}
