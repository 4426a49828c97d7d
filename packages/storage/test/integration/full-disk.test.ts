import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { mountSmallDisk } from '@tidegauge/lab/small-disk';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import type { Reading } from '@tidegauge/readings';
import type { Damage } from '../../src/damage.ts';
import { openStore, StoreError } from '../../src/index.ts';
import { checkFolder } from '../../src/json/check.ts';

const MIB = 1024 * 1024;

const batchFrom = (first: number): Reading[] =>
  Array.from({ length: 500 }, (_, index) => ({
    device: 'probe',
    metric: 'note',
    time: 1_790_000_000_000_000 + (first + index) * 1_000_000,
    value: `${first + index}`.padEnd(200, 'x'),
    received: 1_790_000_000_000_000,
    boot: `boot-${index % 7}`,
    seq: first + index,
    quality: 'ok',
  }));

for (const [backend, file] of [
  ['sqlite', 'store.db'],
  ['json', 'store'],
]) {
  test(`${backend} on a full disk refuses writes with the cause, and then has every reading once`, async (context) => {
    const started = await startOrSkip('tmpfs', () => mountSmallDisk(6 * MIB));
    if ('skip' in started) return context.skip(started.skip);
    const disk = started.server;
    context.after(() => disk.remove());
    const url = `${backend}:${disk.path}/${file}`;
    const store = await openStore(url);
    let written = 0;
    const isFull = (error: unknown) =>
      error instanceof StoreError && error.code === 'UNAVAILABLE' && /disk is full/.test(error.message);
    await assert.rejects(async () => {
      for (; written < 100_000; written += 500) await store.readings.write(batchFrom(written));
    }, isFull);
    for (let attempt = 0; attempt < 20; attempt++)
      await assert.rejects(store.readings.write(batchFrom(written)), isFull);
    await disk.resize(32 * MIB);
    for (let more = 0; more < 4; more++, written += 500) await store.readings.write(batchFrom(written));
    await store.close();

    const again = await openStore(url);
    const seqs: (number | null)[] = [];
    const all = { device: 'probe', limit: 100_000, order: 'asc' } as const;
    for await (const { seq } of again.readings.range(all)) seqs.push(seq);
    await again.close();
    assert.deepEqual(
      seqs,
      Array.from({ length: written }, (_, seq) => seq),
    );
  });
}

test('a damaged line of a JSON store stays, and is not kept, until the disk has room to write its file again', async (context) => {
  const started = await startOrSkip('tmpfs', () => mountSmallDisk(6 * MIB));
  if ('skip' in started) return context.skip(started.skip);
  const disk = started.server;
  context.after(() => disk.remove());
  const folder = join(disk.path, 'store');
  const store = await openStore(`json:${folder}`);
  await store.readings.write(batchFrom(0));
  await store.close();
  const [day] = globSync(join(folder, 'readings', '*.jsonl'));
  writeFileSync(day!, readFileSync(day!, 'utf8').replace('"seq":8}', '"seq":9}'));
  const repair = async (): Promise<Damage[]> => {
    const found: Damage[] = [];
    for await (const damage of checkFolder(folder, async () => {}, true)) found.push(damage);
    return found;
  };

  for (let attempt = 0; attempt < 2; attempt++) {
    const [damage, ...more] = await repair();
    assert.deepEqual(more, []);
    assert.match(damage!.fix, /^it stays in the file, because the disk has no room/);
    assert.equal(existsSync(`${day}.damaged`), false);
  }
  await disk.resize(64 * MIB);
  const [damage] = await repair();
  assert.match(damage!.fix, /^it is taken out/);
  assert.match(readFileSync(`${day}.damaged`, 'utf8'), /^\{"crc":.*"seq":9\}\n$/);
});
